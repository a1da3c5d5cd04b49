"""The data behind the studio: the places, each dataset opened once, and the changing counts of
runs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visualjudge.core.errors import DataError, VisualJudgeError
from visualjudge.dataset.folder import questions_file
from visualjudge.runs.budget import Spending, money, spent_before
from visualjudge.studio.facets import Pair, spaced
from visualjudge.studio.places import DatasetPlace, Places, RunPlace, cache_home
from visualjudge.studio.selection import Shelf, State, unchanged_only
from visualjudge.studio.study import LARGE, Study, forget_scratch, open_study
from visualjudge.studio.verdicts import OUTCOMES, RunVerdicts, Share

if TYPE_CHECKING:
    from visualjudge.studio.annotations import Annotations


RATE_WINDOW_S = 30.0
TYPE_TITLES = {"pairwise": "pairs", "ranking": "rankings", "scoring": "scores"}
STOPPED_WITHIN_S = 15.0
STALE_AFTER_S = 60.0
"""An unfinished run that has written nothing for this long is shown as stopped."""


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """Number of questions of one kind with each outcome in a run, in the order of OUTCOMES without
    the first.

    Attributes
    ----------
    pairs
        The query that selects the kind.
    """

    title: str
    pairs: tuple[Pair, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of a run, for the home page and its live updates.

    Attributes
    ----------
    state
        running | finished | stopped | no dataset
    """

    slug: str
    name: str
    folder: str
    dataset: str | None
    backend: str
    simulated: bool
    state: str
    started: str
    done: int
    asked: int | None
    shares: tuple[Share, ...]
    failed: int
    outcomes: tuple[OutcomeRow, ...]
    causes: tuple[tuple[str, int], ...]
    tokens: int
    cost: str | None
    rate: float
    seconds_left: float | None


class StillIndexing(Exception):
    """The questions of a dataset are still being read."""


class NotIndexed(DataError):
    """A large dataset could not be read, or its file in the cache could not be written."""


class Site:
    """The places and their open studies."""

    def __init__(self, places: Places, home: Path | None = None) -> None:
        self.places = places
        self.home = home or cache_home()
        self._datasets = {place.slug: place for place in places.datasets}
        self._runs = {place.slug: place for place in places.runs}
        self._shelves: dict[str, Shelf] = {}
        self._pace: dict[str, deque[tuple[float, int]]] = {}
        self._opening = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._indexing: dict[str, NotIndexed | None] = {}

    @cached_property
    def annotations(self) -> Annotations:
        """Return the predictions in the open data folders.

        Imported on first use, since it loads the readers of all tasks.
        """
        from visualjudge.studio.annotations import Annotations

        return Annotations(self.places.data_folders)

    def dataset(self, slug: str) -> DatasetPlace | None:
        """Return the dataset with this slug."""
        return self._datasets.get(slug)

    def run(self, slug: str) -> RunPlace | None:
        """Return the run with this slug."""
        return self._runs.get(slug)

    def shelf(self, slug: str, *, refresh: bool = True) -> Shelf:
        """Return the open dataset, with the current verdicts of its runs.

        Raises
        ------
        DataError
            If the dataset cannot be read.
        StillIndexing
            If :meth:`open_all` has not read its questions yet.
        """
        shelf = self._shelves.get(slug)
        if shelf is not None:
            if refresh:
                shelf.refresh()
            return shelf
        if slug in self._indexing:
            raise self._indexing[slug] or StillIndexing(slug)
        with self._opening:
            return self._shelves.get(slug) or self._opened(self._datasets[slug])

    def _opened(self, place: DatasetPlace) -> Shelf:
        """Return the shelf of a dataset, with all verdicts of its runs."""
        study = open_study(place.root, self.home, place.slug)
        runs = [
            (run, RunVerdicts(study, run.root, run.slug)) for run in self.places.runs_of(place.slug)
        ]
        shelf = Shelf(study, runs)
        if place.slug in self._indexing:  # pages are served meanwhile
            self._shelves[place.slug] = shelf
        for _, run in runs:
            run.refresh(self._stopped)
        study.index_prompts(self._stopped)
        shelf.counts(State())  # so that the first grid need not wait
        self._shelves[place.slug] = shelf
        return shelf

    def open_all(self, on_open: Callable[[DatasetPlace], None]) -> threading.Thread:
        """Open every dataset; large ones in a thread, which is returned, while pages are served."""
        large = [
            place
            for place in self.places.datasets
            if _size([questions_file(place.root)]) > LARGE
            or _size(run.journal for run in self.places.runs_of(place.slug)) > LARGE
        ]
        self._indexing = dict.fromkeys(place.slug for place in large)
        for place in self.places.datasets:
            on_open(place)
            if place not in large:
                self.shelf(place.slug)

        def open_large() -> None:
            for place in large:
                try:
                    with self._opening:
                        self._opened(place)
                    del self._indexing[place.slug]
                except VisualJudgeError as error:
                    if not self._stopped.is_set():
                        logging.getLogger("visualjudge").error("visualjudge: %s", error)
                    self._indexing[place.slug] = NotIndexed(str(error))
                    self._shelves.pop(place.slug, None)

        self._thread = threading.Thread(target=open_large, name="studio-opening", daemon=True)
        self._thread.start()
        return self._thread

    def stop(self) -> None:
        """End the thread of :meth:`open_all`, so that no partial file is left."""
        self._stopped.set()
        forget_scratch(self.home)
        if self._thread is not None:
            self._thread.join(STOPPED_WITHIN_S)

    def indexing(self) -> dict[str, dict[str, float]]:
        """Return the datasets that are not fully indexed.

        For each slug, the indexed share of each run's replies; empty while questions are read.
        """
        found = {}
        for slug, error in list(self._indexing.items()):
            shelf = self._shelves.get(slug)
            if shelf is not None:
                found[slug] = shelf.behind() or {"prompts": 0.0}
            elif error is None:
                found[slug] = {}
        return found

    def verdicts_of(self, run: RunPlace) -> RunVerdicts | None:
        """Return the verdicts of a run, or None if its dataset is missing or not indexed yet."""
        if run.dataset is None:
            return None
        try:
            runs = self.shelf(run.dataset).runs
        except (StillIndexing, NotIndexed):
            return None
        return next(verdicts for place, verdicts in runs if place.slug == run.slug)

    def state(self, run: RunPlace) -> RunState:
        """Return the current state of a run."""
        info, verdicts = run.info(), self.verdicts_of(run)
        totals = verdicts.totals() if verdicts else None
        done = totals.verdicts if totals else sum(_counts(info.get("statuses")).values())
        causes = totals.causes if totals else Counter(_counts(info.get("causes"))).most_common(6)
        asked = info.get("asked") if isinstance(info.get("asked"), int) else None
        spent = spent_before(Spending(*(totals.tokens if totals else (0, 0))), info)
        rate = self._rate(run.slug, done)
        running = _state(run, info, complete=asked is not None and done >= asked)
        left = (asked - done) / rate if asked and rate > 0 and running == "running" else None
        return RunState(
            slug=run.slug,
            name=run.name,
            folder=str(run.root),
            dataset=run.dataset,
            backend=str(info.get("backend") or "unknown"),
            simulated=bool(info.get("simulated")),
            state=running if run.dataset else "no dataset",
            started=str(info.get("started") or "")[:16].replace("T", " "),
            done=done,
            asked=asked,
            shares=totals.shares if totals else (),
            failed=totals.failed if totals else 0,
            outcomes=tuple(outcome_rows(verdicts)) if verdicts else (),
            causes=tuple(causes),
            tokens=spent.tokens,
            cost=money(spent.cost) if spent.tokens and spent.cost is not None else None,
            rate=rate,
            seconds_left=left,
        )

    def _rate(self, slug: str, done: int) -> float:
        """Return verdicts per second over the last half minute, as observed here."""
        pace, now = self._pace.setdefault(slug, deque(maxlen=64)), time.monotonic()
        pace.append((now, done))
        while len(pace) > 2 and now - pace[0][0] > RATE_WINDOW_S:
            pace.popleft()
        seconds = now - pace[0][0]
        return (done - pace[0][1]) / seconds if seconds > 0.5 else 0.0


def _size(files: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in files if path.is_file())


def _state(run: RunPlace, info: Mapping[str, Any], *, complete: bool) -> str:
    """Return the state of a run.

    ``complete`` tells that all verdicts are present, as in a run of published replies, which has no
    end time.
    """
    if info.get("finished") or complete:
        return "finished" if not info.get("stopped") and not info.get("missing") else "stopped"
    try:
        quiet = time.time() - run.journal.stat().st_mtime
    except OSError:
        quiet = _age(str(info.get("started") or ""))
    return "running" if quiet < STALE_AFTER_S else "stopped"


def _age(started: str) -> float:
    try:
        return time.time() - datetime.fromisoformat(started).timestamp()
    except ValueError:
        return STALE_AFTER_S


def _counts(value: Any) -> dict[str, int]:
    counts = value if isinstance(value, dict) else {}
    return {str(name): n for name, n in counts.items() if isinstance(n, int)}


def outcome_rows(verdicts: RunVerdicts) -> Iterator[OutcomeRow]:
    """Return the outcomes of each question type, then those of each probe that changed
    questions.

    The criterion for a right answer differs between types, and answers to probes do not count for
    accuracy.
    """
    study: Study = verdicts.study
    kinds, probes = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for (kind, probe, changed), counts in verdicts.totals().outcomes.items():
        sums, code = (probes, probe) if changed else (kinds, kind)
        for outcome, count in counts.items():
            sums[code, outcome] += count
    names = range(1, len(OUTCOMES))
    for code, name in enumerate(study.types()):
        if any(key[0] == code for key in kinds):
            pairs = (("type", name), *unchanged_only(study))
            yield OutcomeRow(TYPE_TITLES[name], pairs, tuple(kinds[code, k] for k in names))
    for code in sorted({code for code, _ in probes}):
        name = study.values["probe"][code][0]
        counted = tuple(probes[code, k] for k in names)
        yield OutcomeRow(f"probe: {spaced(name)}", (("probe", name),), counted)
