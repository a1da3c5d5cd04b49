"""Engines: do work in this process, in other processes on this machine, or in actors of a Ray
cluster.

A worker receives a service once and answers calls of its methods. Builds use :meth:`Engine.map`,
which applies a function to jobs in order. Runs call workers that hold the judge
(``runs/worker_engine.py``).

Processes exchange pickles over a pipe. The service, which may contain an API key, is sent this way
too: never on a command line, in the environment or in a file. A worker ends when its pipe closes,
so it never outlives the process that started it.
"""

from __future__ import annotations

import inspect
import logging
import multiprocessing
import os
import pickle
import shutil
import signal
import tempfile
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Literal, Self, TypeVar, get_args

from visualjudge.core.errors import RunError, UsageError, VisualJudgeError
from visualjudge.core.registry import registrations, restore

Job = TypeVar("Job")
Result = TypeVar("Result")
EngineName = Literal["local", "ray"]
AHEAD = 3
"""Maximum number of a worker's jobs that are running or not yet fetched: enough to keep it busy,
few enough to limit memory.
"""
_NUMBER = 8
"""Bytes of a call's number, which precedes its pickle."""
_RESTARTS = 10
"""Number of times that an actor lost with its process or node is restarted. Its calls are
repeated.
"""
_AT_ONCE = 10_000
"""Number of calls that an actor accepts at a time: more than are ever made."""
_LONGEST_SOCKET_FOLDER = 38
_log = logging.getLogger("visualjudge.workers")


# ---------------------------------------------------------------- maps


class Engine(ABC):
    """A context manager that maps a picklable function over jobs."""

    @abstractmethod
    def map(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """Yield ``work(job)`` for each job, in order."""

    def close(self) -> None:  # noqa: B027  no workers to end
        """End the workers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_engine(name: EngineName, workers: int) -> Engine:
    """Open the engine ``name`` with ``workers`` processes. A single local worker is this process.

    Raises
    ------
    UsageError
        If there is no such engine, or Ray is not installed.
    """
    check_engine(name, workers, "--workers")
    return InlineEngine() if name == "local" and workers == 1 else WorkerEngine(name, workers)


def check_engine(name: EngineName, workers: int, option: str) -> None:
    """Check the name of the engine and the number of workers, which ``option`` sets and must be at
    least 1.
    """
    if workers < 1:
        raise UsageError(f"{option} must be at least 1, got {workers}")
    if name not in get_args(EngineName):
        raise UsageError(f"unknown engine {name!r}; one of: {', '.join(get_args(EngineName))}")


class InlineEngine(Engine):
    """Run jobs in this process without OpenCV's threads, as in a worker: on images of usual sizes
    they cost more than they save.
    """

    def __init__(self) -> None:
        import cv2

        self._threads = cv2.getNumThreads()
        cv2.setNumThreads(1)

    def close(self) -> None:
        import cv2

        cv2.setNumThreads(self._threads)

    def map(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        return map(work, jobs)


class WorkerEngine(Engine):
    """Run jobs in workers, starting enough of them ahead to keep all workers busy."""

    def __init__(self, name: EngineName, workers: int) -> None:
        self._open = ExitStack()
        started = self._open.enter_context(
            open_workers(name, workers, Applying(), "the function", "--workers")
        )
        # One call runs while another waits in the worker, so that the worker is never idle.
        self._workers = Workers(started, each=2, again=False, option="--workers")
        self._ahead = workers * AHEAD

    def map(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        begun = deque[Future[Result]]()
        for job in jobs:
            if len(begun) >= self._ahead:
                yield begun.popleft().result()
            begun.append(self._workers.call("apply", work, job))
        while begun:
            yield begun.popleft().result()

    def close(self) -> None:
        self._open.close()


class Applying:
    """The service of a map."""

    def apply(self, work: Callable[[Job], Result], job: Job) -> Result:
        """Return ``work(job)``."""
        return work(job)


# ---------------------------------------------------------------- workers, as used by their starter


class WorkerLost(RunError):
    """A worker ended before it answered."""


class Worker(ABC):
    """A process that holds a service."""

    name: str
    ready: Future[Any]
    """Done once the worker can answer."""

    @abstractmethod
    def call(self, method: str, *arguments: Any) -> Future[Any]:
        """Call a method of the service, a coroutine or not.

        Return a future with the result, the exception, or :class:`WorkerLost`.
        """


class Workers:
    """Workers with copies of one service. Each call goes to the worker with the fewest calls.

    Parameters
    ----------
    each
        Maximum number of calls per worker at a time; the others wait here.
    again
        Whether a call is repeated in another worker if its worker is lost.
    option
        Option that sets the number of workers, for messages.
    """

    def __init__(self, workers: Iterable[Worker], *, each: int, again: bool, option: str) -> None:
        self.workers = list(workers)
        self._each, self._again, self._option = each, again, option
        self._busy = dict.fromkeys((worker.name for worker in self.workers), 0)
        self._queue = deque[tuple[Future[Any], str, tuple[Any, ...]]]()
        self._lock = threading.RLock()
        for worker in self.workers:
            worker.ready.add_done_callback(lambda _: self._hand_out())

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        """Call a method of some worker's service."""
        future = _future()
        self._queue.append((future, method, arguments))
        self._hand_out()
        return future

    def _hand_out(self) -> None:
        """Assign queued calls to workers with free capacity."""
        with self._lock:
            while self._queue and not self.workers:
                self._queue.popleft()[0].set_exception(self._no_worker())
            while self._queue and (free := [one for one in self.workers if self._has_room(one)]):
                worker = min(free, key=lambda one: self._busy[one.name])
                self._give(worker, *self._queue.popleft())

    def _has_room(self, worker: Worker) -> bool:
        return worker.ready.done() and self._busy[worker.name] < self._each

    def _give(
        self, worker: Worker, future: Future[Any], method: str, arguments: tuple[Any, ...]
    ) -> None:
        def ended(answer: Future[Any]) -> None:
            error = answer.exception()
            with self._lock:
                self._busy[worker.name] -= 1
                if isinstance(error, WorkerLost):
                    self._lose(worker, error)
                    if self._again:
                        self._queue.appendleft((future, method, arguments))
            if not isinstance(error, WorkerLost):
                _settle(future, None if error else answer.result(), error)
            elif not self._again:
                future.set_exception(self._no_worker())
            self._hand_out()

        self._busy[worker.name] += 1
        worker.call(method, *arguments).add_done_callback(ended)

    def _no_worker(self) -> RunError:
        if self._again:
            return RunError(
                f"all workers have ended (out of memory?); try fewer {self._option}, and continue "
                "with --resume"
            )
        return RunError(f"a worker process died (out of memory?); try fewer {self._option}")

    def _lose(self, worker: Worker, error: WorkerLost) -> None:
        if worker in self.workers:
            self.workers.remove(worker)
            if self._again:
                _log.warning("%s; its work goes to the other %d workers", error, len(self.workers))


@contextmanager
def open_workers(
    name: EngineName, number: int, service: object, what: str, option: str
) -> Iterator[list[Worker]]:
    """Start workers that hold copies of ``service``; they end with the context.

    Parameters
    ----------
    what, option
        Description of the service, and option that sets the number of workers, for messages.

    Raises
    ------
    UsageError
        If Ray is not installed, or the service or a row registered by a script cannot be sent to
        another process.
    RunError
        If Ray cannot be started.
    """
    with ExitStack() as stack:
        if name == "ray":
            ray = stack.enter_context(_cluster(number))
            shared = ray.put(_packed(service, what, option, ray.cloudpickle.dumps))
            yield [stack.enter_context(_actor(ray, n + 1, shared)) for n in range(number)]
        else:
            sent = _packed(service, what, option, pickle.dumps)
            yield [stack.enter_context(_process(n + 1, sent)) for n in range(number)]


def _packed(service: object, what: str, option: str, dumps: Callable[[object], bytes]) -> bytes:
    """Pickle a service and the rows that a script registered.

    A spawned process imports their functions and classes by name; Ray's ``dumps`` sends the code
    itself for those of a script or notebook.
    """
    rows, unusable = registrations(), (pickle.PicklingError, AttributeError, TypeError)
    try:
        dumps(rows)
    except unusable as error:
        names = ", ".join(f"{table} {name}" for table, name, _ in rows)
        raise UsageError(
            f"registered rows cannot be sent to worker processes ({names}: {error}); define them "
            f"in a module, or use {option} 1"
        ) from None
    try:
        return dumps((rows, service))
    except unusable as error:
        raise UsageError(
            f"{option}: {what} cannot be sent to other processes: {error}; use {option} 1"
        ) from None


def _future() -> Future[Any]:
    """Return a future that its waiter cannot cancel, because the call is made in any case."""
    future = Future[Any]()
    future.set_running_or_notify_cancel()
    return future


def _settle(future: Future[Any], result: object, error: BaseException | None) -> None:
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


# ---------------------------------------------------------------- in the worker


class Host:
    """A service in its worker."""

    def __init__(self, sent: bytes) -> None:
        import cv2

        cv2.setNumThreads(1)
        rows, self._service = pickle.loads(sent)
        restore(rows)

    async def answer(self, call: bytes) -> bytes:
        """Make a call and return the pickles of its result and its exception, one of which is
        None.
        """
        try:
            method, arguments = pickle.loads(call)
            result = getattr(self._service, method)(*arguments)
            if inspect.isawaitable(result):
                result = await result
            return pickle.dumps((result, None))
        except Exception as error:
            return pickle.dumps((None, _that_travels(error)))


def _that_travels(error: Exception) -> Exception:
    """Return the error, or a :class:`RunError` with its message if another process cannot unpickle
    it.
    """
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # the constructor of a third-party exception may do anything
        name = "" if isinstance(error, VisualJudgeError) else f"{type(error).__name__}: "
        return RunError(" ".join([f"{name}{error}", *getattr(error, "__notes__", ())]))
    return error


# ---------------------------------------------------------------- processes of this machine


class ProcessWorker(Worker):
    """A spawned process, which inherits no locks or threads of its parent."""

    def __init__(self, name: str, sent: bytes) -> None:
        self.name = name
        self.ready = Future()
        self.ready.set_result(None)  # the pipe buffers calls until the process has loaded
        self._calls: dict[int, Future[Any]] = {}
        self._numbers, self._lock, self._is_lost = count(1), threading.Lock(), False
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        with theirs:
            self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
            self.process.start()
        self._outbox = SimpleQueue[bytes | None]()
        self._outbox.put(sent)
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._send, self._listen)
        ]
        for thread in self._threads:
            thread.start()

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        content, number, future = pickle.dumps((method, arguments)), next(self._numbers), _future()
        with self._lock:
            if self._is_lost:
                future.set_exception(self._lost())
                return future
            self._calls[number] = future
        self._outbox.put(number.to_bytes(_NUMBER, "big") + content)
        return future

    def _send(self) -> None:
        """Send the outbox from a thread, because a full pipe would block the caller."""
        with suppress(OSError):
            while (content := self._outbox.get()) is not None:
                self._pipe.send_bytes(content)

    def _listen(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                answer = self._pipe.recv_bytes()
                future = self._calls.pop(int.from_bytes(answer[:_NUMBER], "big"), None)
                if future is not None:
                    _settle_answer(future, answer[_NUMBER:])
        for future in self._close():
            future.set_exception(self._lost())

    def _close(self) -> list[Future[Any]]:
        """Stop accepting calls, and return those without an answer."""
        with self._lock:
            self._is_lost = True
            unanswered = list(self._calls.values())
            self._calls.clear()
        return unanswered

    def _lost(self) -> WorkerLost:
        self.process.join(0.1)
        return WorkerLost(f"{self.name} has ended (exit status {self.process.exitcode})")

    def kill(self) -> None:
        """Kill the process at once. Its pending calls do not count as lost, because nobody waits
        for them.
        """
        self._close()
        self.process.kill()
        self.process.join()
        self._outbox.put(None)
        for thread in self._threads:
            thread.join()
        self._pipe.close()


def _settle_answer(future: Future[Any], answer: bytes) -> None:
    try:
        result, error = pickle.loads(answer)
    except Exception as unreadable:  # only the worker may know its class
        result, error = None, unreadable
    _settle(future, result, error)


@contextmanager
def _process(number: int, sent: bytes) -> Iterator[ProcessWorker]:
    worker = ProcessWorker(f"process {number}", sent)
    try:
        yield worker
    finally:
        worker.kill()


def _serve(pipe: Connection) -> None:
    """Run in the worker process: load the service, then answer calls until the pipe closes."""
    # A terminal or scheduler signals all processes; the starting process decides what to do.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    import asyncio  # here and below: most commands start no process, and it takes long to import

    with suppress(EOFError, OSError):
        asyncio.run(_answer_calls(pipe, Host(pipe.recv_bytes())))


async def _answer_calls(pipe: Connection, host: Host) -> None:
    import asyncio

    loop = asyncio.get_running_loop()

    async def answer(call: bytes) -> None:
        pipe.send_bytes(call[:_NUMBER] + await host.answer(call[_NUMBER:]))

    def receive() -> None:
        with suppress(EOFError, OSError):
            while True:
                asyncio.run_coroutine_threadsafe(answer(pipe.recv_bytes()), loop)
        os._exit(1)  # even during a call, because nobody waits for it

    threading.Thread(target=receive, daemon=True).start()
    await asyncio.Event().wait()


# ---------------------------------------------------------------- a Ray cluster


class ActorWorker(Worker):
    """An actor with one core. All nodes must see the folders under the same paths."""

    def __init__(self, name: str, ray: Any, actor: Any) -> None:
        self.name, self._ray, self._actor = name, ray, actor
        self.ready = actor.__ray_ready__.remote().future()

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        future = _future()

        def ended(answered: Future[bytes]) -> None:
            try:
                answer = answered.result()
            except self._ray.exceptions.RayActorError as error:
                why = " ".join(str(error).split())[:200]
                future.set_exception(WorkerLost(f"{self.name} has ended ({why})"))
            except Exception as error:
                future.set_exception(RunError(f"{self.name}: {error}"))
            else:
                _settle_answer(future, answer)

        call = self._ray.cloudpickle.dumps((method, arguments))
        self._actor.answer.remote(call).future().add_done_callback(ended)
        return future


@contextmanager
def _actor(ray: Any, number: int, sent: object) -> Iterator[ActorWorker]:
    made = ray.remote(Host).options(
        max_restarts=_RESTARTS, max_task_retries=_RESTARTS, max_concurrency=_AT_ONCE, num_cpus=1
    )
    actor = made.remote(sent)
    try:
        yield ActorWorker(f"actor {number}", ray, actor)
    finally:
        ray.kill(actor)


@contextmanager
def _cluster(cores: int) -> Iterator[Any]:
    """Join the Ray cluster, or start a local one for the duration of the context if none is
    running.

    Raises
    ------
    UsageError
        If Ray is not installed.
    RunError
        If it cannot be started.
    """
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # errors are raised here
    try:
        import ray
    except ImportError:
        raise UsageError("--engine ray needs Ray: pip install 'visualjudge[ray]'") from None
    if ray.is_initialized():
        yield ray
        return
    folder = _short_folder()
    own = {
        "num_cpus": cores,
        "_temp_dir": folder,
        "include_dashboard": False,
        "address": "local",
    }
    try:
        joined = {} if os.environ.get("RAY_ADDRESS") else own
        ray.init(log_to_driver=False, logging_level="error", **joined)
    except (OSError, RuntimeError, ValueError) as error:
        raise RunError(f"Ray cannot be started: {' '.join(str(error).split())}") from None
    try:
        yield ray
    finally:
        ray.shutdown()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _short_folder() -> str | None:
    """Return a folder for Ray's sockets: None for the default, or another folder if the default
    path is too long.

    A socket's path may have at most 107 bytes, of which Ray uses 64.
    """
    if len(tempfile.gettempdir()) <= _LONGEST_SOCKET_FOLDER:
        return None
    return tempfile.mkdtemp(prefix="visualjudge-", dir="/tmp")
