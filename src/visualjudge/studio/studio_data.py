"""The data behind the studio: the places, each dataset opened once, and the changing
counts of runs, with what the report says about each judge. One dataset's file is in
``dataset_index.py``; the routes are in ``app.py``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from visualjudge.core.addresses import dataset_name
from visualjudge.core.errors import DataError, VisualJudgeError
from visualjudge.core.jsons import Fields
from visualjudge.core.workers import Workers
from visualjudge.runs.folder import RunFolder
from visualjudge.studio.dataset_index import (
    RunVerdicts,
    Totals,
    open_study,
    read_in,
)
from visualjudge.studio.places import DatasetPlace, Places, RunPlace, cache_home
from visualjudge.studio.selection import Shelf, State
from visualjudge.studio.slices import worst_tasks

# Time that the first page waits for datasets that open quickly.
SHOWN_AFTER_S = 0.5
STOPPED_WITHIN_S = 15.0
# An unfinished run that has written nothing for this long is shown as stopped.
STALE_AFTER_S = 60.0
# Number of verdicts up to which they are analysed in this process.
FEW_VERDICTS = 1000
# Number of verdicts up to which the home page has the answer, which takes seconds.
MOST_JUDGED = 50_000


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of a run: running, finished, stopped or no dataset. ``totals`` is None
    without its dataset, ``asked`` where the number of verdicts in the end is not known.
    """

    run: RunPlace
    info: Fields
    state: str
    done: int
    asked: int | None
    totals: Totals | None


READING = "reading the questions"
OPENS = "The grid opens"


class StillIndexing(Exception):
    """The questions of a dataset are still being read; the message is a part of what
    :meth:`Site.indexing` says until the page can be shown.
    """


class NotIndexed(DataError):
    """A dataset could not be read, or its file in the cache could not be written."""


class Site:
    """The places and their open studies."""

    def __init__(self, places: Places, home: Path | None = None) -> None:
        self.places = places
        self.home = home or cache_home()
        self.datasets = {place.slug: place for place in places.datasets}
        self.runs = {place.slug: place for place in places.runs}
        self._shelves: dict[str, Shelf] = {}
        self._judged: dict[str, tuple[int, Judged]] = {}
        self._opening = threading.Lock()
        self._judging = {place.slug: threading.Lock() for place in places.runs}
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._indexing: dict[str, NotIndexed | None] = {}

    def shelf(
        self, slug: str, *, refresh: bool = True, whole: bool = True
    ) -> Shelf:
        """Return the open dataset, with the current verdicts of its runs. Unless it
        must be ``whole``, questions may be missing, and its runs meanwhile.

        Raises
        ------
        DataError
            If the dataset cannot be read.
        StillIndexing
            If :meth:`open_all` has not read its questions yet.
        """
        shelf = self._shelves.get(slug)
        if shelf is not None and (shelf.study.complete or not whole):
            if refresh and slug not in self._indexing:
                shelf.refresh()
            return shelf
        if slug in self._indexing:
            raise self._indexing[slug] or StillIndexing(
                READING if whole else OPENS
            )
        with self._opening:
            return self._shelves.get(slug) or self._open(self.datasets[slug])

    def dataset_named(self, name: str) -> DatasetPlace | None:
        """Return the dataset with this :func:`dataset_name`, or None."""
        for place in self.places.datasets:
            shelf = self._shelves.get(place.slug)
            read = shelf.study.checksum if shelf else None
            if dataset_name(place.checksum or read or "") == name:
                return place
        return None

    def opened(self, slug: str) -> Shelf | None:
        """Return the dataset like :meth:`shelf`, or None if it is not open (yet)."""
        try:
            return self.shelf(slug)
        except (StillIndexing, NotIndexed):
            return None

    def _open(self, place: DatasetPlace) -> Shelf:
        study = open_study(place.root, self.home, place.slug)
        for _ in read_in(study):
            if self._stopped.is_set():
                raise StillIndexing(READING)
            if place.slug in self._indexing:  # pages are served meanwhile
                self._shelves.setdefault(place.slug, Shelf(study, ()))
        runs = self.places.runs_of(place.slug)
        shelf = Shelf(
            study,
            [(run, RunVerdicts(study, run.root, run.slug)) for run in runs],
        )
        self._shelves[place.slug] = shelf
        for _, run in shelf.runs:
            run.refresh(self._stopped)
        # so that neither the first grid nor the first page waits
        shelf.counts(State())
        worst_tasks(shelf)
        return shelf

    def open_all(self) -> threading.Thread:
        """Open every dataset in a thread, which is returned, while pages are served;
        wait briefly for small ones.
        """
        self._indexing = dict.fromkeys(self.datasets)
        self._thread = threading.Thread(
            target=self._open_each, name="studio-opening", daemon=True
        )
        self._thread.start()
        self._thread.join(SHOWN_AFTER_S)
        return self._thread

    def _open_each(self) -> None:
        for place in self.places.datasets:
            try:
                with self._opening:
                    self._open(place)
                del self._indexing[place.slug]
            except StillIndexing:
                return
            except VisualJudgeError as error:
                logging.getLogger("visualjudge").error("visualjudge: %s", error)
                self._indexing[place.slug] = NotIndexed(str(error))
                self._shelves.pop(place.slug, None)

    def stop(self) -> None:
        """End the thread of :meth:`open_all`."""
        self._stopped.set()
        if self._thread:
            self._thread.join(STOPPED_WITHIN_S)

    def indexing(self) -> list[str]:
        """Say which datasets are not fully indexed, and what does not work yet."""
        lines = []
        for slug, error in list(self._indexing.items()):
            name = self.datasets[slug].name
            shelf = self._shelves.get(slug)
            if shelf is not None and shelf.study.complete:
                lines.append(f"{name}: {self._replies_read(shelf)}")
            elif shelf is not None:
                lines.append(
                    f"{name}: {READING}, {shelf.study.count:,} so far. The grid, its "
                    "counts and its filters cover only these"
                )
            elif error is None:
                lines.append(
                    f"{name}: {READING}. {OPENS} with the first of them"
                )
        return lines

    def _replies_read(self, shelf: Shelf) -> str:
        ((read,),) = shelf.study.all("SELECT count(*) FROM verdict")
        asked = [place.info().get("asked") for place, _ in shelf.runs]
        known = [number for number in asked if isinstance(number, int)]
        whole = f" of {sum(known):,}" if len(known) == len(asked) else ""
        return (
            f"reading the replies, {read:,}{whole} so far. Search, and all numbers and "
            "filters of judges, cover only these"
        )

    def verdicts_of(self, run: RunPlace) -> RunVerdicts | None:
        """Return the verdicts of a run, or None if its dataset is missing or not
        indexed yet."""
        shelf = self.opened(run.dataset) if run.dataset else None
        runs = shelf.runs if shelf else ()
        return next(
            (verdicts for place, verdicts in runs if place.slug == run.slug),
            None,
        )

    def judged(self, run: RunPlace) -> Judged:
        """Return what the report says about a run, computed again once there are new
        verdicts."""
        verdicts = self.verdicts_of(run)
        if run.dataset is None or verdicts is None:
            return Judged(run, why="the questions are not open")
        if verdicts.totals().verdicts > MOST_JUDGED:
            return Judged(
                run,
                why=f"more than {MOST_JUDGED:,} verdicts: see `visualjudge report`",
            )
        with self._judging[run.slug]:  # two pages may ask for it
            known = self._judged.get(run.slug)
            if known is None or known[0] != verdicts.generation:
                beside = 2 if verdicts.totals().verdicts > FEW_VERDICTS else 1
                with Workers(beside) as workers:  # pages are served meanwhile
                    judgement = next(
                        iter(workers.map(judged, [(verdicts.study.root, run)]))
                    )
                known = self._judged[run.slug] = (
                    verdicts.generation,
                    judgement,
                )
        return known[1]

    def state(self, run: RunPlace) -> RunState:
        """Return the current state of a run."""
        info = run.info()
        verdicts = self.verdicts_of(run)
        totals = verdicts.totals() if verdicts else None
        done = (
            totals.read
            if totals
            else sum((info.get("statuses") or {}).values())
        )
        asked: int | None = info.get("asked")
        state = (
            _state(run, info, complete=asked is not None and done >= asked)
            if run.dataset
            else "no dataset"
        )
        return RunState(run, info, state, done, asked, totals)


def _state(run: RunPlace, info: Fields, *, complete: bool) -> str:
    """Return the state of a run; ``complete`` tells that all verdicts are present, as
    in a run of published replies, which has no end time.
    """
    if info.get("finished") or complete:
        return (
            "finished"
            if not info.get("stopped") and not info.get("missing")
            else "stopped"
        )
    journal = RunFolder(run.root).journal_path
    file = journal if journal.is_file() else run.root
    return (
        "running"
        if time.time() - file.stat().st_mtime < STALE_AFTER_S
        else "stopped"
    )


# ---------------------------------------------------------------- what the report says about a judge

if TYPE_CHECKING:
    from visualjudge.analysis.decisions.model_answer import ModelAnswer
    from visualjudge.analysis.figures.probes import ProbeResult

# A state in words; failed ones come first.
STATES = {"fail": "fails", "not_shown": "undecided", "pass": "passes"}
# The meaning of an effect, by design; see :mod:`visualjudge.analysis.figures.probes`.
UNITS: Mapping[str, str] = {
    "cue": "preference for the option with the cue",
    "change": "accuracy after the change minus accuracy before it",
    "same": "preference for the first place",
    "withheld": "right answers beyond chance",
    "staircase": "steps scored in the wrong order minus those in the right order",
}
# What a probe expects of a judge, by design of a changed question.
EXPECTED: Mapping[str, str] = {
    "cue": "A cue was added to one option, and to the other option in a second "
    "question of the "
    "group. The judge should choose the same option in both.",
    "change": "The change affects both options alike. The judge should answer as it "
    "does to the "
    "unchanged question.",
    "same": "Both options are the same, so no answer is right. Over many such "
    "questions, the judge "
    "should choose the first place as often as the second.",
    "withheld": "What the answer depends on is not shown, so no answer is right. Over "
    "many such "
    "questions, the judge should choose the better option no more often than the other.",
    "staircase": "Each step is worse than the one before, and its score should be "
    "lower. No single "
    "score is right or wrong.",
    "photograph": "The photograph is replaced. A judge that needs the photograph is "
    "right less "
    "often than on the unchanged question.",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """The answer of the card and the probe results of one judge, or the reason ``why``
    there are none.
    """

    judge: RunPlace
    answer: ModelAnswer | None = None
    photograph: str = ""
    probes: tuple[ProbeResult, ...] = ()
    why: str = ""

    @property
    def failing(self) -> list[str]:
        """Return the names of the probes that it fails."""
        return [
            probe.name.replace("_", " ") + " (no answer)" * probe.declines
            for probe in self.probes
            if probe.state == "fail"
        ]


def judged(job: tuple[Path, RunPlace]) -> Judged:
    """Return the card's answer and the report's state of every probe, failed ones
    first, of a run on the dataset at a path.
    """
    root, place = job
    from visualjudge.analysis import analyse
    from visualjudge.analysis.figures.photograph import PHOTOGRAPH
    from visualjudge.analysis.figures.probes import PROBES
    from visualjudge.analysis.report.card import card_of

    try:
        analysis = analyse([place.root], dataset=root)
        judge = analysis.judges[0]
        probes = sorted(
            judge[PROBES], key=lambda row: [*STATES].index(row.state)
        )
        return Judged(
            place,
            card_of(analysis).judges[0].models,
            "".join(PHOTOGRAPH.sentences(judge[PHOTOGRAPH])),
            tuple(probes),
        )
    except VisualJudgeError as error:
        return Judged(place, why=str(error))
