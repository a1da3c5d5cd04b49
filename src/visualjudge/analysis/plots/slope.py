"""Slope charts: sources by rank, by the judge on the left and by the truth on the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visualjudge.analysis.plots.axes import panels
from visualjudge.analysis.plots.canvas import Canvas, colour, text_width

STEP = 24


@dataclass(frozen=True)
class SlopeRow:
    """A source: its rank by the judge, the ranks that it may have, and its rank by the truth."""

    name: str
    rank: int
    ranks: tuple[int, int] | None
    true_rank: int


@dataclass(frozen=True)
class Slope:
    """The sources of one judge, the first ones of ``sources``."""

    title: str
    series: int
    rows: tuple[SlopeRow, ...]
    sources: int


def slopes(charts: Sequence[Slope], width: float) -> Canvas:
    """A panel for each judge; a bar beside a source: the ranks that it may have at 95 %, unless it
    may have any.
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
    canvas.text(left + 18, top + 13, f"by {chart.title}", "strong", room=across - 84)
    canvas.text(left + across - 6, top + 13, "by truth", "strong", "end")

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
    """A place of its own for each rank, ties in their order."""
    order = sorted(range(len(ranks)), key=lambda k: (ranks[k], k))
    places = [0] * len(ranks)
    for place, k in enumerate(order, 1):
        places[k] = place
    return places
