"""Pipelines: judge modules of a YAML file applied to the rows of a JSONL file.

``config`` builds the judges, ``rows`` reads and checks the rows, ``run`` applies,
``results`` counts. Judges of a *dataset* are run by ``visualjudge.runs``.
"""

from visualjudge.apps.pipelines.config import (
    build_pipes as build_pipes,
    read_config as read_config,
)
from visualjudge.apps.pipelines.rows import Row as Row, read_rows as read_rows
from visualjudge.apps.pipelines.run import (
    PipelineReport as PipelineReport,
    run_pipeline as run_pipeline,
)

__all__ = [
    "PipelineReport",
    "Row",
    "build_pipes",
    "read_config",
    "read_rows",
    "run_pipeline",
]
