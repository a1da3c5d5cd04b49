"""Backend ``api``: any server that speaks OpenAI chat completions, spoken directly over aiohttp.

The SDK re-serialises every image of every request, which costs three quarters of what a bare client can send; here a
body is put together once from base64 that each image keeps, and a retry sends the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from visualjudge.clients.base import Reply, Request
from visualjudge.clients.limits import LARGEST_BODY
from visualjudge.clients.openai_protocol import chat_pieces, reply_of
from visualjudge.clients.parameters import Sampling
from visualjudge.clients.remote import RemoteClient, Server
from visualjudge.clients.secrets import NAME_KEY, Secret, key_secret
from visualjudge.errors import UsageError

OPENAI_URL = "https://api.openai.com/v1"


class ApiClient(RemoteClient):
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
    largest_reply
        Bytes of a reply's body, decompressed, above which it is a failure.
    follow_redirects
        Follow 307 and 308 on the same scheme, host and port. Other redirects are failures: they would hand the key on.

    Raises
    ------
    UsageError
        If OpenAI's own server is meant and there is no key, or a URL, key or header cannot be sent.
    """

    backend: ClassVar[str] = "api"
    versioned: ClassVar[bool] = True
    structured_outputs: ClassVar[bool] = False
    """Whether the server takes vLLM's ``structured_outputs`` beside ``response_format``."""

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
        largest_reply: int = LARGEST_BODY,
        follow_redirects: bool = False,
    ) -> None:
        url = (
            (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL).rstrip("/").removesuffix("/chat/completions")
        )
        where = "base_url, --base-url" if base_url else "OPENAI_BASE_URL"
        key = self._secret(api_key, url)
        server = Server(url, where, key, headers, float(timeout), largest_reply, follow_redirects)
        super().__init__(model_name, server, Sampling(temperature, max_tokens, seed, top_p, extra_body or {}))
        self._endpoint = f"{self._url}/chat/completions"

    def _secret(self, api_key: str | None, url: str) -> Secret | None:
        key = api_key or os.environ.get("OPENAI_API_KEY")
        if not key and url.rstrip("/") == OPENAI_URL:
            raise UsageError(
                f"OpenAI's server needs a key: set OPENAI_API_KEY, {NAME_KEY}; --base-url (base_url) names another "
                "server"
            )
        return key_secret(key) if key else None

    def _parameters(self, full: Request) -> frozenset[str]:
        named = super()._parameters(full)
        return named | {"structured_outputs"} if self.structured_outputs and "schema" in named else named

    async def _call(self, request: Request, full: Request) -> Reply:
        notes = self.quirks.notes(self._parameters(full))
        pieces = self._prepared(
            request,
            lambda: chat_pieces(self.model, full, self.sampling, self.quirks, structured=self.structured_outputs),
        )
        schema = self._schema(full)
        body = await self._post(self._endpoint, self.headers(), pieces)
        return reply_of(body, schema, notes)

    def headers(self) -> dict[str, str]:
        """The key as a bearer token."""
        key = self._server.key
        authorization = {"Authorization": f"Bearer {key.reveal()}"} if key else {}
        return {**self._server.own_headers, **authorization, "Content-Type": "application/json"}
