"""Forest plots: one row for each task, encoding, bias or comparison, with one estimate
and interval for each series. Lines and curves are in ``points.py``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from types import MappingProxyType

from visualjudge.analysis.estimate import LEAST_IMAGES
from visualjudge.analysis.plots.canvas import (
    RADIUS,
    Box,
    Canvas,
    Sign,
    colour,
    legend,
    text_width,
    x_axis,
)
from visualjudge.analysis.value_and_interval import Estimate

DODGE = 11
MOST_WORDS = 0.7
"""Share of the width that words beside the axes may take."""
LINE = 13
"""Height of a line of a label, in pixels."""


Cells = Mapping[str, Estimate]
"""Estimates by the label of their row."""


@dataclass(frozen=True)
class Scale:
    """The axis of a forest plot: its ends, ticks, values as text, and a line at
    ``mark``.
    """

    low: float
    high: float
    tick: Callable[[float], str]
    value: Callable[[Estimate], str]
    label: str = ""
    mark: float | None = None
    chance: float | None = None
    """The value of guessing, a dashed line."""


def forest(
    labels: Sequence[str],
    series: Sequence[tuple[int, str, Cells]],
    scale: Scale,
    width: float,
    *,
    notes: Mapping[str, str] = MappingProxyType({}),
    signs: Mapping[tuple[str, str], Sign] = MappingProxyType({}),
) -> Canvas:
    """Draw a row for each label, with its note below it, from top to bottom.

    Each of ``series`` is the number of its colour, its name, and its estimates.
    ``signs``, of a series and a label, say whether an estimate does what is required;
    without one, a hollow marker means fewer than five images.
    """
    canvas = Canvas(width)
    several = len(series) > 1
    y = legend(canvas, {k: name for k, name, _ in series}) if several else 4.0
    widest = max(map(text_width, [*labels, *notes.values()]), default=0)
    left = min(0.45 * width, widest + 14)
    values = (
        text_width(scale.value(cells[label]))
        for _, _, cells in series
        for label in labels
        if label in cells and not several
    )
    beside = max(values, default=0) + 12
    above = left + beside > MOST_WORDS * width
    if above:
        beside = 12
    words = [_lines(label, notes.get(label, ""), left - 10) for label in labels]
    needed = LINE * (max(map(len, words), default=0) + above) + RADIUS
    slot = max(DODGE * len(series) + 10.0, 2.0 * LINE, needed)
    box = Box(
        left,
        width - 22 - beside,
        y + 4,
        y + 4 + slot * len(labels),
        (scale.low, scale.high),
    )
    x_axis(canvas, box, scale.tick, scale.label)
    for mark, kind in ((scale.mark, "axis"), (scale.chance, "chance")):
        if mark is not None:
            canvas.line(box.x(mark), box.top, box.x(mark), box.bottom, kind)
    for k, label in enumerate(labels):
        middle = box.top + (k + 0.5) * slot
        _label(canvas, words[k], box.left - 10, middle + 4)
        for s, (number, name, cells) in enumerate(series):
            estimate = cells.get(label)
            if estimate is None or estimate.value is None:
                continue
            place = middle + DODGE * (s - (len(series) - 1) / 2)
            x = box.x(estimate.value)
            value = scale.value(estimate)
            if above:  # before the marker, which it would hide
                half = text_width(value) / 2
                inside = min(max(x, box.left + half), width - half)
                canvas.text(inside, place - 9, value, "name over", "middle")
            elif not several:
                canvas.text(box.right + 14, place + 4, value)
            radius = _interval(canvas, box, estimate, place, number)
            sign = signs.get((name, label))
            few = (
                estimate.images < LEAST_IMAGES
                if sign is None
                else sign != "right"
            )
            canvas.marker(
                x,
                place,
                number,
                hollow=few,
                title=f"{name}: {label}: {value}",
                radius=radius,
            )
            if sign == "wrong":
                canvas.marker(x, place, sign)
    return canvas


def _label(
    canvas: Canvas, lines: Sequence[tuple[str, str]], right: float, y: float
) -> None:
    """Write lines, each with its kind of text, to the left of ``right``."""
    top = y - LINE * (len(lines) - 1) / 2
    for k, (line, kind) in enumerate(lines):
        canvas.text(right, top + LINE * k, line, kind, "end", room=right)


def _interval(
    canvas: Canvas, box: Box, estimate: Estimate, y: float, series: int
) -> float:
    """Draw the interval; return the radius of a marker that does not hide it."""
    if not estimate.interval:
        return RADIUS
    open_ends = zip(estimate.interval, box.x_range, strict=True)
    low, high = (box.x(edge if end is None else end) for end, edge in open_ends)
    canvas.line(low, y, high, y, f"ci l{colour(series)}")
    return max(3.0, min(RADIUS, (high - low) / 4))


def _lines(label: str, note: str, room: float) -> list[tuple[str, str]]:
    """Return a label, on two lines where one has no room, and its note, each with its
    kind of text."""
    lines = wrap(label, int(room / text_width("x")))
    if len(lines) != 2:
        lines = [label]
    return [(line, "name") for line in lines] + [(note, "small")] * bool(note)
