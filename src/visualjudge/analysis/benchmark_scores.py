"""A published benchmark's own scores, as its authors' code computes them, beside the figures that we report.

``dataset.json`` of an imported benchmark lists its scores: ``{"name", "rule", "tasks", "scale", "digits"}``. Replies
that the authors published keep how they read each (``published_value``) and whether they counted it as right
(``published_right``); those hold here, so that the figure is theirs. Replies of a new run are read by us.

============ ===========================================================================================
exact        share right of the stored order; a reply that was not read is wrong (GenAI-Bench, VL-RewardBench)
macro        the same, mean over tasks (VL-RewardBench)
net          net over both orders: right if right once more often than wrong (JudgeBench, ``metrics.py``)
both_orders  share right of all replies in both orders that were read (MMRB2, ``compute_accuracy.py``)
============ ===========================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from visualjudge.records import FAILED

_OTHER = {"A": "B", "B": "A"}


@dataclass(frozen=True, slots=True)
class Score:
    """One score of a benchmark: ``rule`` over the questions of ``tasks`` (None = all), times ``scale``, rounded."""

    name: str
    rule: str
    tasks: tuple[str, ...] | None = None
    scale: float = 100.0
    digits: int = 2


def benchmarks_of(meta: Mapping[str, Any]) -> tuple[Score, ...]:
    """The scores that ``dataset.json`` lists (of each dataset, where several were merged)."""
    stated = meta.get("benchmarks") or [meta.get("benchmark")]
    rows = [row for one in stated if isinstance(one, Mapping) for row in one.get("scores", ())]
    return tuple(
        Score(
            str(row["name"]),
            str(row["rule"]),
            None if row.get("tasks") is None else tuple(row["tasks"]),
            float(row.get("scale", 100)),
            int(row.get("digits", 2)),
        )
        for row in rows
        if row.get("rule") in RULES
    )


def benchmark_scores(pairs: pl.DataFrame, scores: Sequence[Score]) -> dict[str, float | None]:
    """Each score by its name; None where none of its questions was asked.

    Parameters
    ----------
    pairs
        Pairwise verdicts as :func:`visualjudge.analysis.join.join` makes them.
    """
    if not scores:
        return {}
    read = pairs.with_columns(said=_said()).with_columns(hit=_hit())
    found = {}
    for score in scores:
        part = read if score.tasks is None else read.filter(pl.col("task").is_in(list(score.tasks)))
        value = RULES[score.rule](part) if part.height else None
        found[score.name] = None if value is None else round(value * score.scale, score.digits)
    return found


def _said() -> pl.Expr:
    """What the authors read, else what we read; null where that is nothing."""
    ours = pl.when(pl.col("parsed")).then(pl.col("text"))
    said = pl.coalesce("published_value", ours)
    return pl.when(said != FAILED).then(said)


def _hit() -> pl.Expr:
    return pl.coalesce(pl.col("published_right"), (pl.col("said") == pl.col("answer")).fill_null(False))


def _mean(table: pl.DataFrame) -> float | None:
    return float(table["hit"].mean()) if table.height else None  # type: ignore[arg-type]


def _exact(pairs: pl.DataFrame) -> float | None:
    return _mean(pairs.filter(pl.col("order") == "AB"))


def _macro(pairs: pl.DataFrame) -> float | None:
    one = pairs.filter(pl.col("order") == "AB")
    means = one.group_by("task").agg(pl.col("hit").mean())["hit"]
    return float(means.mean()) if means.len() else None  # type: ignore[arg-type]


def _net(pairs: pl.DataFrame) -> float | None:
    wrong = pl.col("answer").replace_strict(_OTHER, default=None, return_dtype=pl.String)
    point = pl.when(pl.col("said") == pl.col("answer")).then(1).when(pl.col("said") == wrong).then(-1).otherwise(0)
    both = pairs.filter(pl.col("order").n_unique().over("id") > 1)
    if both.is_empty():
        return None
    return float((both.group_by("id").agg(net=point.sum())["net"] > 0).mean())  # type: ignore[arg-type]


def _both_orders(pairs: pl.DataFrame) -> float | None:
    return _mean(pairs.filter(pl.col("said").is_not_null()))


RULES: dict[str, Callable[[pl.DataFrame], float | None]] = {
    "exact": _exact,
    "macro": _macro,
    "net": _net,
    "both_orders": _both_orders,
}
