"""Concurrency that adapts: down at once when a server pushes back, up again slowly while it does
not (AIMD, as TCP).
"""

from __future__ import annotations

import asyncio
from collections import deque

from visualjudge.clients.base import Client, Reply, Request
from visualjudge.clients.wrapping import Wrapping
from visualjudge.core.errors import ApiError, ClientError, TransportError

DOWN, NEAR = 0.5, 0.85
"""What a push-back leaves of the calls that may be under way, and what it leaves if they had become
more since the last: the limit of the server is near then.
"""
_PUSHED_BACK = frozenset({408, 429, 503, 529})


class AdaptiveLimit:
    """How many calls may be under way, between 1 and ``ceiling``.

    A push-back halves it, or takes less where it had risen since the last, once for all calls that
    had begun before; a round of successes adds one.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = max(1, ceiling)
        self.allowed = float(self.ceiling)
        self.in_flight = 0
        self._begun = 0
        self._deaf_until = 0
        self._reduced_to = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> int:
        """Wait for a place; the number returned goes to :meth:`leave`."""
        while self.in_flight >= int(self.allowed):
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._wake()  # the place was ours: hand it on
                raise
        self.in_flight += 1
        self._begun += 1
        return self._begun

    def leave(self, number: int, *, pushed_back: bool | None) -> None:
        """Give the place back. ``pushed_back`` None = says nothing about load (a wrong request)."""
        self.in_flight -= 1
        if pushed_back and number > self._deaf_until:
            self.allowed = self._reduced_to = reduced(self.allowed, self._reduced_to)
            self._deaf_until = self._begun
        elif pushed_back is False:
            self.allowed = min(float(self.ceiling), self.allowed + 1.0 / self.allowed)
        self._wake()

    def close(self) -> None:
        """Nothing to give back: the limit is of this process alone."""

    def _wake(self) -> None:
        free = int(self.allowed) - self.in_flight
        while self._waiting and free > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1


def reduced(allowed: float, last: float) -> float:
    """How many calls may be under way after a push-back; ``last``: after the one before, 0 = there
    was none.
    """
    return max(1.0, allowed * (NEAR if last and allowed >= last + 1 else DOWN))


class Limited(Wrapping):
    """A client that keeps to an :class:`AdaptiveLimit`. Goes below ``Retrying``: no place is held
    while waiting.
    """

    def __init__(self, inner: Client, limit: AdaptiveLimit | int) -> None:
        super().__init__(inner)
        self.limit = AdaptiveLimit(limit) if isinstance(limit, int) else limit

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """As the inner client, when there is a place."""
        number = await self.limit.enter()
        pushed_back: bool | None = None
        try:
            reply = await self.inner.ask(request, attempt=attempt)
            pushed_back = False
            return reply
        except ClientError as error:
            pushed_back = _pushes_back(error)
            raise
        finally:
            self.limit.leave(number, pushed_back=pushed_back)

    async def aclose(self) -> None:
        self.limit.close()
        await super().aclose()


def _pushes_back(error: ClientError) -> bool | None:
    if isinstance(error, ApiError):
        return True if error.status in _PUSHED_BACK else None
    return True if isinstance(error, TransportError) and error.cause == "timeout" else None
