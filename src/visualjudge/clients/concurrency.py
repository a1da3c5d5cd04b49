"""Limit concurrent calls. The limit adapts to the server, within one process. Processes
are in ``core/workers.py``; jobs of a run, in ``runs/job_runner.py``.
"""

import asyncio
import time
from collections import deque
from collections.abc import Mapping

from visualjudge.clients.base import Client, Reply, Request, Wrapping
from visualjudge.clients.retry import LONG_WAIT
from visualjudge.core.errors import ApiError, ClientError, TransportError

_BUSY = frozenset({408, 429, 503, 529})
# Windows, and at least calls, that must be answered before a place is added at the
# level that was refused last: one of them may be refused again.
_WINDOWS = 4
_CALLS = 40
_NEAR = 1.5


class Limited(Wrapping):
    """A client with at most ``ceiling`` concurrent calls. Belongs inside ``Retrying``,
    so that no place is held while waiting.

    The limit rises by one a window, which is as many answered calls as there are
    places, and halves when the server refuses a call (HTTP 429) or shows overload.
    Where it was refused before, it rises slowly and steps back by one, so that it stays
    near the server's own limit. No call begins before a Retry-After has passed, unless
    that is longer than ``longest_wait_s``.

    If no call was answered for as long, all fail, until the client was left alone for
    twice as long, which ``Retrying`` never waits.
    """

    def __init__(
        self, inner: Client, ceiling: int, longest_wait_s: float = 300.0
    ) -> None:
        super().__init__(inner)
        self.longest_wait_s = longest_wait_s
        self.ceiling = max(1, ceiling)
        self.allowed = float(self.ceiling)
        self.in_flight = 0
        self._begun = self._deaf_until = 0
        # The limit at the last refusal; 0 = none yet.
        self._refused_at = 0.0
        self._stepped_back = False
        self._resume_at = 0.0
        # Time of the first failure since a call was answered, and the last failure.
        self._silent_since: float | None = None
        self._failed_at = 0.0
        self._failure: BaseException | None = None
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        number = await self._enter()
        failure: BaseException | None = None
        try:
            return await self.inner.ask(request, attempt=attempt)
        except (ClientError, asyncio.CancelledError) as error:
            failure = error
            raise
        finally:
            self._leave(number, failure)
            self._check_silence(getattr(failure, "usage", None))

    async def _enter(self) -> int:
        # Wait for a place; returns the number of the call.
        if time.monotonic() - self._failed_at > 2 * self.longest_wait_s:
            self._silent_since = None
        while True:
            self._check_silence()
            pause_s = self._resume_at - time.monotonic()
            if self.in_flight >= int(self.allowed):
                turn = asyncio.get_running_loop().create_future()
                self._waiting.append(turn)
                try:
                    await turn
                except asyncio.CancelledError:
                    self._wake()  # its turn may be another's
                    raise
            elif pause_s > 0:
                await asyncio.sleep(pause_s)
            else:
                break
        self.in_flight += 1
        self._begun += 1
        return self._begun

    def _check_silence(self, usage: Mapping[str, int] | None = None) -> None:
        since = self._silent_since
        if since is not None and self._failed_at - since >= self.longest_wait_s:
            self._wake()
            raise TransportError(
                f"{self._failure}; no call was answered for "
                f"{self._failed_at - since:,.0f} s, longer than "
                f"`longest_wait={self.longest_wait_s:g}`",
                cause=LONG_WAIT,
                usage=usage,
                retryable=False,
            ) from None

    def _leave(self, number: int, error: BaseException | None) -> None:
        # Return the place, and learn from how the call ended.
        self.in_flight -= 1
        if not getattr(error, "retryable", False):
            self._silent_since = None
        elif getattr(error, "reached", True):  # ``Retrying`` waits for a start
            self._failure = error
            self._failed_at = time.monotonic()
            self._silent_since = self._silent_since or self._failed_at
        if error is None:
            calls = (
                max(_CALLS, _WINDOWS * self.allowed)
                if self._is_near
                else self.allowed
            )
            self.allowed = min(float(self.ceiling), self.allowed + 1 / calls)
            self._stepped_back &= self.allowed < self._refused_at - 0.5
        elif (
            getattr(error, "status", 0) in _BUSY
            or getattr(error, "cause", None) == "timeout"
        ):
            if (
                number > self._deaf_until
            ):  # one reaction to all calls that were in flight
                self._lower()
            wait_s = error.retry_after if isinstance(error, ApiError) else None
            if wait_s is not None and wait_s <= self.longest_wait_s:
                self._resume_at = max(
                    self._resume_at, time.monotonic() + wait_s
                )
        self._wake()

    def _wake(self) -> None:
        # Wake as many as there are places; each looks whether its place is still free.
        for _ in range(int(self.allowed) - self.in_flight):
            while self._waiting:
                turn = self._waiting.popleft()
                if not turn.done():
                    turn.set_result(None)
                    break

    @property
    def _is_near(self) -> bool:
        # Whether the limit is at the level that was refused last.
        return abs(self.allowed - self._refused_at) <= _NEAR

    def _lower(self) -> None:
        near = self._is_near and not self._stepped_back
        self._deaf_until = self._begun
        self._refused_at = self.allowed
        self._stepped_back = near
        self.allowed = max(1.0, self.allowed - 1 if near else self.allowed / 2)
