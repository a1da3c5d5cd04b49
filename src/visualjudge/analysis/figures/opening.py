"""The first figure of a report: what answers the study's question, by its shape. The
answer in words is in ``answer.py``.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from itertools import accumulate, zip_longest

from visualjudge.analysis.decisions.card import JudgeCard
from visualjudge.analysis.decisions.model_answer import separated
from visualjudge.analysis.figures.figure_parts import (
    SHARES,
    Estimate,
    LeftOut,
    Plot,
    Scale,
    estimates_plot,
    group_name,
    listed,
    number,
    percent,
    plain_name,
    with_ends,
)
from visualjudge.analysis.figures.unnamed_pairs import CHOICES
from visualjudge.analysis.plots.canvas import Sign, tick
from visualjudge.analysis.plots.ranking import (
    Place,
    RankedModel,
    Ranking,
    rankings,
)
from visualjudge.analysis.separation import (
    Model,
    PairOfModels,
    PairState,
    Ranks,
    Side,
)
from visualjudge.analysis.statistics.score_bar import Level
from visualjudge.analysis.study_shape import CHOOSING, QUESTIONS

NAME = "ranking"
MOST_COMPARED = 3
MOST_MODELS = 20
MOST_ROWS = 40
"""Numbers of judges, of models of one ranking, and of all models in the first plot."""


def _places(ranked: Mapping[Model, Ranks], group: str) -> dict[str, Place]:
    """Return the place of each model of a group, the best first."""
    return {
        name: Place(*ranks)
        for (own, name), ranks in ranked.items()
        if own == group
    }


SIGN_OF: Mapping[PairState, Sign] = {
    "right": "right",
    "wrong": "wrong",
    "undecided": "open",
    "close": "close",
}


def _sign(pair: PairOfModels | None) -> Sign | None:
    """Return the mark between two neighbours; without truth, whether the judge
    separates them."""
    if pair is None:
        return None
    return SIGN_OF.get(pair.state, "right" if pair.judge_order else "open")


def _ranking(
    card: JudgeCard,
    series: int,
    group: str,
    title: str,
    ranks: Mapping[Side, Mapping[Model, Ranks]],
) -> Ranking:
    """Return the models of one group, by truth or else by the judge."""
    by_truth = _places(ranks["truth"], group)
    by_judge = _places(ranks["judge"], group)
    names = list(by_truth or by_judge)[:MOST_MODELS]
    pairs = {
        frozenset((p.a, p.b)): p for p in card.models.pairs if p.group == group
    }
    ranked = tuple(
        RankedModel(
            name,
            by_truth.get(name),
            by_judge[name],
            _sign(pairs.get(frozenset((name, below)))),
        )
        for name, below in zip_longest(names, names[1:])
    )
    return Ranking(title, card.judge, series, ranked)


def _ranking_plot(judges: Sequence[JudgeCard]) -> Plot | LeftOut:
    """Draw the models by truth and by the first judges, groups with most separated
    pairs first."""
    drawn = [judge for judge in judges if judge.models.pairs][:MOST_COMPARED]
    if not drawn:
        return LeftOut(NAME, "no question compares two named models")
    pairs = [pair for judge in drawn for pair in judge.models.pairs]
    decided = Counter(pair.group for pair in pairs if pair.judge_order)
    groups = dict.fromkeys(pair.group for pair in pairs)
    # each call ranks the models of every group
    ranks: list[dict[Side, dict[Model, Ranks]]] = [
        {
            "truth": judge.models.ranks("truth"),
            "judge": judge.models.ranks("judge"),
        }
        for judge in drawn
    ]
    every = [
        _ranking(
            judge,
            k,
            group,
            judge.judge + (f", {group_name(group)}" * (len(groups) > 1)),
            ranks[k],
        )
        for group in sorted(groups, key=lambda group: -decided[group])
        for k, judge in enumerate(drawn)
        if any(pair.group == group for pair in judge.models.pairs)
    ]
    room = accumulate(len(item.models) for item in every)
    displayed = [
        item
        for item, rows in zip(every, room, strict=True)
        if rows <= MOST_ROWS or item is every[0]
    ]
    known = any(item.has_truth for item in every)
    words = [f"{separated(judge.models)} by {judge.judge}" for judge in drawn]
    rows = tuple(
        (
            item.judge,
            item.title,
            model.name,
            *(astuple(model.truth) if model.truth else (None, None, None)),
            *astuple(model.judge),
            model.next,
        )
        for item in every
        for model in item.models
    )
    left = f" {len(displayed)} of {len(every)} rankings are drawn." * (
        displayed != every
    )
    return Plot(
        NAME,
        f"Pairs of models {'separated rightly' if known else 'that the judge separates'}: "
        f"{listed(words)}",
        f"Ranks by {'truth and by ' * known}each judge; lines are the ranks that are possible. "
        "The sign between two neighbours says whether they are separated.",
        RANKED,
        rows,
        lambda width: rankings(displayed, width),
        "A line covers the ranks that the tests leave to a model (95 %, all pairs "
        "together): lines of separated models may overlap. Tests are by image, adjusted "
        f"(Holm).{left}",
    )


RANKED = (
    *("judge", "ranking", "model", "truth", "truth_best", "truth_worst"),
    *("rank", "best", "worst", "next"),
)


Required = tuple[str, Estimate, Level]
"""A task, its figure, and whether it is as large as required."""
SIGN_OF_LEVEL: Mapping[Level, Sign] = {
    "met": "right",
    "missed": "wrong",
    "open": "open",
}
RHO = Scale(
    -1.0,
    1.0,
    tick,
    lambda estimate: with_ends(estimate, number),
    "Spearman’s ρ with the truth",
)


def _orders(card: JudgeCard) -> list[Required]:
    tasks = () if card.scores is None else card.scores.tasks
    return [
        (plain_name(task.task), task.scores.spearman.estimate, task.order)
        for task in tasks
        if task.scores is not None
    ]


def _choices(card: JudgeCard) -> list[Required]:
    return [
        (plain_name(row.task), row.accuracy, row.accurate)
        for row in card.result[CHOICES]
        if row.task  # "" is the whole
    ]


def _required(
    cards: Sequence[JudgeCard],
    figures: Callable[[JudgeCard], list[Required]],
    title: str,
    caption: str,
    scale: Scale,
) -> Plot | LeftOut:
    """Draw a figure of each task beside what is required of it, the mark of
    ``scale``."""
    rows = {card.judge: figures(card) for card in cards}
    cells = [
        (k, judge, {task: value for task, value, _ in own})
        for k, (judge, own) in enumerate(rows.items())
    ]
    signs = {
        (judge, task): SIGN_OF_LEVEL[level]
        for judge, own in rows.items()
        for task, _, level in own
    }
    return estimates_plot(
        NAME,
        title,
        caption,
        cells,
        missing="no task has a known truth",
        reading="Filled: the whole interval is above the line; crossed: below it; "
        "hollow: neither. Lines are 95 % intervals with images as the unit.",
        scale=scale,
        signs=signs,
    )


def opening_plot(cards: Sequence[JudgeCard]) -> Plot | LeftOut:
    """Draw what answers the study's question: models ranked, scores or choices by
    task."""
    shapes = {card.models.shape for card in cards}
    bar = cards[0].result.study.bar
    if shapes == {"scores"}:
        return _required(
            cards,
            _orders,
            "Does the judge order items as the truth does?",
            "Rank correlation of the judge’s scores with the true ones, by task; the "
            f"line: at least {number(bar.spearman)} is required.",
            replace(RHO, mark=bar.spearman),
        )
    if shapes <= {*CHOOSING}:
        return _required(
            cards,
            _choices,
            QUESTIONS[cards[0].models.shape],
            "Share of verdicts that are right, by task; the "
            f"line: at least {percent(bar.accuracy, 0)} is required.",
            replace(SHARES, mark=bar.accuracy),
        )
    return _ranking_plot(cards)
