"""HTTP sessions, one an event loop: a client can be asked from several loops, and leaves none open behind it."""

from __future__ import annotations

import asyncio
import weakref

import aiohttp
from aiohttp.payload import BytesPayload

_KEPT_ALIVE_S = 30.0


class PreparedBody(BytesPayload):
    """A body that is bytes already, of any size.

    aiohttp warns of bytes above 1 MiB, since making them might have blocked the loop; these are made, and are written
    in one call.
    """

    def __init__(self, value: bytes) -> None:
        super().__init__(b"", content_type="application/json")
        self._value = value
        self._size = len(value)


class Sessions:
    """Opens a session when a loop first asks, closes all of them."""

    def __init__(self, *, timeout_s: float) -> None:
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._open: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = (
            weakref.WeakKeyDictionary()
        )

    def get(self) -> aiohttp.ClientSession:
        """The running loop's session. Proxies come from the environment; the number of connections is the caller's."""
        loop = asyncio.get_running_loop()
        session = self._open.get(loop)
        if session is None or session.closed:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT_ALIVE_S)
            session = aiohttp.ClientSession(connector=connector, timeout=self._timeout, trust_env=True)
            self._open[loop] = session
            weakref.finalize(self, _close_later, loop, session)
        return session

    async def aclose(self) -> None:
        """Close the running loop's session."""
        session = self._open.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()


def _close_later(loop: asyncio.AbstractEventLoop, session: aiohttp.ClientSession) -> None:
    """For a client that was dropped without being closed."""
    if session.closed:
        return
    if loop.is_running():
        loop.call_soon_threadsafe(lambda: loop.create_task(session.close()))
        return
    connector = session.connector
    session.detach()
    if connector is not None and not loop.is_closed():
        connector._close()  # as its own __del__ does, without the warning
