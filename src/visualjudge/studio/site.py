"""The data behind the studio: the places, each dataset opened once, and the changing counts of
runs.
"""

from __future__ import annotations

import ctypes
import logging
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visualjudge.core.errors import DataError, VisualJudgeError
from visualjudge.dataset.folder import questions_file
from visualjudge.runs.budget import Spending, money, spent_before
from visualjudge.studio.facets import Pair, unchanged_only
from visualjudge.studio.index import LARGE, Columns, engine_for, open_index
from visualjudge.studio.places import DatasetPlace, Places, RunPlace, cache_home
from visualjudge.studio.selection import Shelf
from visualjudge.studio.summary import OUTCOMES, Share, Summary
from visualjudge.studio.thumbnails import Thumbnails
from visualjudge.studio.verdicts import RunIndex

if TYPE_CHECKING:
    from visualjudge.studio.annotations import Annotations


RATE_WINDOW_S = 30.0
TYPE_TITLES = {"pairwise": "pairs", "ranking": "rankings", "scoring": "scores"}
STOPPED_WITHIN_S = 15.0
"""The last stage of indexing takes some seconds and reports no progress."""
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


class Stopped(Exception):
    """The studio is stopping while it builds an index."""


class StillIndexing(Exception):
    """The questions of a dataset are still being read; ``share`` of them have been."""

    def __init__(self, slug: str, share: float) -> None:
        super().__init__(slug, share)
        self.slug, self.share = slug, share


class NotIndexed(DataError):
    """A large dataset could not be read, or its index could not be written."""


def size_of(files: Iterable[Path]) -> int:
    """Return the total size in bytes of the files that exist."""
    return sum(path.stat().st_size for path in files if path.is_file())


class Site:
    """The places and their open indexes."""

    def __init__(self, places: Places, home: Path | None = None) -> None:
        self.places = places
        self.home = home or cache_home()
        self.thumbnails = Thumbnails(self.home / "thumbnails")
        self._datasets = {place.slug: place for place in places.datasets}
        self._runs = {place.slug: place for place in places.runs}
        self._shelves: dict[str, Shelf] = {}
        self._pace: dict[str, deque[tuple[float, int]]] = {}
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._indexing: dict[str, float | NotIndexed] = {}

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

    def shelf(
        self,
        slug: str,
        on_open: Callable[[DatasetPlace], None] | None = None,
        *,
        refresh: bool = True,
    ) -> Shelf:
        """Return the open dataset, with the current verdicts of its runs.

        Raises
        ------
        DataError
            If the dataset cannot be read.
        StillIndexing
            If :meth:`open_all` has not read its questions yet.
        """
        with self._lock:
            shelf = self._shelves.get(slug)
            indexed = self._indexing.get(slug)
        if shelf is None and isinstance(indexed, NotIndexed):
            raise indexed
        if shelf is None and isinstance(indexed, float):
            raise StillIndexing(slug, indexed)
        if shelf is None:
            with self._opening:
                shelf = self._shelves.get(slug) or self._opened(self._datasets[slug], on_open)
        elif refresh:
            shelf.refresh(wait=False)
        return shelf

    def _opened(self, place: DatasetPlace, on_open: Callable[[DatasetPlace], None] | None) -> Shelf:
        """Return the shelf of a dataset, with all verdicts of its runs."""
        if on_open:
            on_open(place)
        places = self.places.runs_of(place.slug)
        with engine_for(self._files(place)) as engine:

            def tick(share: float) -> None:
                if self._stopped.is_set():
                    raise Stopped
                if place.slug in self._indexing:
                    self._indexing[place.slug] = share

            index = open_index(place.root, self.home, place.slug, engine, tick)
            names = [(run, self.home / f"{run.slug}.{place.slug}.sqlite") for run in places]
            runs = [(run, RunIndex(run.journal, index, path)) for run, path in names]
            shelf = Shelf(index, runs)
            if place.slug in self._indexing:  # from here on, the grid can be used
                for run_index in dict(runs).values():
                    run_index.behind = 0.0
                self._shelves[place.slug] = shelf
            shelf.refresh(engine)
            self._shelves[place.slug] = shelf
        shelf.prepare()
        give_back()
        return shelf

    def _files(self, place: DatasetPlace) -> list[Path]:
        runs = self.places.runs_of(place.slug)
        return [questions_file(place.root), *(run.journal for run in runs)]

    def open_all(self, on_open: Callable[[DatasetPlace], None]) -> threading.Thread:
        """Open every dataset: small ones at once, large ones in the returned thread.

        Raises
        ------
        DataError
            If a small dataset cannot be read.
        """
        large = [place for place in self.places.datasets if size_of(self._files(place)) > LARGE]
        self._indexing = dict.fromkeys((place.slug for place in large), 0.0)
        for place in self.places.datasets:
            if place not in large:
                self.shelf(place.slug, on_open)

        def open_large() -> None:
            for place in large:
                try:
                    with self._opening:
                        self._opened(place, on_open)
                    del self._indexing[place.slug]
                except Stopped:
                    return
                except VisualJudgeError as error:
                    logging.getLogger("visualjudge").error("visualjudge: %s", error)
                    self._indexing[place.slug] = NotIndexed(str(error))
                    self._shelves.pop(place.slug, None)

        self._thread = threading.Thread(target=open_large, name="studio-opening", daemon=True)
        self._thread.start()
        return self._thread

    def stop(self) -> None:
        """End the thread of :meth:`open_all`, so that no partial index is left.

        Replies are stored in parts, so a thread that is reading them is not awaited.
        """
        self._stopped.set()
        if self._thread is not None and self._indexing.keys() - self._shelves.keys():
            self._thread.join(STOPPED_WITHIN_S)

    def indexing(self) -> dict[str, dict[str, float]]:
        """Return the datasets that are not fully indexed.

        For each slug, the value gives the share of questions read (under the empty name) or of each
        run's replies.
        """
        found = {}
        for slug, share in list(self._indexing.items()):
            shelf = self._shelves.get(slug)
            if shelf is not None:
                found[slug] = shelf.behind()
            elif not isinstance(share, NotIndexed):
                found[slug] = {"": share}
        return {slug: shares for slug, shares in found.items() if shares}

    def run_index(self, run: RunPlace) -> RunIndex | None:
        """Return the verdicts of a run, or None if its dataset is missing or not indexed yet."""
        if run.dataset is None:
            return None
        try:
            runs = self.shelf(run.dataset).runs
        except (StillIndexing, NotIndexed):
            return None
        return next(index for place, index in runs if place.slug == run.slug)

    def state(self, run: RunPlace) -> RunState:
        """Return the current state of a run."""
        info, index = run.info(), self.run_index(run)
        summary = index.summary() if index else None
        done = summary.verdicts if summary else sum(_counts(info.get("statuses")).values())
        asked = info.get("asked") if isinstance(info.get("asked"), int) else None
        spent = spent_before(Spending(*(index.tokens if index else (0, 0))), info)
        rate = self._rate(run.slug, done)
        running = _state(run, info, complete=asked is not None and done >= asked)
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
            shares=summary.shares if summary else (),
            failed=summary.failed if summary else 0,
            outcomes=tuple(
                outcome_rows(summary, self.shelf(run.dataset, refresh=False).index.columns)
            )
            if summary and run.dataset
            else (),
            causes=tuple(
                (index.causes if index else Counter(_counts(info.get("causes")))).most_common(6)
            ),
            tokens=spent.tokens,
            cost=money(spent.cost) if spent.tokens and spent.cost is not None else None,
            rate=rate,
            seconds_left=(asked - done) / rate
            if asked and rate > 0 and running == "running"
            else None,
        )

    def _rate(self, slug: str, done: int) -> float:
        """Return verdicts per second over the last half minute, as observed here."""
        pace, now = self._pace.setdefault(slug, deque(maxlen=64)), time.monotonic()
        pace.append((now, done))
        while len(pace) > 2 and now - pace[0][0] > RATE_WINDOW_S:
            pace.popleft()
        seconds = now - pace[0][0]
        return (done - pace[0][1]) / seconds if seconds > 0.5 else 0.0


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
    return (
        {str(name): n for name, n in value.items() if isinstance(n, int)}
        if isinstance(value, dict)
        else {}
    )


def outcome_rows(summary: Summary, columns: Columns) -> Iterator[OutcomeRow]:
    """Return the outcomes of each question type, then those of each probe that changed
    questions.

    The criterion for a right answer differs between types, and answers to probes do not count for
    accuracy.
    """
    probe, changed = columns.single["probe"], columns.changed == 1
    names = columns.vocabulary.get("probe", ())
    kinds = columns.single["type"]
    for code, name in enumerate(columns.vocabulary.get("type", ())):
        rows = ~changed & (kinds == code)
        if rows.any():
            yield _outcome_row(
                TYPE_TITLES[name], [("type", name), *unchanged_only(columns)], summary.outcome[rows]
            )
    for code in np.unique(probe[changed]):
        rows = changed & (probe == code)
        title = f"probe: {names[code].replace('_', ' ')}"
        yield _outcome_row(title, [("probe", names[code])], summary.outcome[rows])


def _outcome_row(title: str, pairs: list[Pair], outcomes: NDArray[np.int32]) -> OutcomeRow:
    counts = np.bincount(outcomes, minlength=len(OUTCOMES)).tolist()
    return OutcomeRow(title, tuple(pairs), tuple(counts[1:]))


_ARENA_MAX, _MMAP_THRESHOLD = -8, -3


# Memory arenas; glibc creates up to eight per core, and each keeps the memory its threads free.
_ARENAS = 2


# Size in bytes above which arrays are mapped separately. Set explicitly, since glibc otherwise
# raises it up to 32 MB.
_LARGE = 256 * 2**10


def keep_small() -> None:
    """Tune memory for a server: few arenas, and large arrays allocated separately."""
    libc = _glibc()
    if libc is not None:
        libc.mallopt(_ARENA_MAX, _ARENAS)
        libc.mallopt(_MMAP_THRESHOLD, _LARGE)


def give_back() -> None:
    """Return free memory to the system, such as after building an index."""
    libc = _glibc()
    if libc is not None:
        libc.malloc_trim(0)


@cache
def _glibc() -> ctypes.CDLL | None:
    """Return the C library, or None if it is not glibc."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt") else None
