"""Made by tools/docs_pages.py from the functions and their records of options."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from visualjudge.analysis.report.card import Card
from visualjudge.apps.adopt.adopt import Adopted as Adopted, adopt as adopt
from visualjudge.apps.frontdoor.data import (
    Data as Data,
    Progress,
    import_samples as import_samples,
    open_data as open_data,
)
from visualjudge.apps.frontdoor.decisions import correct as correct, label as label
from visualjudge.apps.frontdoor.judge import Asked, client as client
from visualjudge.apps.frontdoor.opened_run import Run as Run, Runs, open_run as open_run
from visualjudge.apps.frontdoor.studies import Study as Study
from visualjudge.apps.planning.plan_without_models import ShapePlan
from visualjudge.apps.planning.study_designs import Goal, Plan
from visualjudge.clients.base import Client as Client
from visualjudge.dataset.exports import Format as Format
from visualjudge.dataset.folder import Dataset as Dataset, load_dataset as load_dataset
from visualjudge.formats.importers import Importer as Importer
from visualjudge.formats.python_samples import from_supervision as from_supervision
from visualjudge.formats.samples import Sample as Sample
from visualjudge.options import Caps, Mode, Selection, Tiers
from visualjudge.plugins import (
    register_backend as register_backend,
    register_encoding as register_encoding,
    register_export as register_export,
    register_importer as register_importer,
    register_judge as register_judge,
    register_metric as register_metric,
    register_probe as register_probe,
    register_prompts as register_prompts,
    register_question_judge as register_question_judge,
    register_task as register_task,
    register_type as register_type,
)
from visualjudge.replies import read_reply as read_reply
from visualjudge.runs.budget import Limits, Prices
from visualjudge.runs.job_runner import Listener, Stop
from visualjudge.vision.base import Mark as Mark
from visualjudge.vision.drawing.encoded import Scene as Scene
from visualjudge.vision.encode import Encoded as Encoded, encode as encode, encodings as encodings
from visualjudge.vision.predictions import Prediction as Prediction
from visualjudge.vision.rows import (
    Encoding as Encoding,
    ErrorType as ErrorType,
    Metric as Metric,
    PredictionType as PredictionType,
    Ranked as Ranked,
    Task as Task,
)
from visualjudge.vision.score import score as score
from visualjudge.vision.view import Given as Given

__all__ = [
    "Client",
    "Data",
    "Dataset",
    "Encoding",
    "ErrorType",
    "Importer",
    "Metric",
    "Prediction",
    "PredictionType",
    "Run",
    "Sample",
    "Study",
    "Task",
    "__version__",
    "adopt",
    "analyse",
    "build",
    "card",
    "client",
    "correct",
    "encode",
    "encodings",
    "from_supervision",
    "import_samples",
    "judge",
    "judge_async",
    "label",
    "load_dataset",
    "open_data",
    "open_run",
    "plan",
    "read_reply",
    "register_backend",
    "register_encoding",
    "register_export",
    "register_importer",
    "register_judge",
    "register_metric",
    "register_probe",
    "register_prompts",
    "register_question_judge",
    "register_task",
    "register_type",
    "score",
]
__version__: str

def analyse(
    runs: Runs,
    *,
    tasks: Sequence[str] | None = ...,
    encodings: Sequence[str] | None = ...,
    types: Sequence[str] | None = ...,
    where: Sequence[str] | None = ...,
    dataset: str | Path | None = ...,
    seed: int = ...,
    bar: Sequence[str] | None = ...,
) -> Study: ...
def build(
    data: Data | str | Path,
    out: str | Path,
    *,
    skip_invalid: bool = ...,
    progress: Progress | None = ...,
    tasks: Sequence[str] | None = ...,
    encodings: Sequence[str] | None = ...,
    types: Sequence[str] | None = ...,
    where: Sequence[str] | None = ...,
    seed: int = ...,
    workers: int | None = ...,
    engine: Literal["local", "ray"] = ...,
    prompts: Any = ...,
    prompt_version: str | None = ...,
    max_side: int | None = ...,
    force: bool = ...,
    subsets: Sequence[str] | None = ...,
    caps: Caps = ...,
    score_range: tuple[float, float] | None = ...,
    form: Literal["json", "parquet"] | None = ...,
    encoding_groups: int = ...,
    encoding_pairs: int = ...,
    judge_groups: int = ...,
    judge_pairs: int = ...,
    scoring_groups: int = ...,
    ranking_groups: int = ...,
    per_group: int = ...,
    min_margin: float = ...,
) -> Dataset: ...
def card(
    runs: Runs,
    *,
    tasks: Sequence[str] | None = ...,
    encodings: Sequence[str] | None = ...,
    types: Sequence[str] | None = ...,
    where: Sequence[str] | None = ...,
    dataset: str | Path | None = ...,
    seed: int = ...,
    bar: Sequence[str] | None = ...,
) -> Card: ...
def judge(
    dataset: Dataset | str | Path,
    asked: Asked | None = ...,
    out: str | Path | None = ...,
    *,
    progress: bool = ...,
    choice: Selection | None = ...,
    extractor: Client | None = ...,
    limits: Limits | None = ...,
    prices: Prices | None = ...,
    concurrency: int = ...,
    limit: int | None = ...,
    resume: bool = ...,
    swap: bool = ...,
    repeats: int = ...,
    retry_errors: bool = ...,
    accept_changes: bool = ...,
    name: str | None = ...,
    ties: bool = ...,
    rubric: Any = ...,
    tools: Sequence[str] | str | None = ...,
    mode: Mode = ...,
    retries: int = ...,
    read: Tiers = ...,
    seed: int | None = ...,
    max_tool_calls: int = ...,
) -> Run: ...
async def judge_async(
    dataset: Dataset | str | Path,
    asked: Asked,
    out: str | Path,
    *,
    choice: Selection | None = ...,
    extractor: Client | None = ...,
    limits: Limits | None = ...,
    prices: Prices | None = ...,
    on_event: Listener | None = ...,
    stop: Stop | None = ...,
    concurrency: int = ...,
    limit: int | None = ...,
    resume: bool = ...,
    swap: bool = ...,
    repeats: int = ...,
    retry_errors: bool = ...,
    accept_changes: bool = ...,
    name: str | None = ...,
    ties: bool = ...,
    rubric: Any = ...,
    tools: Sequence[str] | str | None = ...,
    mode: Mode = ...,
    retries: int = ...,
    read: Tiers = ...,
    seed: int | None = ...,
    max_tool_calls: int = ...,
) -> Run: ...
def plan(
    target: str | Path,
    *,
    goal: Goal = ...,
    effect: float | None = ...,
    power: float = ...,
    prices: Prices | None = ...,
    dataset: str | Path | None = ...,
    seed: int = ...,
    tasks: Sequence[str] | None = ...,
    encodings: Sequence[str] | None = ...,
    types: Sequence[str] | None = ...,
    where: Sequence[str] | None = ...,
) -> Plan | ShapePlan: ...
