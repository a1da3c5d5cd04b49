"""Spread the asks of one run over several workers; one process writes all verdicts to the journal.

An ask counts towards ``concurrency`` until its verdict is in the journal, so a killed run loses
only the calls in flight, as a run of one process does. Budget, breaker and progress work as in one
process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from visualjudge.clients.base import Diagnostics
from visualjudge.core.errors import RunError
from visualjudge.judges.base import Ask, Judge
from visualjudge.judges.schema_trial import trial_of
from visualjudge.runs.journal import Journal
from visualjudge.runs.questions_left import Todo
from visualjudge.runs.runner import Ask as AskOne, Listener, Outcome, Progress, Stop, run

AHEAD = 3
"""Blocks under way a worker, so that none waits for the next."""
_log = logging.getLogger("visualjudge.runs")


class WorkerLost(RunError):
    """A worker ended before it answered."""


class Worker(Protocol):
    """Holds the judge and the questions, and answers asks by their numbers."""

    name: str

    async def answer(self, numbers: Sequence[int]) -> list[Outcome]:
        """Return the outcomes, in the order of ``numbers``.

        Raises
        ------
        WorkerLost
            If the worker is gone.
        """
        ...

    async def finish(self) -> Diagnostics:
        """End it and return what happened to its client."""
        ...


Block = list[tuple[int, asyncio.Future[Outcome]]]
Open = Callable[[Judge, Todo], AbstractAsyncContextManager[Sequence[Worker]]]


@dataclass
class SpreadEngine:
    """Runs a judge in several workers.

    Parameters
    ----------
    open_workers
        Context manager that yields workers with a copy of the judge and of the questions.
    block
        Number of asks sent to a worker at a time. With 1, at most ``concurrency`` asks are in
        flight in all workers. Use more for judges that call no server; their verdicts are still
        written in the order of the questions.
    """

    judge: Judge
    open_workers: Open
    block: int = 1
    diagnostics: Diagnostics = field(default_factory=Diagnostics)

    async def __call__(
        self,
        todo: Todo,
        ask: AskOne[Ask],
        journal: Journal,
        *,
        concurrency: int,
        progress: Progress,
        on_event: Listener | None = None,
        stop: Stop | None = None,
    ) -> Progress:
        """Do all of ``todo``. The first asks are made in this process; workers receive what they
        showed about the server.
        """
        stop, trial, first = stop or Stop(), trial_of(self.judge), 0

        def alone() -> Iterator[Ask]:
            nonlocal first
            for one in todo():
                if first and (trial is None or not trial.open):
                    return
                first += 1
                yield one

        asks = alone() if self.block == 1 else iter(())
        await run(
            asks, ask, journal, concurrency=1, progress=progress, on_event=on_event, stop=stop
        )
        self.diagnostics = getattr(self.judge, "diagnostics", Diagnostics())
        numbers = todo.numbers[first:]
        if stop.reason is not None or not numbers:
            return progress
        async with self.open_workers(self.judge, todo) as workers:
            desk = _Desk(list(workers), self.block)
            at_once = concurrency if self.block == 1 else len(workers) * self.block * AHEAD
            await run(
                iter(numbers),
                desk.ask,
                journal,
                concurrency=at_once,
                progress=progress,
                on_event=on_event,
                stop=stop,
            )
            for worker in desk.workers:
                with suppress(WorkerLost):
                    self._add(await worker.finish())
        return progress

    def _add(self, more: Diagnostics) -> None:
        own = self.diagnostics
        adjusted = tuple(dict.fromkeys((*own.adjustments, *more.adjustments)))
        failures, schema = own.failures + more.failures, own.schema or more.schema
        self.diagnostics = replace(own, failures=failures, adjustments=adjusted, schema=schema)


class _Desk:
    """Gathers asks into blocks and gives each block to the worker with the least to do."""

    def __init__(self, workers: list[Worker], size: int) -> None:
        self.workers = workers
        self._size = size
        self._busy = dict.fromkeys((worker.name for worker in workers), 0)
        self._block: Block = []
        self._tasks = set[asyncio.Task[None]]()
        self._last: asyncio.Task[None] | None = None

    async def ask(self, number: int) -> Outcome:
        """Return the outcome of one ask, from any worker."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Outcome] = loop.create_future()
        self._block.append((number, future))
        if len(self._block) >= self._size:
            self._send()
        elif len(self._block) == 1:
            loop.call_soon(self._send)  # what gathers until then goes too
        return await future

    def _send(self) -> None:
        block, self._block = self._block, []
        if block:
            before = self._last if self._size > 1 else None
            self._last = asyncio.create_task(self._settle(block, before))
            self._tasks.add(self._last)
            self._last.add_done_callback(self._tasks.discard)

    async def _settle(
        self, block: list[tuple[int, asyncio.Future[Outcome]]], before: asyncio.Task[None] | None
    ) -> None:
        try:
            outcomes = await self._answers([number for number, _ in block])
            if before is not None:
                await before
        except Exception as error:
            for _, future in block:
                if not future.cancelled():
                    future.set_exception(error)
            return
        for (_, future), outcome in zip(block, outcomes, strict=True):
            if not future.cancelled():
                future.set_result(outcome)

    async def _answers(self, numbers: list[int]) -> list[Outcome]:
        while self.workers:
            worker = min(self.workers, key=lambda one: self._busy[one.name])
            self._busy[worker.name] += len(numbers)
            try:
                return await worker.answer(numbers)
            except WorkerLost as error:
                self._lose(worker, error)
            finally:
                self._busy[worker.name] -= len(numbers)
        raise RunError(
            "all workers have ended (out of memory?); try fewer --processes, and continue with "
            "--resume"
        )

    def _lose(self, worker: Worker, error: WorkerLost) -> None:
        if worker in self.workers:
            self.workers.remove(worker)
            _log.warning("%s; its questions go to the other %d workers", error, len(self.workers))
