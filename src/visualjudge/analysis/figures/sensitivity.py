"""Accuracy against the difference of the options; see
:mod:`visualjudge.analysis.psychometric`."""

from __future__ import annotations

from collections.abc import Sequence

from visualjudge.analysis.figures.vocabulary import (
    ALL,
    NONE,
    Column,
    Json,
    JudgeFigure,
    JudgeResult,
    Layout,
    LinesPlot,
    Section,
    Shown,
    Trace,
    as_named,
    by_rows,
    counts,
    guessed_among_allowed,
    named,
    number,
    plain_name,
    with_ends,
)
from visualjudge.analysis.psychometric import Sensitivity, curves

CURVE = (
    "Curve: Weibull’s psychometric function, with its 95 % band by image. Each marker "
    "stands for a range of differences; larger markers have more verdicts. Hollow "
    "marker: the difference at which 75 % are right, with its interval; it is drawn "
    "where right answers rise significantly."
)


def _points(row: Sensitivity) -> list[Json]:
    return [
        dict(zip(("x", "share", "n"), point, strict=True))
        for point in row.points
    ]


COLUMNS = Layout[Sensitivity](
    named("value", "Questions"),
    named("against", "Distance"),
    *counts("jnd"),
    Column("jnd", "jnd.value"),
    Column("ci95", "jnd.interval"),
    *as_named("scope", "alpha", "beta", "lapse", "floor", "slope_p"),
    Column("reason", "jnd.why"),
    Column("points", _points),
)


def _rows(judge: JudgeResult) -> tuple[Sensitivity, ...]:
    chance = guessed_among_allowed(judge.asked)
    return curves(judge.pairs, chance, scored="scores" in judge.has)


def trace(rows: Sequence[Sensitivity], against: str) -> Trace:
    """Return the curve of all questions by one distance; empty without two points."""
    for row in rows:
        if (row.scope, row.against) == (ALL, against) and len(row.points) > 1:
            return Trace(row.points, row.band, row.jnd)
    return Trace()


def _text(row: Sensitivity) -> str:
    return (
        str(row.jnd.why)
        if row.jnd.value is None
        else with_ends(row.jnd, number)
    )


def _section(view: Shown) -> Section:
    cells = {
        (f"{plain_name(row.value)} · {row.against}", judge.name): _text(row)
        for judge in view.judges
        for row in judge[SENSITIVITY]
        if row.jnd.value is not None or row.scope == ALL
    }
    return Section(
        "sensitivity",
        "How small a difference does the judge see?",
        "The table gives the difference at which a judge is right in 75 % of pairs; "
        "lower is better. It is given where accuracy rises significantly with the "
        "difference and the curve fits.",
        [by_rows("Questions · distance", view.judges, cells, NONE)],
    )


def _plot(against: str, difference: str, label: str) -> LinesPlot:
    return LinesPlot(
        against,
        f"Right answers by the difference in {difference}",
        "Share of right answers to pairs whose options differ by so much.",
        (against, "accuracy"),
        lambda judge: trace(judge[SENSITIVITY], against),
        (label, "Right answers"),
        CURVE,
        f"no pairs with several differences in {against}",
    )


SENSITIVITY = JudgeFigure(
    "sensitivity",
    _rows,
    COLUMNS,
    needs={"truth"},
    place=50,
    section=_section,
    plots=(
        _plot(
            "margin",
            "score",
            "Difference in true score, of 10",
        ),
        _plot("severity", "severity", "Difference in severity"),
    ),
)
