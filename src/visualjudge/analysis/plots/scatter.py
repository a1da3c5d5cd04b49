"""Values against the truth: points, the identity line, and what the truth is on average for each
value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from visualjudge.analysis.plots.axes import Box, panels, percent_tick, x_axis, y_axis
from visualjudge.analysis.plots.canvas import Canvas, colour

SIDE = 210
"""Pixels of a panel's axes, which are square."""
LARGEST = 7.0


@dataclass(frozen=True)
class Scatter:
    """Points (x, y) of one judge, and points of a calibration line with how many cases are behind
    each.
    """

    title: str
    series: int
    points: tuple[tuple[float, float], ...]
    calibration: tuple[tuple[float, float, int], ...]


def scatters(
    charts: Sequence[Scatter], ends: tuple[float, float], labels: tuple[str, str], width: float
) -> Canvas:
    """A panel for each judge, both axes over ``ends``; ``labels``: of x and of y."""
    canvas = Canvas(min(width, len(charts) * (SIDE + 76)))
    show: Callable[[float], str] = percent_tick if ends == (0.0, 1.0) else "{:g}".format
    for chart, (left, top, across) in zip(
        charts, panels(canvas.width, len(charts), SIDE + 90, 0, SIDE + 60), strict=True
    ):
        box = Box(left + 46, left + 46 + SIDE, top + 40, top + 40 + SIDE, ends, ends)
        canvas.marker(left + 8, top + 9, chart.series)
        canvas.text(left + 18, top + 13, chart.title, "strong", room=across - 30)
        x_axis(canvas, box, show, labels[0])
        y_axis(canvas, box, show, labels[1])
        canvas.line(box.left, box.bottom, box.right, box.top, "chance")
        canvas.cloud([(box.x(x), box.y(y)) for x, y in chart.points], chart.series)
        _calibration(canvas, chart, box)
    return canvas


def _calibration(canvas: Canvas, chart: Scatter, box: Box) -> None:
    known = [row for row in chart.calibration if row[2]]
    if not known:
        return
    canvas.lines([(box.x(x), box.y(y)) for x, y, _ in known], f"ci l{colour(chart.series)}")
    most = max(n for _, _, n in known)
    for x, y, n in known:
        size = 3 + (LARGEST - 3) * (n / most) ** 0.5
        canvas.marker(
            box.x(x), box.y(y), chart.series, radius=size, title=f"{x:.2g}: {y:.2g}, {n} cases"
        )
