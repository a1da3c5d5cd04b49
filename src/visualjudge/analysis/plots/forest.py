"""Forest plots: one row for each task, encoding, bias or comparison, with one estimate and interval
for each series.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from visualjudge.analysis.estimate import LEAST_IMAGES
from visualjudge.analysis.plots.canvas import (
    Box,
    Canvas,
    colour,
    legend,
    text_width,
    x_axis,
)
from visualjudge.analysis.value_and_interval import Estimate

DODGE = 11


@dataclass(frozen=True)
class ForestRow:
    """One row: an estimate for each series (None if not asked), and the value of guessing."""

    label: str
    estimates: tuple[Estimate | None, ...]
    chance: float | None = None
    note: str = ""
    """Words to the right of the row."""


@dataclass(frozen=True)
class Scale:
    """The axis of a forest plot: its ends, ticks, values as text, and a line at ``mark``."""

    low: float
    high: float
    tick: Callable[[float], str]
    value: Callable[[Estimate], str]
    label: str = ""
    mark: float | None = None


def forest(
    rows: Sequence[ForestRow],
    series: Sequence[str],
    scale: Scale,
    width: float,
    *,
    colours: Sequence[int] | None = None,
) -> Canvas:
    """Draw the rows from top to bottom.

    ``colours`` gives the colour number of each series if it differs from its position.
    """
    canvas = Canvas(width)
    numbers = range(len(series)) if colours is None else colours
    y = legend(canvas, series, numbers) if len(series) > 1 else 4.0
    label = min(0.45 * width, max((text_width(row.label) for row in rows), default=0) + 14)
    firsts = [row.estimates[0] for row in rows if row.estimates]
    values = [scale.value(e) for e in firsts if e is not None and len(series) == 1]
    beside = min(0.3 * width, max(map(text_width, values), default=0) + 12)
    notes = max((text_width(row.note, 11) for row in rows), default=0)
    slot = DODGE * max(1, len(series)) + 10.0
    ends = (scale.low, scale.high)
    box = Box(label, width - 22 - beside - notes, y + 4, y + 4 + slot * len(rows), ends)
    x_axis(canvas, box, scale.tick, scale.label)
    if scale.mark is not None:
        canvas.line(box.x(scale.mark), box.top, box.x(scale.mark), box.bottom, "axis")
    for k, row in enumerate(rows):
        middle = box.top + (k + 0.5) * slot
        canvas.text(box.left - 10, middle + 4, row.label, "name", "end", room=box.left - 10)
        if values and row.estimates[0] is not None:
            canvas.text(box.right + 14, middle + 4, scale.value(row.estimates[0]), room=beside)
        canvas.text(box.right + 18 + beside, middle + 4, row.note, "small")
        if row.chance is not None:
            x, half = box.x(row.chance), DODGE * len(series) / 2 + 3
            canvas.line(x, middle - half, x, middle + half, "chance")
        for s, estimate in enumerate(row.estimates):
            if estimate is not None and estimate.value is not None:
                place = middle + DODGE * (s - (len(series) - 1) / 2)
                named = f"{series[s]}: {row.label}: {scale.value(estimate)}"
                _estimate(canvas, estimate, box, place, numbers[s], scale, named)
    return canvas


def _estimate(
    canvas: Canvas,
    estimate: Estimate,
    box: Box,
    y: float,
    series: int,
    scale: Scale,
    named: str,
) -> None:
    """Draw the interval and the marker with its tooltip.

    An arrow marks an interval that extends beyond the axis; a hollow marker means fewer than five
    images.
    """
    value, name = estimate.value or 0.0, colour(series)
    low, high = estimate.interval or (None, None)
    if low is not None or high is not None:
        low, high = -math.inf if low is None else low, math.inf if high is None else high
        canvas.line(box.x(low), y, box.x(high), y, f"ci l{name}")
        for beyond, x, tail in (
            (low < scale.low, box.left, 5),
            (high > scale.high, box.right, -5),
        ):
            if beyond:
                corners = [(x + tail, y - 4), (x, y), (x + tail, y + 4)]
                canvas.lines(corners, f"thin l{name}")
    few = estimate.images < LEAST_IMAGES
    if scale.low <= value <= scale.high:
        canvas.marker(box.x(value), y, series, hollow=few, title=named)
