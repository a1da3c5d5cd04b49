"""Workers as spawned processes of this machine, with one socket each.

A message is its length in eight bytes, then a pickle. The judge, with its API key, is sent over the
socket only, never on a command line, in the environment or in a file. A worker ends when its socket
closes, so none outlives the process that started it.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import signal
import socket
from asyncio import StreamReader, StreamWriter
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess
from typing import Any

from visualjudge.clients.base import Diagnostics
from visualjudge.core.errors import RunError, UsageError, VisualJudgeError
from visualjudge.core.registry import registrations, restore
from visualjudge.judges.base import Judge
from visualjudge.runs.judge_dataset import outcome_of
from visualjudge.runs.questions_left import Todo
from visualjudge.runs.runner import Outcome
from visualjudge.runs.worker_engine import WorkerLost

_FINISH = 0
_LENGTH = 8


def packed(judge: Judge, todo: Todo) -> bytes:
    """Pickle a judge and its questions for other processes, without the numbers of the asks, which
    are sent one by one.

    Raises
    ------
    UsageError
        If the judge, or something that a script registered, cannot be sent to another process.
    """
    try:
        return pickle.dumps((registrations(), judge, replace(todo, numbers=())))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(
            f"--processes: {type(judge).__name__} cannot be sent to other processes: {error}; "
            "use --processes 1"
        ) from None


@asynccontextmanager
async def open_processes(
    judge: Judge, todo: Todo, *, count: int
) -> AsyncIterator[list[ProcessWorker]]:
    """Start ``count`` processes, which end with the context."""
    work, workers = packed(judge, todo), list[ProcessWorker]()
    try:
        for number in range(count):
            workers.append(await ProcessWorker.start(f"process {number + 1}", work))
        yield workers
    finally:
        for worker in workers:
            worker.kill()


# ---------------------------------------------------------------- here


@dataclass
class ProcessWorker:
    """One process, as used by the process that writes the journal."""

    name: str
    process: BaseProcess
    writer: StreamWriter
    waiting: dict[int, asyncio.Future[Any]]
    count: int = 0
    listening: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, name: str, work: bytes) -> ProcessWorker:
        """Start the process; it loads while the first questions are being answered."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = multiprocessing.get_context("spawn").Process(
                target=_main, args=(theirs,), daemon=True
            )
            process.start()
        reader, writer = await asyncio.open_connection(sock=ours)
        worker = cls(name, process, writer, {})
        _send(writer, work)
        worker.listening = asyncio.create_task(worker._listen(reader))
        return worker

    async def _listen(self, reader: StreamReader) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                number, found = pickle.loads(await _receive(reader))
                future = self.waiting.pop(number)
                if isinstance(found, Exception):
                    future.set_exception(found)
                else:
                    future.set_result(found)
        self.listening = None
        for future in self.waiting.values():
            future.set_exception(self._lost())
        self.waiting.clear()

    def _lost(self) -> WorkerLost:
        self.process.join(0.1)
        return WorkerLost(f"{self.name} has ended (exit status {self.process.exitcode})")

    async def answer(self, numbers: Sequence[int]) -> list[Outcome]:
        """The outcomes, in the order of ``numbers``."""
        found: list[Outcome] = await self._asked(list(numbers))
        return found

    async def finish(self) -> Diagnostics:
        """End it and return what happened to its client."""
        found: Diagnostics = await self._asked(_FINISH)
        return found

    async def _asked(self, what: object) -> Any:
        if self.listening is None:
            raise self._lost()
        self.count += 1
        future = self.waiting[self.count] = asyncio.get_running_loop().create_future()
        _send(self.writer, pickle.dumps((self.count, what)))
        return await asyncio.shield(future)

    def kill(self) -> None:
        """End it at once."""
        if self.listening is not None:
            self.listening.cancel()
        self.writer.close()
        self.process.kill()
        self.process.join()


async def _receive(reader: StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(_LENGTH), "big"))


def _send(writer: StreamWriter, content: bytes) -> None:
    writer.write(len(content).to_bytes(_LENGTH, "big"))
    writer.write(content)


# ---------------------------------------------------------------- in the process


def _main(own: socket.socket) -> None:
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # a terminal or a scheduler tells all processes; the first decides
        signal.signal(number, signal.SIG_IGN)
    with suppress(asyncio.IncompleteReadError, OSError):
        asyncio.run(_serve(own))
    os._exit(0)


async def _serve(own: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=own)
    bench = Bench(await _receive(reader))
    tasks = set[asyncio.Task[None]]()
    while True:
        number, what = pickle.loads(await _receive(reader))
        task = asyncio.create_task(_reply(writer, number, bench, what))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


async def _reply(writer: StreamWriter, number: int, bench: Bench, what: Any) -> None:
    found: object
    try:
        found = await bench.finish() if what == _FINISH else await bench.answer(what)
    except VisualJudgeError as error:
        found = RunError(str(error))
    except Exception as error:  # any, and an exception of another library may fail on its way
        found = RunError(
            " ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
        )
    _send(writer, pickle.dumps((number, found)))
    await writer.drain()


class Bench:
    """A judge in a process of its own."""

    def __init__(self, work: bytes) -> None:
        rows, self._judge, self._todo = pickle.loads(work)
        restore(rows)
        self._before = (
            self._diagnostics().failures.copy()
        )  # those of the process that sent the judge

    def _diagnostics(self) -> Diagnostics:
        known: Diagnostics = getattr(self._judge, "diagnostics", None) or Diagnostics()
        return known

    async def answer(self, numbers: Sequence[int]) -> list[Outcome]:
        """The outcomes of these asks."""
        return [await outcome_of(self._judge, ask) for ask in self._todo.asks(numbers)]

    async def finish(self) -> Diagnostics:
        """Close the judge's connections and return what happened to them."""
        await self._judge.aclose()
        told = self._diagnostics()
        return replace(told, failures=Counter(told.failures) - self._before)
