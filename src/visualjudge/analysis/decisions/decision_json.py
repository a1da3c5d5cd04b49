"""The decisions as JSON, with names and positions that other programs rely on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from visualjudge.analysis import columns
from visualjudge.analysis.table_layout import plain

if TYPE_CHECKING:
    from visualjudge.analysis.decisions.card import Answer, Card, JudgeCard, TaskCard
    from visualjudge.analysis.decisions.checks import Check
    from visualjudge.analysis.decisions.correct import CorrectedRow, Leaderboard
    from visualjudge.analysis.decisions.may_rank_models import KindOfSystem
    from visualjudge.analysis.decisions.published_agreement import PublishedCell
    from visualjudge.analysis.statistics.systems import Favour
    from visualjudge.analysis.study_table import Remarks

Json = dict[str, Any]
Interval = tuple[float, float]


def _pair(interval: Interval | tuple[int, int] | None) -> list[float] | None:
    return None if interval is None else list(interval)


def _remarks(found: Remarks) -> Json:
    return {"warnings": list(found.warnings), "problems": list(found.problems)}


def leaderboard_json(board: Leaderboard) -> Json:
    """Return ``{"rows": [...], "method", "lambda", ...}``."""
    from visualjudge.analysis.decisions.correct import METHOD

    return {
        "rows": [_row(row) for row in board.rows],
        "method": METHOD,
        "lambda": board.lam,
        "measure": board.measure,
        "judges": list(board.judges),
        "images": board.images,
        "labels": board.labels,
        "unlabelled": board.unlabelled,
        "assumptions": [
            {"assumes": a.assumes, "check": a.check, "holds": a.holds, "p": a.p}
            for a in board.assumptions
        ],
        "gap": board.gap,
        "labels_for_gap": board.labels_for_gap,
        "problems": [str(problem) for problem in board.problems],
        "runs": _remarks(board.remarks),
    }


def _row(row: CorrectedRow) -> Json:
    return {
        "source": row.source,
        "group": row.group,
        "naive": row.naive,
        "corrected": row.corrected,
        "ci95": _pair(row.interval),
        "rank_set": _pair(row.rank_set),
        "labels": row.labels,
        "label_images": row.images,
        "why": row.why,
        "effective_labels_per_label": row.worth,
    }


# ---------------------------------------------------------------- the card


def card_json(card: Card) -> Json:
    """Return ``{"judges": [{"judge", "checks": [...], "system": {...}}]}``."""
    rows = [
        {**asdict(row), "ci95": None if row.interval is None else list(row.interval)}
        for row in card.benchmarks
    ]
    return {
        "judges": [_judge(found) for found in card.judges],
        "least_images": card.thresholds.least_images,
        "benchmarks": [
            {name: value for name, value in row.items() if name != "interval"} for row in rows
        ],
    }


def _judge(found: JudgeCard) -> Json:
    radius = found.score_radius
    return {
        "judge": found.judge,
        "simulated": found.simulated,
        "state": found.state,
        "answer": found.answer,
        "models": answer_json(found),
        "verdict": found.verdict,
        "needs_images": found.needs_images,
        "tasks": tasks_json(found),
        "expected": found.expected,
        "missing": found.missing,
        **_remarks(found.remarks),
        "checks": [_check(line) for line in found.checks],
        "system": _system(found),
        "as_published": {score.name: score.value for score in found.own_scores},
        "as_published_of": {
            score.name: score.lacking for score in found.own_scores if score.lacking
        },
        "probabilities": probabilities_json(found),
        "photograph": columns.photograph(found.photograph),
        "score_radius": None
        if radius is None
        else {"value": radius.value, "alpha": radius.alpha, "n": radius.n, "images": radius.images},
    }


def answer_json(found: Answer) -> Json:
    """Return the answer as in metrics.json."""
    models = found.models
    names = ("a", "b", "judge", "judge_ci95", "truth", "truth_ci95", "state", "needs_images")
    more = ("images", "group", "difference", "by")
    return {
        "state": models.state,
        "sentence": models.sentence,
        "resolution": models.resolution,
        "resolution_twice": models.resolution_twice,
        "pairs": [
            {name: plain(getattr(pair, name)) for name in (*names, *more)} for pair in models.pairs
        ],
    }


def tasks_json(found: JudgeCard) -> list[Json]:
    """Return ``[{"task", "card": {"answer": "yes" | "no" | "unclear", "needs_images", ...}}]``, as
    in metrics.json.
    """
    return [
        {"task": task.task, "answer": answer_json(task), "card": _task(task)}
        for task in found.tasks
    ]


def _task(task: TaskCard) -> Json:
    return {
        "answer": task.verdict,
        "state": task.state,
        "needs_images": task.needs_images,
        "said": task.answer,
        "checks": [_check(line) for line in task.checks],
    }


def _check(line: Check) -> Json:
    return {
        "name": line.name,
        "value": line.value,
        "ci95": _pair(line.interval),
        "threshold": line.threshold.value,
        "direction": line.threshold.direction,
        "state": line.state,
        "images": line.images,
        "needs_images": line.needs_images,
        "why": line.why,
    }


def _system(found: JudgeCard) -> Json:
    """Return the figures of the main kind of question, and those of every kind."""
    main = found.system.main
    names = (
        "kind",
        "tau_b",
        "ci95",
        "pair_order",
        "pair_order_ci95",
        "spa",
        "spa_ci95",
        "smallest_gap",
        "images",
    )
    empty: Json = {**dict.fromkeys(names), "sources": []}
    top = empty if main is None else _kind(main)
    return {**top, "by_kind": {kind.kind: _kind(kind) for kind in found.system.kinds}}


def _kind(kind: KindOfSystem) -> Json:
    found = kind.found
    return {
        "kind": kind.kind,
        "measure": kind.measure,
        "tau_b": found.tau_b().value,
        "ci95": _pair(found.tau_b().interval),
        "pair_order": found.pair_order.value,
        "pair_order_ci95": _pair(found.pair_order.interval),
        "spa": found.spa.value,
        "spa_ci95": _pair(found.spa.interval),
        "smallest_gap": found.smallest_gap,
        "effective_labels_per_label": kind.worth,
        "self_preference": None if kind.self_preference is None else _favour(kind.self_preference),
        "images": found.images,
        "pairs": found.pairs,
        "left_out": list(kind.left_out),
        "overturned_by_all_scores": [list(pair) for pair in kind.overturned],
        "sources": [
            {
                "source": name,
                "group": kind.groups[s],
                "judged": float(found.judged[s]),
                "true": float(found.true[s]),
                "true_ci95": _pair(kind.true_ends[s]),
                "rank_set": _pair(found.ranks[s]),
                "bias": _favour(found.favours[s]),
            }
            for s, name in enumerate(kind.names)
        ],
    }


def _favour(found: Favour) -> Json:
    return {"value": found.value, "ci95": _pair(found.interval), "p": found.p}


def probabilities_json(card: JudgeCard) -> Json | None:
    """Return how often stated probabilities come true, with the bins of the reliability diagram;
    None without probabilities.
    """
    found = card.probabilities
    if found is None:
        return None
    return {
        "brier": found.brier.value,
        "brier_ci95": _pair(found.brier.interval),
        "ece": found.ece.value,
        "ece_ci95": _pair(found.ece.interval),
        "ece_corrected": found.ece_corrected.value,
        "n": found.n,
        "images": found.images,
        "bins": [{"stated": b.stated, "observed": b.observed, "n": b.n} for b in found.bins],
    }


# ------------------------------------------------ tables as published


def published_json(cells: Sequence[PublishedCell], scheme: str) -> Json:
    """Return cells as published beside the means."""
    rows = [
        {
            "rater": cell.rater,
            "kind": cell.kind,
            "dimension": cell.dimension,
            "published": cell.published,
            "spearman": cell.mean,
            "by_source": dict(cell.by_source),
            "items": cell.items,
        }
        for cell in cells
    ]
    return {"scheme": scheme, "rows": rows}
