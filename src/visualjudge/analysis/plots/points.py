"""Lines through points on two axes, one for each judge: values against the truth, and accuracy
against distance with a fitted curve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from visualjudge.analysis.figures import Sensitivity
from visualjudge.analysis.plots.canvas import (
    Box,
    Canvas,
    colour,
    legend,
    percent_tick,
    x_axis,
    y_axis,
)
from visualjudge.analysis.psychometric import curve

HEIGHT = 240
"""Height of the axes, in pixels."""
STEPS = 60


@dataclass(frozen=True)
class Line:
    """One judge's points (x, y) with their numbers of cases, and the curve fitted to them."""

    title: str
    series: int
    points: tuple[tuple[float, float, float], ...]
    fitted: Sensitivity | None = None


def lines(
    found: Sequence[Line], labels: tuple[str, str], width: float, end: float | None = None
) -> Canvas:
    """Draw all judges on one pair of axes from 0; ``labels`` are for x and y.

    With ``end`` both axes go to it, the points are joined, and a diagonal marks equal values.
    Without, y is a share; fitted curves are drawn, with a vertical line at their 75 % points.
    """
    canvas = Canvas(width)
    top = legend(canvas, [line.title for line in found], [line.series for line in found]) + 24
    points = [point for line in found for point in line.points]
    least = min(y for _, y, _ in points)
    x_end, y_ends = end, (0.0, end or 1.0)
    if x_end is None:
        jnds = [line.fitted.jnd.value or 0.0 for line in found if line.fitted is not None]
        x_end = 1.05 * max([*(x for x, _, _ in points), *jnds]) or 1.0
        y_ends = (0.4 if least > 0.45 else 0.0, 1.0)
    box = Box(48, width - 60, top, top + HEIGHT, (0.0, x_end), y_ends)
    show: Callable[[float], str] = "{:g}".format
    x_axis(canvas, box, percent_tick if end == 1.0 else show, labels[0])
    y_axis(canvas, box, percent_tick if y_ends[1] == 1.0 else show, labels[1])
    if end is None:
        for share, said in ((0.5, "guessing"), (0.75, "75 %")):
            canvas.line(box.left, box.y(share), box.right, box.y(share), "chance")
            canvas.text(box.right + 6, box.y(share) + 4, said, "small")
    else:
        canvas.line(box.left, box.bottom, box.right, box.top, "chance")
    for line in found:
        if line.fitted is not None:
            _curve(canvas, line.fitted, colour(line.series), box)
        elif end is not None:
            drawn = [(box.x(x), box.y(y)) for x, y, _ in line.points]
            canvas.lines(drawn, f"ci l{colour(line.series)}")
        most = max(n for _, _, n in line.points)
        for x, y, n in line.points:
            size, said = 2.5 + 3 * (n / most) ** 0.5, f"{x:.2f}: {y:.2f} of {n:.0f}"
            canvas.marker(box.x(x), box.y(y), line.series, radius=size, title=said)
    return canvas


def _curve(canvas: Canvas, row: Sensitivity, name: str, box: Box) -> None:
    jnd, ends = row.jnd.value, row.jnd.interval
    alpha, beta, lapse = row.alpha, row.beta, row.lapse
    if jnd is None or alpha is None or beta is None or lapse is None:
        return
    x = np.linspace(0, box.x_range[1], STEPS)

    def at(point: float) -> list[tuple[float, float]]:
        shares = curve(alpha * point / jnd, beta, lapse, row.floor, x)
        return [(box.x(a), box.y(b)) for a, b in zip(x.tolist(), shares.tolist(), strict=True)]

    if ends is not None and ends[0] and ends[1] is not None:
        canvas.lines([*at(ends[0]), *reversed(at(ends[1]))], f"band f{name}", closed=True)
    canvas.lines(at(jnd), f"ci l{name}")
    canvas.line(box.x(jnd), box.y(0.75), box.x(jnd), box.bottom, f"thin l{name}")
