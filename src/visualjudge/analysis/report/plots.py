"""Every plot of a study by name: what is drawn, or why it is not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.decisions.card import card_of
from visualjudge.analysis.decisions.pairs_figure import pairs_figure
from visualjudge.analysis.figure_text import plain_name, points, signed, with_ends
from visualjudge.analysis.figures import MARGIN, Cell, EncodingChoice, JudgeResult
from visualjudge.analysis.plots.canvas import percent_tick
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.plots.forest import ForestRow, Scale, forest
from visualjudge.analysis.plots.points import Line, lines
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.vision.encodings import encoding_title

MOST_SERIES, MOST_TABLED = 6, 20
"""Number of judges that a plot can distinguish, and that tables of a page have."""
MOST_ROWS = 24
SHARES = Scale(0.0, 1.0, percent_tick, with_ends, "Right answers")
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
    right = [judge.pairwise.accuracy.shown.value or 0.0 for judge in analysis.results.judges]
    numbers = list(range(len(right)))
    return numbers if len(right) <= most else sorted(numbers, key=lambda i: -right[i])[:most]


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
    return Scale(-end, end, signed, partial(with_ends, show=points), label, 0.0)


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
        lambda width: forest(rows, list(found), scale, width, colours=colours),
        reading,
    )


@dataclass(frozen=True)
class EstimatesPlot:
    """A plot with a row for each label and a series for each judge, from the ``cells`` of a judge:
    points on an axis named ``label``, or shares without a label. ``missing`` says why there may be
    none, with fewer than ``least`` rows.
    """

    name: str
    title: str
    caption: str
    cells: Callable[[JudgeResult], Cells]
    missing: str
    label: str = ""
    reading: str = INTERVALS
    least: int = 1

    def __call__(self, analysis: Analysis) -> Figure | LeftOut:
        judges = shown(analysis)
        found = {k: self.cells(judge) for k, judge in enumerate(judges)}
        kept = [k for k, cells in found.items() if cells]
        drawn = None
        if len({text for k in kept for text in found[k]}) >= self.least:
            drawn = estimates_plot(
                self.name,
                self.title,
                self.caption,
                {judges[k].name: found[k] for k in kept},
                colours=kept,
                label=self.label,
                chance=None if self.label else judges[0].pairwise.chance,
                reading=self.reading,
            )
        return drawn or LeftOut(self.name, self.missing)


def _accuracies(cells: Iterable[Cell]) -> Cells:
    asked = [cell for cell in cells if cell.accuracy.share.n]
    asked.sort(key=lambda cell: -(cell.accuracy.shown.value or 0.0))
    return {plain_name(cell.name): cell.accuracy.shown for cell in asked}


def _by_task(judge: JudgeResult) -> Cells:
    return _accuracies(judge.by_task)


def _by_error_type(judge: JudgeResult) -> Cells:
    return _accuracies(judge.by_error_type)


def _leanings(judge: JudgeResult) -> Cells:
    rows = (row for row in judge.bias if row.estimate.value is not None)
    return {row.leans_to: row.estimate for row in rows}


def _probes(judge: JudgeResult) -> Cells:
    return {plain_name(row.name): row.effect for row in judge.probes}


def _photograph(judge: JudgeResult) -> Cells:
    need = judge.photograph
    if need is None:
        return {}
    return {ALL: need.all.least} | {plain_name(row.task): row.least for row in need.by_task}


SHOWN = (
    EstimatesPlot(
        "tasks",
        "Right answers by task",
        "Share of pairs in which the judge gives the right answer; a reply without an answer "
        "counts as wrong.",
        _by_task,
        "no pairwise question with a known answer was asked",
        reading=f"The dashed line marks guessing. {INTERVALS}",
    ),
    EstimatesPlot(
        "errors",
        "Right answers by the error in the worse option",
        "Share of pairs in which the judge gives the right answer.",
        _by_error_type,
        "the questions do not have several error types and known answers",
        reading=f"The dashed line marks guessing. {INTERVALS}",
        least=2,
    ),
    EstimatesPlot(
        "leanings",
        "Preference for one kind of option",
        "Half the difference in accuracy between pairs in which this option is right and pairs in "
        "which it is wrong, at equal difficulty: 0 without a bias, 50 for a judge that uses "
        "nothing else.",
        _leanings,
        "the questions asked cannot show a bias, or the order of the options is not known",
        "Preference in points",
    ),
    EstimatesPlot(
        "probes",
        "Effect of irrelevant changes on the answers",
        "Effect of each probe; a probe changes one thing that must not affect the answer.",
        _probes,
        "no probe was asked about enough questions (visualjudge probe)",
        "Effect in points",
    ),
    EstimatesPlot(
        "photograph",
        "Accuracy gained from the photograph",
        "Accuracy with the photograph minus accuracy without it, on the same pairs.",
        _photograph,
        "no question was asked without its photograph",
        "Points gained from the photograph",
        "“Without” means with uniform grey or with another photograph, whichever makes the "
        "difference smaller. A judge does not need the photograph if the difference is "
        f"significantly below {100 * MARGIN:g} points. {INTERVALS}",
    ),
)


def _lines(
    name: str,
    title: str,
    caption: str,
    columns: tuple[str, str],
    found: Sequence[Line],
    labels: tuple[str, str],
    reading: str,
    end: float | None = None,
) -> Figure:
    rows = [(line.title, x, y, int(n)) for line in found for x, y, n in line.points]
    return Figure(
        name,
        title,
        caption,
        ("judge", *columns, "n"),
        tuple(rows),
        lambda width: lines(found, labels, width, end),
        reading,
    )


def margin(analysis: Analysis, against: str = "margin") -> Figure | LeftOut:
    """Draw accuracy against the difference between the options (or in severity)."""
    found = []
    for k, judge in enumerate(shown(analysis)):
        row = next((r for r in judge.sensitivity if (r.scope, r.against) == ("all", against)), None)
        if row is not None and len(row.points) > 1:
            found.append(Line(judge.name, k, row.points, row))
    if not found:
        return LeftOut(against, f"no pairs with several differences in {against}")
    label = f"Difference in {against}"
    if against == "margin":
        label = "Difference between the options’ scores (out of 10)"
    return _lines(
        against,
        f"Right answers by the difference in {'score' if against == 'margin' else against}",
        "Share of right answers to pairs whose options differ by so much.",
        (against, "accuracy"),
        found,
        (label, "Right answers"),
        "Each marker stands for a range of differences; larger markers have more verdicts. A curve "
        "is drawn where it fits; the vertical line is at its 75 % point, and the band shows the "
        "curve with this point at either end of its 95 % interval.",
    )


def severity(analysis: Analysis) -> Figure | LeftOut:
    """Draw accuracy against the difference in severity."""
    return margin(analysis, "severity")


def scores(analysis: Analysis) -> Figure | LeftOut:
    """Draw the judge's mean score in each tenth of the scale."""
    found = []
    for k, i in enumerate(order(analysis)):
        table = analysis.study.kind(i, "scoring", ("usable", "number", "truth"))
        table = table.filter("usable").drop_nulls()
        tenth = pl.col("truth").floor().clip(0, 9)
        means = table.group_by(tenth=tenth).agg(pl.col("truth", "number").mean(), n=pl.len())
        points = tuple(means.sort("tenth").select("truth", "number", "n").iter_rows())
        if points:
            found.append(Line(analysis.results.judges[i].name, k, points))
    if not found:
        return LeftOut("scores", "no scoring question has a known score and a reply that was read")
    return _lines(
        "scores",
        "Scores of the judge by the true score",
        "Mean score of the judge in each tenth of the scale; on the dashed line both are equal.",
        ("true_score", "mean_score"),
        found,
        ("True score", "Judge’s score"),
        "Larger markers stand for more replies.",
        10.0,
    )


def reliability(analysis: Analysis) -> Figure | LeftOut:
    """Draw stated probabilities against observed frequencies."""
    card, found = card_of(analysis), []
    for k, i in enumerate(order(analysis)):
        stated = card.judges[i].probabilities
        if stated is not None:
            bins = tuple((b.stated, b.observed, b.n) for b in stated.bins if b.n)
            found.append(Line(card.judges[i].judge, k, bins))
    if not found:
        return LeftOut("reliability", "no reply states a probability")
    return _lines(
        "reliability",
        "Stated probabilities and how often they came true",
        "How often A was right, by the probability that the judge stated for A.",
        ("stated", "came_true"),
        found,
        ("Stated probability of A", "A was right"),
        "On the dashed line, both are equal; larger markers stand for more answers.",
        1.0,
    )


def judges(analysis: Analysis) -> Figure | LeftOut:
    """Draw the difference in accuracy between every two judges."""
    names = {judge.name for judge in shown(analysis)}
    rows = [row for row in analysis.results.comparisons if {row.a, row.b} <= names]
    drawn = estimates_plot(
        "judges",
        "Difference in accuracy between judges",
        "Accuracy of the first judge minus that of the second, on the questions that both were "
        "asked.",
        {"difference": {f"{row.a} minus {row.b}": row.gap for row in rows}},
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
    turned = (duel.turned if duel.first == best else duel for duel in choice.duels)
    return {
        encoding_title(choice.task, duel.first): duel.gap for duel in turned if duel.second == best
    }


PLOTS: Mapping[str, Callable[[Analysis], Figure | LeftOut]] = {
    "pairs": pairs,
    "judges": judges,
    **{plot.name: plot for plot in SHOWN},
    "margin": margin,
    "severity": severity,
    "scores": scores,
    "reliability": reliability,
}
"""Plots that a study has once; :func:`encodings` come in addition."""


def every_plot(analysis: Analysis) -> list[Figure | LeftOut]:
    """Return every plot of the study."""
    return [*(draw(analysis) for draw in PLOTS.values()), *encodings(analysis)]
