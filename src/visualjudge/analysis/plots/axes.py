"""Axes and panels that plots share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from visualjudge.analysis.plots.canvas import Canvas, ticks

NARROW = 480
"""Below so many pixels a figure is drawn for a phone."""


@dataclass(frozen=True)
class Box:
    """Where data are drawn: pixels from ``left`` to ``right`` and from ``top`` to ``bottom``, and
    what they span.
    """

    left: float
    right: float
    top: float
    bottom: float
    x_range: tuple[float, float]
    y_range: tuple[float, float] = (0.0, 1.0)

    def x(self, value: float) -> float:
        """The pixel of a value, at the edge where it lies beyond it."""
        low, high = self.x_range
        return self.left + (self.right - self.left) * min(
            1.0, max(0.0, (value - low) / (high - low))
        )

    def y(self, value: float) -> float:
        """The pixel of a value, at the edge where it lies beyond it."""
        low, high = self.y_range
        return self.bottom - (self.bottom - self.top) * min(
            1.0, max(0.0, (value - low) / (high - low))
        )


def panels(
    width: float, count: int, height: float, top: float, least: float = 300
) -> list[tuple[float, float, float]]:
    """The left edge, top edge and width of ``count`` panels in rows from ``top``, none narrower
    than ``least``.
    """
    across = max(1, min(count, int(width // least)))
    each = width / across
    return [((k % across) * each, top + (k // across) * height, each) for k in range(count)]


def percent_tick(value: float) -> str:
    """0.5 as 50 %."""
    return f"{100 * value:g} %"


def x_axis(
    canvas: Canvas, box: Box, show: Callable[[float], str], label: str = "", *, grid: bool = True
) -> None:
    """Ticks below the box, a light line up from each, and what they measure."""
    for tick in ticks(*box.x_range, most=5 if box.right - box.left < 260 else 7):
        if grid:
            canvas.line(box.x(tick), box.top, box.x(tick), box.bottom, "grid")
        canvas.text(box.x(tick), box.bottom + 15, show(tick), "small", "middle")
    canvas.line(box.left, box.bottom, box.right, box.bottom, "axis")
    if label:
        canvas.text((box.left + box.right) / 2, box.bottom + 31, label, "", "middle")


def y_axis(canvas: Canvas, box: Box, show: Callable[[float], str], label: str = "") -> None:
    """Ticks to the left of the box, a light line from each, and above it what they measure."""
    for tick in ticks(*box.y_range):
        canvas.line(box.left, box.y(tick), box.right, box.y(tick), "grid")
        canvas.text(box.left - 5, box.y(tick) + 4, show(tick), "small", "end")
    if label:
        canvas.text(max(2, box.left - 38), box.top - 9, label)
