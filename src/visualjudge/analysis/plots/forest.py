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
    """One row: an estimate for each series (None if not asked), the chance and baseline values, and
    the states.
    """

    label: str
    estimates: tuple[Estimate | None, ...]
    chance: float | None = None
    baseline: float | None = None
    states: tuple[str, ...] = ()
    note: str = ""
    image: str | None = None
    """A small image beside the label, as a data URI."""
    colour: int | None = None
    """Colour number of the row, if it is not that of the series."""


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
    bars: bool = False,
    chance: str = "chance",
) -> Canvas:
    """Draw the rows from top to bottom.

    ``colours`` gives the colour number of each series if it differs from its position, ``bars``
    draws a bar from the mark to each estimate (for leanings), and ``chance`` is the legend text for
    the rows' ``chance`` values.
    """
    canvas = Canvas(width)
    numbers = range(len(series)) if colours is None else colours
    y = _legend(canvas, rows, series, numbers, chance)
    states = 18 * max((len(row.states) for row in rows), default=0)
    thumbnails = 58.0 if any(row.image for row in rows) else 0.0
    label = max((text_width(row.label) for row in rows), default=0) + 14 + thumbnails
    label = min(0.45 * width, label)
    values = 0.0 if len(series) > 1 else _widest(rows, scale) + 12
    notes = max((text_width(row.note, 11) for row in rows), default=0)
    right = width - 22 - (states + values + notes)
    slot = DODGE * max(1, len(series)) + 10.0
    slot = max(slot, 42.0) if thumbnails else slot
    box = Box(label, right, y + 4, y + 4 + slot * len(rows), (scale.low, scale.high))
    x_axis(canvas, box, scale.tick, scale.label)
    if scale.mark is not None:
        canvas.line(box.x(scale.mark), box.top, box.x(scale.mark), box.bottom, "axis")
    if states and len(series) > 1:
        first = box.right + 22 + values
        for k, number in enumerate(numbers):
            canvas.marker(first + 18 * k, box.top - 3, number, radius=3.5)
    for k, row in enumerate(rows):
        top = box.top + k * slot
        middle = top + slot / 2
        if row.image:
            canvas.image(2, top + 1, 52, 39, row.image)
        _name(canvas, row, scale, box, (top, middle), states, values, len(series))
        _references(canvas, row, box, middle, len(series))
        for s, estimate in enumerate(row.estimates):
            if estimate is not None and estimate.value is not None:
                place = middle + DODGE * (s - (len(series) - 1) / 2)
                number = numbers[s] if row.colour is None else row.colour
                told = (series[s], row.label, scale.value(estimate))
                said = ": ".join(filter(None, told))
                _estimate(canvas, estimate, box, place, number, scale, said, bars=bars)
    return canvas


def _widest(rows: Sequence[ForestRow], scale: Scale) -> float:
    said = [
        scale.value(row.estimates[0])
        for row in rows
        if row.estimates and row.estimates[0] is not None
    ]
    return max(map(text_width, said), default=0)


def _legend(
    canvas: Canvas,
    rows: Sequence[ForestRow],
    series: Sequence[str],
    numbers: Sequence[int],
    named: str,
) -> float:
    """Draw the legend: the judges, then the chance and baseline marks, on the same line if they
    fit; return the bottom.
    """
    chance = any(row.chance is not None for row in rows)
    base = any(row.baseline is not None for row in rows)
    judges = [text_width(name) + 30 for name in series] if len(series) > 1 else []
    x, y = 5.0, 4.0
    if judges:
        bottom = legend(canvas, series, numbers)
        needed = chance * (text_width(named) + 30) + base * (text_width("local baseline") + 20)
        beside = sum(judges) + needed < canvas.width
        x, y = (5 + sum(judges), 2.0) if beside else (5.0, bottom)
        if not (chance or base):
            return bottom
    if chance:
        canvas.line(x, y, x, y + 12, "chance")
        canvas.text(x + 8, y + 11, named)
        x += text_width(named) + 30
    if base:
        canvas.lines([(x, y + 1), (x + 8, y + 1), (x + 4, y + 8), (x, y + 1)], "base")
        canvas.text(x + 14, y + 11, "local baseline")
    return y + 18 if chance or base else y


def _name(
    canvas: Canvas,
    row: ForestRow,
    scale: Scale,
    box: Box,
    y: tuple[float, float],
    states: float,
    values: float,
    series: int,
) -> None:
    """Draw the label and, to its right, the value of a single series, the states and the note."""
    _top, middle = y
    estimate = row.estimates[0] if row.estimates else None
    said = scale.value(estimate) if series == 1 and estimate is not None else ""
    room = box.left - (68 if row.image else 10)
    canvas.text(box.left - 10, middle + 4, row.label, "name", "end", room=room)
    left = box.right + 14
    canvas.text(left, middle + 4, said)
    for k, state in enumerate(row.states):
        canvas.icon(left + values + 8 + 18 * k, middle, state)
    canvas.text(left + values + states + 4, middle + 4, row.note, "small")


def _references(canvas: Canvas, row: ForestRow, box: Box, middle: float, series: int) -> None:
    half = DODGE * series / 2 + 3
    if row.chance is not None:
        x = box.x(row.chance)
        canvas.line(x, middle - half, x, middle + half, "chance")
    if row.baseline is not None:
        x = box.x(row.baseline)
        canvas.lines(
            [
                (x - 4, middle - half),
                (x + 4, middle - half),
                (x, middle - half + 7),
                (x - 4, middle - half),
            ],
            "base",
        )


def _estimate(
    canvas: Canvas,
    estimate: Estimate,
    box: Box,
    y: float,
    series: int,
    scale: Scale,
    said: str,
    *,
    bars: bool,
) -> None:
    """Draw the interval and the marker with its tooltip (``said``).

    An arrow marks an interval that extends beyond the axis; a hollow marker means fewer than five
    images.
    """
    value, name = estimate.value or 0.0, colour(series)
    if bars and scale.mark is not None:
        ends = sorted((box.x(scale.mark), box.x(value)))
        canvas.rectangle(ends[0], y - 4, ends[1] - ends[0], 8, f"bar f{name}")
    low, high = ends_of(estimate)
    if low is not None and high is not None:
        canvas.line(box.x(low), y, box.x(high), y, f"ci l{name}")
        if low < scale.low:
            canvas.lines(
                [(box.left + 5, y - 4), (box.left, y), (box.left + 5, y + 4)], f"thin l{name}"
            )
        if high > scale.high:
            canvas.lines(
                [(box.right - 5, y - 4), (box.right, y), (box.right - 5, y + 4)], f"thin l{name}"
            )
    few = estimate.images < LEAST_IMAGES
    if scale.low <= value <= scale.high:
        canvas.marker(box.x(value), y, series, hollow=few, title=said)


def ends_of(estimate: Estimate) -> tuple[float | None, float | None]:
    """Return both ends of the interval, with infinity for an open side; (None, None) if both are
    unknown.
    """
    ends = estimate.interval
    if ends is None or (ends[0] is None and ends[1] is None):
        return None, None
    return -math.inf if ends[0] is None else ends[0], math.inf if ends[1] is None else ends[1]
