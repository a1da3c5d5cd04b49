"""Choosing questions: filters that count each other's values, words, and an order. All of it is in the address."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from visualjudge.dataset.engines import Engine
from visualjudge.studio import facets as f
from visualjudge.studio.index import DatasetIndex
from visualjudge.studio.parts import HERE
from visualjudge.studio.places import RunPlace
from visualjudge.studio.verdicts import RunIndex, Summary

K = TypeVar("K")
V = TypeVar("V")

KEPT = 12
"""Selections that are remembered: up to 2 MB each at 200,000 questions."""
KEPT_WORDS = 64
"""Searches that are remembered: 0.2 MB each."""
KEPT_ORDERS = 3
"""Orders that are remembered: 1.6 MB each."""
_SEARCHING = ThreadPoolExecutor(4, "studio-search")
"""SQLite searches without holding the interpreter's lock."""
SORTS = {
    "file": "Order of the file",
    "margin": "Smallest margin",
    "-margin": "Largest margin",
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
    """What the address says: the values chosen for each facet, the words, the order, and the run that sorts ask."""

    chosen: tuple[tuple[str, tuple[str, ...]], ...] = ()
    words: str = ""
    sort: str = "file"

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]]) -> State:
        """From the query of an address; what means nothing is left out."""
        chosen: dict[str, list[str]] = {}
        single = {"q": "", "sort": "file"}
        for name, value in pairs:
            if name in single:
                single[name] = value
            elif name.split(".")[0] in f.TITLES or name.split(".")[0] in ("outcome", "status", "order"):
                chosen.setdefault(name, []).append(value)
        sort = single["sort"] if single["sort"] in SORTS else "file"
        return cls(
            tuple((name, tuple(dict.fromkeys(v))) for name, v in sorted(chosen.items())), single["q"].strip(), sort
        )


@dataclass(frozen=True, eq=False, slots=True)
class Selection:
    """The questions that fit, in order, and for each facet which fit all other filters."""

    rows: NDArray[np.int32]
    matching: f.Mask
    but: Mapping[str, f.Mask]
    """For a facet that has values chosen: the questions that fit all filters but its own."""

    def among(self, facet: str) -> f.Mask:
        """The questions that the facet's counts are of."""
        return self.but.get(facet, self.matching)

    def place(self, row: int) -> int | None:
        """Where a question stands in the order; None where it does not fit."""
        found = np.flatnonzero(self.rows == row)
        return int(found[0]) if found.size else None


class Shelf:
    """One dataset with its runs, and the selections that were made of it."""

    def __init__(self, index: DatasetIndex, runs: Sequence[tuple[RunPlace, RunIndex]]) -> None:
        self.index = index
        self.runs = tuple(runs)
        self._static = f.dataset_facets(index)
        self._kept: OrderedDict[tuple[State, tuple[int, ...]], Selection] = OrderedDict()
        self._words: OrderedDict[tuple[str, tuple[int, ...]], f.Mask] = OrderedDict()
        self._keys: OrderedDict[tuple[str, tuple[int, ...]], NDArray[np.float64]] = OrderedDict()
        self._lock = threading.Lock()
        self._facets: tuple[tuple[int, ...], list[f.Facet]] = ((), [])

    def refresh(self, engine: Engine = HERE) -> None:
        """Take in what running judges have written."""
        for _, run in self.runs:
            run.refresh(engine)

    def prepare(self) -> None:
        """Count everything and search once, so that the first request finds totals, labels and open indexes."""
        self._has_words("the")
        everything = np.ones(self.index.columns.count, dtype=bool)
        for facet in self.facets():
            f.shown(facet, everything, ())

    @property
    def generation(self) -> tuple[int, ...]:
        """Changes whenever a run has gained verdicts."""
        return tuple(run.generation for _, run in self.runs)

    def facets(self) -> list[f.Facet]:
        """All facets: those of the questions, then those of each run."""
        generation = self.generation
        known = self._facets
        if known[0] != generation or not known[1]:
            added = [facet for place, run in self.runs for facet in f.run_facets(place.slug, place.name, run)]
            known = self._facets = (generation, self._static + added)
        return known[1]

    def select(self, state: State) -> Selection:
        """The selection of ``state``, remembered until a run gains verdicts."""
        return self._remembered(self._kept, KEPT, (state, self.generation), lambda: self._made(state))

    def _remembered(self, kept: OrderedDict[K, V], most: int, key: K, make: Callable[[], V]) -> V:
        """What was made for the key; the ``most`` keys used last are remembered."""
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
            misses += 2 * ~self._remembered(self._words, KEPT_WORDS, key, lambda: self._has_words(state.words))
        matching = misses == 0
        but = {name: matching | ((misses == 1) & ~mask) for name, mask in masks.items()}
        rows = np.flatnonzero(matching).astype(np.int32)
        return Selection(self._sorted(rows, state.sort), matching, but)

    def _masks(self, state: State) -> dict[str, f.Mask]:
        facets = {facet.name: facet for facet in self.facets()}
        masks = {}
        for name, values in state.chosen:
            facet = facets.get(name)
            if facet is not None:
                places = {value: code for code, value in enumerate(facet.values)}
                masks[name] = facet.mask([places[value] for value in values if value in places])
        return masks

    def _has_words(self, words: str) -> f.Mask:
        """Prompt or any reply; a facet's counts follow the words as they follow other filters."""
        searches = [self.index.search, *(run.search for _, run in self.runs)]
        masks = list(_SEARCHING.map(lambda search: search(words), searches))
        return np.asarray(np.logical_or.reduce(masks))

    def _sorted(self, rows: NDArray[np.int32], sort: str) -> NDArray[np.int32]:
        if sort == "file" or not rows.size:
            return rows
        name = sort.lstrip("-")
        key = self._remembered(self._keys, KEPT_ORDERS, (name, self.generation), lambda: self._key(name))[rows]
        key = -key if sort.startswith("-") else key
        return rows[np.argsort(np.where(np.isnan(key), np.inf, key), kind="stable")]

    def _key(self, name: str) -> NDArray[np.float64]:
        """What an order goes by, one number a question; NaN comes last either way."""
        columns, summaries = self.index.columns, [run.summary() for _, run in self.runs]
        keys: dict[str, Callable[[], NDArray[np.float64]]] = {
            "margin": lambda: columns.margin.astype(np.float64),
            "length": lambda: columns.length.astype(np.float64),
            "disagreement": lambda: _spread([s.share_right for s in summaries], columns.count),
            "probability": lambda: _mean(summaries, "confidence", columns.count),
            "latency": lambda: _mean(summaries, "latency", columns.count),
            "reply": lambda: _mean(summaries, "chars", columns.count),
        }
        return keys[name]()


def _stacked(arrays: Sequence[NDArray[np.float32]], count: int) -> NDArray[np.float64]:
    return np.array(arrays, dtype=np.float64) if arrays else np.full((1, count), np.nan)


def _spread(arrays: Sequence[NDArray[np.float32]], count: int) -> NDArray[np.float64]:
    """Largest minus smallest; NaN where fewer than two judges answered."""
    table = _stacked(arrays, count)
    known = np.isfinite(table).sum(0)
    high = np.where(np.isfinite(table), table, -np.inf).max(0)
    low = np.where(np.isfinite(table), table, np.inf).min(0)
    return np.where(known > 1, high - low, np.nan)


def _mean(summaries: Sequence[Summary], field: str, count: int) -> NDArray[np.float64]:
    table = _stacked([getattr(summary, field) for summary in summaries], count)
    known = np.isfinite(table)
    total, n = np.where(known, table, 0).sum(0), known.sum(0)
    return np.asarray(np.divide(total, n, out=np.full(count, np.nan), where=n > 0))
