"""Limit concurrent calls. The limit adapts to the server, within one process."""

from __future__ import annotations

import asyncio
import sys
import time

from visualjudge.clients.base import Client, Reply, Request, Wrapping
from visualjudge.core.errors import ApiError, ClientError, TransportError

_BUSY = frozenset({408, 429, 503, 529})
# Windows, and at least calls, that must be answered before a place is added at the level that was
# refused last: one of them may be refused again.
_WINDOWS, _CALLS = 4, 40
_NEAR = 1.5
# Descriptors reserved for other uses: the journal, the cache, images, the interpreter.
_RESERVED = 40


class AdaptiveLimit:
    """A limit on concurrent calls, between 1 and ``ceiling``.

    It rises by one a window, which is as many answered calls as there are places, and halves when
    the server refuses a call (HTTP 429) or shows overload. Where it was refused before, it rises
    slowly and steps back by one, so that it stays near the server's own limit. No call begins
    before a Retry-After has passed.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = max(1, ceiling)
        self.allowed = float(self.ceiling)
        self.in_flight = 0
        self._begun = self._deaf_until = 0
        # The limit at the last refusal; 0 = none yet.
        self._refused_at = 0.0
        self._stepped_back = False
        self._resume_at = 0.0
        self._waiting: list[asyncio.Future[None]] = []

    async def enter(self) -> int:
        """Wait for a place. Pass the returned number to :meth:`leave`."""
        while True:
            pause_s = self._resume_at - time.monotonic()
            if self.in_flight >= int(self.allowed):
                turn = asyncio.get_running_loop().create_future()
                self._waiting.append(turn)
                await turn
            elif pause_s > 0:
                await asyncio.sleep(pause_s)
            else:
                break
        self.in_flight += 1
        self._begun += 1
        return self._begun

    def leave(self, number: int, error: BaseException | None = None) -> None:
        """Return the place, and learn from how the call ended."""
        self.in_flight -= 1
        if error is None:
            calls = max(_CALLS, _WINDOWS * self.allowed) if self._is_near else self.allowed
            self.allowed = min(float(self.ceiling), self.allowed + 1 / calls)
            self._stepped_back &= self.allowed < self._refused_at - 0.5
        elif _is_overload(error):
            if number > self._deaf_until:  # one reaction to all calls that were in flight
                self._lower()
            wait_s = error.retry_after if isinstance(error, ApiError) else None
            self._resume_at = max(self._resume_at, time.monotonic() + (wait_s or 0.0))
        waiting, self._waiting = self._waiting, []
        for turn in waiting:  # each looks whether there is a place for it
            if not turn.done():
                turn.set_result(None)

    @property
    def _is_near(self) -> bool:
        # Whether the limit is at the level that was refused last.
        return abs(self.allowed - self._refused_at) <= _NEAR

    def _lower(self) -> None:
        near = self._is_near and not self._stepped_back
        self._deaf_until, self._refused_at, self._stepped_back = self._begun, self.allowed, near
        self.allowed = max(1.0, self.allowed - 1 if near else self.allowed / 2)


def _is_overload(error: BaseException) -> bool:
    if isinstance(error, ApiError):
        return error.status in _BUSY
    return isinstance(error, TransportError) and error.cause == "timeout"


class Limited(Wrapping):
    """A client that respects an :class:`AdaptiveLimit`. Belongs inside ``Retrying``, so that no
    place is held while waiting.
    """

    def __init__(self, inner: Client, limit: int) -> None:
        super().__init__(inner)
        self.limit = AdaptiveLimit(limit)

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        number = await self.limit.enter()
        failure: BaseException | None = None
        try:
            return await self.inner.ask(request, attempt=attempt)
        except (ClientError, asyncio.CancelledError) as error:
            failure = error
            raise
        finally:
            self.limit.leave(number, failure)


def allow_files(calls: int) -> None:
    """Raise this process's limit on open files to what this many concurrent calls take, where the
    system lets it.
    """
    if sys.platform == "win32":
        return
    import resource

    infinity, wanted = resource.RLIM_INFINITY, calls + _RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != infinity and soft < wanted:
        most = wanted if hard == infinity else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
