"""Two runs against each other: how many questions have each pair of outcomes, and the filter that shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from visualjudge.studio.facets import Facet, Mask
from visualjudge.studio.places import RunPlace
from visualjudge.studio.selection import Shelf, State

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Cell:
    """A count; ``pairs`` is the query that chooses its questions, ``share`` its part of the largest count."""

    count: int
    share: float
    same: bool
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A table of counts; rows and columns without questions are left out."""

    title: str
    row_title: str
    column_title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]


def matrices(shelf: Shelf, chosen: Sequence[RunPlace | None], pairs: Sequence[Pair]) -> list[Matrix]:
    """Outcome against outcome, and each run's outcome against what the order of the options does to it."""
    first, second = chosen
    if first is None or second is None:
        return []
    facets = {facet.name: facet for facet in shelf.facets()}
    among = shelf.select(State.of(pairs)).matching

    def table(title: str, a: str, b: str, titles: Pair) -> Matrix:
        return _matrix(title, titles, facets[a], facets[b], among, tuple(pairs))

    found = []
    if first.slug != second.slug:
        names = (first.name, second.name)
        found.append(table("Outcomes of both", f"outcome.{first.slug}", f"outcome.{second.slug}", names))
    for run in dict.fromkeys((first, second)):
        title = f"{run.name}: outcome by order of the options"
        found.append(table(title, f"outcome.{run.slug}", f"order.{run.slug}", ("outcome", "both orders")))
    return found


def _matrix(title: str, titles: Pair, a: Facet, b: Facet, among: Mask, pairs: tuple[Pair, ...]) -> Matrix:
    counts = np.array([b.counts(among & a.mask([code])) for code in range(len(a.values))])
    rows, columns = np.flatnonzero(counts.sum(1)).tolist(), np.flatnonzero(counts.sum(0)).tolist()
    most = max(int(counts.max()), 1)

    def cell(i: int, j: int) -> Cell:
        query = (*pairs, (a.name, a.values[i]), (b.name, b.values[j]))
        return Cell(int(counts[i, j]), counts[i, j] / most, a.values[i] == b.values[j], query)

    cells = tuple(tuple(cell(i, j) for j in columns) for i in rows)
    return Matrix(title, *titles, tuple(a.values[i] for i in rows), tuple(b.values[j] for j in columns), cells)
