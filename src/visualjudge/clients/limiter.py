"""Concurrency that adapts: a refused call takes its place away, and places come back slowly while
calls are answered.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Literal

from visualjudge.clients.base import Client, Reply, Request
from visualjudge.clients.wrapping import Wrapping
from visualjudge.core.errors import ApiError, ClientError, TransportError

Load = Literal["answered", "refused", "overloaded"]
"""What a call says about the server: ``refused`` = HTTP 429 (too many calls), ``overloaded`` = 408,
503, 529 or no reply in time.
"""
OVERLOADED = 0.5
"""What an overloaded server leaves of the places."""
LEAST = 1 / 8
"""What refused calls that had begun together leave of the places, at least: a server that refuses
all of them counts calls a minute, not calls at once.
"""
CAREFULLY = 4
"""Rounds of answered calls for one more place than the server refused the last time."""
REST_S = 0.2
"""How long the last place stays taken after a refused call."""
_OVERLOADED = frozenset({408, 503, 529})


class AdaptiveLimit:
    """How many calls may be under way, between 1 and ``ceiling``.

    A refused call takes one place away. A sign of overload takes half of them, once for all calls
    that had begun before. Answered calls add a place in four rounds up to what was refused the last
    time, and one a round above that.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = max(1, ceiling)
        self.allowed = float(self.ceiling)
        self.in_flight = 0
        self._begun = 0
        self._deaf_until = 0
        self._least = 1.0
        self._met = 0.0
        """The places that the last refusal or overload left; 0 = there was none."""
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

    def leave(self, number: int, load: Load | None) -> None:
        """Give the place back. ``load`` None: the call says nothing about it (a wrong request)."""
        self.in_flight -= 1
        self._adapt(number, load)
        self._wake()

    def _adapt(self, number: int, load: Load | None) -> None:
        before, later = self.allowed, number > self._deaf_until
        if load == "answered":
            self.allowed = min(float(self.ceiling), before + self._step())
        elif load in ("refused", "overloaded"):
            if later:
                self._deaf_until, self._least = self._begun, max(1.0, before * LEAST)
            if load == "refused":
                self.allowed = min(before, max(self._least, before - 1))
            elif later:
                self.allowed = max(1.0, before * OVERLOADED)
            self._met = self._all()

    def _step(self) -> float:
        """The part of a place that an answered call adds."""
        places = max(2.0, self._all())
        return 1 / places if places >= self._met + 1 else 1 / (CAREFULLY * places)

    def _all(self) -> float:
        """The places of all who share the limit."""
        return self.allowed

    def close(self) -> None:
        """Nothing to give back: the limit is of this process alone."""

    def _wake(self) -> None:
        free = int(self.allowed) - self.in_flight
        while self._waiting and free > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1


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
        load: Load | None = None
        try:
            reply = await self.inner.ask(request, attempt=attempt)
            load = "answered"
            return reply
        except ClientError as error:
            load = _load(error)
            if load == "refused" and self.limit.allowed < 2:
                await asyncio.sleep(REST_S)
            raise
        finally:
            self.limit.leave(number, load)

    async def aclose(self) -> None:
        self.limit.close()
        await super().aclose()


def _load(error: ClientError) -> Load | None:
    if isinstance(error, ApiError):
        if error.status == 429:
            return "refused"
        return "overloaded" if error.status in _OVERLOADED else None
    return "overloaded" if isinstance(error, TransportError) and error.cause == "timeout" else None
