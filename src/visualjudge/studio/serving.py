"""Serves an application on this machine until Ctrl-C, and checks every request: only
the studio's own host names, no cross-site requests, strict response headers. The routes
are in ``app.py``.
"""

import logging
import multiprocessing
import secrets
from collections.abc import Mapping
from contextlib import suppress
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class Server(uvicorn.Server):  # type: ignore[misc]
    """A server that ends at once: no page is worth waiting for an analysis or an
    index."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End the processes that requests wait for, without messages about their
        ends."""
        logging.disable()
        for process in multiprocessing.active_children():
            process.terminate()
        super().handle_exit(sig, frame)


def serve(app: Any, host: str, port: int) -> None:
    """Serve ``app`` until Ctrl-C."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        timeout_graceful_shutdown=1,
    )
    with suppress(KeyboardInterrupt):
        Server(config).run()


# ---------------------------------------------------------------- checks of each request

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
TOKEN_HEADER = "x-studio-token"
LARGEST_BODY = 64 * 1024
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src "
    "'self'; img-src "
    "'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class Guard:
    """ASGI middleware around the studio."""

    def __init__(self, app: ASGIApp, names: frozenset[str] = LOOPBACK) -> None:
        self.app = app
        self.names = names

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Refuse requests from elsewhere; add the headers to all other responses."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = refused(scope["method"], Headers(scope=scope), self.names)
        if refusal is not None:
            status, reason = refusal
            await PlainTextResponse(reason, status, HEADERS)(
                scope, receive, send
            )
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {
                    **HEADERS,
                    "cache-control": "no-store",
                }.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, with_headers)


def refused(
    method: str, headers: Mapping[str, str], names: frozenset[str] = LOOPBACK
) -> tuple[int, str] | None:
    """Return the status and reason for refusing a request, or None to accept it.

    Another host name means that a remote page resolves its own name to this machine
    (DNS rebinding). Cross-site requests may only be plain navigation to a page.
    """
    host = headers.get("host", "")
    if _hostname(f"//{host}") not in names:
        return 400, "this address is not served here"
    site = headers.get("sec-fetch-site", "none")
    visit = (
        method == "GET"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )
    if site not in ("none", "same-origin") and not visit:
        return 403, "requests from other sites are refused"
    if method not in ("GET", "HEAD"):
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return 403, "requests from other sites are refused"
        if (
            not headers.get("content-length", "x").isdecimal()
            or int(headers["content-length"]) > LARGEST_BODY
        ):
            return 413, "the request must state its length, at most 64 KiB"
    return None


def _hostname(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def same_token(token: str | None, wanted: str) -> bool:
    """Compare the token of a request in constant time."""
    return token is not None and secrets.compare_digest(
        token.encode(), wanted.encode()
    )
