"""Run jobs with bounded concurrency, one journal record per job, until all are done, a budget is
used up, everything fails, or Ctrl-C is pressed. It is independent of judges.

Jobs are drawn lazily when a worker is free, so that a million of them need no memory. A record is
written as soon as it is known, and reported once it is on disk.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from visualjudge.clients.sync_calls import submit
from visualjudge.runs.budget import Budget
from visualjudge.runs.journal import Journal

Job = TypeVar("Job")
Result = TypeVar("Result")

FATAL_CAUSES = frozenset({"HTTP 401", "HTTP 402", "HTTP 403", "HTTP 404"})
FATAL_AFTER = 8
FAILURES_AFTER = 60
# Causes of a call that no server answered.
_GONE = frozenset({"connection", "timeout"})
_REPORT_EVERY_S = 0.05
# Seconds between reports while no results arrive.
_QUIET_EVERY_S = 1.0
_LOOK_EVERY_S = 1.0
_SIGNALS: dict[int, str] = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}
# Seconds that cancelled calls may take to close their connections and files.
_CLEAN_UP_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one job: the line for the journal, and what the runner counts."""

    record: Mapping[str, Any]
    status: str = "ok"
    # Why the job failed, such as "HTTP 401"; several fatal causes in a row stop the run.
    cause: str | None = None
    usage: Mapping[str, int] | None = None
    # Number of calls that the model answered or refused; 0 for a cached reply.
    calls: int = 1
    # The error message of the server or socket if there is no reply.
    error: str | None = None

    @property
    def paid(self) -> Mapping[str, int] | None:
        """Tokens of the replies received, or None without a reply."""
        return (self.usage or None) if self.status == "api_error" else self.usage


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
    # Whether the jobs failed before, so that many failures in a row are no reason to stop.
    again: bool = False
    started: float = field(default_factory=time.monotonic)
    # Time when the last job ended or, before that, when the first began.
    heard: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def quiet(self) -> float:
        """Seconds since the last job ended."""
        return time.monotonic() - self.heard


Listener = Callable[[Progress], None]
Ask = Callable[[Job], Awaitable[Outcome | None]]


class Stop:
    """A request to stop: calls in flight finish, and workers check it between jobs."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def request(self, reason: str) -> None:
        """Request to stop; the first reason is kept."""
        self.reason = self.reason or reason


class _Streak:
    """Stop a run that can only fail: a refused key, an unknown model, a server that is down."""

    def __init__(self) -> None:
        self.fatal = 0
        self.failures = 0

    def after(self, outcome: Outcome, *, again: bool) -> str | None:
        failed, cause = outcome.status == "api_error", outcome.cause or ""
        counts = cause in _GONE if again else not cause.startswith("HTTP 4")
        self.failures = self.failures + 1 if failed and counts else 0
        self.fatal = self.fatal + 1 if failed and outcome.cause in FATAL_CAUSES else 0
        if self.fatal >= FATAL_AFTER:
            return f"given up: {outcome.cause} {self.fatal} times in a row"
        if self.failures >= FAILURES_AFTER:
            return f"given up: {self.failures} calls in a row failed, the last with {outcome.cause}"
        return None


async def run(
    jobs: Iterable[Job],
    ask: Ask[Job],
    journal: Journal,
    *,
    concurrency: int = 8,
    total: int | None = None,
    budget: Budget | None = None,
    progress: Progress | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
    give_up: bool = True,
) -> Progress:
    """Do all ``jobs``, at most ``concurrency`` at the same time.

    Parameters
    ----------
    jobs
        Jobs to do, drawn lazily.
    ask
        Function that does one job and returns None if there is no outcome yet. An exception ends
        the run once the records so far are on disk. Failures of single jobs must be returned as an
        :class:`Outcome`.
    total
        Number of jobs, for the display.
    progress
        Progress to continue, instead of a new one with ``total`` and ``budget``.
    on_event
        Called with the progress after each record written to disk, and from time to time without
        one.
    give_up
        Whether to stop after many failures in a row. Not useful if the calls were made before.

    Returns
    -------
    Progress
        The final counts; ``stopped`` is set if the run ended early.
    """
    counts = progress or Progress(total=total, budget=budget or Budget())
    counts.heard = time.monotonic()
    shared = _JobWorkers(
        iter(jobs), ask, journal, counts, on_event, stop or Stop(), _Streak() if give_up else None
    )
    workers = [asyncio.create_task(shared.work()) for _ in range(max(1, concurrency))]
    reporter = asyncio.create_task(shared.keep_reporting())
    try:
        await asyncio.gather(*workers)
    finally:
        for task in (*workers, reporter):
            task.cancel()
        await asyncio.gather(*workers, reporter, return_exceptions=True)
        await shared.report()
    if shared.error:
        raise shared.error
    shared.progress.stopped = shared.stop.reason
    return shared.progress


@dataclass(frozen=True)
class RunControl:
    """The shared state of a run's engines: its journal and counts, and how it is reported and
    stopped.
    """

    journal: Journal
    concurrency: int
    progress: Progress
    on_event: Listener | None = None
    stop: Stop = field(default_factory=Stop)

    async def run(
        self,
        jobs: Iterable[Job],
        ask: Ask[Job],
        *,
        concurrency: int | None = None,
        give_up: bool = True,
    ) -> Progress:
        """Do ``jobs`` as :func:`run` does; ``concurrency`` defaults to that of the run."""
        return await run(
            jobs,
            ask,
            self.journal,
            concurrency=concurrency or self.concurrency,
            progress=self.progress,
            on_event=self.on_event,
            stop=self.stop,
            give_up=give_up,
        )


@dataclass(slots=True)
class _JobWorkers:
    jobs: Iterator[Any]
    ask: Ask[Any]
    journal: Journal
    progress: Progress
    on_event: Listener | None
    stop: Stop
    streak: _Streak | None
    unreported: list[Outcome] = field(default_factory=list)
    error: Exception | None = None
    breath_at: float = 0.0
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    async def work(self) -> None:
        """Do job after job. An error stops the other workers after the call that they have in
        flight.
        """
        try:
            await self._work()
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.error = self.error or error
        self.stop.request(str(error))

    async def _work(self) -> None:
        while self.stop.reason is None:
            try:
                job = next(self.jobs)
            except StopIteration:
                return
            if not await self._has_room():
                return
            await self._do(job)
            # Jobs that never wait would block all other tasks.
            if time.monotonic() >= self.breath_at:
                await asyncio.sleep(0)
                self.breath_at = time.monotonic() + _REPORT_EVERY_S

    async def _has_room(self) -> bool:
        # Return whether the budget has room for one more job, waiting for jobs in flight if they
        # may leave some.
        budget = self.progress.budget
        while refusal := budget.refusal():
            if not budget.in_flight:
                self.stop.request(refusal)
                return False
            self.settled.clear()
            await self.settled.wait()
        return self.stop.reason is None

    async def _do(self, job: Any) -> None:
        budget, outcome = self.progress.budget, None
        budget.begin()
        try:
            outcome = await self.ask(job)
        finally:
            if outcome is None:
                budget.abandon()
            else:
                budget.settle(outcome.paid, calls=outcome.calls)
            self.settled.set()
        if outcome is None:
            return
        self.journal.write(outcome.record)
        self.unreported.append(outcome)
        hopeless = self.streak and self.streak.after(outcome, again=self.progress.again)
        if hopeless:
            self.stop.request(hopeless)

    async def keep_reporting(self) -> None:
        """Sync and report a few times per second, so that workers need not wait for the disk."""
        told = time.monotonic()
        while True:
            await asyncio.sleep(_REPORT_EVERY_S)
            try:
                if self.unreported:
                    await self.report()
                elif time.monotonic() - told < _QUIET_EVERY_S:
                    continue
                elif self.on_event:
                    self.on_event(self.progress)
                told = time.monotonic()
            except Exception as error:
                self._fail(error)
                return

    async def report(self) -> None:
        """Report written records once they are on disk."""
        written = len(self.unreported)
        await self.journal.synced()
        reported = self.unreported[:written]
        del self.unreported[:written]
        for outcome in reported:
            self._count(outcome)

    def _count(self, outcome: Outcome) -> None:
        self.progress.done += 1
        self.progress.heard = time.monotonic()
        self.progress.statuses[outcome.status] += 1
        self.progress.free += not outcome.calls and outcome.status != "api_error"
        if outcome.cause:
            self.progress.causes[outcome.cause] += 1
        self.progress.error = outcome.error or self.progress.error
        if self.on_event:
            self.on_event(self.progress)


# ---------------------------------------------------------------- from ordinary code


def run_until_stopped(work: Callable[[Stop], Coroutine[Any, Any, Result]]) -> Result:
    """Wait for ``work(stop)`` and return its result. Works within a running event loop, as in a
    notebook.

    The first Ctrl-C (or SIGTERM) asks the work to stop, a second one cancels it.

    Raises
    ------
    KeyboardInterrupt
        At the second Ctrl-C, after the cancelled calls were cleaned up.
    """
    stop, ended = Stop(), threading.Event()

    async def watched() -> Result:
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
    # Send Ctrl-C and SIGTERM to ``handler`` within the block; possible in the main thread only.
    here = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, handler) for number in (_SIGNALS if here else ())}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
