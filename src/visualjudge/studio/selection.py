"""Selecting questions by facets, words and order; the address holds the whole state.
The facets are in ``facets.py``, the index in ``dataset_index.py``; selections of
commands are in ``dataset/question_filter.py``.
"""

from __future__ import annotations

import re
import threading
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from visualjudge.studio.dataset_index import (
    AMONG,
    Rows,
    RunVerdicts,
    Study,
    words_of,
)
from visualjudge.studio.facets import (
    OF_RUNS,
    TITLES,
    Facet,
    Pair,
    mark_facets,
    question_facets,
    run_facets,
)
from visualjudge.studio.places import RunPlace
from visualjudge.studio.stars_and_notes import WorkingSets

T = TypeVar("T")
# Number of cached results: up to 1 MB each at 100,000 questions.
KEPT = 24
SORTS = {
    "file": "Order of the file",
    "margin": "Smallest difference in true score",
    "-margin": "Largest difference in true score",
    "-disagreement": "Judges disagree most",
}
# What in an address asks for questions that a probe changed, as the facet of probes does.
COPIES = ("probes", "shown")
_WORD = re.compile(r'"[^"]+"|\S+')
_ALIAS = re.compile(r"\bo(\d+)\.")
_NOTED = re.compile(r"\bm\.")
_WITH_WORDS = """
SELECT json_group_array(row) FROM (SELECT row FROM question WHERE id = ?1
    OR prompt IN (SELECT rowid FROM prompts WHERE prompts MATCH ?2)
UNION SELECT row FROM verdict WHERE number IN (SELECT rowid FROM replies WHERE replies MATCH ?2))
"""


@dataclass(frozen=True, slots=True)
class State:
    """The state in the address: the chosen values of each facet, the words, and the
    order."""

    chosen: tuple[tuple[str, tuple[str, ...]], ...] = ()
    words: str = ""
    sort: str = "file"
    copies: bool = False
    """Whether questions that a probe changed are selected, too; a report counts none of
    them."""

    @classmethod
    def from_query(cls, pairs: Sequence[Pair]) -> State:
        """Parse the query of an address, ignoring invalid parts."""
        chosen: dict[str, list[str]] = {}
        single = {"q": "", "sort": "file"}
        for name, value in pairs:
            if name in single:
                single[name] = value
            elif name.split(".")[0] in (*TITLES, *OF_RUNS):
                chosen.setdefault(name, []).append(value)
        sort = single["sort"] if single["sort"] in SORTS else "file"
        copies = COPIES in pairs or "probe" in chosen
        return cls(
            tuple(
                (name, tuple(dict.fromkeys(v)))
                for name, v in sorted(chosen.items())
            ),
            single["q"].strip(),
            sort,
            copies,
        )


class Shelf:
    """One dataset with its runs and notes, and its cached selections."""

    def __init__(
        self, study: Study, runs: Sequence[tuple[RunPlace, RunVerdicts]]
    ) -> None:
        self.study = study
        self.working = WorkingSets(study.root)
        self.runs = tuple(runs)
        self._own = question_facets(study)
        self._noted: tuple[int, list[Facet]] | None = None
        self._kept: OrderedDict[Hashable, Future[Any]] = OrderedDict()
        self._lock = threading.RLock()

    def refresh(self) -> None:
        """Read new verdicts of running judges, except of a run that another thread is
        reading."""
        for _, run in self.runs:
            run.refresh(wait=False)

    @property
    def generation(self) -> tuple[int, ...]:
        """Return a value that changes with the verdicts, the notes and the questions
        read."""
        self.working.marks()
        runs = (run.generation for _, run in self.runs)
        return (self.study.count, self.working.generation, *runs)

    def facets(self) -> list[Facet]:
        """Return all facets in page order: those of the questions, then those of each
        run."""
        self.working.marks()
        # Marks may be newer than the generation, never older: then they are read again.
        generation = self.working.generation
        marks = self.working.marks()
        with self._lock:
            if self._noted is None or self._noted[0] != generation:
                self._noted = (generation, mark_facets(self.study, marks))
            own = {facet.name: facet for facet in (*self._own, *self._noted[1])}
        of_runs = (
            run_facets(place.slug, place.name, run) for place, run in self.runs
        )
        return [own[name] for name in TITLES if name in own] + [
            facet for some in of_runs for facet in some
        ]

    def remembered(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the cached value of a key until a verdict or note changes, or make it;
        others who ask meanwhile wait for it.
        """
        full = (key, self.generation)
        with self._lock:
            made: Future[T] | None = self._kept.get(full)
            known = made is not None
            made = made or Future()
            self._kept[full] = made
            self._kept.move_to_end(full)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        if not known:
            try:
                made.set_result(make())
            except BaseException as error:
                self._kept.pop(full, None)
                made.set_exception(error)
        return made.result()

    # ---------------------------------------------------------------- selecting

    def select(self, state: State) -> Sequence[int]:
        """Return the rows of the selected questions, in order."""
        return self.remembered(
            state,
            lambda: array(
                "i",
                (
                    row
                    for (row,) in self.rows(
                        state, "q.row", order=self._order(state)
                    )
                ),
            ),
        )

    def rows(
        self,
        state: State,
        columns: str,
        *,
        leave_out: str = "",
        group: str = "",
        order: str = "",
    ) -> Rows:
        """Return columns of the selected questions; ``leave_out`` names a facet whose
        filter does not apply.
        """
        facets = {facet.name: facet for facet in self.facets()}
        conditions = [
            facets[name].condition(values)
            for name, values in state.chosen
            if name in facets and name != leave_out
        ]
        values = []
        if not state.copies and leave_out != "probe":
            conditions.append("NOT q.changed")
        if state.words:
            conditions.append(f"q.row {AMONG}")
            values.append(self._with_words(state.words))
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        query = (
            f"{where}{f' GROUP BY {group}' if group else ''} ORDER BY "
            f"{order or 'NULL'}"
        )
        joined = "".join(
            f" LEFT JOIN outcome o{n} ON o{n}.run = {n} AND o{n}.row = q.row"
            for n in sorted(set(_ALIAS.findall(columns + query)))
        )
        if _NOTED.search(columns + query):
            joined += " LEFT JOIN mark m ON m.row = q.row"
        return self.study.all(
            f"SELECT {columns} FROM question q{joined}{query}", *values
        )

    def counts(self, state: State) -> tuple[int, dict[str, Counter[str]]]:
        """Return the number of selected questions, and for each facet how many have
        each value under the other filters.
        """
        state = replace(state, sort="file")
        return self.remembered(("counts", state), lambda: self._counted(state))

    def _counted(self, state: State) -> tuple[int, dict[str, Counter[str]]]:
        facets = self.facets()
        own = [facet for facet in facets if facet.column.startswith("q.")]
        others = [facet for facet in facets if facet not in own]
        # Codes of all rows in one value: a row of its own for each takes half the time.
        small = f"char({', '.join(facet.column for facet in others)})"
        joined = (
            f"CAST(group_concat(q.codes, '') AS BLOB), group_concat({small}, ''), "
            "count(*)"
        )
        ((stored, computed, total),) = self.rows(state, joined)
        counts = {}
        for some, codes in (
            (own, stored),
            (others, (computed or "").encode("utf-32-le")),
        ):
            table = np.frombuffer(codes or b"", np.uint32).reshape(
                -1, len(some)
            )
            for facet, column in zip(some, table.T, strict=True):
                numbers = enumerate(np.bincount(column).tolist())
                counts[facet.name] = facet.by_value(
                    {code: n for code, n in numbers if n}
                )
        for facet in facets:
            if facet.name in {*dict(state.chosen), "probe"}:
                count = f"{facet.column}, count(*)"
                grouped = self.rows(
                    state, count, leave_out=facet.name, group=facet.column
                )
                counts[facet.name] = facet.by_value(dict(grouped))
        return total, counts

    def _with_words(self, words: str) -> str:
        """Return as JSON the rows with all these words in the prompt or in one reply,
        or as id."""

        return self.remembered(
            ("words", words),
            lambda: str(
                self.study.all(_WITH_WORDS, words, _match(words))[0][0]
            ),
        )

    def _order(self, state: State) -> str:
        name = state.sort.lstrip("-")
        down = " DESC" * state.sort.startswith("-")
        if name == "margin":
            key = "q.difference"
        elif name == "disagreement" and len(self.runs) > 1:
            shares = [f"o{run.number}.share" for _, run in self.runs]
            key = f"{_widest('max', shares, -1)} - {_widest('min', shares, 2)}"
        else:
            return "q.row"
        return f"({key}) IS NULL, {key}{down}, q.row"


def _widest(function: str, columns: Iterable[str], none: int) -> str:
    """Return the largest or smallest of some columns, without those that are null."""
    some = ", ".join(f"ifnull({column}, {none})" for column in columns)
    return f"nullif({function}({some}, {none}), {none})"


def _match(query: str) -> str:
    """Return an FTS5 expression for all words of ``query``; the last may be unfinished,
    "quoted words" must be adjacent.
    """
    parts = [(match, words_of(match)) for match in _WORD.findall(query[:1000])]
    terms = [f'"{words}"' for _, words in parts if words]
    if terms and not parts[-1][0].startswith('"') and parts[-1][1]:
        terms[-1] += "*"
    return " AND ".join(terms) or '""'
