"""A dataset's figure on the home page: accuracy by task, a mark a run, drawn as the report's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from visualjudge.studio.selection import Shelf
from visualjudge.studio.slices import Cell, slices

if TYPE_CHECKING:
    from visualjudge.analysis.value_and_interval import Estimate

WIDTH = 350.0
MOST_TASKS = 5


def tasks_svg(shelf: Shelf, *, dark: bool) -> str | None:
    """An SVG file in the colours of one theme; None where no pair of the dataset was judged.

    The tasks with most questions, and the first runs as far as colours tell them apart.
    """
    # These load the whole analysis, which the page itself does not need.
    from visualjudge.analysis.plots.canvas import DARK, LIGHT
    from visualjudge.analysis.plots.forest import ForestRow, forest
    from visualjudge.analysis.report.accuracy_plots import MOST_SERIES, SHARES

    facet = next(facet for facet in shelf.facets() if facet.name == "task")
    table = slices(shelf, facet, "pairwise", [])
    rows = [
        ForestRow(row.label, tuple(map(_estimate, row.cells[:MOST_SERIES])))
        for row in table.rows[:MOST_TASKS]
        if any(cell.share is not None for cell in row.cells[:MOST_SERIES])
    ]
    if not rows:
        return None
    names = [judge.name for judge in table.judges[:MOST_SERIES]]
    drawn = forest(rows, names, SHARES, WIDTH)
    return drawn.svg("Right answers to pairs by task", colours=DARK if dark else LIGHT)


def _estimate(cell: Cell) -> Estimate:
    from visualjudge.analysis.statistics.jackknife import LEAST_IMAGES
    from visualjudge.analysis.value_and_interval import Estimate

    ends = None if cell.low is None and cell.high is None else (cell.low, cell.high)
    images = LEAST_IMAGES if ends else 1
    return Estimate(cell.share, ends, cell.verdicts, images)
