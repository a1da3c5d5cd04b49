"""The figures of a run in forms that other sites read. Forms of a *dataset* are in
``dataset/exports/__init__.py``.

``eee``
    A record of Every Eval Ever (schema 0.3.0, github.com/evaleval/every_eval_ever):
    JSON.
``hf``
    The ``model-index`` of a Hugging Face model card: YAML for the head of its README.

Both hold the figures of the card: accuracy of pairs, correlation and error of scores,
over all questions and by task, each with its 95 % interval by image. A figure without a
value is left out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from visualjudge import __version__
from visualjudge.analysis import analyse
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.analysis.figures.scoring import SCORES
from visualjudge.analysis.figures.tasks_and_encodings import BY_TASK
from visualjudge.analysis.results import JudgeResult
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.atomic import json_bytes
from visualjudge.core.errors import DataError
from visualjudge.core.jsons import Json
from visualjudge.core.output_files import OutputFile
from visualjudge.dataset.exports import check_out
from visualjudge.runs.folder import VERDICTS

SCHEMA = "0.3.0"
HOME = "https://github.com/visualjudge/visualjudge"
ALL = "all"
UNKNOWN = "unknown"
INTERVAL = "clustered by image"
MOST_ERROR = 10.0


@dataclass(frozen=True)
class Metric:
    """A kind of figure: its name, its range, and whether less is better."""

    name: str
    title: str
    low: float
    high: float
    lower_is_better: bool = False


ACCURACY = Metric("accuracy", "Accuracy of pairs", 0.0, 1.0)
SPEARMAN = Metric(
    "spearman", "Spearman's correlation with the true scores", -1.0, 1.0
)
MAE = Metric("mae", "Mean error of scores from 0 to 10", 0.0, MOST_ERROR, True)


@dataclass(frozen=True)
class Result:
    """A metric of all questions or of one task."""

    metric: Metric
    task: str
    figure: Estimate


def export_results(
    run: Path, form: str, out: Path, *, force: bool = False
) -> Path:
    """Write the figures of a run to the file ``out`` in the form ``eee`` or ``hf``.

    Raises
    ------
    UsageError
        If ``out`` exists and ``force`` is not given.
    DataError
        If the run cannot be read, or has no figure with a value.
    """
    check_out(out, form, is_folder=False, force=force)
    judge = analyse([run]).judges[0]
    results = [row for row in _results(judge) if row.figure.value is not None]
    if not results:
        raise DataError(
            f"{run}: must have answers to questions with a truth, got none"
        )
    OutputFile(out, "`out`").write(
        RUN_FORMATS[form](judge, results, _time(judge, run))
    )
    return out


def _results(judge: JudgeResult) -> Iterator[Result]:
    """Figures of pairs, then of scores; of all questions, then of each task."""
    yield Result(ACCURACY, ALL, judge[PAIRWISE].accuracy.share)
    for cell in judge[BY_TASK]:
        yield Result(ACCURACY, cell.name, cell.accuracy.share)
    scores = judge[SCORES]
    for task, own in ((ALL, scores), *scores.tasks.items()):
        yield Result(SPEARMAN, task, own.spearman)
        yield Result(MAE, task, own.mae)


def _time(judge: JudgeResult, run: Path) -> datetime:
    """Return when the run ended; if it does not say so, when its verdicts were last
    changed."""
    info = judge.run.info
    stated = info.get("finished") or info.get("started")
    if isinstance(stated, str):
        return datetime.fromisoformat(stated).astimezone(UTC)
    verdicts = run / VERDICTS
    changed = (verdicts if verdicts.exists() else run).stat().st_mtime
    return datetime.fromtimestamp(int(changed), UTC)


def _dataset(judge: JudgeResult) -> str:
    """Return the name of the dataset's folder."""
    stated = judge.run.info.get("dataset")
    path = stated.get("path") if isinstance(stated, dict) else stated
    return Path(str(path)).name if path else UNKNOWN


def _model(judge: JudgeResult) -> str:
    return str(judge.run.info.get("model") or judge.name)


def _eee(judge: JudgeResult, results: list[Result], time: datetime) -> bytes:
    dataset = _dataset(judge)
    model = _model(judge)
    seconds = str(int(time.timestamp()))
    record: Json = {
        "schema_version": SCHEMA,
        "evaluation_id": f"visualjudge-{dataset}/{model}/{seconds}",
        "evaluation_timestamp": time.isoformat(),
        "retrieved_timestamp": seconds,
        "source_metadata": {
            "source_name": "visualjudge",
            "source_type": "evaluation_run",
            "source_organization_name": UNKNOWN,
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "visualjudge", "version": __version__},
        "model_info": {
            "name": model,
            "id": model,
            "additional_details": {
                "deployment_type": UNKNOWN,
                "model_availability": UNKNOWN,
            },
        },
        "evaluation_results": [_eee_result(row, dataset) for row in results],
    }
    return json_bytes(record)


def _eee_result(row: Result, dataset: str) -> Json:
    metric = row.metric
    uncertainty: Json = {"num_samples": row.figure.n}
    low, high = row.figure.interval or (None, None)
    if low is not None and high is not None:
        uncertainty["confidence_interval"] = {
            "lower": low,
            "upper": high,
            "confidence_level": 0.95,
            "method": INTERVAL,
        }
    return {
        "evaluation_result_id": f"{dataset}/{row.task}/{metric.name}",
        "evaluation_name": f"{dataset}/{row.task}",
        "source_data": {"dataset_name": dataset, "source_type": "other"},
        "metric_config": {
            "evaluation_description": f"{metric.title}, questions: {row.task}",
            "metric_id": metric.name,
            "metric_name": metric.title,
            "lower_is_better": metric.lower_is_better,
            "score_type": "continuous",
            "min_score": metric.low,
            "max_score": metric.high,
        },
        "score_details": {
            "score": row.figure.value,
            "details": {"images": str(row.figure.images)},
            "uncertainty": uncertainty,
        },
    }


def _hf(judge: JudgeResult, results: list[Result], time: datetime) -> bytes:
    dataset = _dataset(judge)
    tasks = dict.fromkeys(row.task for row in results)
    entry: Json = {
        "name": _model(judge),
        "results": [
            {
                "task": {"type": "image-text-to-text", "name": "judging"},
                "dataset": {"type": dataset, "name": f"{dataset}, {task}"},
                "metrics": [
                    _hf_metric(row) for row in results if row.task == task
                ],
                "source": {
                    "name": f"visualjudge {__version__}, {time.date()}",
                    "url": HOME,
                },
            }
            for task in tasks
        ],
    }
    import yaml

    return str(
        yaml.safe_dump(
            {"model-index": [entry]}, sort_keys=False, allow_unicode=True
        )
    ).encode()


def _hf_metric(row: Result) -> Json:
    low, high = row.figure.interval or (None, None)
    return {
        "type": row.metric.name,
        "name": row.metric.title,
        "value": row.figure.value,
        "args": {
            "ci95": [low, high],
            "n": row.figure.n,
            "images": row.figure.images,
        },
    }


Written = Callable[[JudgeResult, list[Result], datetime], bytes]
RUN_FORMATS: dict[str, Written] = {"eee": _eee, "hf": _hf}
"""Forms of runs; :data:`visualjudge.dataset.exports.FORMATS` has those of datasets."""
