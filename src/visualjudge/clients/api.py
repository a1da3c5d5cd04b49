"""Backend ``api``: any server that speaks OpenAI chat completions, spoken directly over aiohttp.

The SDK re-serialises every picture of every request, which costs three quarters of what a bare client can send; here a
body is put together once from base64 that each picture keeps, and a retry sends the same bytes.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import urlsplit

import aiohttp
import orjson

from visualjudge.clients.base import Reply, Request
from visualjudge.clients.failures import api_error, embedded_error
from visualjudge.clients.openai_protocol import body_pieces, reply_of
from visualjudge.clients.parameters import Identity, Sampling
from visualjudge.clients.quirks import Quirks
from visualjudge.clients.secrets import Redactor, Secret, check_scheme, public_url
from visualjudge.clients.sessions import PreparedBody, Sessions
from visualjudge.errors import ApiError, TransportError, UsageError

OPENAI_URL = "https://api.openai.com/v1"
_RESERVED = frozenset({"authorization", "content-type", "content-length"})
_SECRET_HEADER = re.compile(r"key|token|auth|secret|cookie|password", re.IGNORECASE)


class ApiClient:
    """One model behind an OpenAI-compatible server.

    Parameters
    ----------
    model_name
        As the server names it.
    base_url
        With the version (``http://host/v1``); default ``OPENAI_BASE_URL``, then OpenAI's.
    api_key
        Default ``OPENAI_API_KEY``; a server of one's own needs none.
    timeout
        Seconds for one call, all in all.
    temperature, max_tokens, seed, top_p
        Sent where a request leaves them open; None = the server's own.
    extra_body
        Further fields of the body, such as ``{"reasoning_effort": "low"}``.
    headers
        Further HTTP headers.

    Raises
    ------
    UsageError
        If OpenAI's own server is meant and there is no key.
    """

    backend: ClassVar[str] = "api"
    style: ClassVar[str] = "openai_style"

    def __init__(
        self,
        model_name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 300.0,
        temperature: float | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
        top_p: float | None = None,
        extra_body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.model = model_name
        url = self._url(base_url)
        check_scheme(url, "base_url, --base-url" if base_url else "OPENAI_BASE_URL")
        self.base_url = public_url(url)
        self._endpoint = f"{url.rstrip('/')}/chat/completions"
        self._key = self._secret(api_key)
        self._headers = {name: value for name, value in (headers or {}).items() if name.lower() not in _RESERVED}
        self._redact = Redactor([self._key, *_other_secrets(url, self._headers)])
        self.sampling = Sampling(temperature, max_tokens, seed, top_p, extra_body or {})
        self.quirks = Quirks()
        self._sessions = Sessions(timeout_s=float(timeout))
        self._timeout_s = float(timeout)

    def _url(self, base_url: str | None) -> str:
        return base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL

    def _secret(self, api_key: str | None) -> Secret | None:
        key = api_key or os.environ.get("OPENAI_API_KEY")
        if not key and self.base_url == OPENAI_URL:
            raise UsageError("OpenAI's server needs a key: set OPENAI_API_KEY or api_key, or base_url for another one")
        return Secret(key) if key else None

    @property
    def identity(self) -> Identity:
        """Backend, base URL without secrets, model, parameters."""
        return Identity(self.backend, self.base_url, self.model, self.sampling.as_dict())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model_name={self.model!r}, base_url={self.base_url!r})"

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """One reply; a parameter that the server refuses by name is asked for differently, and noted.

        Raises
        ------
        ApiError
            The server answered with an error status.
        TransportError
            No usable reply came: refused, reset, timed out, not JSON.
        """
        full = self.sampling.complete(request)
        while True:
            try:
                body = await self._post(self._body(request, full))
            except ApiError as error:
                if not self.quirks.learn(error, full):
                    raise
                continue
            reply = reply_of(body, full, self.quirks)
            return replace(reply, text=self._redact(reply.text))

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._sessions.aclose()

    def _body(self, request: Request, full: Request) -> list[bytes]:
        """The body for what is known of the server now, made once a request."""
        known = (self, self.quirks.learned)
        if known not in request.prepared:
            request.prepared.clear()
            request.prepared[known] = body_pieces(self.model, full, self.sampling, self.quirks)
        prepared: list[bytes] = request.prepared[known]
        return prepared

    async def _post(self, body: list[bytes]) -> Any:
        status, raw, headers = await self._exchange(body)
        if status >= 300:
            raise api_error(status, raw, headers, self._redact)
        try:
            parsed = orjson.loads(self._redact.bytes(raw))
        except orjson.JSONDecodeError:
            parsed = None
        if not isinstance(parsed, dict):
            raise TransportError(f"{self.base_url}: the reply is not JSON", cause="not JSON")
        error = embedded_error(parsed, self._redact)
        if error is not None:
            raise error
        return parsed

    async def _exchange(self, body: list[bytes]) -> tuple[int, bytes, Mapping[str, str]]:
        """Send and read; what sockets raise is told apart, and never carries a header along."""
        try:
            async with self._sessions.get().post(
                self._endpoint, data=PreparedBody(body), headers=self._request_headers()
            ) as response:
                return response.status, await response.read(), response.headers
        except TimeoutError:
            failure = TransportError(f"{self.base_url}: no reply within {self._timeout_s:g} s", cause="timeout")
        except aiohttp.InvalidURL:
            raise UsageError(f"base_url {self.base_url!r} is no URL: write it as http://host:port/v1") from None
        except (aiohttp.ClientError, OSError) as error:
            said = self._redact(_reason(error)) or type(error).__name__
            failure = TransportError(f"{self.base_url}: {said}", cause="connection")
        except asyncio.IncompleteReadError:
            failure = TransportError(f"{self.base_url}: the reply was cut off", cause="connection")
        raise failure

    def _request_headers(self) -> dict[str, str]:
        authorization = {"Authorization": f"Bearer {self._key.reveal()}"} if self._key else {}
        return {**self._headers, **authorization, "Content-Type": "application/json"}


def _reason(error: Exception) -> str:
    """Why no connection came about, as the operating system puts it; else the error's own words."""
    if isinstance(error, aiohttp.ClientConnectorError) and (error.os_error.errno or 0) > 0:
        return os.strerror(error.os_error.errno or 0).lower()
    return str(error)


def _other_secrets(url: str, headers: Mapping[str, str]) -> list[Secret]:
    """A password in the URL, and the values of headers whose names say that they are secret."""
    password = urlsplit(url).password
    named = [value for name, value in headers.items() if _SECRET_HEADER.search(name)]
    return [Secret(value) for value in (*named, *([password] if password else []))]
