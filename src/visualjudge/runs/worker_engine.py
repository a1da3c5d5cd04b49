"""The asks of one run spread over several workers, whose verdicts come back to the one process that
has the journal.

An ask holds its place in ``concurrency`` until its verdict is in the journal, so a run that is
killed loses what a run of one process would lose: the calls under way. Budget, breaker and progress
stand where they stand in one process.
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
    """A worker ended before its answer came."""


class Worker(Protocol):
    """Something that has the judge and the questions, and answers asks by their numbers."""

    name: str

    async def answer(self, numbers: Sequence[int]) -> list[Outcome]:
        """The outcomes, in the order of ``numbers``.

        Raises
        ------
        WorkerLost
            If the worker is gone.
        """
        ...

    async def finish(self) -> Diagnostics:
        """End it; what happened to its client."""
        ...


Block = list[tuple[int, asyncio.Future[Outcome]]]
Open = Callable[[Judge, Todo], AbstractAsyncContextManager[Sequence[Worker]]]


@dataclass
class SpreadEngine:
    """Runs a judge in several workers.

    Parameters
    ----------
    open_workers
        A context in which there are workers that have a copy of the judge and of the questions.
    block
        How many asks go to a worker at once. 1: at most ``concurrency`` asks are under way in all
        workers. More, for judges that call nobody: asks go ahead, and their verdicts come into the
        journal in the order of the questions.
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
        """Do all of ``todo``. The first asks are made here: what they show of the server goes with
        the judge.
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
        """The outcome of one ask, from whichever worker."""
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
