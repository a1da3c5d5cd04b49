"""Synchronous calls on top of the asynchronous core. An event loop in a separate thread is started
on first use.

The separate loop makes synchronous calls work in notebooks too, where a loop is already running.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Background:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="visualjudge", daemon=True
                )
                self._thread.start()
            return self._loop

    def is_here(self) -> bool:
        return threading.current_thread() is self._thread

    def stop(self) -> None:
        loop, thread = self._loop, self._thread
        if loop is not None and thread is not None and thread.is_alive():
            loop.call_soon_threadsafe(loop.stop)
            thread.join(timeout=2)

    def forget(self) -> None:
        """Reset the state in a forked child, where the thread does not exist."""
        self.__init__()  # type: ignore[misc]


_background = _Background()
atexit.register(_background.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_background.forget)


def submit(work: Coroutine[Any, Any, Result]) -> Future[Result]:
    """Start ``work`` on the background loop and return a future for its result.

    Raises
    ------
    RuntimeError
        If called from work on that loop, which must await instead.
    """
    if _background.is_here():
        work.close()
        raise RuntimeError("a synchronous call inside asynchronous code would block; await it")
    return asyncio.run_coroutine_threadsafe(work, _background.loop())


def run_sync(work: Coroutine[Any, Any, Result]) -> Result:
    """Wait for ``work`` and return its result. An interrupt cancels it.

    Raises
    ------
    RuntimeError
        If called from work on that loop, which must await instead.
    """
    future = submit(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
