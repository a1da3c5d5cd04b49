"""Run jobs with bounded concurrency, one journal record per job, until all are done, a
budget is used up, everything fails, or Ctrl-C is pressed. It is independent of judges.
What the jobs are is in ``live.py``; processes are in ``core/workers.py``.

Jobs are drawn lazily when a worker is free, so that a million of them need no memory. A
record is written as soon as it is known, and reported once it is on disk.
"""

import asyncio
import signal
import threading
import time
from collections import Counter
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
)
from concurrent.futures import wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from visualjudge.clients.retry import LONG_WAIT
from visualjudge.clients.sync_calls import submit
from visualjudge.core.jsons import Fields
from visualjudge.runs.budget import Budget
from visualjudge.runs.journal import Journal

Job = TypeVar("Job")
Value = TypeVar("Value")

FATAL_CAUSES = frozenset(
    {"HTTP 401", "HTTP 402", "HTTP 403", "HTTP 404", "HTTP 407", LONG_WAIT}
)
FATAL_AFTER = 8
FAILURES_AFTER = 60
# Causes of a call that no server answered.
_GONE = frozenset({"connection", "timeout"})
_REPORT_EVERY_S = 0.05
_LOOK_EVERY_S = 1.0
_SIGNALS: dict[int, str] = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}
# Seconds that cancelled calls may take to close their connections and files.
_CLEAN_UP_WITHIN_S = 10.0


class Result(Protocol):
    """What the runner counts of a job that has ended, such as a
    :class:`~visualjudge.core.records.Verdict`."""

    @property
    def status(self) -> str:
        """``"api_error"`` if no reply was received."""

    @property
    def cause(self) -> str | None:
        """Why the job failed, such as "HTTP 401"; several fatal causes in a row stop
        the run."""

    @property
    def tokens_paid(self) -> Mapping[str, int]:
        """Tokens of the replies received."""

    @property
    def calls(self) -> int:
        """Number of calls that the model answered or refused; 0 for a cached reply."""

    @property
    def error(self) -> str | None:
        """The error message of the server or socket if there is no reply."""


Ended = TypeVar("Ended", bound=Result)


@dataclass(slots=True)
class Progress:
    """The state of a run. ``stopped`` is why it ended early, or None."""

    total: int | None = None
    done: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    budget: Budget = field(default_factory=Budget)
    stopped: str | None = None
    # Number of jobs that succeeded without a call.
    free: int = 0
    # The error message of the last failed job.
    error: str | None = None
    # The server for which the jobs in flight wait, if there is only one.
    server: str | None = None
    # Failed calls by cause, including those that are being retried.
    failed_calls: Counter[str] = field(default_factory=Counter)
    # Whether the jobs failed before, so that many failures in a row are no reason to
    # stop.
    again: bool = False
    started: float = field(default_factory=time.monotonic)
    # Time when the last job ended or, before that, when the first began.
    heard: float = field(default_factory=time.monotonic)

    def count(self, outcome: Result) -> None:
        """Add a job that has ended."""
        self.done += 1
        self.heard = time.monotonic()
        self.statuses[outcome.status] += 1
        self.causes.update([outcome.cause] if outcome.cause else [])
        self.free += not outcome.calls and outcome.status != "api_error"
        self.error = outcome.error or self.error

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def quiet(self) -> float:
        """Seconds since the last job ended."""
        return time.monotonic() - self.heard


Listener = Callable[[Progress], None]
Ask = Callable[[Job], Awaitable[Ended | None]]


class Stop:
    """A request to stop: calls in flight finish, and workers check it between jobs."""

    reason: str | None = None

    def request(self, reason: str) -> None:
        """Request to stop; the first reason is kept."""
        self.reason = self.reason or reason


@dataclass
class Runner(Generic[Ended]):
    """Does jobs with bounded concurrency.

    Parameters
    ----------
    journal
        Where one record a job is written.
    record_of
        The record of a job that has ended.
    progress
        The counts; later jobs are added to them.
    on_event
        Called with the progress a few times per second; it counts records that are on
        disk.
    stop
        Asks to end early: calls in flight finish.
    """

    journal: Journal
    record_of: Callable[[Ended], Fields]
    progress: Progress = field(default_factory=Progress)
    concurrency: int = 8
    on_event: Listener | None = None
    stop: Stop = field(default_factory=Stop)
    _unreported: list[Ended] = field(default_factory=list)
    _settled: asyncio.Event = field(default_factory=asyncio.Event)
    _fatal: int = 0
    _failures: int = 0

    async def run(
        self,
        jobs: Iterable[Job],
        ask: Ask[Job, Ended],
        *,
        concurrency: int | None = None,
        give_up: bool = True,
    ) -> Progress:
        """Do all ``jobs``, which are drawn lazily.

        Parameters
        ----------
        ask
            Function that does one job and returns None if there is no outcome yet. An
            exception ends the run once the records so far are on disk. Failures of
            single jobs must be returned as a :class:`Result`.
        give_up
            Whether to stop after many failures in a row. Not useful if the calls were
            made before.
        """
        self.progress.heard = time.monotonic()
        rest = iter(jobs)
        reporter = asyncio.create_task(self._keep_reporting())
        workers = [
            asyncio.create_task(self._work(rest, ask, give_up=give_up))
            for _ in range(max(1, concurrency or self.concurrency))
        ]
        work: asyncio.Future[Any] = asyncio.gather(*workers)
        tasks: set[asyncio.Future[Any]] = {work, reporter}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            first = work if work.done() else reporter
            if (
                error := first.exception()
            ):  # the others end after the call that they have in flight
                self.stop.request(str(error))
                await asyncio.gather(*workers, return_exceptions=True)
                raise error
        finally:
            for task in (*workers, reporter):
                task.cancel()
            await asyncio.gather(
                work, reporter, *workers, return_exceptions=True
            )
            await self._report()
        self.progress.stopped = self.stop.reason
        return self.progress

    async def _work(
        self, jobs: Iterator[Job], ask: Ask[Job, Ended], *, give_up: bool
    ) -> None:
        breath_at = 0.0
        for job in jobs:
            if self.stop.reason is not None or not await self._has_room():
                return
            await self._do(job, ask, give_up=give_up)
            if (
                time.monotonic() >= breath_at
            ):  # jobs that never wait would block all other tasks
                await asyncio.sleep(0)
                breath_at = time.monotonic() + _REPORT_EVERY_S

    async def _has_room(self) -> bool:
        # Waits for jobs in flight if they may leave room in the budget.
        budget = self.progress.budget
        while refusal := budget.refusal():
            if not budget.in_flight:
                self.stop.request(refusal)
                return False
            self._settled.clear()
            await self._settled.wait()
        return self.stop.reason is None

    async def _do(
        self, job: Job, ask: Ask[Job, Ended], *, give_up: bool
    ) -> None:
        budget = self.progress.budget
        outcome = None
        budget.begin()
        try:
            outcome = await ask(job)
        finally:
            calls = 0 if outcome is None else outcome.calls
            budget.settle(_paid(outcome), calls=calls)
            self._settled.set()
        if outcome is not None:
            self.journal.write(self.record_of(outcome))
            self._unreported.append(outcome)
            if give_up:
                self._give_up_after(outcome)

    def _give_up_after(self, outcome: Ended) -> None:
        # Stops a run that can only fail: a refused key, an unknown model, a server that
        # is down.
        failed = outcome.status == "api_error"
        cause = outcome.cause or ""
        counts = (
            cause in _GONE
            if self.progress.again
            else not cause.startswith("HTTP 4")
        )
        self._failures = self._failures + 1 if failed and counts else 0
        self._fatal = self._fatal + 1 if failed and cause in FATAL_CAUSES else 0
        if self._fatal >= FATAL_AFTER:
            reason = f": {outcome.error}" if cause == LONG_WAIT else ""
            self.stop.request(
                f"given up: {cause} {self._fatal} times in a row{reason}"
            )
        if self._failures >= FAILURES_AFTER:
            failures = f"{self._failures} calls in a row failed"
            self.stop.request(f"given up: {failures}, the last with {cause}")

    async def _keep_reporting(self) -> None:
        # Syncs and reports a few times per second, so that workers need not wait for
        # the disk.
        while True:
            await asyncio.sleep(_REPORT_EVERY_S)
            await self._report()

    async def _report(self) -> None:
        if written := len(self._unreported):
            await (
                self.journal.synced()
            )  # may be cancelled, so the list is cut afterwards
            reported = self._unreported[:written]
            self._unreported = self._unreported[written:]
            for outcome in reported:
                self.progress.count(outcome)
        if self.on_event:
            self.on_event(self.progress)


def _paid(outcome: Result | None) -> Mapping[str, int] | None:
    """Return the tokens of the replies received, or None without a reply."""
    if outcome is None:
        return None
    without_reply = outcome.status == "api_error" and not outcome.tokens_paid
    return None if without_reply else outcome.tokens_paid


# ---------------------------------------------------------------- from ordinary code


def run_until_stopped(
    work: Callable[[Stop], Coroutine[Any, Any, Value]],
) -> Value:
    """Wait for ``work(stop)`` and return its result. Works within a running event loop,
    as in a notebook.

    The first Ctrl-C (or SIGTERM) asks the work to stop, a second one cancels it.

    Raises
    ------
    KeyboardInterrupt
        At the second Ctrl-C, after the cancelled calls were cleaned up.
    """
    stop = Stop()
    ended = threading.Event()

    async def watched() -> Value:
        try:
            return await work(stop)
        finally:
            ended.set()

    future = submit(watched())

    def heard(number: int, _frame: object) -> None:
        if stop.reason is None:
            stop.request(f"stopped by {_SIGNALS[number]}")
        else:
            future.cancel()

    with _on_signals(heard):
        while not future.done():
            # With a time-out, because no signal interrupts a wait on Windows.
            wait([future], timeout=_LOOK_EVERY_S)
    if future.cancelled():
        ended.wait(_CLEAN_UP_WITHIN_S)
        raise KeyboardInterrupt
    return future.result()


@contextmanager
def _on_signals(handler: Callable[[int, Any], None]) -> Iterator[None]:
    # Send Ctrl-C and SIGTERM to ``handler`` within the block; possible in the main
    # thread only.
    here = threading.current_thread() is threading.main_thread()
    before = {
        number: signal.signal(number, handler)
        for number in (_SIGNALS if here else ())
    }
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
