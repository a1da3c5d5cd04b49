"""Points on two axes, one series for each judge, with a line through them or a fitted
curve: values against the truth, and accuracy against distance. Intervals side by side
are in ``forest.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from visualjudge.analysis.plots.canvas import (
    Box,
    Canvas,
    colour,
    legend,
    percent_tick,
    tick,
    x_axis,
    y_axis,
)
from visualjudge.analysis.value_and_interval import Estimate

HEIGHT = 240
"""Height of the axes, in pixels."""
UNIT = (0.0, 1.0)
"""Ends of axes of shares."""
LEVEL = 0.75
"""Share of right answers at which curves are compared."""
MOST_BANDS = 3
"""Number of judges up to which the bands of curves are drawn."""
Points = tuple[tuple[float, float, float], ...]
"""Values on both axes, with their numbers of cases."""
Band = tuple[tuple[float, float, float, float], ...]
"""A curve: places on the x axis, its value, and the ends of its 95 % band."""


@dataclass(frozen=True)
class Trace:
    """Points of one judge; with a ``band``, its curve is drawn. ``level`` is where the
    curve reaches 75 %."""

    points: Points = ()
    band: Band = ()
    level: Estimate | None = None


@dataclass(frozen=True)
class Line:
    """A judge, the number of its series, and what is drawn of it."""

    title: str
    series: int
    trace: Trace


def lines(
    drawn: Sequence[Line],
    labels: tuple[str, str],
    width: float,
    ends: tuple[float, float] | None = None,
) -> Canvas:
    """Draw all judges on one pair of axes; ``labels`` are for x and y.

    With ``ends`` both axes have them, and a diagonal marks equal values; without, x
    begins at 0 and y is a share.
    """
    canvas = Canvas(width)
    top = legend(canvas, {line.series: line.title for line in drawn}) + 28
    points = [point for line in drawn for point in line.trace.points]
    low = 0.4 if min(y for _, y, _ in points) > 0.4 else 0.0
    x_range = ends or (0.0, 1.05 * max(x for x, _, _ in points) or 1.0)
    y_range = ends or (low, 1.0)
    box = Box(48, width - 60, top, top + HEIGHT, x_range, y_range)
    x_axis(
        canvas,
        box,
        percent_tick if ends == UNIT else tick,
        labels[0],
    )
    y_axis(
        canvas,
        box,
        percent_tick if ends in (None, UNIT) else tick,
        labels[1],
    )
    if ends is None:
        for share, words in ((0.5, "guessing"), (LEVEL, percent_tick(LEVEL))):
            canvas.line(
                box.left,
                box.y(share),
                box.right,
                box.y(share),
                "chance",
            )
            canvas.text(
                box.right + 6,
                box.y(share) + 4,
                words,
                "small",
            )
    else:
        canvas.line(
            box.left,
            box.bottom,
            box.right,
            box.top,
            "chance",
        )
    if len(drawn) <= MOST_BANDS:
        for line in drawn:
            _band(canvas, box, line)
    for line in drawn:
        _line(canvas, box, line, joined=ends is not None)
    return canvas


def _band(canvas: Canvas, box: Box, line: Line) -> None:
    band = line.trace.band
    if band:
        above = [(box.x(x), box.y(high)) for x, _, _, high in band]
        below = [(box.x(x), box.y(low)) for x, _, low, _ in reversed(band)]
        canvas.through(
            [*above, *below],
            f"band f{colour(line.series)}",
            element="polygon",
        )


def _line(
    canvas: Canvas,
    box: Box,
    line: Line,
    *,
    joined: bool,
) -> None:
    trace = line.trace
    kind = f"ci l{colour(line.series)}"
    if trace.band or joined:
        through = [(x, y) for x, y, *_ in trace.band or trace.points]
        canvas.through([(box.x(x), box.y(y)) for x, y in through], kind)
    most = max(n for _, _, n in trace.points)
    for x, y, n in trace.points:
        size = 2 + 3.5 * (n / most) ** 0.5
        words = f"{line.title}, {x:.2f}: {y:.2f} of {n:.0f}"
        canvas.marker(
            box.x(x),
            box.y(y),
            line.series,
            radius=size,
            title=words,
        )
    level = trace.level
    if level is None or level.value is None:
        return
    y = box.y(LEVEL)
    low, high = level.interval or (level.value, level.value)
    first = box.left if low is None else box.x(low)
    last = box.right if high is None else box.x(high)
    x = box.x(level.value)
    canvas.line(first, y, last, y, kind)
    canvas.line(x, y, x, box.bottom, kind)
    words = f"{line.title}: {percent_tick(LEVEL)} at {level.value:.2f}"
    canvas.marker(x, y, line.series, hollow=True, title=words)
