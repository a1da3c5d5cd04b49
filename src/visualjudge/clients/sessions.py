"""HTTP sessions, one an event loop: a client can be asked from several loops, and leaves none open
behind it.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any
from urllib.request import getproxies

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

_KEPT_ALIVE_S = 30.0


class PreparedBody(Payload):
    """A body in pieces that are bytes already, of any size; they are written one after the other
    and never joined.

    An image's base64 form is one piece and goes from the image to the socket without a copy.
    (aiohttp joins what it is given as one, and warns of bytes above 1 MiB, since making them might
    have blocked the loop.)
    """

    def __init__(self, pieces: Sequence[bytes]) -> None:
        super().__init__(pieces, content_type="application/json")
        self._pieces = pieces
        self._size = sum(map(len, pieces))

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The whole body as text."""
        return b"".join(self._pieces).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Write all pieces, waiting where the socket is full."""
        for piece in self._pieces:
            await writer.write(piece)

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        """The same: the length that is announced is the pieces'."""
        await self.write(writer)


class Sessions:
    """Opens a session when a loop first asks, closes all of them."""

    def __init__(self, *, timeout_s: float, stalls: bool = False) -> None:
        whole = aiohttp.ClientTimeout(total=timeout_s)
        stalled = aiohttp.ClientTimeout(total=None, sock_connect=timeout_s, sock_read=timeout_s)
        self._timeout = stalled if stalls else whole
        self._made_with = timeout_s, stalls
        self._open: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = (
            weakref.WeakKeyDictionary()
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process: none is open."""
        timeout_s, stalls = self._made_with
        return partial(Sessions, timeout_s=timeout_s, stalls=stalls), ()

    def get(self) -> aiohttp.ClientSession:
        """The running loop's session. Proxies come from the environment; the number of connections
        is the caller's.

        Where the environment names none, it is not trusted: aiohttp would look for proxies and
        .netrc in two threads for each request, a third of what a request costs, and refuse to send
        an API key beside a login of .netrc.
        """
        loop = asyncio.get_running_loop()
        session = self._open.get(loop)
        if session is None or session.closed:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT_ALIVE_S)
            session = aiohttp.ClientSession(
                connector=connector,
                timeout=self._timeout,
                trust_env=bool(getproxies()),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
            self._open[loop] = session
            weakref.finalize(self, close_later, loop, session.close, session.detach)
        return session

    async def aclose(self) -> None:
        """Close the running loop's session."""
        session = self._open.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()


def close_later(
    loop: asyncio.AbstractEventLoop,
    close: Callable[[], Coroutine[Any, Any, Any]],
    give_up: Callable[[], object],
) -> None:
    """Close what was opened on ``loop``, for a client that was dropped without being closed (a
    weakref finalizer).
    """
    if loop.is_running():
        loop.call_soon_threadsafe(lambda: loop.create_task(close()))
        return
    closing = close()
    try:
        loop.run_until_complete(closing)
    except (
        RuntimeError
    ):  # that loop is closed, or another runs in this thread: the sockets go with their owner
        closing.close()
        give_up()
