"""Apply a function to chunks of work: in this process, in processes of this machine, or
on Ray. Calls to servers are limited in ``clients/concurrency.py``.

The function and the chunks are pickled, so the function must be one of a module. A
worker has the rows that a script registered, ignores Ctrl-C, which the starting process
handles, and ends with the process that started it.
"""

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Any, Literal, Self, TypeVar, get_args

from visualjudge.core.errors import RunError, UsageError, VisualJudgeError
from visualjudge.core.registry import Registry, registrations, restore

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")
Registrations = tuple[tuple[Registry[Any, Any], Any, Any], ...]
EngineName = Literal["local", "ray"]
CORES = (
    len(os.sched_getaffinity(0))
    if hasattr(os, "sched_getaffinity")
    else os.cpu_count() or 1
)
# Seconds of work from which on further processes are worth their start (1 to 2 s each).
WORTH_PROCESSES = 20.0
# Chunks of a worker that run or wait: enough to keep it busy, few enough to limit
# memory.
AHEAD = 3


class Workers:
    """A context manager that keeps its processes for several maps. One local worker is
    this process.

    Parameters
    ----------
    number, engine
        How many processes, and who runs them.
    after
        Seconds of work in this process before others are started.

    Raises
    ------
    UsageError
        If there is no such engine, Ray is not installed, or a row registered by a
        script cannot be sent to another process.
    """

    def __init__(
        self,
        number: int = 1,
        engine: EngineName = "local",
        *,
        after: float = 0.0,
    ) -> None:
        if number < 1:
            raise UsageError(f"`workers` must be at least 1, got {number}")
        if engine not in get_args(EngineName):
            raise UsageError(
                f"unknown engine {engine!r}; one of: {', '.join(get_args(EngineName))}"
            )
        self._threads = 0
        self._number = number
        self._alone = after
        self._map: Callable[..., Iterable[Any]] = map
        self._close: Callable[[], object] = tuple
        self._processes: ProcessPoolExecutor | None = None
        self._rows = _registered() if engine == "local" and number > 1 else ()
        if engine == "ray":
            pool = _ray_pool(number)
            self._map = pool.imap
            self._close = pool.terminate
        elif number > 1:
            self._map = self._here_then_in_processes

    def _here_then_in_processes(
        self, apply: Callable[[Chunk], Result], chunks: Iterable[Chunk]
    ) -> Iterator[Result]:
        """Work in this process until other processes are worth their start."""
        rest = iter(chunks)
        while self._alone > 0:
            begun = time.monotonic()
            chunk = next(rest, None)
            if chunk is None:
                return
            result = apply(chunk)
            self._alone -= time.monotonic() - begun
            yield result
        if self._processes is None:
            self._start()
        assert self._processes is not None
        yield from _in_processes(
            self._processes,
            self._number * AHEAD,
            self._scratch.name,
            apply,
            rest,
        )

    def _start(self) -> None:
        spawn = multiprocessing.get_context(
            "spawn"
        )  # inherits no locks or threads
        self._processes = ProcessPoolExecutor(
            self._number, spawn, _begin, (self._rows,)
        )
        self._scratch = TemporaryDirectory(
            prefix="visualjudge-", ignore_cleanup_errors=True
        )
        self._close = partial(self._processes.shutdown, cancel_futures=True)

    def __enter__(self) -> Self:
        import cv2

        # On images of usual sizes OpenCV's threads cost more than they save.
        self._threads = cv2.getNumThreads()
        cv2.setNumThreads(1)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        import cv2

        cv2.setNumThreads(self._threads)
        if kind is KeyboardInterrupt and self._processes is not None:
            for process in list(self._processes._processes.values()):
                process.terminate()  # a chunk that hangs would be waited for
        self._close()
        if self._processes is not None:
            self._scratch.cleanup()

    def map(
        self, function: Callable[[Chunk], Result], chunks: Iterable[Chunk]
    ) -> Iterator[Result]:
        """Yield ``function(chunk)`` for each chunk, in order.

        Raises
        ------
        VisualJudgeError
            As ``function`` raised it. Any other exception becomes a :class:`RunError`
            that names the chunk's ``record``, if it has one.
        """
        for result, error in self._map(partial(_applied, function), chunks):
            if error is not None:
                raise error
            yield result


def _in_processes(
    pool: ProcessPoolExecutor,
    most: int,
    folder: str,
    apply: Callable[[Chunk], Result],
    chunks: Iterable[Chunk],
) -> Iterator[Result]:
    begun = deque[Future[Path]]()
    send = partial(_to_file, apply, folder)
    try:
        for chunk in chunks:
            if len(begun) >= most:
                yield _from_file(begun.popleft().result())
            begun.append(pool.submit(send, chunk))
        while begun:
            yield _from_file(begun.popleft().result())
    except BrokenProcessPool:
        raise RunError(
            "a worker process died (out of memory?); try fewer `workers`"
        ) from None


def _to_file(apply: Callable[[Chunk], Any], folder: str, chunk: Chunk) -> Path:
    """Results go through files: of a pipe into which a killed worker was writing nobody
    would see the end."""
    result = apply(chunk)
    try:
        with NamedTemporaryFile(dir=folder, delete=False) as file:
            pickle.dump(result, file)
            return Path(file.name)
    except OSError as error:
        raise RunError(
            f"{folder}: cannot be used: {error}; set TMPDIR to another folder"
        ) from None


def _from_file(scratch: Path) -> Any:
    result = pickle.loads(scratch.read_bytes())
    scratch.unlink()
    return result


def _applied(
    function: Callable[[Chunk], Result], chunk: Chunk
) -> tuple[Result | None, Exception | None]:
    # A raised exception that cannot be unpickled would break the pool.
    try:
        return function(chunk), None
    except VisualJudgeError as error:
        return None, error
    except Exception as error:
        where = (
            f"{record}: " if (record := getattr(chunk, "record", "")) else ""
        )
        return None, RunError(
            f"{where}{type(error).__name__}: {' '.join(str(error).split())}"
        )


def _registered() -> Registrations:
    rows = registrations()
    try:
        pickle.dumps(rows)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        names = ", ".join(f"{table.what} {name}" for table, name, _ in rows)
        raise UsageError(
            f"registered rows cannot be sent to worker processes ({names}: {error}); "
            "define them in a module, or use `workers` 1"
        ) from None
    return rows


def _begin(rows: Registrations) -> None:
    import cv2

    cv2.setNumThreads(1)
    if (parent := multiprocessing.parent_process()) is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    restore(rows)


def _end_with(parent: Any) -> None:
    # A worker of a killed process would wait for ever.
    parent.join()
    os._exit(1)


def _ray_pool(number: int) -> Any:
    """Return a pool on the cluster that ``RAY_ADDRESS`` names or, without it, on one of
    its own."""
    try:
        import ray
        from ray.util.multiprocessing import Pool
    except ImportError:
        raise UsageError(
            "`engine` ray needs Ray: pip install 'visualjudge[ray]'"
        ) from None
    try:
        if not ray.is_initialized():
            # The path of a socket must be short, whatever TMPDIR is.
            own = (
                {}
                if os.environ.get("RAY_ADDRESS")
                else {
                    "num_cpus": number,
                    "address": "local",
                    "_temp_dir": "/tmp/ray",
                }
            )
            ray.init(
                log_to_driver=False,
                logging_level="error",
                include_dashboard=False,
                **own,
            )
        return Pool(number, initializer=_begin, initargs=(registrations(),))
    except (OSError, RuntimeError, ValueError) as error:
        raise RunError(
            f"Ray cannot be started: {' '.join(str(error).split())}"
        ) from None
