"""Accuracy against distance: the data's points, the fitted curve, and the band of its 75 %
point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from visualjudge.analysis.figures import Sensitivity
from visualjudge.analysis.plots.axes import Box, percent_tick, x_axis, y_axis
from visualjudge.analysis.plots.canvas import Canvas, colour, legend
from visualjudge.analysis.psychometric import curve

HEIGHT = 300
STEPS = 60


@dataclass(frozen=True)
class Curve:
    """One judge's curve."""

    title: str
    series: int
    row: Sensitivity


def curves(charts: Sequence[Curve], label: str, width: float) -> Canvas:
    """All judges on one axis from 0; the lines down are at the 75 % points."""
    canvas = Canvas(width)
    top = legend(canvas, [chart.title for chart in charts], [chart.series for chart in charts]) + 24
    seen = [point.x for chart in charts for point in chart.row.points]
    seen += [chart.row.jnd.value for chart in charts if chart.row.jnd.value is not None]
    least = min((point.share for chart in charts for point in chart.row.points), default=0.0)
    ends = (0.4 if least > 0.45 else 0.0, 1.0)
    box = Box(48, width - 12, top, top + HEIGHT - 60, (0.0, 1.05 * max(seen) or 1.0), ends)
    x_axis(canvas, box, "{:g}".format, label)
    y_axis(canvas, box, percent_tick, "Right answers")
    for share in (0.5, 0.75):
        canvas.line(box.left, box.y(share), box.right, box.y(share), "chance")
    for chart in charts:
        _curve(canvas, chart, box)
    return canvas


def _curve(canvas: Canvas, chart: Curve, box: Box) -> None:
    row, name = chart.row, colour(chart.series)
    jnd, ends = row.jnd.value, row.jnd.interval
    if jnd is not None and row.alpha is not None and row.beta is not None and row.lapse is not None:
        x = np.linspace(0, box.x_range[1], STEPS)

        def at(
            point: float, alpha: float = row.alpha, beta: float = row.beta, lapse: float = row.lapse
        ) -> list[tuple[float, float]]:
            shares = curve(alpha * point / jnd, beta, lapse, row.floor, x)
            return [(box.x(a), box.y(b)) for a, b in zip(x.tolist(), shares.tolist(), strict=True)]

        if ends is not None and ends[0] and ends[1] is not None:
            canvas.lines([*at(ends[0]), *reversed(at(ends[1]))], f"band f{name}", closed=True)
        canvas.lines(at(jnd), f"ci l{name}")
        canvas.line(box.x(jnd), box.y(0.75), box.x(jnd), box.bottom, f"thin l{name}")
    most = max((point.n for point in row.points), default=1)
    for point in row.points:
        said = f"{point.x:.2f}: {point.share:.0%} of {point.n:.0f}"
        size = 2.5 + 3 * (point.n / most) ** 0.5
        canvas.marker(box.x(point.x), box.y(point.share), chart.series, radius=size, title=said)
