"""Tools that a judge called, its accuracy when it did, and the cost of a right answer.

A judge calls tools when it is unsure, so a lower accuracy with a tool does not show the tool's
effect. That effect is the paired difference from a run without tools.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from visualjudge.analysis.accuracy_cells import accuracy
from visualjudge.analysis.study_table import Study
from visualjudge.analysis.value_and_interval import Share
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.question_storage import columns
from visualjudge.runs.folder import RunFolder

KEYS = ["id", "order", "repeat"]
_SCHEMA = {
    "id": pl.String,
    "order": pl.String,
    "repeat": pl.Int32,
    "tool": pl.String,
    "failed": pl.Boolean,
}


@dataclass(frozen=True)
class ToolUse:
    """One tool of one judge, on pairwise questions.

    ``right`` is the accuracy of the verdicts for which it was called, ``right_without`` that of the
    others.
    """

    tool: str
    calls: int
    failed: int
    verdicts: int
    right: Share
    right_without: Share


@dataclass(frozen=True)
class AnswerCost:
    """The cost of a right answer to a pairwise question; None if not known."""

    judge: str
    right: int
    calls: int
    """Number of tool calls."""
    tokens: float | None
    """Tokens of prompt and reply in all turns, per right answer."""
    seconds: float | None


def _traced(folder: Path) -> Iterator[tuple[str, str, int, str, bool]]:
    for verdict in RunFolder(folder).verdicts().values():
        trace = verdict.extra.get("tool_calls")
        for call in trace if isinstance(trace, list) else ():
            if isinstance(call, dict):
                failed = call.get("failed") is True
                yield (
                    verdict.id,
                    verdict.order,
                    verdict.repeat,
                    str(call.get("name") or "(none)"),
                    failed,
                )


def calls_of(study: Study, run: int) -> pl.DataFrame:
    """Return one row per call: id, order and repeat of its verdict, ``tool``, and whether it
    ``failed``.
    """
    folder = study.runs[run].folder
    rows = [] if folder is None else list(_traced(folder))
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _pairs(study: Study, run: int) -> pl.DataFrame:
    """Return the pairwise verdicts of a run."""
    answered = study.answered[run].filter(pl.col("kind") == "pairwise")
    return answered.with_columns(pl.col("order").cast(pl.String), pl.col("repeat").cast(pl.Int32))


def tool_use(study: Study, run: int) -> tuple[ToolUse, ...]:
    """Return the tools of a run on pairwise questions, most often called first."""
    pairs = _pairs(study, run)
    calls = calls_of(study, run).join(pairs.select(KEYS), on=KEYS, how="semi")
    counts = (
        calls.group_by("tool")
        .agg(pl.len(), pl.col("failed").sum())
        .sort("len", "tool", descending=[True, False])
    )
    found = []
    for tool, number, failed in counts.iter_rows():
        used = calls.filter(pl.col("tool") == tool).select(KEYS).unique()
        beside, without = (pairs.join(used, on=KEYS, how=how) for how in ("semi", "anti"))
        shares = (accuracy(part).share for part in (beside, without))
        found.append(ToolUse(tool, number, failed, used.height, *shares))
    return tuple(found)


def answer_cost(study: Study, run: int) -> AnswerCost:
    """Return the cost of a right answer of a run."""
    pairs = _pairs(study, run)
    right = int(pairs["right"].sum() or 0)
    told = pairs.select(tokens=pl.sum_horizontal("tokens_in", "tokens_out"), seconds="latency_s")
    known = pairs.select(pl.col("tokens_in", "latency_s").is_not_null().any())

    def each(name: str, source: str) -> float | None:
        return float(told[name].sum()) / right if right and known[source].item() else None

    calls = calls_of(study, run).join(pairs.select(KEYS), on=KEYS, how="semi").height
    return AnswerCost(
        study.runs[run].name,
        right,
        calls,
        each("tokens", "tokens_in"),
        each("seconds", "latency_s"),
    )


SIZES = {"under 1 %": 0.01, "1 to 10 %": 0.1, "over 10 %": 1.0}
"""Classes of the share of an image that a question's options cover, with their upper bounds."""


def by_size(study: Study) -> dict[str, list[int]]:
    """Return the numbers of the pairwise questions in each class of :data:`SIZES`.

    Questions whose options have no known area, such as whole images, are in no class.
    """
    found: dict[str, list[int]] = {label: [] for label in SIZES}
    if study.root is None:
        return {}
    number = dict(study.questions.select("id", "question").iter_rows())
    for name, features in columns(load_dataset(study.root).questions, "id", "features"):
        areas = [one.area for one in features or () if one.area is not None]
        if areas and name in number:
            share = sum(areas) / len(areas)
            found[next(label for label, top in SIZES.items() if share <= top)].append(number[name])
    return {label: numbers for label, numbers in found.items() if numbers}
