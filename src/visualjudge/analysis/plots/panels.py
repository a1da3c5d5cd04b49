"""Plots with one panel for each judge: answers in both orders, heat maps of shares, and sources by
rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visualjudge.analysis.plots.canvas import (
    Canvas,
    colour,
    panels,
    text_width,
)

SIDE, BESIDE = 72, 78
"""Size of a square, and width of the text beside it, in pixels."""


@dataclass(frozen=True)
class Swapped:
    """Questions asked in both orders: the same answer (right, wrong), or the same place (first,
    second).
    """

    title: str
    series: int
    right: int
    wrong: int
    first: int
    second: int
    rest: int
    """Questions with no answer in one order, or a tie in one."""


def swap_flow(charts: Sequence[Swapped], width: float) -> Canvas:
    """Draw a 2×2 table for each judge; the area of each square is its share of the questions."""
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
    """Draw shares as shades.

    Shares further from ``middle`` are darker, with one colour above it and another below.
    """
    canvas = Canvas(width)
    least = 46
    room = max(0.32 * width, width - least * len(columns))
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
    """Draw a group of columns, numbered above with their names below."""
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


STEP = 24


@dataclass(frozen=True)
class SlopeRow:
    """A source: its rank by the judge, its possible ranks, and its true rank."""

    name: str
    rank: int
    ranks: tuple[int, int] | None
    true_rank: int


@dataclass(frozen=True)
class Slope:
    """The first sources of one judge, out of ``sources`` in all."""

    title: str
    series: int
    rows: tuple[SlopeRow, ...]
    sources: int


def slopes(charts: Sequence[Slope], width: float) -> Canvas:
    """Draw a panel for each judge.

    A bar beside a source shows its possible ranks at 95 %, unless every rank is possible.
    """
    canvas = Canvas(width)
    most = max((len(chart.rows) for chart in charts), default=0)
    height = 52 + STEP * most
    for chart, (left, top, across) in zip(
        charts, panels(width, len(charts), height, 0), strict=True
    ):
        _slope(canvas, chart, left, top, across)
    return canvas


def _slope(canvas: Canvas, chart: Slope, left: float, top: float, across: float) -> None:
    name = colour(chart.series)
    room = min(0.4 * across, 230)
    a, b = left + room, left + across - room
    canvas.marker(left + 8, top + 9, chart.series)
    canvas.text(left + 18, top + 13, f"by {chart.title}", "strong", room=b - left - 30)
    canvas.text(b + 12, top + 13, "by truth", "strong")

    def y(rank: float) -> float:
        return top + 34 + STEP * (rank - 1)

    last, lane = len(chart.rows), 1.8
    drawn = [
        row
        for row in chart.rows
        if row.ranks is not None and row.ranks[1] - row.ranks[0] + 1 < chart.sources
    ]
    sets = 12 + lane * last * bool(drawn)
    own_places = _spread([row.rank for row in chart.rows])
    true_places = _spread([row.true_rank for row in chart.rows])
    for row, own, place in zip(chart.rows, own_places, true_places, strict=True):
        rank = f"  {row.rank}"
        canvas.text(a - sets, y(own) + 4, rank, "name", "end")
        ahead = a - sets - text_width(rank)
        canvas.text(ahead, y(own) + 4, row.name, "name", "end", room=ahead - left - 10)
        if row in drawn and row.ranks is not None:
            best, worst = (min(rank, last) for rank in row.ranks)
            x = a - 8 - lane * (last - own)
            canvas.line(x, y(best) - 5, x, y(worst) + 5, f"thin l{name}")
        canvas.line(a, y(own), b, y(place), f"thin l{name}")
        canvas.marker(a, y(own), chart.series)
        canvas.marker(b, y(place), chart.series, hollow=True)
        canvas.text(b + 12, y(place) + 4, f"{row.true_rank}", "name")
        canvas.text(b + 34, y(place) + 4, row.name, "name", room=room - 42)


def _spread(ranks: Sequence[int]) -> list[int]:
    """Return a distinct place for each rank, with ties in their order."""
    order = sorted(range(len(ranks)), key=lambda k: (ranks[k], k))
    places = [0] * len(ranks)
    for place, k in enumerate(order, 1):
        places[k] = place
    return places
