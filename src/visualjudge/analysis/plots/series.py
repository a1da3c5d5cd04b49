"""Plots with a series for each judge: estimates with intervals, and lines through
points. The forms that they call are ``forest.py`` and ``points.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from visualjudge.analysis.figure_text import number, points, signed, with_ends
from visualjudge.analysis.plots.canvas import Sign, percent_tick
from visualjudge.analysis.plots.forest import Cells, Scale, forest
from visualjudge.analysis.plots.plot import LeftOut, Plot
from visualjudge.analysis.plots.points import Line, Trace, lines
from visualjudge.analysis.results import FigurePlot, JudgeResult, Shown
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.plurals import plural

MOST_ROWS = 24
SHARES = Scale(0.0, 1.0, percent_tick, with_ends, "Right answers")
ESTIMATE = ("value", "low", "high", "n", "images")
ALL = "all questions"
INTERVALS = (
    "Lines are 95 % intervals with images as the unit; hollow markers stand for fewer "
    "than 5 images."
)
UNADJUSTED = f"{INTERVALS} They are not adjusted for the number of comparisons; tests are (Holm)."
Row = tuple[str | float | int | None, ...]


def figures_of(estimate: Estimate | None) -> Row:
    """Return the columns of ESTIMATE."""
    if estimate is None:
        return (None, None, None, 0, 0)
    low, high = estimate.interval or (None, None)
    return (estimate.value, low, high, estimate.n, estimate.images)


def differences_scale(
    estimates: Iterable[Estimate | None],
    label: str,
    tick: Callable[[float], str] = signed,
    show: Callable[[float | None], str] = points,
) -> Scale:
    """Return an axis of differences, of points by default, symmetric about 0, that
    covers the estimates and intervals."""
    known = [
        end
        for e in estimates
        if e
        for end in (e.value, *(e.interval or ()))
        if end
    ]
    end = max(0.1, 1.08 * max(map(abs, known), default=0.0))
    return Scale(-end, end, tick, partial(with_ends, show=show), label, 0.0)


def estimates_plot(
    name: str,
    title: str,
    caption: str,
    result: Sequence[tuple[int, str, Cells]],
    *,
    missing: str,
    label: str = "",
    reading: str = INTERVALS,
    least: int = 1,
    most: int = MOST_ROWS,
    scale: Scale = SHARES,
    notes: Mapping[str, str] = MappingProxyType({}),
    signs: Mapping[tuple[str, str], Sign] = MappingProxyType({}),
) -> Plot | LeftOut:
    """Draw a row for each label and a series, with its number and name, for each of
    ``result``; ``notes`` stand below labels, and rows with an interval before those
    without; ``signs`` of a series and a label say whether it does what is required. The
    axis is one of points named ``label``, or ``scale`` without a label. With fewer than
    ``least`` rows, nothing is drawn: ``missing`` is the reason.
    """
    known = (
        text
        for _, _, cells in result
        for text, e in cells.items()
        if e.value is not None
    )
    labels = list(dict.fromkeys(known))
    if len(labels) < least:
        return LeftOut(name, missing)
    measured = {
        text for *_, cells in result for text, e in cells.items() if e.interval
    }
    labels.sort(key=lambda text: text not in measured)
    data = [
        (series, text, *figures_of(cells.get(text)))
        for _, series, cells in result
        for text in labels
    ]
    rows = labels[:most]
    if label:
        scale = differences_scale(
            (cells.get(row) for *_, cells in result for row in rows), label
        )
    if len(rows) < len(labels):
        reading = f"{reading} {len(rows)} of {len(labels)} rows are drawn."
    return Plot(
        name,
        title,
        caption,
        ("judge", "row", *ESTIMATE),
        tuple(data),
        lambda width: forest(
            rows, result, scale, width, notes=notes, signs=signs
        ),
        reading,
    )


def estimates_of_judges(
    name: str,
    title: str,
    caption: str,
    cells: Callable[[JudgeResult], Cells],
    missing: str,
    label: str = "",
    reading: str = INTERVALS,
    *,
    least: int = 1,
    opening: bool = False,
    signs: Callable[[JudgeResult], Mapping[str, Sign]] = lambda _: {},
) -> FigurePlot:
    """Return a plot with a row for each label and a series for each judge, from the
    ``cells`` and ``signs`` of a judge; see :func:`estimates_plot`.
    """

    def draw(view: Shown) -> Plot | LeftOut:
        judges = view.drawn
        result = [
            (k, judge.name, own)
            for k, judge in enumerate(judges)
            if (own := cells(judge))
        ]
        return estimates_plot(
            name,
            title,
            caption,
            result,
            missing=missing,
            label=label,
            reading=reading,
            least=least,
            scale=replace(SHARES, chance=judges[0].chance),
            notes={
                label: _images(
                    [own[label] for *_, own in result if label in own]
                )
                for *_, cells in result
                for label in cells
            },
            signs={
                (judge.name, label): sign
                for judge in judges
                for label, sign in signs(judge).items()
            },
        )

    return FigurePlot(name, draw, opening)


def _images(estimates: Iterable[Estimate]) -> str:
    """Return the number of images, or its range."""
    images = sorted({estimate.images for estimate in estimates})
    ends = dict.fromkeys((images[0], images[-1]))
    return f"{' to '.join(map(number, ends))} {plural(images[-1], 'image')}"


def lines_of_judges(
    name: str,
    title: str,
    caption: str,
    columns: tuple[str, str],
    trace: Callable[[JudgeResult], Trace],
    labels: tuple[str, str],
    reading: str,
    missing: str,
    ends: Callable[[Shown], tuple[float, float]] | None = None,
) -> FigurePlot:
    """Return a plot with a line or curve for each judge, the ``trace`` of a judge, in
    files ``columns``; axes and ``ends`` as in :func:`lines`.
    """

    def draw(view: Shown) -> Plot | LeftOut:
        each = [
            Line(judge.name, k, trace(judge))
            for k, judge in enumerate(view.drawn)
        ]
        drawn = [line for line in each if line.trace.points]
        if not drawn:
            return LeftOut(name, missing)
        rows = (
            (line.title, x, y, int(n))
            for line in drawn
            for x, y, n in line.trace.points
        )
        axes = ends(view) if ends else None
        return Plot(
            name,
            title,
            caption,
            ("judge", *columns, "n"),
            tuple(rows),
            lambda width: lines(drawn, labels, width, axes),
            reading,
        )

    return FigurePlot(name, draw)
