"""Forest plots: one row for each task, encoding, bias or comparison, with one estimate
and interval for each series. Lines and curves are in ``points.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import wrap

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


@dataclass(frozen=True)
class ForestRow:
    """One row: an estimate for each series (None if not asked), and the value of
    guessing."""

    label: str
    estimates: tuple[Estimate | None, ...]
    chance: float | None = None
    note: str = ""
    """Words below the label."""
    signs: tuple[Sign | None, ...] = ()
    """Of each estimate: whether it does what is required. Without signs, a hollow
    marker means fewer than five images.
    """


@dataclass(frozen=True)
class Scale:
    """The axis of a forest plot: its ends, ticks, values as text, and a line at
    ``mark``."""

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
    names = dict(zip(numbers, series, strict=True))
    y = legend(canvas, names) if len(series) > 1 else 4.0
    label = min(
        0.45 * width,
        max(
            (
                text_width(words)
                for row in rows
                for words in (row.label, row.note)
            ),
            default=0,
        )
        + 14,
    )
    values = (
        text_width(scale.value(estimate))
        for row in rows
        for estimate in row.estimates
        if estimate is not None and len(series) == 1
    )
    beside = max(values, default=0) + 12
    above = label + beside > MOST_WORDS * width
    if above:
        beside = 12
    labels = [_lines(row, label - 10) for row in rows]
    needed = LINE * (max(map(len, labels), default=0) + above) + RADIUS
    slot = max(DODGE * len(series) + 10.0, 2.0 * LINE, needed)
    box = Box(
        label,
        width - 22 - beside,
        y + 4,
        y + 4 + slot * len(rows),
        (scale.low, scale.high),
    )
    x_axis(canvas, box, scale.tick, scale.label)
    if scale.mark is not None:
        canvas.line(
            box.x(scale.mark), box.top, box.x(scale.mark), box.bottom, "axis"
        )
    for k, row in enumerate(rows):
        middle = box.top + (k + 0.5) * slot
        _label(canvas, labels[k], box.left - 10, middle + 4)
        if row.chance is not None:
            x = box.x(row.chance)
            half = DODGE * len(series) / 2 + 3
            canvas.line(x, middle - half, x, middle + half, "chance")
        for s, estimate in enumerate(row.estimates):
            if estimate is None or estimate.value is None:
                continue
            place = middle + DODGE * (s - (len(series) - 1) / 2)
            x = box.x(estimate.value)
            if len(series) == 1:
                words = scale.value(estimate)
                half = text_width(words) / 2
                if above:  # before the marker, which it would hide
                    inside = min(max(x, box.left + half), width - half)
                    canvas.text(inside, place - 9, words, "name over", "middle")
                else:
                    canvas.text(box.right + 14, place + 4, words)
            radius = _interval(canvas, box, estimate, place, numbers[s])
            named = f"{series[s]}: {row.label}: {scale.value(estimate)}"
            sign = row.signs[s] if row.signs else None
            few = (
                estimate.images < LEAST_IMAGES
                if sign is None
                else sign != "right"
            )
            canvas.marker(
                x, place, numbers[s], hollow=few, title=named, radius=radius
            )
            if sign == "wrong":
                canvas.sign(x, place, sign)
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


def _lines(row: ForestRow, room: float) -> list[tuple[str, str]]:
    """Return the label of a row, on two lines where one has no room, and its note, each
    with its kind of text."""
    lines = wrap(row.label, int(room / text_width("x")))
    if len(lines) != 2:
        lines = [row.label]
    return [(line, "name") for line in lines] + [(row.note, "small")] * bool(
        row.note
    )
