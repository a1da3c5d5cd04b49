"""The numbers of an evaluation, with intervals, as ``scores.json`` holds them.

A question's rotations stand or fall together, so each interval leaves out one question in turn (95 %, see
:mod:`visualjudge.analysis.statistics.shares`); with fewer than five questions no interval is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visualjudge.analysis.statistics.shares import one_share
from visualjudge.apps.mmbench.evaluate import Evaluation, Slice
from visualjudge.apps.mmbench.records import Row, ScoredRow

CATEGORIES: Mapping[str, Callable[[Row], str]] = {
    "by_category": lambda row: row.category,
    "by_l2_category": lambda row: row.l2_category,
}


def scores(evaluation: Evaluation) -> dict[str, Any]:
    """Everything about one evaluation as plain JSON; shares are in 0..1, None where there is nothing to share."""
    result: dict[str, Any] = {"rules": evaluation.rules, **block(evaluation.whole)}
    result["invalid_groups"] = [group.index for group in evaluation.invalid]
    for name, key in CATEGORIES.items():
        result[name] = {value: block(part) for value, part in evaluation.whole.by(key).items()}
    result["rows"] = [
        {
            "index": line.row.index,
            "prediction": line.prediction,
            "extracted": line.extracted,
            "hit": line.hit,
            "answer": line.row.answer or None,
            "why": line.why,
        }
        for line in evaluation.rows
    ]
    result["groups"] = [
        ({"index": group.index, "hit": group.hit} | ({"missing": list(group.missing)} if group.missing else {}))
        for group in evaluation.groups
    ]
    result["unknown"] = list(evaluation.unknown)
    result["matched"] = evaluation.matched
    if evaluation.rules == "vlmevalkit":
        result["differs"] = [
            {
                "index": difference.row.index,
                "strict": difference.strict.letter,
                "vlmevalkit": difference.vlmevalkit.letter,
                "prediction": difference.prediction,
                "why_strict": difference.strict.why,
                "why_vlmevalkit": difference.vlmevalkit.why,
            }
            for difference in evaluation.differences
        ]
    return result


def block(part: Slice) -> dict[str, Any]:
    """Counts, shares and intervals of some rows and their groups.

    ``n_missing`` of the ``n`` rows have no reply; they count as unread and wrong, but not in the shares
    ``of_replies``. ``vanilla_accuracy`` is VanillaEval's: each question once, as it stands, without its rotations.
    """
    valid = [group for group in part.groups if group.hit is not None]
    circular = [bool(group.hit) for group in valid]
    replied = [line for line in part.rows if line.prediction is not None]
    vanilla = [line for line in part.rows if not line.row.rotation]
    return {
        "n": len(part.rows),
        "n_missing": len(part.rows) - len(replied),
        **_shares("extraction_rate", part.rows, _is_read),
        "extraction_rate_of_replies": share([_is_read(line) for line in replied]),
        **_shares("accuracy", part.rows, _is_hit),
        "accuracy_of_replies": share([line.hit for line in replied]),
        "n_vanilla": len(vanilla),
        **_shares("vanilla_accuracy", vanilla, _is_hit),
        "n_groups": len(valid),
        "circular_accuracy": share(circular),
        "circular_accuracy_ci95": interval(circular, [group.index for group in valid]),
    }


def _is_read(line: ScoredRow) -> bool:
    return line.extracted is not None


def _is_hit(line: ScoredRow) -> bool:
    return line.hit


def _shares(name: str, rows: Sequence[ScoredRow], holds: Callable[[ScoredRow], bool]) -> dict[str, Any]:
    values = [holds(line) for line in rows]
    return {name: share(values), f"{name}_ci95": interval(values, [line.row.group for line in rows])}


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
