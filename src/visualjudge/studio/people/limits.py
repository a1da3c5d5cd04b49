"""Limits for clients on other machines: request rate, slow transfers, and number of connections."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from visualjudge.studio.guard import HEADERS, LARGEST_BODY

REQUESTS_A_MINUTE = 600
"""Requests per minute and address; several raters may share a router, and pages have images."""
REFUSED_A_MINUTE = 20
"""Refused requests per minute and address, such as attempts to guess tokens."""
BODY_S, REPLY_S, HEADERS_S = 10.0, 120.0, 10.0
"""Time limits in seconds for receiving a body, sending a reply and receiving a request's head."""
MOST_CONNECTIONS = 60
"""Connections per address; a browser opens six."""
_ADDRESSES = 10_000
_LOCAL = ("127.0.0.1", "::1")


class Bucket:
    """A rate limit per minute for each address, with a burst of one minute's allowance."""

    def __init__(self, a_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = a_minute, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def left(self, address: str) -> float:
        """Return the remaining allowance of the address."""
        now = self._clock()
        left, at = self._left.get(address, (self._most, now))
        return min(self._most, left + (now - at) * self._most / 60)

    def take(self, address: str) -> None:
        """Count one request."""
        self._left[address] = max(0.0, self.left(address) - 1), self._clock()
        self._left.move_to_end(address)
        while len(self._left) > _ADDRESSES:
            self._left.popitem(last=False)


class Limits:
    """ASGI middleware: 429 for too many requests, 408 for a slow body, disconnect for a slow
    reader.
    """

    def __init__(self, app: ASGIApp, clock: Callable[[], float] = time.monotonic) -> None:
        self.app = app
        self._requests = Bucket(REQUESTS_A_MINUTE, clock)
        self._refused = Bucket(REFUSED_A_MINUTE, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward requests within the limits."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        address = str((scope.get("client") or ("",))[0])
        if self._requests.left(address) < 1 or self._refused.left(address) < 1:
            await _say(429, "too many requests: wait a minute", scope, receive, send)
            return
        self._requests.take(address)
        try:
            async with asyncio.timeout(BODY_S):
                body = await _body(receive)
        except TimeoutError:
            await _say(408, "the request took too long", scope, receive, send)
            return
        if body is None:
            await _say(413, "the request must have at most 64 KiB", scope, receive, send)
            return

        async def counted(message: Any) -> None:
            if message["type"] == "http.response.start" and message["status"] in (400, 403):
                self._refused.take(address)
            await send(message)

        with suppress(TimeoutError):  # the connection closes with a truncated reply
            async with asyncio.timeout(REPLY_S):
                await self.app(scope, _given(body, receive), counted)


async def _say(status: int, text: str, scope: Scope, receive: Receive, send: Send) -> None:
    headers = {**HEADERS, "connection": "close", "retry-after": "60"}
    await PlainTextResponse(text, status, headers)(scope, receive, send)


async def _body(receive: Receive) -> bytes | None:
    """Read the body of a request; None if it is too large."""
    found = bytearray()
    while True:
        message = await receive()
        found += message.get("body", b"")
        if len(found) > LARGEST_BODY:
            return None
        if not message.get("more_body"):
            return bytes(found)


def _given(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that replays a body already read, then continues."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def given() -> Message:
        return waiting.pop() if waiting else await receive()

    return given


_open = Counter[str]()


class PatientProtocol(H11Protocol):  # type: ignore[misc]  # uvicorn is an extra
    """HTTP/1.1 that closes connections without a timely request, and those above an address's
    limit.
    """

    _waiting: asyncio.TimerHandle | None = None
    _address = ""

    def connection_made(self, transport: Any) -> None:
        """Count the connection, and wait for a request."""
        super().connection_made(transport)
        self._address = str((transport.get_extra_info("peername") or ("",))[0])
        _open[self._address] += 1
        if _open[self._address] > MOST_CONNECTIONS and self._address not in _LOCAL:
            transport.abort()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting the connection."""
        _open[self._address] -= 1
        if _open[self._address] <= 0:
            del _open[self._address]
        if self._waiting is not None:
            self._waiting.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Also require the head of the next request in time."""
        if self._idle and self._waiting is None:
            self._wait()
        super().data_received(data)
        if not self._idle and self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    @property
    def _idle(self) -> bool:
        """Return whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._waiting = asyncio.get_running_loop().call_later(HEADERS_S, self._late)

    def _late(self) -> None:
        self._waiting = None
        if self._idle and not self.transport.is_closing():
            self.transport.abort()
