"""Forest plots: one row for each task, encoding, bias or comparison, with one estimate
and interval for each series. Lines and curves are in ``points.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import wrap

from visualjudge.analysis.estimate import LEAST_IMAGES
from visualjudge.analysis.plots.canvas import (
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
    """Words to the right of the row."""
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
        max((text_width(row.label) for row in rows), default=0) + 14,
    )
    values = [
        scale.value(estimate)
        for row in rows
        for estimate in row.estimates
        if estimate is not None and len(series) == 1
    ]
    notes = max((text_width(row.note, 11) for row in rows), default=0)
    beside = max(map(text_width, values), default=0) + 12
    if label + notes + beside > MOST_WORDS * width:
        values = []  # a number is not cut; it is in the tables
        beside = 12
    slot = max(DODGE * len(series) + 10.0, 2.0 * LINE)
    ends = (scale.low, scale.high)
    box = Box(
        label,
        width - 22 - beside - notes,
        y + 4,
        y + 4 + slot * len(rows),
        ends,
    )
    x_axis(canvas, box, scale.tick, scale.label)
    if scale.mark is not None:
        canvas.line(
            box.x(scale.mark), box.top, box.x(scale.mark), box.bottom, "axis"
        )
    for k, row in enumerate(rows):
        middle = box.top + (k + 0.5) * slot
        _label(canvas, row.label, box.left - 10, middle + 4)
        if values and row.estimates[0] is not None:
            canvas.text(
                box.right + 14,
                middle + 4,
                scale.value(row.estimates[0]),
            )
        canvas.text(box.right + 18 + beside, middle + 4, row.note, "small")
        if row.chance is not None:
            x = box.x(row.chance)
            half = DODGE * len(series) / 2 + 3
            canvas.line(x, middle - half, x, middle + half, "chance")
        for s, estimate in enumerate(row.estimates):
            if estimate is None or estimate.value is None:
                continue
            place = middle + DODGE * (s - (len(series) - 1) / 2)
            if estimate.interval:
                open_ends = zip(estimate.interval, ends, strict=True)
                low, high = (
                    box.x(edge if end is None else end)
                    for end, edge in open_ends
                )
                canvas.line(
                    low, place, high, place, f"ci l{colour(numbers[s])}"
                )
            named = f"{series[s]}: {row.label}: {scale.value(estimate)}"
            sign = row.signs[s] if row.signs else None
            few = (
                estimate.images < LEAST_IMAGES
                if sign is None
                else sign != "right"
            )
            x = box.x(estimate.value)
            canvas.marker(x, place, numbers[s], hollow=few, title=named)
            if sign == "wrong":
                canvas.sign(x, place, sign)
    return canvas


def _label(canvas: Canvas, text: str, right: float, y: float) -> None:
    """Write a label to the left of ``right``, on two lines where one has no room."""
    lines = wrap(text, int(right / text_width("x")))
    if len(lines) == 2:
        canvas.text(right, y - LINE / 2, lines[0], "name", "end")
        canvas.text(right, y + LINE / 2, lines[1], "name", "end")
    else:
        canvas.text(right, y, text, "name", "end", room=right)
