"""Synchronous calls on top of the asynchronous core. An event loop in a separate thread
is started on first use. The asynchronous calls are in ``base.py``.

The separate loop makes synchronous calls work in notebooks too, where a loop is already
running.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")


@cache
def _background() -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(
        target=loop.run_forever, name="visualjudge", daemon=True
    )
    thread.start()
    return loop, thread


if hasattr(os, "register_at_fork"):  # the thread does not exist in a child
    os.register_at_fork(after_in_child=_background.cache_clear)


def submit(work: Coroutine[Any, Any, Result]) -> Future[Result]:
    """Start ``work`` on the background loop and return a future for its result.

    Raises
    ------
    RuntimeError
        If called from work on that loop, which must await instead.
    """
    loop, thread = _background()
    if threading.current_thread() is thread:
        work.close()
        raise RuntimeError(
            "a synchronous call inside asynchronous code would block; await it"
        )
    return asyncio.run_coroutine_threadsafe(work, loop)


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
