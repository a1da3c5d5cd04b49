"""The common part of backends with a server: parameters, identity, and retrying a
request without the parameters that the server refuses. Backends are ``api.py``,
``anthropic.py`` and ``google.py``; sending is in ``http.py``.

A backend converts requests to bodies and JSON objects to replies. All server access
goes through :class:`RemoteClient`, whose calls return a :class:`Reply` or raise a
``ClientError``.
"""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import ClassVar
from urllib.parse import urlsplit

import orjson
from pydantic import SecretStr

from visualjudge.clients.base import Diagnostics, Identity, Reply, Request
from visualjudge.clients.http import Answer, Wire, check_url, in_pieces
from visualjudge.clients.masked_secrets import (
    Redactor,
    public_url,
    secrets_in,
    url_secrets,
)
from visualjudge.clients.protocol_fields import (
    Counts,
    Effort,
    completed,
    member,
    schema_notes,
    stated,
)
from visualjudge.clients.server_errors import (
    ContentFiltered,
    RefusedParameters,
    api_error,
    embedded_error,
    one_line,
)
from visualjudge.clients.tool_calls import LONGEST_REPLY
from visualjudge.core.atomic import json_bytes
from visualjudge.core.errors import (
    ApiError,
    ClientError,
    TransportError,
    UsageError,
)
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import Served
from visualjudge.prompts import provider_payloads

CONTENT_FILTER = "content filter"
NAME_KEY = "or give `api_key`"
_RESERVED_HEADERS = frozenset(
    {
        "authorization",
        "content-type",
        "content-length",
        "host",
        "transfer-encoding",
    }
)
# Headers in which routers name the provider that answered.
_PROVIDERS = ("x-inference-provider", "x-provider", "x-litellm-model-api-base")
_LONGEST_NAME = 200
_MOST_NAMES = 3

Post = Callable[[Sequence[bytes]], Awaitable[Answer]]


def version_problem(base_url: str, versioned: bool) -> str | None:
    """Return why a server may report that ``base_url`` does not exist, or None if the
    URL's version is as the backend expects.
    """
    version = f"/v{1 if versioned else '[0-9]+'}[a-z0-9]*(/openai)?/?$"
    if bool(re.search(version, urlsplit(base_url).path)) is versioned:
        return None
    return "`base_url` " + (
        "may have to end in /v1"
        if versioned
        else "must not end in a version, such as /v1"
    )


class RemoteClient(ABC):
    """A model behind a server. Subclasses define its address, keys and protocol.

    Parameters
    ----------
    model_name
        Name of the model on the server.
    base_url
        URL of the server; defaults to the provider's.
    api_key
        API key; by default read from the environment, see ``key_variables``.
    timeout
        Seconds for one whole call.
    temperature, max_tokens, seed, top_p
        Defaults for requests that do not set them; None = the server's defaults.
    effort
        How hard a model thinks: ``"none"``, ``"low"``, ``"medium"``, ``"high"`` or a
        number of tokens; None = the model's default.
    extra_body
        Additional fields of the body.
    headers
        Additional HTTP headers.

    Raises
    ------
    UsageError
        If a required key is missing, or a URL, key or header cannot be sent.
    """

    # Name in the table of backends; a class that inherits it is named when it is built.
    backend: str
    # Payload style: a static function (visualjudge/prompts/provider_payloads.py).
    prompt_adapter: ClassVar["staticmethod[..., Json]"]
    default_url: ClassVar[str]
    # Environment variables that may hold the key.
    key_variables: ClassVar[tuple[str, ...]]
    # Path below the base URL under which the server lists its models.
    models_path: ClassVar[str] = "/models"
    # Whether the base URL ends in a version, such as ``/v1``.
    versioned: ClassVar[bool] = False
    # Notes on parameters that the protocol lacks.
    unsupported: ClassVar[Mapping[str, str]] = {}
    # What the server's reply is, in messages.
    reply_is: ClassVar[str]

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
        effort: Effort | None = None,
        extra_body: Fields | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        url, where = self._located(base_url)
        check_url(url, where)
        self.model = model_name
        self.base_url = public_url(url)
        self.timeout_s = float(timeout)
        self.defaults = stated(
            {
                "temperature": temperature,
                "max_tokens": max_tokens,
                "seed": seed,
                "top_p": top_p,
            }
        )
        self.effort = effort
        try:
            self.extra = orjson.loads(json_bytes(dict(extra_body or {})))
        except TypeError as error:
            raise UsageError(f"`extra_body` must be JSON: {error}") from None
        self.refused_parameters = RefusedParameters(self.unsupported)
        self._url = url.rstrip("/")
        self._key = self._secret(api_key)
        self._headers = {
            name: value
            for name, value in (headers or {}).items()
            if name.lower() not in _RESERVED_HEADERS
        }
        key = self._key.get_secret_value() if self._key else None
        named = secrets_in([self._headers, self.extra, model_name])
        self.masked = Redactor([key, *named, *url_secrets(url)])
        self.base_url = self.masked(self.base_url)
        self.wire = Wire(self.base_url, self.masked, self.timeout_s)

    def _located(self, base_url: str | None) -> tuple[str, str]:
        return base_url or self.default_url, "`base_url`"

    def _secret(self, api_key: str | None) -> SecretStr | None:
        key = api_key or next(
            filter(None, map(os.environ.get, self.key_variables)), None
        )
        if key:
            return SecretStr(key.strip())
        if self.base_url == self.default_url:
            raise UsageError(
                f"backend {self.backend!r} needs a key: set {self.key_variables[0]}, "
                f"{NAME_KEY}; `base_url` names another server"
            )
        return None

    def address(self, path: str) -> str:
        """Return the URL of ``path`` below the base URL, including secrets."""
        return f"{self._url}{path}"

    def headers(self) -> dict[str, str]:
        """The headers sent with every request, including the key."""
        key = self._key.get_secret_value() if self._key else ""
        return {
            **self._headers,
            **self._authorization(key),
            "Content-Type": "application/json",
        }

    @abstractmethod
    def _authorization(self, key: str) -> dict[str, str]:
        """Return the protocol's headers; ``key`` may be empty."""

    @property
    def identity(self) -> Identity:
        parameters = {
            **self.defaults,
            **stated({"effort": self.effort}),
            **self.extra,
        }
        if self.prompt_adapter.__module__ != provider_payloads.__name__:
            parameters["prompt_adapter"] = self.prompt_adapter.__name__
        masked = self.masked.setting("", parameters)
        return Identity(
            self.backend, self.base_url, self.masked(self.model), masked
        )

    @property
    def diagnostics(self) -> Diagnostics:
        return Diagnostics(adjustments=self.refused_parameters.adjustments)

    async def ask(
        self, request: Request, *, attempt: int = 0, post: Post | None = None
    ) -> Reply:
        """Return one reply. If the server refuses a parameter by name, the request is
        changed and sent again, with a note. ``post`` sends a body by another way than
        HTTP.

        Raises
        ------
        ApiError
            If the server answered with an error status.
        TransportError
            If there is no usable reply: connection refused or reset, time-out, a body
            that is too large or not valid in the protocol, or a reply that the server
            broke off.
        """
        full = completed(request, self.defaults)
        while True:
            known = self.refused_parameters.learned
            try:
                reply = await self._call(full, post or self._post)
            except ContentFiltered as error:
                return Reply(
                    "", "refusal", notes=(str(error),), cause=CONTENT_FILTER
                )
            except ApiError as error:
                if not self.refused_parameters.learn(
                    error, full, known, self.masked(self.model)
                ):
                    raise
            else:
                if reply.finish_reason != "error":
                    return reply
                raise TransportError(
                    f"{self.base_url}: the server broke the reply off",
                    cause="broken off",
                    usage=reply.usage,
                )

    async def _post(self, body: Sequence[bytes]) -> Answer:
        url = self.address(self._path())
        headers = {**self.headers(), "Content-Length": str(sum(map(len, body)))}
        return await self.wire.send("POST", url, headers, in_pieces(body))

    async def _call(self, full: Request, post: Post) -> Reply:
        # Make one call. ``full`` has the client's default parameters.
        fitted, notes = self.refused_parameters.fitted(full)
        answer = await post(self._pieces(fitted))
        body = self._answered(answer)
        usage, about_usage = self._usage(body)
        try:
            reply = self._reply(body)
        except (LookupError, TypeError, AttributeError, ValueError):
            raise TransportError(
                f"the server's reply {self.reply_is}",
                cause="no reply in body",
                usage=usage,
            ) from None
        text = reply.text[: LONGEST_REPLY + 1]
        notes += (
            *reply.notes,
            *schema_notes(text, fitted.schema),
            *about_usage,
        )
        return replace(
            reply,
            text=text,
            usage=usage,
            notes=notes,
            served=self._served(body, answer.headers),
        )

    @abstractmethod
    def _path(self) -> str:
        """Return the path, below the base URL, to which requests are sent."""

    @abstractmethod
    def _pieces(self, full: Request) -> list[bytes]:
        """Return the pieces of a request's body."""

    @abstractmethod
    def _reply(self, body: Fields) -> Reply:
        """Return the reply in the server's JSON object.

        Raises
        ------
        LookupError, TypeError, AttributeError, ValueError
            If there is none.
        """

    @abstractmethod
    def _usage(self, body: Fields) -> Counts:
        """Return the token counts under OpenAI's names, and a note if some cannot be
        used."""

    def _answered(self, answer: Answer) -> Json:
        try:
            parsed = self.object_of(answer)
            if error := embedded_error(parsed):
                raise error
        except ApiError as refusal:
            if refusal.status == 401 and self._key is None:
                refusal.args = (
                    f"{refusal}; no API key was sent: set it, {NAME_KEY}",
                )
            if refusal.status == 404 and (
                wrong := version_problem(self.base_url, self.versioned)
            ):
                refusal.args = (f"{refusal}; {wrong}",)
            raise
        return parsed

    def object_of(self, answer: Answer) -> Json:
        """Return the JSON object in an answer.

        Raises
        ------
        ApiError
            If it has an error status.
        TransportError
            If it is not a JSON object.
        """
        if not 200 <= answer.status < 300:
            raise api_error(answer.status, answer.body, answer.headers)
        try:
            parsed = orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            parsed = None
        if (
            isinstance(parsed, list) and len(parsed) == 1
        ):  # Google lists its errors
            parsed = parsed[0]
        if not isinstance(parsed, dict):
            kind = one_line(answer.headers.get("Content-Type", "")) or "bytes"
            begin = one_line(answer.body[:80].decode("utf-8", "replace"))
            raise TransportError(
                f"{self.base_url}: the reply is not JSON, but {kind}: {begin!r}",
                cause="not JSON",
            )
        return parsed

    def _served(self, body: Fields, headers: Mapping[str, str]) -> Served:
        # Headers of HTTP are found in any case.
        router = next(
            (
                self.masked(headers[name])
                for name in _PROVIDERS
                if name in headers
            ),
            None,
        )
        names = (
            body.get("model") or body.get("modelVersion"),
            body.get("system_fingerprint"),
            body.get("provider") or router,
        )
        lines = (
            one_line(name)[:_LONGEST_NAME] if isinstance(name, str) else ""
            for name in names
        )
        return Served(*(line or None for line in lines))

    async def near_names(self) -> str:
        """Return ``; did you mean NAME?``, or the names that the server lists, or an
        empty text."""
        try:
            body = self.object_of(
                await self.wire.send(
                    "GET", self.address(self.models_path), self.headers()
                )
            )
        except ClientError:
            return ""
        rows = body.get("data") or body.get("models")
        stated = [
            str(member(row, "id") or member(row, "name")).removeprefix(
                "models/"
            )
            for row in (rows if isinstance(rows, list) else ())
        ]
        if self.model in stated:  # something else is not there
            return ""
        if close := get_close_matches(self.model, stated, _MOST_NAMES, 0.6):
            return f"; did you mean {' or '.join(close)}?"
        more = ", …" if len(stated) > _MOST_NAMES else ""
        return (
            f"; the server lists {', '.join(sorted(stated)[:_MOST_NAMES])}{more}"
            if rows
            else ""
        )

    async def aclose(self) -> None:
        await self.wire.aclose()
