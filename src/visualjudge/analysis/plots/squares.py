"""Tables of shares as areas and shades: the flow of answers when options are exchanged, and heat
maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visualjudge.analysis.plots.axes import NARROW, panels
from visualjudge.analysis.plots.canvas import Canvas, colour, text_width

SIDE, BESIDE = 72, 78
"""Pixels of a square, and of the text beside it."""


@dataclass(frozen=True)
class Swapped:
    """Questions in both orders: the same answer (right, wrong), or the same place (first,
    second).
    """

    title: str
    series: int
    right: int
    wrong: int
    first: int
    second: int
    rest: int
    """Without an answer in one order, or a tie in one."""


def swap_flow(charts: Sequence[Swapped], width: float) -> Canvas:
    """A 2×2 table for each judge; the area of each square is its share of the questions."""
    canvas = Canvas(min(width, len(charts) * (2 * (SIDE + BESIDE) + 40)))
    for chart, (left, top, _) in zip(
        charts, panels(canvas.width, len(charts), 2 * SIDE + 86, 0), strict=True
    ):
        _flow(canvas, chart, left, top)
    return canvas


def _flow(canvas: Canvas, chart: Swapped, left: float, top: float) -> None:
    total = chart.right + chart.wrong + chart.first + chart.second + chart.rest
    canvas.marker(left + 8, top + 9, chart.series)
    canvas.text(left + 18, top + 13, chart.title, "strong", room=2 * (SIDE + BESIDE))
    cells = (
        (0, 0, chart.right, "same answer,", "right"),
        (1, 0, chart.wrong, "same answer,", "wrong"),
        (0, 1, chart.first, "the first", "both times"),
        (1, 1, chart.second, "the second", "both times"),
    )
    for column, row, count, upper, lower in cells:
        x, y = left + 8 + column * (SIDE + BESIDE + 14), top + 26 + row * (SIDE + 10)
        side = SIDE * (count / total) ** 0.5 if total else 0
        canvas.rectangle(x, y, SIDE, SIDE, "swatch", opacity=0.5)
        canvas.rectangle(x, y + SIDE - side, side, side, f"bar f{colour(chart.series)}")
        x += SIDE + 6
        canvas.text(x, y + 28, f"{100 * count / total:.0f} %" if total else "–", "strong")
        canvas.text(x, y + 44, upper, "small name")
        canvas.text(x, y + 57, lower, "small name")
    rest = f"; {chart.rest} without an answer in both" if chart.rest else ""
    canvas.text(left + 8, top + 2 * SIDE + 54, f"{total} questions in both orders{rest}", "small")


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    width: float,
    middle: float = 0.5,
) -> Canvas:
    """Shares as shades: the further from ``middle`` the darker, in one colour above it and in
    another below.
    """
    canvas = Canvas(width)
    least = 46 if width >= NARROW else 28
    room = max((0.32 if width >= NARROW else 0.4) * width, width - least * len(columns))
    label = min(room, max(map(text_width, rows), default=0) + 10)
    per_band = max(1, int((width - label) // least))
    y = 0.0
    for start in range(0, len(columns), per_band):
        y = _band(
            canvas,
            rows,
            columns,
            values,
            range(start, min(start + per_band, len(columns))),
            label,
            y,
            middle,
        )
    return canvas


def _band(
    canvas: Canvas,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    shown: range,
    label: float,
    y: float,
    middle: float,
) -> float:
    """Some columns, numbered above; their names stand below."""
    each = min(64.0, (canvas.width - label) / len(shown))
    for k, column in enumerate(shown):
        canvas.text(label + (k + 0.5) * each, y + 13, str(column + 1), "small", "middle")
    for i, name in enumerate(rows):
        top = y + 20 + 22 * i
        canvas.text(label - 6, top + 14, name, "name", "end", room=label - 8)
        for k, column in enumerate(shown):
            share = values[i][column]
            if share is None:
                continue
            dark = min(1.0, abs(share - middle) / max(middle, 1 - middle))
            kind = "fs0" if share >= middle else "fs4"
            canvas.rectangle(
                label + k * each + 1, top, each - 2, 20, kind, opacity=0.08 + 0.42 * dark
            )
            canvas.text(
                label + (k + 0.5) * each, top + 14, f"{100 * share:.0f}", "small name", "middle"
            )
    y += 28 + 22 * len(rows)
    for column in shown:
        canvas.text(4, y + 12, f"{column + 1}  {columns[column]}", "small", room=canvas.width - 8)
        y += 15
    return y + 8
