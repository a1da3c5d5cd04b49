"""Send HTTP requests and return size-limited bodies or typed failures. All remote
backends use this module, with one session per event loop. What is sent is made in
``remote_client.py``; errors that servers state are read in ``server_errors.py``.

Errors of sockets, servers and the HTTP library become a :class:`TransportError`.
Secrets are masked in bodies before anything reads them. Redirects are not followed,
because the headers contain the key.
"""

import asyncio
import io
import os
import re
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.request import getproxies

import aiohttp

from visualjudge.clients.masked_secrets import Redactor
from visualjudge.clients.server_errors import one_line
from visualjudge.core.errors import DataError, TransportError, UsageError
from visualjudge.core.untrusted import BOUNDS

# Maximum size in bytes of a file of batch replies.
LARGEST_DOWNLOAD = 2**30

_KEPT_ALIVE_S = 30.0
# What begins an object or an array, or ends a name.
_VALUES = (b"{", b"[", b":")
_URL = re.compile(
    r"(?!.*[\s\0])https?://([^/?#@]+@)?(\[[\da-f:.]+\]|[^/?#@:\[\]]+)(:[1-9]\d{0,4})?"
    r"([/?#][^@]*)?",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response with its complete, decompressed body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Wire:
    """Sends requests of one client.

    Parameters
    ----------
    name
        Server's name in messages: a URL without secrets.
    redact
        Masks secrets in messages and bodies.
    timeout_s
        Seconds for one whole call; for a bulk one, seconds without a byte received.
    """

    def __init__(self, name: str, redact: Redactor, timeout_s: float) -> None:
        self._name = name
        self._redact = redact
        self._timeout_s = timeout_s
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._bulk = aiohttp.ClientTimeout(
            total=None, sock_connect=timeout_s, sock_read=timeout_s
        )
        self._open: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, aiohttp.ClientSession
        ] = weakref.WeakKeyDictionary()

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        data: Any = None,
        *,
        bulk: bool = False,
    ) -> Answer:
        """Send one request and return the server's answer, whatever its status.

        Parameters
        ----------
        data
            Body in any form that aiohttp accepts.
        bulk
            Whether a file of many requests or replies is sent or received.

        Raises
        ------
        TransportError
            If no complete answer was received.
        """
        try:
            async with self._session().request(
                method,
                url,
                data=data,
                headers={"Accept-Encoding": "gzip, deflate", **headers},
                allow_redirects=False,
                timeout=self._bulk if bulk else self._timeout,
            ) as response:
                bound = BOUNDS["body"]
                body = await content_within(
                    LARGEST_DOWNLOAD if bulk else bound.size, response
                )
                # Each takes far more memory than its bytes.
                if not bulk and sum(map(body.count, _VALUES)) > bound.items:
                    raise DataError(
                        f"larger than {bound.items:,} objects, arrays and names"
                    )
                return Answer(
                    response.status, response.headers, self._redact.body(body)
                )
        except TimeoutError:
            failure = TransportError(
                f"{self._name}: no reply within {self._timeout_s:g} s",
                cause="timeout",
            )
        except DataError as error:
            failure = TransportError(
                f"{self._name}: the reply is {error}",
                cause="too large",
                retryable=False,
            )
        # aiohttp passes on errors of sockets, TLS, parsers and yarl
        except Exception as error:
            message = (
                one_line(self._redact(_reason(error))) or type(error).__name__
            )
            status = (
                error.status
                if isinstance(error, aiohttp.ClientHttpProxyError)
                else None
            )
            failure = TransportError(
                f"{self._name}: {message}",
                cause=f"HTTP {status}" if status else "connection",
                retryable=not status or status >= 500,
                reached=not isinstance(error, aiohttp.ClientConnectorError),
            )
        # outside the handler: the original exception may contain the headers sent
        raise failure

    def _session(self) -> aiohttp.ClientSession:
        # Return the running loop's session. Proxies come from the environment; the
        # caller limits the number of connections. If the environment names no proxy,
        # ``trust_env`` is off: aiohttp would otherwise look up proxies and .netrc in
        # two threads per request (a third of its cost), and refuse to send an API key
        # together with a .netrc login.
        loop = asyncio.get_running_loop()
        session = self._open.get(loop)
        if session is None or session.closed:
            session = self._open[loop] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0, keepalive_timeout=_KEPT_ALIVE_S
                ),
                trust_env=bool(getproxies()),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
            weakref.finalize(self, _close_later, loop, session)
        return session

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        session = self._open.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()


def check_url(url: str, where: str) -> None:
    """Check that a server's address is a URL. Messages name ``where``, not ``url``,
    which may contain a password.

    Raises
    ------
    UsageError
        If ``url`` is not ``http://host…`` or ``https://host…``, or its user or password
        holds an unescaped ``/``.
    """
    if not _URL.fullmatch(str(url)):
        raise UsageError(
            f"{where}: must begin with http:// or https:// and be a URL such as "
            "http://host:8000/v1, with / ? # @ in a password written as %XX"
        )


async def content_within(limit: int, response: aiohttp.ClientResponse) -> bytes:
    """Return a body, decompressed.

    Raises
    ------
    DataError
        If it has more than ``limit`` bytes; no more are received.
    """
    content = io.BytesIO()  # needs no second copy of a large body
    async for chunk in response.content.iter_any():
        if content.tell() + len(chunk) > limit:
            raise DataError(f"larger than {limit / 2**20:g} MiB")
        content.write(chunk)
    return content.getvalue()


def _reason(error: Exception) -> str:
    # Return the reason for a failed connection as stated by the operating system, or
    # else by the error. Errors of TLS have numbers that mean something else there.
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return f"{error.os_error}; does the server speak http:// only?"
    if (
        isinstance(error, aiohttp.ClientConnectorError)
        and (error.os_error.errno or 0) > 0
    ):
        return os.strerror(error.os_error.errno or 0).lower()
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered {error.status} {error.message}"
    if isinstance(
        error, asyncio.IncompleteReadError | aiohttp.ClientPayloadError
    ):
        return "the reply was cut off"
    return str(error)


async def in_pieces(body: Sequence[bytes]) -> AsyncIterator[bytes]:
    """Yield a request's body piece by piece, so that an image's base64 form goes to the
    socket without a copy. The request states its length, or it would be sent in chunks.
    """
    for piece in body:
        yield piece


def _close_later(
    loop: asyncio.AbstractEventLoop, session: aiohttp.ClientSession
) -> None:
    # Close a session whose client was dropped without being closed (weakref finalizer).
    if loop.is_running():
        loop.call_soon_threadsafe(lambda: loop.create_task(session.close()))
    else:
        session.detach()
