"""Every plot of a study by name: what is drawn, or why it is not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.decisions.card import card_of
from visualjudge.analysis.decisions.pairs_figure import pairs_figure
from visualjudge.analysis.figure_text import (
    above_rows,
    plain_name,
    rough_points,
    rough_share,
    signed,
)
from visualjudge.analysis.figures import MARGIN, Cell, Comparison, EncodingChoice, JudgeResult
from visualjudge.analysis.plots.canvas import percent_tick
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.plots.forest import ForestRow, Scale, forest
from visualjudge.analysis.plots.points import Curve, Scatter, curves, scatters
from visualjudge.analysis.value_and_interval import NO_TRUTH, ORDER_UNKNOWN, Estimate
from visualjudge.vision.encodings import encoding_title

MOST_SERIES, MOST_TABLED = 6, 20
"""Number of judges that a plot can distinguish, and that tables of a page have."""
MOST_ROWS = 24
SHARES = Scale(0.0, 1.0, percent_tick, rough_share, "Right answers")
ESTIMATE = ("value", "low", "high", "n", "images")
ALL = "all questions"
INTERVALS = (
    "Lines are 95 % intervals with images as the unit; hollow markers stand for fewer than 5 "
    "images."
)
UNADJUSTED = f"{INTERVALS} They are not adjusted for the number of comparisons."
Cells = Mapping[str, Estimate]
Row = tuple[str | float | int | None, ...]


def order(analysis: Analysis, most: int = MOST_SERIES) -> list[int]:
    """Return the numbers of the judges that plots draw; of more than ``most``, the most accurate
    ones.
    """
    numbers = list(analysis.results.shown)
    if len(numbers) <= most:
        return numbers
    right = [judge.pairwise.accuracy.shown.value or 0.0 for judge in analysis.results.judges]
    return sorted(numbers, key=lambda i: -right[i])[:most]


def shown(analysis: Analysis) -> list[JudgeResult]:
    """Return the judges that plots draw."""
    return [analysis.results.judges[i] for i in order(analysis)]


def figures_of(estimate: Estimate | None) -> Row:
    """Return the columns of ESTIMATE."""
    if estimate is None:
        return (None, None, None, 0, 0)
    low, high = estimate.interval or (None, None)
    return (estimate.value, low, high, estimate.n, estimate.images)


def points_scale(estimates: Iterable[Estimate | None], label: str) -> Scale:
    """Return an axis of points, symmetric about 0, that covers the estimates and most of their
    intervals.
    """
    known = [e for e in estimates if e is not None and e.value is not None]
    values = [1.08 * abs(e.value or 0.0) for e in known]
    ends = [1.08 * abs(end) for e in known for end in e.interval or () if end is not None]
    end = max(0.1, *values, min(0.5, max(ends, default=0.0)))
    return Scale(-end, end, signed, rough_points, label, 0.0)


def estimates_plot(
    name: str,
    title: str,
    caption: str,
    found: Mapping[str, Cells],
    *,
    colours: Sequence[int] | None = None,
    label: str = "",
    chance: float | None = None,
    reading: str = INTERVALS,
    bars: bool = False,
) -> Figure | None:
    """Draw a row for each label and a series for each judge, with ``found[judge][label]``; None if
    no value is known. The axis is one of points named ``label``, or of shares without a label.
    """
    labels = [text for cells in found.values() for text, e in cells.items() if e.value is not None]
    labels = list(dict.fromkeys(labels))
    if not labels:
        return None
    data = [
        (judge, text, *figures_of(cells.get(text)))
        for judge, cells in found.items()
        for text in labels
    ]
    drawn = labels[:MOST_ROWS]
    rows = [
        ForestRow(text, tuple(cells.get(text) for cells in found.values()), chance)
        for text in drawn
    ]
    scale = points_scale((e for row in rows for e in row.estimates), label) if label else SHARES
    if len(drawn) < len(labels):
        reading = f"{reading} {len(drawn)} of {len(labels)} rows are drawn."
    return Figure(
        name,
        title,
        caption,
        ("judge", "row", *ESTIMATE),
        tuple(data),
        lambda width: forest(rows, list(found), scale, width, colours=colours, bars=bars),
        reading,
    )


def _by_judge(
    analysis: Analysis, cells: Callable[[JudgeResult], Cells]
) -> tuple[dict[str, Cells], list[int]]:
    """Return the cells of each judge that has any, and its colour: its place among all."""
    every = [(judge.name, cells(judge)) for judge in shown(analysis)]
    kept = [k for k, (_, own) in enumerate(every) if own]
    return {every[k][0]: every[k][1] for k in kept}, kept


def _accuracies(cells: Iterable[Cell]) -> Cells:
    asked = [cell for cell in cells if cell.accuracy.share.n]
    asked.sort(key=lambda cell: -(cell.accuracy.shown.value or 0.0))
    return {plain_name(cell.name): cell.accuracy.shown for cell in asked}


def _chance(analysis: Analysis) -> float:
    return shown(analysis)[0].pairwise.chance


def by_task(analysis: Analysis) -> Figure | LeftOut:
    """Draw the accuracy of each judge for each task."""
    found, colours = _by_judge(analysis, lambda judge: _accuracies(judge.by_task))
    drawn = estimates_plot(
        "tasks",
        "Right answers by task",
        "Share of pairs in which the judge gives the right answer; a reply without an answer "
        "counts as wrong.",
        found,
        colours=colours,
        chance=_chance(analysis),
        reading=f"The dashed line marks guessing. {INTERVALS}",
    )
    return drawn or LeftOut("tasks", NO_TRUTH if found else "no pairwise question was asked")


def by_error_type(analysis: Analysis) -> Figure | LeftOut:
    """Draw the accuracy of each judge for each type of error."""
    found, colours = _by_judge(analysis, lambda judge: _accuracies(judge.by_error_type))
    if len({text for cells in found.values() for text in cells}) < 2:
        return LeftOut("errors", "the questions have a single error type")
    drawn = estimates_plot(
        "errors",
        "Right answers by the error in the worse option",
        "Share of pairs in which the judge gives the right answer.",
        found,
        colours=colours,
        chance=_chance(analysis),
        reading=f"The dashed line marks guessing. {INTERVALS}",
    )
    return drawn or LeftOut("errors", NO_TRUTH)


def margin(analysis: Analysis, against: str = "margin") -> Figure | LeftOut:
    """Draw accuracy against the difference between the options (or in severity)."""
    charts = []
    for k, judge in enumerate(shown(analysis)):
        row = next((r for r in judge.sensitivity if (r.scope, r.against) == ("all", against)), None)
        if row is not None and len(row.points) > 1:
            charts.append(Curve(judge.name, k, row))
    if not charts:
        return LeftOut(against, f"no pairs with several differences in {against}")
    label = f"Difference in {against}"
    if against == "margin":
        label = "Difference between the options’ scores (out of 10)"
    data = [
        (chart.title, point.x, point.share, int(point.n))
        for chart in charts
        for point in chart.row.points
    ]
    return Figure(
        against,
        f"Right answers by the difference in {'score' if against == 'margin' else against}",
        "Share of right answers to pairs whose options differ by so much.",
        ("judge", against, "accuracy", "n"),
        tuple(data),
        lambda width: curves(charts, label, width),
        "Each marker stands for a range of differences; larger markers have more verdicts. A curve "
        "is drawn where it fits; the vertical line is at its 75 % point, and the band shows the "
        "curve with this point at either end of its 95 % interval.",
    )


def leanings(analysis: Analysis) -> Figure | LeftOut:
    """Draw how far a judge leans towards one kind of option; the option shown first comes first."""
    found, colours = _by_judge(
        analysis,
        lambda judge: {
            row.leans_to: row.estimate for row in judge.bias if row.estimate.value is not None
        },
    )
    drawn = estimates_plot(
        "leanings",
        "Preference for one kind of option",
        "Half the difference in accuracy between pairs in which this option is right and pairs in "
        "which it is wrong, at equal difficulty: 0 without a bias, 50 for a judge that uses "
        "nothing else.",
        found,
        colours=colours,
        label="Preference in points",
        bars=True,
    )
    known = all(judge.order_shown for judge in shown(analysis))
    return drawn or LeftOut(
        "leanings", "the questions asked cannot show a bias" if known else ORDER_UNKNOWN
    )


BINS = 10


def scores(analysis: Analysis) -> Figure | LeftOut:
    """Draw the judge's scores against the true ones."""
    charts, data = [], []
    for k, i in enumerate(order(analysis)):
        table = analysis.study.kind(i, "scoring", ("usable", "number", "truth"))
        table = table.filter(pl.col("usable")).drop_nulls()
        if table.is_empty():
            continue
        truth, stated = (table[name].to_numpy().astype(float) for name in ("truth", "number"))
        means = _means(truth, stated)
        name = analysis.results.judges[i].name
        charts.append(Scatter(name, k, means))
        data += [(name, *row) for row in means]
    if not charts:
        return LeftOut("scores", "no scoring question has a known score and a reply that was read")
    return Figure(
        "scores",
        "Scores of the judge by the true score",
        "Mean score of the judge in each tenth of the scale; on the dashed line both are equal.",
        ("judge", "true_score", "mean_score", "n"),
        tuple(data),
        lambda width: scatters(charts, (0.0, 10.0), ("True score", "Judge’s score"), width),
        "Larger dots stand for more replies.",
    )


def _means(truth: np.ndarray, stated: np.ndarray) -> tuple[tuple[float, float, int], ...]:
    """Return the mean true and stated score in each of ten bins of the truth."""
    bins = np.minimum((truth / 10 * BINS).astype(int), BINS - 1)
    return tuple(
        (float(truth[bins == b].mean()), float(stated[bins == b].mean()), int((bins == b).sum()))
        for b in np.unique(bins)
    )


def reliability(analysis: Analysis) -> Figure | LeftOut:
    """Draw stated probabilities against observed frequencies."""
    card, charts, data = card_of(analysis), [], []
    for k, i in enumerate(order(analysis)):
        stated = card.judges[i].probabilities
        if stated is not None:
            bins = tuple((b.stated, b.observed, b.n) for b in stated.bins)
            charts.append(Scatter(card.judges[i].judge, k, bins))
            data += [(card.judges[i].judge, *row) for row in bins]
    if not charts:
        return LeftOut("reliability", "no reply states a probability")
    labels = ("Stated probability of A", "A was right")
    return Figure(
        "reliability",
        "Stated probabilities and how often they came true",
        "How often A was right, by the probability that the judge stated for A.",
        ("judge", "stated", "came_true", "n"),
        tuple(data),
        lambda width: scatters(charts, (0.0, 1.0), labels, width),
        "On the dashed line, both are equal; larger dots stand for more answers.",
    )


def probes(analysis: Analysis) -> Figure | LeftOut:
    """Draw the effect of each probe."""
    found, colours = _by_judge(
        analysis, lambda judge: {plain_name(row.name): row.effect for row in judge.probes}
    )
    drawn = estimates_plot(
        "probes",
        "Effect of irrelevant changes on the answers",
        "Effect of each probe; a probe changes one thing that must not affect the answer.",
        found,
        colours=colours,
        label="Effect in points",
    )
    few = "no probe has enough questions to measure an effect"
    return drawn or LeftOut("probes", few if found else "no probes were asked (visualjudge probe)")


def photograph(analysis: Analysis) -> Figure | LeftOut:
    """Draw how much more often a judge is right with the photograph than without, by task."""

    def gains(judge: JudgeResult) -> Cells:
        need = judge.photograph
        if need is None:
            return {}
        return {ALL: need.all.least} | {plain_name(row.task): row.least for row in need.by_task}

    found, colours = _by_judge(analysis, gains)
    drawn = estimates_plot(
        "photograph",
        "Accuracy gained from the photograph",
        "Accuracy with the photograph minus accuracy without it, on the same pairs.",
        found,
        colours=colours,
        label="Points gained from the photograph",
        reading="“Without” means with uniform grey or with another photograph, whichever makes the "
        "difference smaller. A judge does not need the photograph if the difference is "
        f"significantly below {100 * MARGIN:g} points. {INTERVALS}",
    )
    return drawn or LeftOut("photograph", "no question was asked without its photograph")


def baseline(analysis: Analysis) -> Figure | LeftOut:
    """Draw how far each judge is above the local baseline, by task."""
    found, colours = _by_judge(
        analysis,
        lambda judge: {
            plain_name(row.task) if k else ALL: row.gap for k, row in enumerate(above_rows(judge))
        },
    )
    drawn = estimates_plot(
        "baseline",
        "Accuracy above the local baseline",
        "Accuracy of the judge minus that of the local baseline, on the questions that the "
        "baseline answered.",
        found,
        colours=colours,
        label="Points above the baseline",
        reading=UNADJUSTED,
    )
    return drawn or LeftOut(
        "baseline", "no run of the local baseline is among the runs (judge --backend local)"
    )


def _compared(analysis: Analysis) -> dict[str, Comparison]:
    """Return the comparisons of the judges that are drawn, by their names."""
    names = {judge.name for judge in shown(analysis)}
    rows = analysis.results.comparisons
    return {f"{row.a} minus {row.b}": row for row in rows if {row.a, row.b} <= names}


def judges(analysis: Analysis) -> Figure | LeftOut:
    """Draw the difference in accuracy between every two judges."""
    rows = _compared(analysis)
    drawn = estimates_plot(
        "judges",
        "Difference in accuracy between judges",
        "Accuracy of the first judge minus that of the second, on the questions that both were "
        "asked.",
        {"difference": {name: row.gap for name, row in rows.items()}},
        label="Points in favour of the first",
        reading=UNADJUSTED,
    )
    return drawn or LeftOut("judges", "no two judges have answers to a common question")


def pairs(analysis: Analysis) -> Figure | LeftOut:
    """Draw each pair of models by truth and by judge."""
    card = card_of(analysis)
    return pairs_figure([card.judges[i] for i in order(analysis)])


def encodings(analysis: Analysis) -> list[Figure]:
    """Return a plot for each task with several encodings: each one's difference from the best of
    the first judge, on the same pairs.
    """
    judged = shown(analysis)
    tasks = [row.task for judge in judged for row in judge.encodings if len(row.encodings) > 1]
    found = (_encodings_of(task, judged) for task in dict.fromkeys(tasks))
    return [figure for figure in found if figure is not None]


def encoding_name(task: str) -> str:
    """Return the name of a task's plot and files: letters, digits, ``_`` and ``-``."""
    return "encoding-" + re.sub(r"[^\w-]+", "-", task)


def _encodings_of(task: str, judged: Sequence[JudgeResult]) -> Figure | None:
    rows = [(k, row) for k, judge in enumerate(judged) for row in judge.encodings]
    own = [(k, row) for k, row in rows if row.task == task and len(row.encodings) > 1]
    first = own[0][1].encodings
    best = next((row.name for row in first if row.standing == "best"), first[0].name)
    return estimates_plot(
        encoding_name(task),
        f"{plain_name(task).capitalize()}: accuracy by encoding",
        f"Accuracy with each encoding minus accuracy with {encoding_title(task, best)}, on the "
        "same pairs.",
        {judged[k].name: _less(row, best) for k, row in own},
        colours=[k for k, _ in own],
        label=f"Points above {encoding_title(task, best)}",
        reading=UNADJUSTED,
    )


def _less(choice: EncodingChoice, best: str) -> Cells:
    """Return the accuracy of each encoding minus that of ``best``."""
    turned = (duel.turned if duel.first == best else duel for duel in choice.duels)
    return {
        encoding_title(choice.task, duel.first): duel.gap for duel in turned if duel.second == best
    }


PLOTS: Mapping[str, Callable[[Analysis], Figure | LeftOut]] = {
    "pairs": pairs,
    "tasks": by_task,
    "judges": judges,
    "baseline": baseline,
    "errors": by_error_type,
    "margin": margin,
    "severity": lambda analysis: margin(analysis, "severity"),
    "leanings": leanings,
    "scores": scores,
    "reliability": reliability,
    "photograph": photograph,
    "probes": probes,
}
"""Plots that a study has once; :func:`encodings` come in addition."""


def every_plot(analysis: Analysis) -> list[Figure | LeftOut]:
    """Return every plot of the study."""
    return [*(draw(analysis) for draw in PLOTS.values()), *encodings(analysis)]
