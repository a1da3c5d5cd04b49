"""Apply judge modules of a YAML file to the rows of a JSONL file."""

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
