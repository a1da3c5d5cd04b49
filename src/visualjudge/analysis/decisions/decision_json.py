"""The decisions as JSON, with names and positions that other programs rely on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from visualjudge.analysis import columns
from visualjudge.analysis.decisions.checks import LEAST_IMAGES
from visualjudge.analysis.table_layout import plain

if TYPE_CHECKING:
    from visualjudge.analysis.decisions.card import Answer, Card, JudgeCard
    from visualjudge.analysis.decisions.checks import Check
    from visualjudge.analysis.decisions.may_rank_models import KindOfSystem
    from visualjudge.analysis.decisions.published_agreement import PublishedCell

Json = dict[str, Any]
Interval = tuple[float, float]


def _pair(interval: Interval | tuple[int, int] | None) -> list[float] | None:
    return None if interval is None else list(interval)


# ---------------------------------------------------------------- the card


def card_json(card: Card) -> Json:
    """Return ``{"judges": [{"judge", "models": {...}, "checks": [...], "system": {...}}]}``."""
    return {
        "judges": [_judge(judge) for judge in card.judges],
        "least_images": LEAST_IMAGES,
        "benchmarks": [plain(asdict(row)) for row in card.benchmarks],
    }


def _judge(judge: JudgeCard) -> Json:
    result, radius = judge.result, judge.score_radius
    scores = result.own_scores
    main = judge.system.main
    return {
        "judge": judge.judge,
        "simulated": result.simulated,
        **_as_before(judge),
        "answer": judge.answer,
        "models": answer_json(judge),
        "tasks": tasks_json(judge),
        "expected": result.expected,
        "missing": result.missing,
        **asdict(judge.remarks),
        "system": {
            **({"kind": None, "sources": []} if main is None else _kind(main)),
            "by_kind": {kind.kind: _kind(kind) for kind in judge.system.kinds},
        },
        "as_published": {score.name: score.value for score in scores},
        "as_published_of": {score.name: score.lacking for score in scores if score.lacking},
        "probabilities": probabilities_json(judge),
        "photograph": columns.photograph(result.photograph),
        "score_radius": None if radius is None else asdict(radius),
    }


def answer_json(found: Answer) -> Json:
    """Return the answer as in metrics.json."""
    models = found.models
    return {
        "state": models.state,
        "sentence": models.sentence,
        "resolution": models.resolution,
        "resolution_twice": models.resolution_twice,
        "pairs": [plain(asdict(pair)) for pair in models.pairs],
    }


def tasks_json(judge: JudgeCard) -> list[Json]:
    """Return ``[{"task", "answer": {...}, "card": {...}}]``, as in metrics.json."""
    return [
        {"task": task.task, "answer": answer_json(task), "card": _task(task)}
        for task in judge.tasks
    ]


def _task(task: Answer) -> Json:
    old = _as_before(task)
    return {**old, "answer": old["verdict"], "said": task.answer}


def _as_before(found: Answer) -> Json:
    """Return the keys of 1.0, filled from the answer; checks need no images by themselves."""
    needed = found.models.needs_images
    return {
        "state": found.state,
        "verdict": {"yes": "yes", "no": "no"}.get(found.models.state, "unclear"),
        "needs_images": None if needed is None else needed[1],
        "checks": [_check(line) for line in found.checks],
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
        "needs_images": None,
        "why": line.why,
    }


def _kind(kind: KindOfSystem) -> Json:
    found = kind.found
    sources = zip(
        kind.names, kind.groups, found.judged.tolist(), found.true.tolist(), found.ranks,
        found.favours, strict=True,
    )  # fmt: skip
    return {
        "kind": kind.kind,
        "measure": kind.measure,
        "tau_b": found.tau_b.value,
        "ci95": _pair(found.tau_b.interval),
        "pair_order": found.pair_order.value,
        "pair_order_ci95": _pair(found.pair_order.interval),
        "images": found.images,
        "pairs": found.pairs,
        "left_out": list(kind.left_out),
        "sources": [
            {
                "source": name,
                "group": group,
                "judged": judged,
                "true": true,
                "rank_set": _pair(rank_set),
                "bias": {"value": bias.value, "ci95": _pair(bias.interval), "p": bias.p},
            }
            for name, group, judged, true, rank_set, bias in sources
        ],
    }


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


def published_json(cells: Sequence[PublishedCell]) -> Json:
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
    return {"scheme": "viescore", "rows": rows}
