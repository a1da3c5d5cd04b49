"""The share of right answers by facet value and judge, with links to the questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visualjudge.studio.facets import Facet, Pair, task_label, unchanged_only
from visualjudge.studio.places import RunPlace
from visualjudge.studio.selection import Shelf, State
from visualjudge.studio.summary import Summary

if TYPE_CHECKING:
    from visualjudge.analysis.value_and_interval import Estimate

MOST_ROWS = 60
WIDTH, MOST_TASKS = 350.0, 5
"""Size of the home page's figure: pixels and rows."""
ORDERED = ("margin",)
"""Facets whose values keep their own order instead of being sorted by count."""
OF_PROBES = ("probe", "group")
"""Facets for which questions changed by a probe are counted too."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Right verdicts of one judge on the questions with one value.

    ``share`` is None if nothing was asked or no reply has an answer, as in the report.

    ``low`` and ``high`` are the ends of the 95 % interval, or None with too few images.
    """

    right: int
    verdicts: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """One value of the facet; ``part`` is its number of questions relative to the largest
    value.

    Attributes
    ----------
    pairs
        The query that selects its questions.
    """

    label: str
    questions: int
    part: float
    pairs: tuple[Pair, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Slices:
    """The table; ``more`` is the number of values left out, those with the fewest questions."""

    title: str
    judges: tuple[RunPlace, ...]
    rows: tuple[Row, ...]
    more: int


def slices(shelf: Shelf, facet: Facet, kind: str, pairs: Sequence[Pair], order: str = "") -> Slices:
    """Return results on the questions of type ``kind`` selected by ``pairs``, by the values of
    ``facet``.

    ``order`` is the slug of a judge by whose share rows are sorted, lowest first; by default rows
    are sorted by number of questions.

    Questions that a probe has changed are left out, as in a report's accuracy, unless the facet or
    a filter names probes. Failed verdicts count as wrong. The intervals are clustered by image,
    as in the report.
    """
    columns = shelf.index.columns
    query = [*(pair for pair in pairs if pair[0] != "type"), ("type", kind)]
    if not any(name in OF_PROBES for name in (facet.name, *(name for name, _ in query))):
        query += unchanged_only(columns)
    among = shelf.select(State.from_query(query)).matching
    rows, codes = facet.members(among)
    counts = np.bincount(codes, minlength=len(facet.values))
    held = np.flatnonzero(counts)
    ranked = held[np.argsort(-counts[held], kind="stable")][:MOST_ROWS]
    shown = np.sort(ranked) if facet.name in ORDERED else ranked
    place = np.full(len(facet.values), -1)
    place[shown] = np.arange(shown.size)
    kept = place[codes] >= 0
    images, column = columns.single["image"][rows[kept]], place[codes[kept]]
    cells = [_cells(run.summary(), rows[kept], images, column, shown.size) for _, run in shelf.runs]
    most = max(int(counts.max(initial=0)), 1)
    table = tuple(
        Row(
            _label(facet, facet.values[code]),
            int(counts[code]),
            counts[code] / most,
            (*(pair for pair in query if pair[0] != facet.name), (facet.name, facet.values[code])),
            tuple(of_judge[k] for of_judge in cells),
        )
        for k, code in enumerate(shown.tolist())
    )
    judges = tuple(place for place, _ in shelf.runs)
    if order in {judge.slug for judge in judges}:
        k = [judge.slug for judge in judges].index(order)
        shares = [row.cells[k].share for row in table]
        ranked_rows = sorted(
            zip(shares, table, strict=True), key=lambda one: (one[0] is None, one[0] or 0.0)
        )
        table = tuple(row for _, row in ranked_rows)
    return Slices(facet.title, judges, table, int(held.size - shown.size))


def _label(facet: Facet, value: str) -> str:
    """Return the label of a value; an encoding includes its task, since encodings of different
    tasks share names.
    """
    task = f" ({task_label(value.partition('/')[0])})" if facet.name == "encoding" else ""
    return facet.label(value) + task


def _cells(
    summary: Summary,
    rows: NDArray[np.int64],
    images: NDArray[np.int32],
    column: NDArray[np.int64],
    columns: int,
) -> list[Cell]:
    """Return one cell per column for the questions in ``rows``, each with its image and column."""
    # These load the whole analysis, which most pages do not need.
    from visualjudge.analysis.estimate import shares, sums

    if not columns:
        return []
    key = column * (int(images.max(initial=0)) + 1) + images
    held, entry = np.unique(key, return_inverse=True)
    right = sums(entry, summary.right[rows].astype(float), held.size)
    asked = sums(entry, summary.asked[rows].astype(float), held.size)
    place = np.zeros(held.size, np.int64)
    place[entry] = column
    found = shares(right, asked, place, columns)
    total = sums(place, right, columns)
    silent = sums(column, summary.answered[rows].astype(float), columns) == 0
    figures = (np.where(silent, np.nan, ends) for ends in (found.value, found.low, found.high))
    return [
        Cell(int(n), int(cases), *map(_known, told))
        for n, cases, *told in zip(total, found.cases, *figures, strict=True)
    ]


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def tasks_svg(shelf: Shelf, *, dark: bool) -> str | None:
    """Return an SVG file in the colours of one theme, or None if no pair of the dataset was
    judged.

    It shows the tasks with the most questions, and as many runs as there are distinct colours.
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
    from visualjudge.analysis.estimate import LEAST_IMAGES
    from visualjudge.analysis.value_and_interval import Estimate

    ends = None if cell.low is None and cell.high is None else (cell.low, cell.high)
    images = LEAST_IMAGES if ends else 1
    return Estimate(cell.share, ends, cell.verdicts, images)
