"""Statements of SQLite that run in a thread of their own, one at a time, while the caller makes the next.

SQLite works without holding the interpreter's lock, but only within one row of a statement: rows are given as a JSON
array that the statement takes apart (``json_each``), so that a batch is one step and both threads run at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import orjson

_THREADS = ThreadPoolExecutor(2, "studio-index")
"""Shared by all indexes: another one would only wait for a core."""


class Behind:
    """Runs statements behind the caller; the connection is to be used by nobody else before ``settle``."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._running: Future[None] | None = None

    def run(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        """Start statements as soon as the ones before have ended; a value that is a list is given as JSON."""
        given = [(text, tuple(_given(value) for value in values)) for text, values in statements]
        self.settle()
        self._running = _THREADS.submit(self._execute, given)

    def settle(self) -> None:
        """Wait until everything has run.

        Raises
        ------
        sqlite3.Error
            If a statement failed.
        """
        running, self._running = self._running, None
        if running is not None:
            running.result()

    def _execute(self, statements: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
        for text, values in statements:
            self._db.execute(text, values)


def _given(value: Any) -> Any:
    return orjson.dumps(value).decode() if isinstance(value, list) else value
