"""Facets: criteria for choosing questions, each with counts of its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from visualjudge.studio.index import MULTIPLE, SINGLE, Columns, DatasetIndex
from visualjudge.studio.summary import CONSISTENCY, OUTCOMES
from visualjudge.studio.verdict_reading import STATUSES
from visualjudge.studio.verdicts import RunIndex
from visualjudge.studio.working_sets import Marked
from visualjudge.vision.encodings import encoding_title, encodings
from visualjudge.vision.tasks import TASKS

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]

TITLES = {
    "task": "Task",
    "form": "Shown as",
    "encoding": "Encoding",
    "type": "Question type",
    "subset": "Subset",
    "error_type": "Error type",
    "class": "Class",
    "image": "Image",
    "source": "Source",
    "probe": "Probe",
    "group": "Probe group",
    "star": "Star",
    "tag": "Tag",
    "note": "Note",
    "margin": "Margin",
    "answer": "Answer",
}
MARGINS = (0.5, 1.0, 2.0, 4.0)
WRONG_DIFFERENCE = "Largest wrong difference"
MARGIN_NAMES = ("below 0.5", "0.5 to 1", "1 to 2", "2 to 4", "4 and more", "one option")
MOST_VALUES = 12
UNTAGGED = "(no tag)"
Pair = tuple[str, str]
_KINDS = {"pixel": "drawn", "combo": "drawn and text", "text": "text"}


@dataclass(frozen=True, eq=False)
class Facet:
    """A criterion for choosing questions, with one value for each question.

    ``name`` is used in addresses, ``title`` and ``values`` (by code) on the page; ``codes`` has one
    entry per question; ``group`` is the run it belongs to, or empty for a facet of the questions
    themselves.
    """

    name: str
    title: str
    values: tuple[str, ...]
    codes: NDArray[np.int32]
    group: str = field(default="", kw_only=True)

    def mask(self, codes: Sequence[int]) -> Mask:
        """Return which questions have any of the values."""
        wanted = np.zeros(len(self.values), dtype=bool)
        wanted[list(codes)] = True
        return wanted[self.codes]

    def counts(self, among: Mask) -> Counts:
        """Return the number of the questions ``among`` with each value.

        The smaller side is counted; the larger is derived from the totals.
        """
        if 2 * np.count_nonzero(among) <= among.size:
            return self._tally(self._of(among))
        return self._totals - self._tally(self._of(~among))

    def members(self, among: Mask) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows and codes of the questions ``among``, one entry for each question and
        value.
        """
        return np.flatnonzero(among), self._of(among).astype(np.int64)

    def label(self, value: str) -> str:
        """Return the label of a value."""
        return _LABELS.get(self.name.partition(".")[0], str)(value)

    def _of(self, among: Mask) -> NDArray[np.int32]:
        """Return the codes of the questions ``among``."""
        return self.codes[among]

    @cached_property
    def _totals(self) -> Counts:
        return self._tally(self.codes)

    def _tally(self, codes: NDArray[np.int32]) -> Counts:
        return np.bincount(codes, minlength=len(self.values))


@dataclass(frozen=True, eq=False)
class ManyValues(Facet):
    """A facet with any number of values for each of ``size`` questions, as pairs of row
    and code.
    """

    rows: NDArray[np.int32]
    size: int

    def mask(self, codes: Sequence[int]) -> Mask:
        mask = np.zeros(self.size, dtype=bool)
        mask[self.rows[super().mask(codes)]] = True
        return mask

    def members(self, among: Mask) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.rows[among[self.rows]].astype(np.int64), self._of(among).astype(np.int64)

    def _of(self, among: Mask) -> NDArray[np.int32]:
        return self.codes[among[self.rows]]


def encoding_label(value: str) -> str:
    """Return the human name of ``task/stem``."""
    task, _, stem = value.partition("/")
    return encoding_title(task, stem)


def task_label(value: str) -> str:
    """Return the name of a task in prose."""
    return TASKS[value].prose if value in TASKS else value.replace("_", " ")


def form_label(value: str) -> str:
    """Return the human name of ``task/kind``."""
    task, _, kind = value.partition("/")
    return f"{task_label(task)}: {_KINDS.get(kind, kind)}"


def dataset_facets(index: DatasetIndex) -> list[Facet]:
    """Return the facets of the questions themselves, in page order."""
    columns = index.columns
    margin = np.where(
        np.isnan(columns.margin), len(MARGINS) + 1, np.digitize(columns.margin, MARGINS)
    )
    found: dict[str, Facet] = {
        "margin": Facet("margin", TITLES["margin"], MARGIN_NAMES, margin.astype(np.int32))
    }
    for name in SINGLE:
        found[name] = Facet(
            name, TITLES[name], columns.vocabulary.get(name, ()), columns.single[name]
        )
    for name in MULTIPLE:
        rows, codes = columns.multiple[name]
        found[name] = ManyValues(
            name, TITLES[name], columns.vocabulary.get(name, ()), codes, rows, columns.count
        )
    found["form"] = _forms(columns)
    return [found[name] for name in TITLES if name in found]


def _forms(columns: Columns) -> Facet:
    """Return whether a task's options are drawn or text, as a facet that groups many encodings."""
    kinds = {row.stem: row.kind for row in encodings()}
    names = columns.vocabulary.get("encoding", ())
    forms = [
        f"{task}/{kinds.get(stem, 'text')}"
        for task, _, stem in (name.partition("/") for name in names)
    ]
    values = tuple(dict.fromkeys(forms))
    codes = np.array([values.index(form) for form in forms], np.int32)
    return Facet("form", TITLES["form"], values, codes[columns.single["encoding"]])


def mark_facets(index: DatasetIndex, marks: Mapping[str, Marked]) -> list[Facet]:
    """Return the facets of the notes on the questions."""
    count = index.columns.count
    known = [
        (row, mark)
        for row, mark in zip(index.rows_of(marks), marks.values(), strict=True)
        if row >= 0
    ]
    star, note = np.zeros(count, np.int32), np.zeros(count, np.int32)
    tags = tuple(sorted({tag for _, mark in known for tag in mark.tags}))
    pairs = [(row, tags.index(tag)) for row, mark in known for tag in mark.tags]
    for row, mark in known:
        star[row], note[row] = mark.star, bool(mark.note)
    rows, codes = np.array(pairs, np.int32).reshape(-1, 2).T
    if tags:
        untagged = np.setdiff1d(np.arange(count, dtype=np.int32), rows)
        rows = np.concatenate([rows, untagged])
        codes = np.concatenate([codes, np.full(untagged.size, len(tags), np.int32)])
        tags = (*tags, UNTAGGED)
    return [
        Facet("star", TITLES["star"], ("not starred", "starred"), star),
        ManyValues("tag", TITLES["tag"], tags, codes, rows, count),
        Facet("note", TITLES["note"], ("without a note", "with a note"), note),
    ]


def unchanged_only(columns: Columns) -> list[Pair]:
    """Return the query that leaves out questions changed by a probe; empty if there are none."""
    names, changed = columns.vocabulary.get("probe", ()), columns.changed == 1
    if not changed.any():
        return []
    return [("probe", names[code]) for code in np.unique(columns.single["probe"][~changed])]


def run_facets(slug: str, name: str, run: RunIndex) -> list[Facet]:
    """Return the facets of one run."""
    summary = run.summary()
    rows, codes = summary.statuses
    wrong = np.flatnonzero(np.isfinite(summary.wrong_difference)).astype(np.int32)
    bins = np.digitize(summary.wrong_difference[wrong], MARGINS).astype(np.int32)
    return [
        Facet(f"outcome.{slug}", "Outcome", OUTCOMES, summary.outcome, group=name),
        Facet(f"order.{slug}", "Both orders", CONSISTENCY, summary.consistency, group=name),
        ManyValues(
            f"wrong_difference.{slug}",
            WRONG_DIFFERENCE,
            MARGIN_NAMES[:-1],
            bins,
            wrong,
            summary.outcome.size,
            group=name,
        ),
        ManyValues(
            f"status.{slug}", "Status", STATUSES, codes, rows, summary.outcome.size, group=name
        ),
    ]


_LABELS: dict[str, Callable[[str], str]] = {
    "encoding": encoding_label,
    "task": task_label,
    "form": form_label,
    "status": lambda value: value.replace("_", " "),
    "probe": lambda value: value.replace("_", " "),
}


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A facet's value on the page; ``hint`` is shown beside it, such as an encoding's task."""

    value: str
    label: str
    hint: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class ShownFacet:
    """A facet on the page; ``more`` is the number of values left out of the list."""

    name: str
    title: str
    group: str
    values: tuple[FacetValue, ...]
    more: int = 0
    chosen: tuple[str, ...] = field(default=())


def shown_facet(
    facet: Facet, among: Mask, chosen: Sequence[str], find: str = "", most: int = MOST_VALUES
) -> ShownFacet:
    """Return the facet's values that occur ``among`` the questions, most frequent first; chosen
    values are always included.
    """
    counts = facet.counts(among)
    wanted = counts > 0
    wanted[
        [code for code, value in enumerate(facet.values) if value in chosen] if chosen else []
    ] = True
    kept = _found(facet, np.flatnonzero(wanted), find.casefold().strip())
    rank = kept - counts[kept] * counts.size  # by count, then by code; no two alike
    near = np.argpartition(rank, most - 1)[:most] if kept.size > most else np.arange(kept.size)
    first: list[int] = kept[near[np.argsort(rank[near])]].tolist()
    if chosen:
        others = kept[np.argsort(rank)][most:].tolist()
        first += [code for code in others if facet.values[code] in chosen]
    values = tuple(
        FacetValue(
            facet.values[c],
            facet.label(facet.values[c]),
            task_label(facet.values[c].partition("/")[0]) if facet.name == "encoding" else "",
            int(counts[c]),
            facet.values[c] in chosen,
        )
        for c in first
    )
    return ShownFacet(
        facet.name, facet.title, facet.group, values, kept.size - len(first), tuple(chosen)
    )


def _found(facet: Facet, codes: Counts, needle: str) -> Counts:
    """Return the codes whose label or value contains ``needle``; all of them if it is empty."""
    if not needle:
        return codes
    words = ((code, facet.values[code]) for code in codes.tolist())
    found = [
        code
        for code, value in words
        if needle in facet.label(value).casefold() or needle in value.casefold()
    ]
    return np.array(found, np.int64)


def named_pairs(facets: Sequence[Facet], pairs: Sequence[Pair]) -> list[str]:
    """Return the filters of a query as readable text."""
    known = {facet.name: facet for facet in facets}
    found = []
    for name, value in pairs:
        facet = known.get(name)
        if facet is not None:
            group = f"{facet.group}, " if facet.group else ""
            found.append(f"{group}{facet.title}: {facet.label(value)}")
        elif name == "q":
            found.append(f"Words: {value}")
    return found
