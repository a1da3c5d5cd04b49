"""The share of right answers by the values of one or two facets, with links to the questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from visualjudge.studio.facets import Facet, Pair, spaced
from visualjudge.studio.places import RunPlace
from visualjudge.studio.selection import Shelf, State, unchanged_only
from visualjudge.studio.study import MARGIN_NAMES
from visualjudge.studio.verdicts import OUTCOMES, RunVerdicts

Places = NDArray[np.int64]
MOST_ROWS, MOST_COLUMNS = 60, 12
WORST = 5
"""Number of tasks on the home page."""
OF_PROBES = ("probe", "group")
"""Facets for which questions changed by a probe are counted too."""
NOT_RIGHT = ("wrong", "mixed", "failed", "cannot tell")


@dataclass(frozen=True, slots=True)
class Cell:
    """Right verdicts of one judge on some questions.

    ``share`` is None if nothing was asked or no reply has an answer, as in the report. ``low`` and
    ``high`` are the ends of the 95 % interval, or None with too few images.

    Attributes
    ----------
    pairs, missed
        The queries of the questions that were asked, and of those not answered right.
    """

    right: int = 0
    verdicts: int = 0
    share: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: tuple[Pair, ...] = ()
    missed: tuple[Pair, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One value of the facet; ``part`` is its number of questions relative to the largest
    value.
    """

    label: str
    questions: int
    part: float
    pairs: tuple[Pair, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Slices:
    """The table: a column for each judge or, of two facets, for each value of the second.

    Attributes
    ----------
    more
        Number of rows left out, those with the fewest questions.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    more: int


def slices(shelf: Shelf, facet: Facet, kind: str, pairs: Sequence[Pair], order: str = "") -> Slices:
    """Return results on the questions of type ``kind`` selected by ``pairs``, by the values of
    ``facet`` and judge.

    ``order`` is the slug of a judge by whose share rows are sorted, lowest first; by default rows
    are sorted by number of questions. Failed verdicts count as wrong. The intervals are clustered
    by image, as in the report.
    """
    query = _query(shelf, kind, pairs, [facet])
    found = _summed(shelf, query, facet.column, [run for _, run in shelf.runs])
    entry, value = _values_of(facet, found[:, 0])
    places = [place for place, _ in shelf.runs]
    cells = [
        _measured(value, found[entry, 1], found[entry, 3 + 3 * k : 6 + 3 * k])
        for k in range(len(places))
    ]
    questions = _totals(facet, value, found[entry, 2])
    rows = []
    for code in _ranked(facet, questions):
        own = _with(query, facet, code)
        row = [
            _linked(of_judge.get(code, Cell()), own, place)
            for of_judge, place in zip(cells, places, strict=True)
        ]
        rows.append(_row(facet, code, questions, own, row))
    if order in [place.slug for place in places]:
        k = [place.slug for place in places].index(order)
        rows.sort(key=lambda row: (row.cells[k].share is None, row.cells[k].share or 0.0))
    names = tuple(place.name for place in places)
    return Slices(facet.title, names, tuple(rows), max(len(questions) - len(rows), 0))


def two_way(
    shelf: Shelf, facets: tuple[Facet, Facet], judge: RunPlace, kind: str, pairs: Sequence[Pair]
) -> Slices:
    """Return one judge's results by the values of two facets."""
    first, second = facets
    query = _query(shelf, kind, pairs, facets)
    run = next(run for place, run in shelf.runs if place.slug == judge.slug)
    found = _summed(shelf, query, f"{first.column}, {second.column}", [run])
    entry, a = _values_of(first, found[:, 0])
    across, b = _values_of(second, found[entry, 1])
    questions = _totals(first, a, found[entry, 3])
    columns = _ranked(second, _totals(second, b, found[entry[across], 3]))[:MOST_COLUMNS]
    wide = len(_names(second))
    cells = _measured(a[across] * wide + b, found[entry[across], 2], found[entry[across], 4:])
    rows = []
    for code in _ranked(first, questions):
        own = _with(query, first, code)
        row = [
            _linked(cells.get(code * wide + other, Cell()), _with(own, second, other), judge)
            for other in columns
        ]
        rows.append(_row(first, code, questions, own, row))
    names = tuple(_label(second, code) for code in columns)
    return Slices(first.title, names, tuple(rows), max(len(questions) - len(rows), 0))


def worst_tasks(shelf: Shelf) -> tuple[Row, ...]:
    """Return the tasks whose pairs are answered worst by any judge, for the home page; empty if no
    pair was judged.
    """
    facet = shelf.facet("task")
    if facet is None or not shelf.runs or "pairwise" not in shelf.study.types():
        return ()
    table = shelf.remembered("worst", lambda: slices(shelf, facet, "pairwise", []))
    lowest = {
        row: min((cell.share for cell in row.cells if cell.share is not None), default=None)
        for row in table.rows
    }
    judged = [row for row in table.rows if lowest[row] is not None]
    return tuple(sorted(judged, key=lambda row: lowest[row] or 0.0)[:WORST])


def _query(
    shelf: Shelf, kind: str, pairs: Sequence[Pair], facets: Sequence[Facet]
) -> tuple[Pair, ...]:
    """Return the query of the questions that are counted.

    Questions that a probe has changed are left out, as in a report's accuracy, unless a facet or a
    filter names probes.
    """
    query = (*(pair for pair in pairs if pair[0] != "type"), ("type", kind))
    named = {facet.name for facet in facets} | {name for name, _ in query}
    return query if named.intersection(OF_PROBES) else (*query, *unchanged_only(shelf.study))


def _summed(
    shelf: Shelf, query: Sequence[Pair], columns: str, runs: Sequence[RunVerdicts]
) -> NDArray[np.int64]:
    """Return a row for each combination of ``columns`` and image: its codes, its number of
    questions, and each run's sums of right, asked and answered.
    """
    sums = [
        f"ifnull(sum(o{run.number}.{name}), 0)"
        for run in runs
        for name in ("right", "asked", "answered")
    ]
    grouped = f"{columns}, q.of_image"
    selected = ", ".join([grouped, "count(*)", *sums])
    rows = shelf.rows(State.from_query(query), selected, group=grouped)
    return np.array(rows, np.int64).reshape(len(rows), columns.count(",") + 3 + len(sums))


def _names(facet: Facet) -> dict[str, int]:
    """Return the place of each value of a facet."""
    names = dict.fromkeys(value for some in facet.values for value in some)
    return {name: k for k, name in enumerate(names)}


def _values_of(facet: Facet, codes: NDArray[np.int64]) -> tuple[Places, Places]:
    """Return the entry and the place of the value for each value of each of these codes."""
    names = _names(facet)
    flat = np.array([names[value] for some in facet.values for value in some], np.int64)
    sizes = np.array([len(some) for some in facet.values], np.int64)
    first, several = np.cumsum(sizes) - sizes, sizes[codes]
    entry = np.repeat(np.arange(codes.size), several)
    within = np.arange(entry.size) - np.repeat(np.cumsum(several) - several, several)
    return entry, flat[first[codes[entry]] + within]


def _totals(facet: Facet, value: Places, counts: Places) -> Counter[int]:
    found = np.bincount(value, counts, len(_names(facet))).astype(int)
    return Counter({code: int(found[code]) for code in np.flatnonzero(found).tolist()})


def _measured(cell: Places, image: Places, sums: NDArray[np.int64]) -> dict[int, Cell]:
    """Return the share of right answers of each cell, with its interval."""
    from visualjudge.analysis.estimate import shares  # loads the analysis

    codes, place = np.unique(cell, return_inverse=True)
    if not codes.size:
        return {}
    wide = int(image.max()) + 1
    held, entry = np.unique(place * wide + image, return_inverse=True)
    right, asked = (np.bincount(entry, sums[:, k], held.size).astype(float) for k in (0, 1))
    found = shares(right, asked, held // wide, codes.size)
    total, answered = (np.bincount(place, sums[:, k], codes.size) for k in (0, 2))
    cells = {}
    for k, code in enumerate(codes.tolist()):
        ends = (found.value[k], found.low[k], found.high[k]) if answered[k] else (np.nan,) * 3
        share, low, high = (None if np.isnan(end) else float(end) for end in ends)
        cells[code] = Cell(int(total[k]), int(found.cases[k]), share, low, high)
    return cells


def _with(query: Iterable[Pair], facet: Facet, code: int) -> tuple[Pair, ...]:
    value = list(_names(facet))[code]
    return (*(pair for pair in query if pair[0] != facet.name), (facet.name, value))


def _linked(cell: Cell, pairs: tuple[Pair, ...], judge: RunPlace) -> Cell:
    outcome = f"outcome.{judge.slug}"
    missed = (*pairs, *((outcome, name) for name in NOT_RIGHT))
    asked = (*pairs, *((outcome, name) for name in OUTCOMES[1:]))
    return replace(cell, pairs=asked, missed=(*missed, ("sort", "-wrong_difference")))


def _row(
    facet: Facet, code: int, questions: Counter[int], pairs: tuple[Pair, ...], cells: list[Cell]
) -> Row:
    part = questions[code] / max(questions.values())
    return Row(_label(facet, code), questions[code], part, pairs, tuple(cells))


def _ranked(facet: Facet, questions: Counter[int]) -> list[int]:
    """Return the most frequent values, in the facet's own order if it has one."""
    codes = [code for code, _ in questions.most_common(MOST_ROWS)]
    if facet.name != "margin":
        return codes
    names = list(_names(facet))
    return sorted(codes, key=lambda code: MARGIN_NAMES.index(names[code]))


def _label(facet: Facet, code: int) -> str:
    """Return the label of a value; an encoding includes its task, since encodings of different
    tasks share names.
    """
    value = list(_names(facet))[code]
    task = f" ({spaced(value.partition('/')[0])})" if facet.name == "encoding" else ""
    return facet.label(value) + task


# ---------------------------------------------------------------- two judges


@dataclass(frozen=True, slots=True)
class Count:
    """A count; ``pairs`` is the query that selects its questions, ``part`` is its fraction of the
    largest count.
    """

    count: int
    part: float
    same: bool
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A table of counts, without empty rows and columns."""

    title: str
    row_title: str
    column_title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Count, ...], ...]

    @property
    def apart(self) -> int:
        """Return the number of questions for which row and column differ."""
        return sum(cell.count for row in self.cells for cell in row if not cell.same)

    @property
    def total(self) -> int:
        """Return the number of questions in the table."""
        return sum(cell.count for row in self.cells for cell in row)


def matrices(
    shelf: Shelf, chosen: Sequence[RunPlace | None], pairs: Sequence[Pair]
) -> list[Matrix]:
    """Return the tables of both runs' outcomes on the questions that both were asked, and of each
    run's outcome by the effect of the options' order.
    """
    first, second = chosen
    if first is None or second is None:
        return []
    found = []
    if first.slug != second.slug:
        both = (f"outcome.{first.slug}", f"outcome.{second.slug}")
        title = "Outcomes of both, on the questions that both were asked"
        found.append(_matrix(shelf, title, (first.name, second.name), both, pairs))
    for run in dict.fromkeys((first, second)):
        names = (f"outcome.{run.slug}", f"order.{run.slug}")
        title = f"{run.name}: outcome by order of the options"
        found.append(_matrix(shelf, title, ("outcome", "both orders"), names, pairs))
    return found


def _matrix(shelf: Shelf, title: str, titles: Pair, names: Pair, pairs: Sequence[Pair]) -> Matrix:
    a, b = (facet for name in names if (facet := shelf.facet(name)) is not None)
    columns = f"{a.column}, {b.column}"
    grouped = shelf.rows(State.from_query(pairs), f"{columns}, count(*)", group=columns)
    counts = {
        (a.values[i][0], b.values[j][0]): count
        for i, j, count in grouped
        if OUTCOMES[0] not in (a.values[i][0], b.values[j][0])
    }
    rows = [value for (value,) in a.values if any(key[0] == value for key in counts)]
    across = [value for (value,) in b.values if any(key[1] == value for key in counts)]
    most = max(counts.values(), default=1)

    def cell(row: str, column: str) -> Count:
        count, query = counts.get((row, column), 0), (*pairs, (a.name, row), (b.name, column))
        return Count(count, count / most, row == column, query)

    cells = tuple(tuple(cell(row, column) for column in across) for row in rows)
    return Matrix(title, *titles, tuple(rows), tuple(across), cells)
