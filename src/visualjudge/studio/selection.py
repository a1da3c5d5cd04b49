"""Selecting questions by facets, words, order and counts of two runs; the address holds the whole
state.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from visualjudge.core.workers import Workers
from visualjudge.studio.facets import (
    TITLES,
    WRONG_DIFFERENCE,
    Facet,
    Mask,
    Pair,
    dataset_facets,
    mark_facets,
    run_facets,
    shown_facet,
)
from visualjudge.studio.index import HERE, DatasetIndex
from visualjudge.studio.places import RunPlace
from visualjudge.studio.summary import Summary
from visualjudge.studio.verdicts import RunIndex
from visualjudge.studio.working_sets import WorkingSets

K = TypeVar("K")
V = TypeVar("V")
KEPT = 12
"""Number of cached selections: up to 2 MB each at 200,000 questions."""
KEPT_WORDS = 64
"""Number of cached searches: 0.2 MB each."""
KEPT_ORDERS = 3
"""Number of cached orders: 1.6 MB each."""
# SQLite searches without holding the GIL.
_SEARCHING = ThreadPoolExecutor(4, "studio-search")
OF_RUNS = ("outcome", "status", "order", "wrong_difference")
"""Facets of a run; its slug follows a dot."""
SORTS = {
    "file": "Order of the file",
    "margin": "Smallest margin",
    "-margin": "Largest margin",
    "-wrong_difference": WRONG_DIFFERENCE,
    "-disagreement": "Judges disagree most",
    "probability": "Least sure",
    "-probability": "Most sure",
    "-latency": "Slowest reply",
    "-reply": "Longest reply",
    "-length": "Longest prompt",
    "length": "Shortest prompt",
}


@dataclass(frozen=True, slots=True)
class State:
    """The state in the address: the chosen values of each facet, the words, the order, and the run
    used for sorting.
    """

    chosen: tuple[tuple[str, tuple[str, ...]], ...] = ()
    words: str = ""
    sort: str = "file"

    @classmethod
    def from_query(cls, pairs: Sequence[tuple[str, str]]) -> State:
        """Parse the query of an address, ignoring invalid parts."""
        chosen: dict[str, list[str]] = {}
        single = {"q": "", "sort": "file"}
        for name, value in pairs:
            if name in single:
                single[name] = value
            elif name.split(".")[0] in (*TITLES, *OF_RUNS):
                chosen.setdefault(name, []).append(value)
        sort = single["sort"] if single["sort"] in SORTS else "file"
        return cls(
            tuple((name, tuple(dict.fromkeys(v))) for name, v in sorted(chosen.items())),
            single["q"].strip(),
            sort,
        )


@dataclass(frozen=True, eq=False, slots=True)
class Selection:
    """The selected questions in order, and for each facet the questions that pass all other
    filters.

    Attributes
    ----------
    but
        For each facet with chosen values: the questions that pass all filters except its own.
    """

    rows: NDArray[np.int32]
    matching: Mask
    but: Mapping[str, Mask]

    def among(self, facet: str) -> Mask:
        """Return the questions that the facet's counts refer to."""
        return self.but.get(facet, self.matching)

    def place(self, row: int) -> int | None:
        """Return the position of a question in the order, or None if it is not selected."""
        found = np.flatnonzero(self.rows == row)
        return int(found[0]) if found.size else None


def working_folder(dataset: Path) -> Path:
    """Return the folder for notes on a dataset: next to it, since a build replaces its contents."""
    return dataset.with_name(f"{dataset.name}.studio")


class Shelf:
    """One dataset with its runs, and its cached selections."""

    def __init__(self, index: DatasetIndex, runs: Sequence[tuple[RunPlace, RunIndex]]) -> None:
        self.index = index
        self.working = WorkingSets(working_folder(index.root))
        self.runs = tuple(runs)
        self._static = dataset_facets(index)
        self._kept: OrderedDict[tuple[State, tuple[int, ...]], Selection] = OrderedDict()
        self._words: OrderedDict[tuple[str, tuple[int, ...]], Mask] = OrderedDict()
        self._keys: OrderedDict[
            tuple[str, tuple[str, ...], tuple[int, ...]], NDArray[np.float64]
        ] = OrderedDict()
        self._lock = threading.Lock()
        self._facets: tuple[tuple[int, ...], list[Facet]] = ((), [])

    def refresh(self, engine: Workers = HERE, *, wait: bool = True) -> None:
        """Read new verdicts of running judges; without ``wait``, skip a run that another thread is
        reading.
        """
        for _, run in self.runs:
            run.refresh(engine, wait=wait)

    def behind(self) -> dict[str, float]:
        """Return by name the indexed share of each run that is far behind."""
        shares = {place.name: run.behind for place, run in self.runs}
        return {name: share for name, share in shares.items() if share is not None}

    def prepare(self) -> None:
        """Count everything and search once, so that the first request finds totals, labels and open
        indexes.
        """
        self._has_words("the")
        everything = np.ones(self.index.columns.count, dtype=bool)
        for facet in self.facets():
            shown_facet(facet, everything, ())

    @property
    def generation(self) -> tuple[int, ...]:
        """Return a value that changes when a run gains verdicts or a question's notes change."""
        self.working.marks()
        return (self.working.generation, *(run.generation for _, run in self.runs))

    def facets(self) -> list[Facet]:
        """Return all facets: those of the questions, then those of each run."""
        generation = self.generation
        known = self._facets
        if known[0] != generation or not known[1]:
            with self._lock:  # what was remembered holds no longer
                for kept in (self._kept, self._words, self._keys):
                    kept.clear()
            added = [
                facet
                for place, run in self.runs
                for facet in run_facets(place.slug, place.name, run)
            ]
            noted = mark_facets(self.index, self.working.marks())
            known = self._facets = (generation, self._static + noted + added)
        return known[1]

    def select(self, state: State) -> Selection:
        """Return the selection of ``state``, cached until a run gains verdicts."""
        return self._remembered(
            self._kept, KEPT, (state, self.generation), lambda: self._made(state)
        )

    def _remembered(self, kept: OrderedDict[K, V], most: int, key: K, make: Callable[[], V]) -> V:
        """Return the cached value for the key, or make it; the ``most`` recently used keys are
        kept.
        """
        with self._lock:
            known = kept.get(key)
            if known is not None:
                kept.move_to_end(key)
                return known
        made = make()
        with self._lock:
            kept[key] = made
            while len(kept) > most:
                kept.popitem(last=False)
        return made

    def _made(self, state: State) -> Selection:
        masks = self._masks(state)
        misses = np.zeros(self.index.columns.count, np.int16)
        for mask in masks.values():
            misses += ~mask
        if state.words:
            key = (state.words, self.generation)
            misses += 2 * ~self._remembered(
                self._words, KEPT_WORDS, key, lambda: self._has_words(state.words)
            )
        matching = misses == 0
        but = {name: matching | ((misses == 1) & ~mask) for name, mask in masks.items()}
        rows = np.flatnonzero(matching).astype(np.int32)
        return Selection(self._sorted(rows, state), matching, but)

    def _masks(self, state: State) -> dict[str, Mask]:
        facets = {facet.name: facet for facet in self.facets()}
        masks = {}
        for name, values in state.chosen:
            facet = facets.get(name)
            if facet is not None:
                places = {value: code for code, value in enumerate(facet.values)}
                masks[name] = facet.mask([places[value] for value in values if value in places])
        return masks

    def _has_words(self, words: str) -> Mask:
        """Return the questions with the words in the prompt or any reply; facet counts treat words
        as a filter.
        """
        searches = [self.index.search, *(run.search for _, run in self.runs)]
        masks = list(_SEARCHING.map(lambda search: search(words), searches))
        return np.asarray(np.logical_or.reduce(masks))

    def _sorted(self, rows: NDArray[np.int32], state: State) -> NDArray[np.int32]:
        sort = state.sort
        if sort == "file" or not rows.size:
            return rows
        name, runs = sort.lstrip("-"), self._runs_in(state) if "wrong" in sort else ()
        key = self._remembered(
            self._keys, KEPT_ORDERS, (name, runs, self.generation), lambda: self._key(name, runs)
        )[rows]
        key = -key if sort.startswith("-") else key
        return rows[np.argsort(np.where(np.isnan(key), np.inf, key), kind="stable")]

    def _runs_in(self, state: State) -> tuple[str, ...]:
        """Return the slugs of the runs that the filters name."""
        named = {facet.partition(".")[2] for facet, _ in state.chosen}
        return tuple(place.slug for place, _ in self.runs if place.slug in named)

    def _key(self, name: str, runs: tuple[str, ...]) -> NDArray[np.float64]:
        """Return the sort key over all runs or those given, one number for each question; NaN is
        last in both directions.
        """
        columns = self.index.columns
        summaries = [run.summary() for place, run in self.runs if not runs or place.slug in runs]
        keys: dict[str, Callable[[], NDArray[np.float64]]] = {
            "margin": lambda: columns.margin.astype(np.float64),
            "length": lambda: columns.length.astype(np.float64),
            "wrong_difference": lambda: _largest(summaries, columns.count),
            "disagreement": lambda: _spread([s.share_right for s in summaries], columns.count),
            "probability": lambda: _mean(summaries, "confidence", columns.count),
            "latency": lambda: _mean(summaries, "latency", columns.count),
            "reply": lambda: _mean(summaries, "chars", columns.count),
        }
        return keys[name]()


def _stacked(arrays: Sequence[NDArray[np.float32]], count: int) -> NDArray[np.float64]:
    return np.array(arrays, dtype=np.float64) if arrays else np.full((1, count), np.nan)


def _spread(arrays: Sequence[NDArray[np.float32]], count: int) -> NDArray[np.float64]:
    """Return the maximum minus the minimum; NaN if fewer than two judges answered."""
    table = _stacked(arrays, count)
    known = np.isfinite(table).sum(0)
    high = np.where(np.isfinite(table), table, -np.inf).max(0)
    low = np.where(np.isfinite(table), table, np.inf).min(0)
    return np.where(known > 1, high - low, np.nan)


def _largest(summaries: Sequence[Summary], count: int) -> NDArray[np.float64]:
    found = _stacked([summary.wrong_difference for summary in summaries], count)
    return np.asarray(np.fmax.reduce(found, axis=0))


def _mean(summaries: Sequence[Summary], field: str, count: int) -> NDArray[np.float64]:
    table = _stacked([getattr(summary, field) for summary in summaries], count)
    known = np.isfinite(table)
    total, n = np.where(known, table, 0).sum(0), known.sum(0)
    return np.asarray(np.divide(total, n, out=np.full(count, np.nan), where=n > 0))


@dataclass(frozen=True, slots=True)
class Cell:
    """A count; ``pairs`` is the query that selects its questions, ``share`` is its fraction of the
    largest count.
    """

    count: int
    share: float
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
    cells: tuple[tuple[Cell, ...], ...]

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
    """Return the tables of both runs' outcomes, and of each run's outcome by the effect of the
    options' order.
    """
    first, second = chosen
    if first is None or second is None:
        return []
    facets = {facet.name: facet for facet in shelf.facets()}
    among = shelf.select(State.from_query(pairs)).matching

    def table(title: str, a: str, b: str, titles: Pair) -> Matrix:
        return _matrix(title, titles, facets[a], facets[b], among, tuple(pairs))

    found = []
    if first.slug != second.slug:
        names = (first.name, second.name)
        found.append(
            table("Outcomes of both", f"outcome.{first.slug}", f"outcome.{second.slug}", names)
        )
    for run in dict.fromkeys((first, second)):
        title = f"{run.name}: outcome by order of the options"
        found.append(
            table(title, f"outcome.{run.slug}", f"order.{run.slug}", ("outcome", "both orders"))
        )
    return found


def _matrix(
    title: str, titles: Pair, a: Facet, b: Facet, among: Mask, pairs: tuple[Pair, ...]
) -> Matrix:
    counts = np.array([b.counts(among & a.mask([code])) for code in range(len(a.values))])
    rows, columns = np.flatnonzero(counts.sum(1)).tolist(), np.flatnonzero(counts.sum(0)).tolist()
    most = max(int(counts.max()), 1)

    def cell(i: int, j: int) -> Cell:
        query = (*pairs, (a.name, a.values[i]), (b.name, b.values[j]))
        return Cell(int(counts[i, j]), counts[i, j] / most, a.values[i] == b.values[j], query)

    cells = tuple(tuple(cell(i, j) for j in columns) for i in rows)
    return Matrix(
        title, *titles, tuple(a.values[i] for i in rows), tuple(b.values[j] for j in columns), cells
    )
