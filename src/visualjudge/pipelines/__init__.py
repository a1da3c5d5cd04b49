"""Judge modules from a YAML file, over the rows of a JSONL file."""

from visualjudge.pipelines.config import build_pipes as build_pipes
from visualjudge.pipelines.config import read_config as read_config
from visualjudge.pipelines.rows import Row as Row
from visualjudge.pipelines.rows import read_rows as read_rows
from visualjudge.pipelines.run import PipelineReport as PipelineReport
from visualjudge.pipelines.run import run_pipeline as run_pipeline

__all__ = ["PipelineReport", "Row", "build_pipes", "read_config", "read_rows", "run_pipeline"]
