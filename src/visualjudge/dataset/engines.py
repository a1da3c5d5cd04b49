"""Engines: this process, a pool of processes, or a Ray cluster. Results are always in the order of
the jobs.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import tempfile
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Literal, Self, TypeVar

import cv2

from visualjudge.core.errors import RunError, UsageError
from visualjudge.core.registry import registrations, restore

Job = TypeVar("Job")
Begun = TypeVar("Begun")
Result = TypeVar("Result")
EngineName = Literal["local", "ray"]
LONGEST_SOCKET_FOLDER = 38
AHEAD = 3
"""Jobs of a worker that are under way, or done and not fetched: enough to keep it busy, few enough
for flat memory.
"""


class Engine(ABC):
    """Maps a picklable function over jobs; a context manager."""

    @abstractmethod
    def map(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """Yield ``work(job)`` for each job, in order."""

    def close(self) -> None:  # noqa: B027  this process has no worker to end
        """End the workers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_engine(name: EngineName, workers: int) -> Engine:
    """Open the engine ``name`` with ``workers`` processes; a single local worker is this process.

    Raises
    ------
    UsageError
        If there is no such engine, or Ray is not installed.
    """
    if workers < 1:
        raise UsageError(f"--workers must be at least 1, got {workers}")
    if name == "ray":
        return RayEngine(workers)
    if name != "local":
        raise UsageError(f"unknown engine {name!r}; one of: local, ray")
    return PoolEngine(workers) if workers > 1 else InlineEngine()


def in_order(
    start: Callable[[Job], Begun],
    finish: Callable[[Begun], Result],
    jobs: Iterable[Job],
    workers: int,
) -> Iterator[Result]:
    """Yield the results of jobs in order, with enough jobs started ahead to keep all workers busy.

    Parameters
    ----------
    start, finish
        Begin a job in some worker; wait for the result of one that was begun.
    """
    begun: deque[Begun] = deque()
    for job in jobs:
        if len(begun) >= workers * AHEAD:
            yield finish(begun.popleft())
        begun.append(start(job))
    while begun:
        yield finish(begun.popleft())


class InlineEngine(Engine):
    """Runs jobs in this process, without threads of OpenCV, as in a worker: on images of the usual
    sizes they cost more than they do.
    """

    def __init__(self) -> None:
        self._threads = cv2.getNumThreads()
        cv2.setNumThreads(1)

    def map(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        return map(work, jobs)

    def close(self) -> None:
        cv2.setNumThreads(self._threads)


class PoolEngine(Engine):
    """A pool of spawned processes, which inherit no locks or threads of the parent."""

    def __init__(self, workers: int) -> None:
        context = multiprocessing.get_context("spawn")
        rows = _sendable(registrations())
        self._pool = ProcessPoolExecutor(
            workers, mp_context=context, initializer=_begin, initargs=(rows,)
        )
        self._workers = workers

    def map(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        try:
            yield from in_order(
                lambda job: self._pool.submit(work, job), Future.result, jobs, self._workers
            )
        except BrokenProcessPool:
            raise RunError("a worker process died (out of memory?); try fewer --workers") from None

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


class RayEngine(Engine):
    """Tasks on a Ray cluster, or a local one if none is running. All nodes must see the folders
    under the same path.
    """

    def __init__(self, workers: int) -> None:
        try:
            import ray
        except ImportError:
            raise UsageError("--engine ray needs Ray: pip install 'visualjudge[ray]'") from None
        self._ray = ray
        self._workers = workers
        self._owned = not ray.is_initialized()
        self._folder = _short_folder() if self._owned else None
        if self._owned:
            self._start()

    def _start(self) -> None:
        quiet = {"log_to_driver": False, "logging_level": "error"}
        own = {
            "num_cpus": self._workers,
            "_temp_dir": self._folder,
            "include_dashboard": False,
            "address": "local",
        }
        try:
            self._ray.init(**quiet, **({} if os.environ.get("RAY_ADDRESS") else own))
        except (OSError, RuntimeError, ValueError) as error:
            raise RunError(f"Ray cannot be started: {' '.join(str(error).split())}") from None

    def map(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        rows = registrations()

        def registered(job: Job) -> Result:
            restore(rows)
            return work(job)

        return in_order(self._ray.remote(registered).remote, self._result, jobs, self._workers)

    def _result(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise (error.cause or RunError(f"a Ray worker failed: {error}")) from None

    def close(self) -> None:
        if self._owned:
            self._ray.shutdown()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)


def _short_folder() -> str | None:
    """Return a folder for Ray's sockets: None for its default, or another folder if that path would
    be too long.

    A socket's path may have 107 bytes, of which Ray's own part takes 64.
    """
    if len(tempfile.gettempdir()) <= LONGEST_SOCKET_FOLDER:
        return None
    return tempfile.mkdtemp(prefix="visualjudge-", dir="/tmp")


def _begin(rows: bytes) -> None:
    """Initialise a worker: turn off OpenCV's threads, and register the parent's rows."""
    cv2.setNumThreads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    restore(pickle.loads(rows))


def _sendable(rows: tuple[tuple[str, Any, Any], ...]) -> bytes:
    """Pickle the rows for a spawned process, which imports functions and classes by name."""
    try:
        return pickle.dumps(rows)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        names = ", ".join(f"{what} {name}" for what, name, _ in rows)
        raise UsageError(
            f"registered rows cannot be sent to worker processes ({names}: {error}); define them "
            "in a module, "
            "or use --workers 1"
        ) from None


def _end_with_parent() -> None:
    """End a worker whose parent was killed; it would wait for jobs forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
