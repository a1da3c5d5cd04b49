"""Backend ``api``: any server with OpenAI's chat completions API, over aiohttp, without the SDK.

The SDK serialises every image of every request again, which reduces throughput to a quarter. Here a
body is assembled once from base64 that is cached with each image, and a retry sends the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from visualjudge.clients.base import Reply, Request
from visualjudge.clients.masked_secrets import NAME_KEY, Secret, key_secret
from visualjudge.clients.openai_protocol import chat_pieces, reply_of
from visualjudge.clients.remote_client import RemoteClient
from visualjudge.core.errors import UsageError


class ApiClient(RemoteClient):
    """One model on an OpenAI-compatible server.

    Parameters
    ----------
    base_url
        With the version (``http://host/v1``); default ``OPENAI_BASE_URL``, then OpenAI's.
    api_key
        Default ``OPENAI_API_KEY``; a server of one's own needs none.
    extra_body
        Further fields of the body, such as ``{"reasoning_effort": "low"}``.
    """

    backend: ClassVar[str] = "api"
    default_url: ClassVar[str] = "https://api.openai.com/v1"
    key_variables: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY",)
    versioned: ClassVar[bool] = True
    structured_outputs: ClassVar[bool] = False
    """Whether the server takes vLLM's ``structured_outputs`` beside ``response_format``."""

    def _located(self, base_url: str | None) -> tuple[str, str]:
        url = base_url or os.environ.get("OPENAI_BASE_URL") or self.default_url
        where = "base_url, --base-url" if base_url else "OPENAI_BASE_URL"
        return url.rstrip("/").removesuffix(self._path()), where

    def _secret(self, api_key: str | None, url: str) -> Secret | None:
        key = api_key or self._key_of_environment()
        if not key and url.rstrip("/") == self.default_url:
            raise UsageError(
                f"OpenAI's server needs a key: set OPENAI_API_KEY, {NAME_KEY}; --base-url "
                "(base_url) names another "
                "server"
            )
        return key_secret(key) if key else None

    def _parameters(self, full: Request) -> frozenset[str]:
        named = super()._parameters(full)
        return (
            named | {"structured_outputs"}
            if self.structured_outputs and "schema" in named
            else named
        )

    def _pieces(self, full: Request) -> list[bytes]:
        return chat_pieces(
            self.model,
            full,
            self.sampling,
            self.refused_parameters,
            structured=self.structured_outputs,
        )

    def _authorization(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _path(self) -> str:
        return "/chat/completions"

    def _reply(self, body: Mapping[str, Any], schema: Mapping[str, Any] | None) -> Reply:
        return reply_of(body, schema)
