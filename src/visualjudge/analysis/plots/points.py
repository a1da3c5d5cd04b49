"""Lines through points on two axes, one for each judge: values against the truth, and accuracy
against distance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from visualjudge.analysis.plots.canvas import (
    Box,
    Canvas,
    colour,
    legend,
    percent_tick,
    x_axis,
    y_axis,
)

HEIGHT = 240
"""Height of the axes, in pixels."""
Points = tuple[tuple[float, float, float], ...]
"""Values on both axes, with their numbers of cases."""


@dataclass(frozen=True)
class Line:
    """One judge's points."""

    title: str
    series: int
    points: Points


def lines(
    found: Sequence[Line],
    labels: tuple[str, str],
    width: float,
    end: float | None = None,
) -> Canvas:
    """Draw all judges on one pair of axes from 0; ``labels`` are for x and y.

    With ``end`` both axes go to it, and a diagonal marks equal values; without, y is a share.
    """
    canvas = Canvas(width)
    top = (
        legend(canvas, [line.title for line in found], [line.series for line in found])
        + 24
    )
    points = [point for line in found for point in line.points]
    low = 0.4 if end is None and min(y for _, y, _ in points) > 0.45 else 0.0
    x_end = end or 1.05 * max(x for x, _, _ in points) or 1.0
    box = Box(48, width - 60, top, top + HEIGHT, (0.0, x_end), (low, end or 1.0))
    show: Callable[[float], str] = "{:g}".format
    x_axis(canvas, box, percent_tick if end == 1.0 else show, labels[0])
    y_axis(canvas, box, percent_tick if box.y_range[1] == 1.0 else show, labels[1])
    if end is None:
        for share, said in ((0.5, "guessing"), (0.75, "75 %")):
            canvas.line(box.left, box.y(share), box.right, box.y(share), "chance")
            canvas.text(box.right + 6, box.y(share) + 4, said, "small")
    else:
        canvas.line(box.left, box.bottom, box.right, box.top, "chance")
    for line in found:
        drawn = [(box.x(x), box.y(y)) for x, y, _ in line.points]
        canvas.lines(drawn, f"ci l{colour(line.series)}")
        most = max(n for _, _, n in line.points)
        for x, y, n in line.points:
            size = 2.5 + 3 * (n / most) ** 0.5
            said = f"{x:.2f}: {y:.2f} of {n:.0f}"
            canvas.marker(box.x(x), box.y(y), line.series, radius=size, title=said)
    return canvas
