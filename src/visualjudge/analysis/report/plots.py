"""Every plot of a study by name: what is drawn, or why it is not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

import polars as pl

from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.decisions.card import JudgeCard, card_of
from visualjudge.analysis.decisions.pairs_of_models import separated, state_words
from visualjudge.analysis.figure_text import (
    group_name,
    listed,
    percent,
    plain_name,
    points,
    signed,
    with_ends,
)
from visualjudge.analysis.figures import MARGIN, Cell, EncodingChoice, JudgeResult
from visualjudge.analysis.plots.canvas import percent_tick
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.plots.forest import ForestRow, Scale, forest
from visualjudge.analysis.plots.points import Line, Points, lines
from visualjudge.analysis.value_and_interval import NO_TRUTH, Estimate
from visualjudge.vision.encodings import encoding_title

# Number of judges that a plot can distinguish, and that tables of a page have.
MOST_SERIES, MOST_TABLED = 6, 20
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
    right = [
        judge.pairwise.accuracy.shown.value or 0.0 for judge in analysis.results.judges
    ]
    numbers = list(range(len(right)))
    return (
        numbers
        if len(right) <= most
        else sorted(numbers, key=lambda i: -right[i])[:most]
    )


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
    """Return an axis of points, symmetric about 0, that covers the estimates and intervals."""
    known = [
        end for e in estimates if e for end in (e.value, *(e.interval or ())) if end
    ]
    end = max(0.1, 1.08 * max(map(abs, known), default=0.0))
    return Scale(-end, end, signed, partial(with_ends, show=points), label, 0.0)


def estimates_plot(
    name: str,
    title: str,
    caption: str,
    found: Sequence[tuple[int, str, Cells]],
    *,
    missing: str,
    label: str = "",
    chance: float | None = None,
    reading: str = INTERVALS,
    least: int = 1,
    most: int = MOST_ROWS,
    scale: Scale = SHARES,
    notes: Mapping[str, str] = MappingProxyType({}),
) -> Figure | LeftOut:
    """Draw a row for each label and a series, with its number and name, for each of ``found``;
    ``notes`` stand beside rows. The axis is one of points named ``label``, or ``scale`` without a
    label. With fewer than ``least`` rows, nothing is drawn: ``missing`` is the reason.
    """
    known = (
        text
        for _, _, cells in found
        for text, e in cells.items()
        if e.value is not None
    )
    labels = list(dict.fromkeys(known))
    if len(labels) < least:
        return LeftOut(name, missing)
    data = [
        (series, text, *figures_of(cells.get(text)))
        for _, series, cells in found
        for text in labels
    ]
    rows = [
        ForestRow(
            row,
            tuple(cells.get(row) for *_, cells in found),
            chance,
            notes.get(row, ""),
        )
        for row in labels[:most]
    ]
    if label:
        scale = points_scale((e for row in rows for e in row.estimates), label)
    if len(rows) < len(labels):
        reading = f"{reading} {len(rows)} of {len(labels)} rows are drawn."
    colours, names, _ = zip(*found, strict=True)
    return Figure(
        name,
        title,
        caption,
        ("judge", "row", *ESTIMATE),
        tuple(data),
        lambda width: forest(rows, names, scale, width, colours=colours),
        reading,
    )


@dataclass(frozen=True)
class EstimatesPlot:
    """A plot with a row for each label and a series for each judge, from the ``cells`` of a judge;
    see :func:`estimates_plot`.
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
        cells = ((k, judge.name, self.cells(judge)) for k, judge in enumerate(judges))
        return estimates_plot(
            self.name,
            self.title,
            self.caption,
            [series for series in cells if series[2]],
            missing=self.missing,
            label=self.label,
            chance=None if self.label else judges[0].pairwise.chance,
            reading=self.reading,
            least=self.least,
        )


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
    names = [ALL, *(plain_name(row.task) for row in judge.photograph[1:])]
    return {name: row.least for name, row in zip(names, judge.photograph, strict=False)}


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
        "no probe has answers to enough questions (visualjudge probe)",
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


@dataclass(frozen=True)
class LinesPlot:
    """A plot with a line for each judge through the ``points`` of a judge, by number, in files
    ``columns``; axes and ``end`` as in :func:`lines`.
    """

    name: str
    title: str
    caption: str
    columns: tuple[str, str]
    points: Callable[[Analysis, int], Points]
    labels: tuple[str, str]
    reading: str
    missing: str
    end: float | None = None

    def __call__(self, analysis: Analysis) -> Figure | LeftOut:
        judges = analysis.results.judges
        each = [
            Line(judges[i].name, k, self.points(analysis, i))
            for k, i in enumerate(order(analysis))
        ]
        found = [line for line in each if line.points]
        if not found:
            return LeftOut(self.name, self.missing)
        return Figure(
            self.name,
            self.title,
            self.caption,
            ("judge", *self.columns, "n"),
            tuple(
                (line.title, x, y, int(n)) for line in found for x, y, n in line.points
            ),
            lambda width: lines(found, self.labels, width, self.end),
            self.reading,
        )


def _by_distance(analysis: Analysis, judge: int, against: str) -> Points:
    rows = analysis.results.judges[judge].sensitivity
    found = [row.points for row in rows if (row.scope, row.against) == ("all", against)]
    return found[0] if found and len(found[0]) > 1 else ()


def _mean_scores(analysis: Analysis, judge: int) -> Points:
    """Return the judge's mean score in each tenth of the scale."""
    table = analysis.study.kind(judge, "scoring", ("usable", "number", "truth"))
    tenth = pl.col("truth").floor().clip(0, 9)
    means = (
        table.filter("usable")
        .drop_nulls()
        .group_by(tenth=tenth)
        .agg(pl.col("truth", "number").mean(), n=pl.len())
    )
    return tuple(means.sort("tenth").select("truth", "number", "n").iter_rows())


def _probabilities(analysis: Analysis, judge: int) -> Points:
    stated = card_of(analysis).judges[judge].probabilities
    return (
        ()
        if stated is None
        else tuple((b.stated, b.observed, b.n) for b in stated.bins if b.n)
    )


LINES = (
    *(
        LinesPlot(
            against,
            f"Right answers by the difference in {named}",
            "Share of right answers to pairs whose options differ by so much.",
            (against, "accuracy"),
            partial(_by_distance, against=against),
            (label, "Right answers"),
            "Each marker stands for a range of differences; larger markers have more verdicts.",
            f"no pairs with several differences in {against}",
        )
        for against, named, label in (
            ("margin", "score", "Difference between the options’ scores (out of 10)"),
            ("severity", "severity", "Difference in severity"),
        )
    ),
    LinesPlot(
        "scores",
        "Scores of the judge by the true score",
        "Mean score of the judge in each tenth of the scale; on the dashed line both are equal.",
        ("true_score", "mean_score"),
        _mean_scores,
        ("True score", "Judge’s score"),
        "Larger markers stand for more replies.",
        "no scoring question has a known score and a reply that was read",
        10.0,
    ),
    LinesPlot(
        "reliability",
        "Stated probabilities and how often they came true",
        "How often A was right, by the probability that the judge stated for A.",
        ("stated", "came_true"),
        _probabilities,
        ("Stated probability of A", "A was right"),
        "On the dashed line, both are equal; larger markers stand for more answers.",
        "no reply states a probability",
        1.0,
    ),
)


def judges(analysis: Analysis) -> Figure | LeftOut:
    """Draw the difference in accuracy between every two judges."""
    names = {judge.name for judge in shown(analysis)}
    rows = [row for row in analysis.results.comparisons if {row.a, row.b} <= names]
    return estimates_plot(
        "judges",
        "Difference in accuracy between judges",
        "Accuracy of the first judge minus that of the second, on the questions that both were "
        "asked.",
        [(0, "difference", {f"{row.a} minus {row.b}": row.gap for row in rows})],
        missing="no two judges have answers to a common question",
        label="Points in favour of the first",
        reading=UNADJUSTED,
    )


PREFERRED = Scale(
    0.0,
    1.0,
    percent_tick,
    lambda share: percent(share.value, 0),
    "prefers the first",
    0.5,
)
# Number of judges, and of pairs, in the plot of pairs of models.
MOST_COMPARED, MOST_PAIRS = 3, 15


def pairs(analysis: Analysis) -> Figure | LeftOut:
    """Draw each pair of models by truth and by judge."""
    card = card_of(analysis)
    return pairs_plot([card.judges[i] for i in order(analysis)])


def pairs_plot(judges: Sequence[JudgeCard]) -> Figure | LeftOut:
    """Draw each pair of models by truth and by the first judges, the clearest by truth first."""
    drawn = [judge for judge in judges if judge.models.pairs][:MOST_COMPARED]
    groups = {pair.group for judge in drawn for pair in judge.models.pairs}
    truth, notes, series = dict[str, Estimate](), dict[str, str](), []
    for k, judge in enumerate(drawn):
        told = dict[str, Estimate]()
        for pair in sorted(judge.models.pairs, key=lambda pair: -(pair.truth or 0.5)):
            group = f" ({group_name(pair.group)})" if len(groups) > 1 else ""
            row, images = f"{pair.a} or {pair.b}{group}", (pair.images, pair.images)
            truth.setdefault(row, Estimate(pair.truth, pair.truth_ci95, *images))
            told[row] = Estimate(pair.judge, pair.judge_ci95, *images)
            notes[row] = state_words(pair) if len(drawn) == 1 else ""
        series.append((k, judge.judge, told))
    known = any(share.value is not None for share in truth.values())
    said = [
        f"{judge.judge} separates {separated(judge.models)} pairs rightly"
        for judge in drawn
    ]
    return estimates_plot(
        "pairs",
        listed(said),
        "How often the first of two models is preferred, with 95 % intervals.",
        [(5, "truth", truth), *series] if known else [],
        missing=NO_TRUTH if drawn else "no question compares two named models",
        reading="Each row is a pair of models: how often the truth prefers the first, and how "
        "often the judge does, on the same images. An interval that touches 50 % does not separate "
        "the two; tests are adjusted by Holm over all pairs.",
        most=MOST_PAIRS,
        scale=PREFERRED,
        notes=notes,
    )


def encodings(analysis: Analysis) -> list[Figure]:
    """Return a plot for each task with several encodings: each one's difference from the best of
    the first judge, on the same pairs.
    """
    judged = shown(analysis)
    tasks = [
        row.task
        for judge in judged
        for row in judge.encodings
        if len(row.encodings) > 1
    ]
    found = (_encodings_of(task, judged) for task in dict.fromkeys(tasks))
    return [plot for plot in found if isinstance(plot, Figure)]


def encoding_name(task: str) -> str:
    """Return the name of a task's plot and files: letters, digits, ``_`` and ``-``."""
    return "encoding-" + re.sub(r"[^\w-]+", "-", task)


def _encodings_of(task: str, judged: Sequence[JudgeResult]) -> Figure | LeftOut:
    rows = [
        (k, judge.name, row)
        for k, judge in enumerate(judged)
        for row in judge.encodings
    ]
    own = [
        found for found in rows if found[2].task == task and len(found[2].encodings) > 1
    ]
    first = own[0][2].encodings
    best = next((row.name for row in first if row.standing == "best"), first[0].name)
    return estimates_plot(
        encoding_name(task),
        f"{plain_name(task).capitalize()}: accuracy by encoding",
        f"Accuracy with each encoding minus accuracy with {encoding_title(task, best)}, on the "
        "same pairs.",
        [(k, name, _less(row, best)) for k, name, row in own],
        missing="the encodings were not asked about the same pairs",
        label=f"Points above {encoding_title(task, best)}",
        reading=UNADJUSTED,
    )


def _less(choice: EncodingChoice, best: str) -> Cells:
    turned = (duel.turned if duel.first == best else duel for duel in choice.duels)
    return {
        encoding_title(choice.task, duel.first): duel.gap
        for duel in turned
        if duel.second == best
    }


PLOTS: Mapping[str, Callable[[Analysis], Figure | LeftOut]] = {
    "pairs": pairs,
    "judges": judges,
    **{plot.name: plot for plot in SHOWN},
    **{plot.name: plot for plot in LINES},
}
"""Plots that a study has once; :func:`encodings` come in addition."""


def every_plot(analysis: Analysis) -> list[Figure | LeftOut]:
    """Return every plot of the study."""
    return [*(draw(analysis) for draw in PLOTS.values()), *encodings(analysis)]


def save_plots(analysis: Analysis, folder: Path) -> None:
    """Write every plot of the study, each as SVG and CSV."""
    for plot in every_plot(analysis):
        if isinstance(plot, Figure):
            plot.save(folder / f"{plot.name}.svg")
            plot.save(folder / f"{plot.name}.csv")
