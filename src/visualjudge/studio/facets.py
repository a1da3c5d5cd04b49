"""What questions are chosen by: each facet tells which questions have given values, and counts values among some."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from visualjudge.studio.index import DatasetIndex
from visualjudge.studio.journal import STATUSES
from visualjudge.studio.parts import MULTIPLE, SINGLE
from visualjudge.studio.verdicts import CONSISTENCY, OUTCOMES, RunIndex
from visualjudge.vision.drawing.titles import encoding_title
from visualjudge.vision.tasks import TASKS

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]

TITLES = {
    "task": "Task",
    "encoding": "Encoding",
    "type": "Question type",
    "subset": "Subset",
    "error_type": "Error type",
    "class": "Class",
    "image": "Image",
    "source": "Source",
    "margin": "Margin",
    "answer": "Answer",
}
MARGINS = (0.5, 1.0, 2.0, 4.0)
MARGIN_NAMES = ("below 0.5", "0.5 to 1", "1 to 2", "2 to 4", "4 and more", "one option")


@dataclass(frozen=True, eq=False)
class Facet(ABC):
    """One way to choose questions.

    ``name`` stands in addresses, ``title`` and the ``values`` (by code) on the page; ``group`` is the run that it
    belongs to, empty for a facet of the questions themselves.
    """

    name: str
    title: str
    values: tuple[str, ...]
    group: str = field(default="", kw_only=True)

    @abstractmethod
    def mask(self, codes: Sequence[int]) -> Mask:
        """The questions that have any of the values."""

    @abstractmethod
    def counts(self, among: Mask) -> Counts:
        """For each value, how many of the questions ``among`` have it."""

    def label(self, value: str) -> str:
        """A value as people read it."""
        return _LABELS.get(self.name, str)(value)


@dataclass(frozen=True, eq=False)
class OneValue(Facet):
    """A facet with one value a question."""

    codes: NDArray[np.int32]

    def mask(self, codes: Sequence[int]) -> Mask:
        wanted = np.zeros(len(self.values), dtype=bool)
        wanted[list(codes)] = True
        return wanted[self.codes]

    def counts(self, among: Mask) -> Counts:
        """Counted from the smaller side: the others are taken from the totals."""
        if 2 * np.count_nonzero(among) <= among.size:
            return self._tally(self._of(among))
        return self._totals - self._tally(self._of(~among))

    def _of(self, among: Mask) -> NDArray[np.int32]:
        """The codes of the questions ``among``."""
        return self.codes[among]

    @cached_property
    def _totals(self) -> Counts:
        return self._tally(self.codes)

    def _tally(self, codes: NDArray[np.int32]) -> Counts:
        return np.bincount(codes, minlength=len(self.values))


@dataclass(frozen=True, eq=False)
class ManyValues(OneValue):
    """A facet with any number of values a question, as pairs of row and code; ``size`` questions in all."""

    rows: NDArray[np.int32]
    size: int

    def mask(self, codes: Sequence[int]) -> Mask:
        mask = np.zeros(self.size, dtype=bool)
        mask[self.rows[super().mask(codes)]] = True
        return mask

    def _of(self, among: Mask) -> NDArray[np.int32]:
        return self.codes[among[self.rows]]


@dataclass(frozen=True, eq=False)
class Bits(Facet):
    """A facet of few values, any number a question, as bits."""

    bits: NDArray[np.uint16]

    def mask(self, codes: Sequence[int]) -> Mask:
        return np.asarray((self.bits & sum(1 << code for code in set(codes))) != 0)

    def counts(self, among: Mask) -> Counts:
        found = self.bits[among]
        return np.array([np.count_nonzero(found & (1 << code)) for code in range(len(self.values))])

    def label(self, value: str) -> str:
        return value.replace("_", " ")


def encoding_label(value: str) -> str:
    """The human name of ``task/stem``."""
    task, _, stem = value.partition("/")
    return encoding_title(task, stem)


def task_label(value: str) -> str:
    """A task as prose names it."""
    return TASKS[value].prose if value in TASKS else value.replace("_", " ")


def dataset_facets(index: DatasetIndex) -> list[Facet]:
    """The facets of the questions themselves, in the order of the page."""
    columns = index.columns
    margin = np.where(np.isnan(columns.margin), len(MARGINS) + 1, np.digitize(columns.margin, MARGINS))
    found: dict[str, Facet] = {"margin": OneValue("margin", TITLES["margin"], MARGIN_NAMES, margin.astype(np.int32))}
    for name in SINGLE:
        found[name] = OneValue(name, TITLES[name], columns.vocabulary.get(name, ()), columns.one[name])
    for name in MULTIPLE:
        rows, codes = columns.many[name]
        found[name] = ManyValues(name, TITLES[name], columns.vocabulary.get(name, ()), codes, rows, columns.count)
    return [found[name] for name in TITLES]


def run_facets(slug: str, name: str, run: RunIndex) -> list[Facet]:
    """The facets that one run adds."""
    summary = run.summary()
    return [
        OneValue(f"outcome.{slug}", "Outcome", OUTCOMES, summary.outcome, group=name),
        Bits(f"status.{slug}", "Status", STATUSES, summary.statuses, group=name),
        OneValue(f"order.{slug}", "Both orders", CONSISTENCY, summary.consistency, group=name),
    ]


_LABELS: dict[str, Callable[[str], str]] = {"encoding": encoding_label, "task": task_label}


@dataclass(frozen=True, slots=True)
class Value:
    """A line of a facet on the page; ``hint`` stands beside the label, such as the task of an encoding."""

    value: str
    label: str
    hint: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A facet on the page; ``more``: values with questions that the list leaves out."""

    name: str
    title: str
    group: str
    values: tuple[Value, ...]
    more: int = 0
    chosen: tuple[str, ...] = field(default=())


MOST_VALUES = 12


def shown(facet: Facet, among: Mask, chosen: Sequence[str], find: str = "", most: int = MOST_VALUES) -> Shown:
    """The facet's values that occur ``among`` the questions, most frequent first; chosen ones always."""
    counts = facet.counts(among)
    wanted = counts > 0
    wanted[[code for code, value in enumerate(facet.values) if value in chosen] if chosen else []] = True
    kept = _found(facet, np.flatnonzero(wanted), find.casefold().strip())
    rank = kept - counts[kept] * counts.size  # by count, then by code; no two alike
    near = np.argpartition(rank, most - 1)[:most] if kept.size > most else np.arange(kept.size)
    first: list[int] = kept[near[np.argsort(rank[near])]].tolist()
    if chosen:
        others = kept[np.argsort(rank)][most:].tolist()
        first += [code for code in others if facet.values[code] in chosen]
    values = tuple(
        Value(facet.values[c], facet.label(facet.values[c]), _hint(facet, c), int(counts[c]), facet.values[c] in chosen)
        for c in first
    )
    return Shown(facet.name, facet.title, facet.group, values, kept.size - len(first), tuple(chosen))


def _found(facet: Facet, codes: Counts, needle: str) -> Counts:
    """The codes whose label or value holds ``needle``; all of them where it is empty."""
    if not needle:
        return codes
    words = ((code, facet.values[code]) for code in codes.tolist())
    found = [code for code, value in words if needle in facet.label(value).casefold() or needle in value.casefold()]
    return np.array(found, np.int64)


def _hint(facet: Facet, code: int) -> str:
    return task_label(facet.values[code].partition("/")[0]) if facet.name == "encoding" else ""
