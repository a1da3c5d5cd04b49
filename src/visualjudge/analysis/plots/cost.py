"""Accuracy against cost, with the judges that no other is both cheaper and better than (the Pareto
front).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visualjudge.analysis.plots.axes import Box, percent_tick, x_axis, y_axis
from visualjudge.analysis.plots.canvas import Canvas, colour, legend
from visualjudge.analysis.plots.forest import ends_of
from visualjudge.analysis.statistics.jackknife import LEAST_IMAGES
from visualjudge.analysis.value_and_interval import Estimate

HEIGHT = 300


@dataclass(frozen=True)
class Priced:
    """A judge: what one verdict costs, and how often it is right."""

    title: str
    series: int
    cost: float
    share: Estimate


def front(rows: Sequence[Priced]) -> list[Priced]:
    """The judges that no other is at least as good as at a lower cost, the cheapest first."""
    kept: list[Priced] = []
    for row in sorted(rows, key=lambda row: (row.cost, -(row.share.value or 0.0))):
        if not kept or (row.share.value or 0.0) > (kept[-1].share.value or 0.0):
            kept.append(row)
    return kept


def cost_plot(rows: Sequence[Priced], label: str, width: float) -> Canvas:
    """Cost on the x axis from 0, accuracy on the y axis; the line joins the front."""
    canvas = Canvas(width)
    top = legend(canvas, [row.title for row in rows], [row.series for row in rows]) + 24
    box = Box(
        48, width - 14, top, top + HEIGHT - 60, (0.0, 1.1 * max(row.cost for row in rows) or 1.0)
    )
    x_axis(canvas, box, "{:g}".format, label)
    y_axis(canvas, box, percent_tick, "Right answers")
    canvas.lines(
        [(box.x(row.cost), box.y(row.share.value or 0.0)) for row in front(rows)], "chance"
    )
    for row in rows:
        low, high = ends_of(row.share)
        x = box.x(row.cost)
        if low is not None and high is not None:
            canvas.line(x, box.y(low), x, box.y(high), f"ci l{colour(row.series)}")
        few = row.share.images < LEAST_IMAGES
        canvas.marker(x, box.y(row.share.value or 0.0), row.series, hollow=few, title=row.title)
    return canvas
