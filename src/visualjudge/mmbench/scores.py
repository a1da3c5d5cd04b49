"""The numbers of an evaluation, with intervals, as ``scores.json`` holds them.

A question's rotations stand or fall together, so each interval leaves out one question in turn (95 %, see
:mod:`visualjudge.analysis.statistics.shares`); with fewer than five questions no interval is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visualjudge.analysis.statistics.shares import one_share
from visualjudge.mmbench.evaluate import Difference, Evaluation, Group, Slice, by
from visualjudge.mmbench.records import Row, ScoredRow

CATEGORIES: tuple[tuple[str, str, Callable[[Row], str]], ...] = (
    ("by_category", "category", lambda row: row.category),
    ("by_l2_category", "l2-category", lambda row: row.l2_category),
)


def scores(evaluation: Evaluation) -> dict[str, Any]:
    """Everything about one evaluation as plain JSON; shares are in 0..1, None where there is nothing to share."""
    whole = Slice(list(evaluation.rows), list(evaluation.groups))
    result: dict[str, Any] = {"rules": evaluation.rules, **block(whole)}
    result["invalid_groups"] = [group.index for group in evaluation.invalid]
    for name, _, key in CATEGORIES:
        parts = by(evaluation.rows, evaluation.groups, key)
        result[name] = {value: block(part) for value, part in parts.items()}
    result["rows"] = [_row(line) for line in evaluation.rows]
    result["groups"] = [_group(group) for group in evaluation.groups]
    result["unknown"] = list(evaluation.unknown)
    result["matched"] = evaluation.matched
    if evaluation.rules == "vlmevalkit":
        result["differs"] = [_difference(difference) for difference in evaluation.differences]
    return result


def block(part: Slice) -> dict[str, Any]:
    """Counts, shares and intervals of some rows and their groups."""
    valid = [group for group in part.groups if group.hit is not None]
    hits = [line.hit for line in part.rows]
    read = [line.extracted is not None for line in part.rows]
    circular = [bool(group.hit) for group in valid]
    clusters = [line.row.group for line in part.rows]
    return {
        "n": len(part.rows),
        "extraction_rate": share(read),
        "extraction_rate_ci95": interval(read, clusters),
        "accuracy": share(hits),
        "accuracy_ci95": interval(hits, clusters),
        "n_groups": len(valid),
        "circular_accuracy": share(circular),
        "circular_accuracy_ci95": interval(circular, [group.index for group in valid]),
    }


def share(values: Sequence[bool]) -> float | None:
    """The share that is true; None of nothing."""
    return sum(values) / len(values) if values else None


def interval(values: Sequence[bool], clusters: Sequence[int]) -> tuple[float, float] | None:
    """95 % interval of the share that is true, clusters left out in turn; None with fewer than five."""
    return one_share(*cluster_sums(np.asarray(values, dtype=float), clusters)).interval(0) if len(values) else None


def cluster_sums(values: NDArray[np.float64], clusters: Sequence[int]) -> tuple[Any, Any]:
    """Sum of ``values`` and number of values in each cluster, one entry a cluster."""
    names, at = np.unique(np.asarray(clusters), return_inverse=True)
    return np.bincount(at, weights=values, minlength=len(names)), np.bincount(at, minlength=len(names)).astype(float)


def _row(line: ScoredRow) -> dict[str, Any]:
    return {
        "index": line.row.index,
        "prediction": line.prediction,
        "extracted": line.extracted,
        "hit": line.hit,
        "answer": line.row.answer or None,
        "why": line.why,
    }


def _group(group: Group) -> dict[str, Any]:
    return {"index": group.index, "hit": group.hit} | ({"missing": list(group.missing)} if group.missing else {})


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "index": difference.row.index,
        "strict": difference.strict.letter,
        "vlmevalkit": difference.vlmevalkit.letter,
        "prediction": difference.prediction,
        "why_strict": difference.strict.why,
        "why_vlmevalkit": difference.vlmevalkit.why,
    }
