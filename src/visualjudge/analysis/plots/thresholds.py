"""Figures beside their thresholds: a strip for each check, the part that passes shaded, an estimate
for each judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visualjudge.analysis.plots.axes import NARROW, Box
from visualjudge.analysis.plots.canvas import Canvas, colour, legend, text_width
from visualjudge.analysis.statistics.jackknife import LEAST_IMAGES

DODGE = 13


@dataclass(frozen=True)
class Held:
    """What one judge shows of a check: its figure, its interval, and the state in words."""

    value: float | None
    interval: tuple[float, float] | None
    images: int
    state: str
    said: str


@dataclass(frozen=True)
class CheckRow:
    """A check: its name, the threshold in words, the axis, where it passes, and a figure for each
    judge.
    """

    label: str
    asked: str
    ends: tuple[float, float]
    passing: tuple[float, float]
    held: tuple[Held, ...]


def thresholds(rows: Sequence[CheckRow], series: Sequence[str], width: float) -> Canvas:
    """Each check on an axis of its own; to the right the state of each judge, with its icon and
    words.
    """
    canvas = Canvas(width)
    narrow = width < NARROW
    y = legend(canvas, series, range(len(series))) + 6 if len(series) > 1 else 4.0
    label = (
        10.0
        if narrow
        else max(max(text_width(row.label), text_width(row.asked, 11)) for row in rows) + 12
    )
    words = (
        6.0
        if narrow
        else min(0.5 * width, max(text_width(h.said) for row in rows for h in row.held) + 30)
    )
    for row in rows:
        inside = DODGE * len(row.held)
        top = y + 34 if narrow else y
        height = max(inside + 8, 30)
        box = Box(label, width - words - 10, top + 2, top + height, row.ends)
        _check(canvas, row, box)
        if narrow:
            canvas.text(2, y + 14, row.label, "name")
            canvas.text(2, y + 28, row.asked, "small")
        else:
            canvas.text(2, (box.top + box.bottom) / 2 - 1, row.label, "name")
            canvas.text(2, (box.top + box.bottom) / 2 + 13, row.asked, "small")
        y = _words(canvas, row, box, narrow) + 8
    return canvas


def _check(canvas: Canvas, row: CheckRow, box: Box) -> None:
    canvas.rectangle(
        box.left, box.top, box.right - box.left, box.bottom - box.top, "swatch", opacity=0.35
    )
    left, right = box.x(row.passing[0]), box.x(row.passing[1])
    canvas.rectangle(left, box.top, right - left, box.bottom - box.top, "passing")
    for end in row.passing:
        if row.ends[0] < end < row.ends[1]:
            canvas.line(box.x(end), box.top - 2, box.x(end), box.bottom + 2, "threshold")
    middle = (box.top + box.bottom) / 2
    for k, held in enumerate(row.held):
        y = middle + DODGE * (k - (len(row.held) - 1) / 2)
        if held.interval is not None:
            canvas.line(box.x(held.interval[0]), y, box.x(held.interval[1]), y, f"ci l{colour(k)}")
        if held.value is not None:
            few = held.images < LEAST_IMAGES
            canvas.marker(box.x(held.value), y, k, hollow=few, title=held.said)


def _words(canvas: Canvas, row: CheckRow, box: Box, narrow: bool) -> float:
    """The state of each judge beside the strip, or below it; returns the bottom."""
    count = len(row.held)
    middle = (box.top + box.bottom) / 2
    y = box.bottom
    for k, held in enumerate(row.held):
        y = box.bottom + 15 * (k + 1) if narrow else middle + DODGE * (k - (count - 1) / 2)
        x = box.left + 4 if narrow else box.right + 16
        if narrow:
            canvas.marker(x + 2, y, k, radius=3.5) if count > 1 else None
            x += 14 if count > 1 else 6
        canvas.icon(x, y, held.state)
        canvas.text(x + 12, y + 4, held.said, "name", room=canvas.width - x - 12)
    return max(y + 8, box.bottom + 2) if narrow else box.bottom
