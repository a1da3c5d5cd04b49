"""Spread the asks of one run over workers (``core/engines.py``); one process writes all verdicts to
the journal.

An ask counts towards ``concurrency`` until its verdict is in the journal, so a killed run loses
only the calls in flight. Budget, breaker and progress work as in a single process.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace

from visualjudge.clients.base import Diagnostics
from visualjudge.core.engines import AHEAD, EngineName, Worker, WorkerLost, Workers, open_workers
from visualjudge.judges.base import Ask, Judge
from visualjudge.judges.schema_trial import trial_of
from visualjudge.runs.job_runner import Ask as AskOne, Outcome, Progress, RunControl
from visualjudge.runs.judge_dataset import outcome_of
from visualjudge.runs.questions_left import Todo

_OPTION = "--processes"


@dataclass
class JudgeService:
    """A judge in a worker, with the questions. Asks are sent as numbers."""

    judge: Judge
    todo: Todo

    def __post_init__(self) -> None:
        self._before = self._diagnostics().failures.copy()  # set by the process that sent the judge

    def _diagnostics(self) -> Diagnostics:
        known: Diagnostics = getattr(self.judge, "diagnostics", None) or Diagnostics()
        return known

    async def answer(self, numbers: Sequence[int]) -> list[Outcome]:
        """Return the outcomes in the order of ``numbers``."""
        return [await outcome_of(self.judge, ask) for ask in self.todo.asks(numbers)]

    async def finish(self) -> Diagnostics:
        """Close the judge's connections and return its clients' diagnostics."""
        await self.judge.aclose()
        told = self._diagnostics()
        return replace(told, failures=Counter(told.failures) - self._before)


OpenWorkers = Callable[[JudgeService], AbstractContextManager[Sequence[Worker]]]


def workers_of(name: EngineName, number: int) -> OpenWorkers:
    """Return a function that opens ``number`` workers for a judge: processes, or Ray actors."""
    return lambda service: open_workers(
        name, number, service, type(service.judge).__name__, _OPTION
    )


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
    open_workers: OpenWorkers
    block: int = 1
    diagnostics: Diagnostics = field(default_factory=Diagnostics)

    async def __call__(self, todo: Todo, ask: AskOne[Ask], control: RunControl) -> Progress:
        """Do all of ``todo``. The first asks are made in this process; workers receive what was
        learned about the server.
        """
        trial, first = trial_of(self.judge), 0

        def asked_here() -> Iterator[Ask]:
            nonlocal first
            for one in todo():
                if first and (trial is None or not trial.open):
                    return
                first += 1
                yield one

        asks = asked_here() if self.block == 1 else iter(())
        await control.run(asks, ask, concurrency=1)
        self.diagnostics = getattr(self.judge, "diagnostics", Diagnostics())
        numbers = todo.numbers[first:]
        if control.stop.reason is not None or not numbers:
            return control.progress
        service = JudgeService(self.judge, replace(todo, numbers=()))  # they are sent one by one
        with self.open_workers(service) as started:
            each = sys.maxsize if self.block == 1 else AHEAD
            workers = Workers(started, each=each, again=True, option=_OPTION)
            at_once = None if self.block == 1 else len(started) * self.block * AHEAD
            await control.run(numbers, _Blocks(workers, self.block).ask, concurrency=at_once)
            for worker in workers.workers:
                if worker.ready.done():  # otherwise it has received no ask
                    with suppress(WorkerLost):
                        self._add(await asyncio.wrap_future(worker.call("finish")))
        return control.progress

    def _add(self, more: Diagnostics) -> None:
        own = self.diagnostics
        adjusted = tuple(dict.fromkeys((*own.adjustments, *more.adjustments)))
        failures, schema = own.failures + more.failures, own.schema or more.schema
        self.diagnostics = replace(own, failures=failures, adjustments=adjusted, schema=schema)


class _Blocks:
    """Group asks into blocks. Blocks of more than one ask are answered in order."""

    def __init__(self, workers: Workers, size: int) -> None:
        self._workers, self._size = workers, size
        self._block: list[tuple[int, asyncio.Future[Outcome]]] = []
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
            loop.call_soon(self._send)  # asks made in the meantime join the block
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
        numbers = [number for number, _ in block]
        try:
            outcomes = await asyncio.wrap_future(self._workers.call("answer", numbers))
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
