"""The decisions as JSON: names and places that other programs rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from visualjudge.analysis.decisions.correct import CorrectedRow, Leaderboard

Json = dict[str, Any]
Interval = tuple[float, float]


def _pair(interval: Interval | tuple[int, int] | None) -> list[float] | None:
    return None if interval is None else list(interval)


def leaderboard_json(board: Leaderboard) -> Json:
    """``{"rows": [...], "method", "lambda", ...}``."""
    from visualjudge.analysis.decisions.correct import METHOD

    return {
        "rows": [_row(row) for row in board.rows],
        "method": METHOD,
        "lambda": board.lam,
        "measure": board.measure,
        "judges": list(board.judges),
        "images": board.images,
        "labels": board.labels,
        "assumptions": [
            {"assumes": a.assumes, "check": a.check, "holds": a.holds, "p": a.p} for a in board.assumptions
        ],
        "gap": board.gap,
        "labels_for_gap": board.labels_for_gap,
        "problems": [str(problem) for problem in board.problems],
    }


def _row(row: CorrectedRow) -> Json:
    lee = None if row.lee is None else {"value": row.lee.value, "ci95": _pair(row.lee.interval)}
    strength = None
    if row.naive_strength is not None:
        strength = {"naive": row.naive_strength, "corrected": row.strength, "ci95": _pair(row.strength_interval)}
    return {
        "source": row.source,
        "naive": row.naive,
        "corrected": row.corrected,
        "ci95": _pair(row.interval),
        "rank_set": _pair(row.rank_set),
        "labels": row.labels,
        "label_images": row.images,
        "effective_labels_per_label": row.worth,
        "lee": lee,
        "bradley_terry": strength,
    }
