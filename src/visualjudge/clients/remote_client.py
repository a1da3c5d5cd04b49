"""The common part of backends with a server: parameters, identity, and retrying a request without
the parameters that the server refuses.

A backend converts requests to bodies and JSON objects to replies. All server access goes through
:class:`RemoteClient`, whose calls return a :class:`Reply` or raise a ``ClientError``.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import urlsplit

import orjson
from pydantic import SecretStr

from visualjudge.clients.base import Diagnostics, Identity, Reply, Request, ToolCall
from visualjudge.clients.http import Answer, Sender, Wire
from visualjudge.clients.masked_secrets import (
    NAME_KEY,
    Redactor,
    check_url,
    is_secret_name,
    key_secret,
    public_url,
    url_secrets,
)
from visualjudge.clients.refused_parameters import RefusedParameters
from visualjudge.clients.reply_bounds import LARGEST_BODY
from visualjudge.clients.reply_fields import member, writable
from visualjudge.clients.request_body import Effort, Sampling
from visualjudge.clients.server_errors import ContentFiltered, api_error, embedded_error, one_line
from visualjudge.core.errors import ApiError, ClientError, TransportError, UsageError
from visualjudge.core.records import Served

CONTENT_FILTER = "content filter"
_RESERVED_HEADERS = frozenset(
    {"authorization", "content-type", "content-length", "host", "transfer-encoding"}
)
_VERSION = re.compile(r"/v[0-9]+[a-z0-9]*/?$")
# Headers in which routers name the provider that answered.
_PROVIDERS = ("x-inference-provider", "x-provider", "x-litellm-model-api-base")
_LONGEST_NAME = 200


def version_problem(base_url: str, versioned: bool) -> str | None:
    """Return why a server may report that ``base_url`` does not exist, or None if the URL's version
    is as the backend expects.
    """
    if bool(_VERSION.search(urlsplit(base_url).path)) is versioned:
        return None
    return "base_url (--base-url) " + (
        "may lack /v1" if versioned else "must not end in a version, such as /v1"
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
        How hard a model thinks: ``"none"``, ``"low"``, ``"medium"``, ``"high"`` or a number of
        tokens; None = the model's default.
    extra_body
        Additional fields of the body.
    headers
        Additional HTTP headers.
    largest_reply
        Maximum size of a decompressed reply body in bytes; a larger one is a failure.

    Raises
    ------
    UsageError
        If a required key is missing, or a URL, key or header cannot be sent.
    """

    backend: ClassVar[str]
    default_url: ClassVar[str]
    # Environment variables that may hold the key.
    key_variables: ClassVar[tuple[str, ...]]
    # Path below the base URL under which the server lists its models.
    models_path: ClassVar[str] = "/models"
    # Whether the base URL ends in a version, such as ``/v1``.
    versioned: ClassVar[bool] = False

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
        extra_body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        largest_reply: int = LARGEST_BODY,
    ) -> None:
        url, where = self._located(base_url)
        check_url(url, where)
        self.model = model_name
        self.base_url = public_url(url)
        self.timeout_s = float(timeout)
        self.sampling = Sampling(temperature, max_tokens, seed, top_p, effort, extra_body or {})
        self.refused_parameters = RefusedParameters()
        self._url = url.rstrip("/")
        self._key = self._secret(api_key, url)
        self._headers = _checked_headers(headers or {})
        named = [value for name, value in self._headers.items() if is_secret_name(name)]
        key = self._key.get_secret_value() if self._key else None
        self._redact = Redactor([key, *named, *url_secrets(url)])
        self._largest_reply = largest_reply
        self._wire: Sender = self.wire()

    def _located(self, base_url: str | None) -> tuple[str, str]:
        return base_url or self.default_url, "base_url, --base-url"

    def _secret(self, api_key: str | None, url: str) -> SecretStr | None:
        key = api_key or self._key_of_environment()
        if not key:
            raise UsageError(
                f"backend {self.backend!r} needs a key: set {self.key_variables[0]}, {NAME_KEY}"
            )
        return key_secret(key)

    def _key_of_environment(self) -> str | None:
        return next(filter(None, map(os.environ.get, self.key_variables)), None)

    def wire(self, *, stalls: bool = False) -> Wire:
        """Return the HTTP transport for this client's server."""
        return Wire(
            self.base_url,
            self._redact,
            timeout_s=self.timeout_s,
            largest_body=self._largest_reply,
            stalls=stalls,
        )

    def send_through(self, wire: Sender) -> None:
        """Use ``wire`` for all further requests."""
        self._wire = wire

    def address(self, path: str) -> str:
        """Return the URL of ``path`` below the base URL, including secrets."""
        return f"{self._url}{path}"

    def masked(self, text: str) -> str:
        """Return a server's ``text`` with the key and other secrets masked."""
        return self._redact(text)

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
        return Identity(
            self.backend, self.base_url, self.model, self._redact.mapping(self.sampling.as_dict())
        )

    @property
    def diagnostics(self) -> Diagnostics:
        return Diagnostics(adjustments=self.refused_parameters.adjustments)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model_name={self.model!r}, base_url={self.base_url!r})"

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """Return one reply. If the server refuses a parameter by name, the request is changed and
        sent again, with a note.

        Raises
        ------
        ApiError
            If the server answered with an error status.
        TransportError
            If there is no usable reply: connection refused or reset, time-out, a body that is too
            large or not valid in the protocol, or a reply that the server broke off.
        """
        full = self.sampling.complete(request)
        while True:
            known = self.refused_parameters.learned
            try:
                reply = self._clean(await self._typed(request, full))
            except ContentFiltered as error:
                return Reply("", "refusal", notes=(one_line(str(error)),), cause=CONTENT_FILTER)
            except ApiError as error:
                if not self.refused_parameters.learn(
                    error, self._parameters(full), known, self.model
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

    async def models(self) -> list[str]:
        """Return the names of the models that the server lists.

        Raises
        ------
        ClientError
            If it does not list them.
        """
        wire = self.wire()
        try:
            answer = await wire.send("GET", self.address(self.models_path), self.headers())
        finally:
            await wire.aclose()
        body = self.object_of(answer)
        rows = body.get("data") or body.get("models")
        names = [member(row, "id") or member(row, "name") for row in _list(rows)]
        return [name.removeprefix("models/") for name in names if isinstance(name, str)]

    async def aclose(self) -> None:
        await self._wire.aclose()

    def _parameters(self, full: Request) -> frozenset[str]:
        # Return the parameters of a request, under the names used by ``refused_parameters``.
        return self.sampling.parameters(full)

    def _notes(self, full: Request) -> tuple[str, ...]:
        return self.refused_parameters.notes(self._parameters(full))

    def _prepared(self, request: Request, make: Callable[[], list[bytes]]) -> list[bytes]:
        # Return the body for the current knowledge of the server, created once per request, so that
        # retries send the same bytes.
        known = (self, self.refused_parameters.learned)
        if known not in request.prepared:
            request.prepared.clear()
            request.prepared[known] = make()
        prepared: list[bytes] = request.prepared[known]
        return prepared

    async def _typed(self, request: Request, full: Request) -> Reply:
        failure: ClientError
        try:
            return await self._call(request, full)
        except ClientError:
            raise
        except Exception as error:
            said = one_line(self._redact(str(error)))
            failure = TransportError(
                f"{self.base_url}: the reply does not follow the API's documentation "
                f"({type(error).__name__}: {said})",
                cause="no reply in body",
            )
        raise failure

    async def _call(self, request: Request, full: Request) -> Reply:
        # Make one call. ``full`` is ``request`` with the client's default parameters. May raise any
        # exception.
        notes = self._notes(full)
        schema = None if "no_schema" in self.refused_parameters else full.schema
        body = self._prepared(request, lambda: self._pieces(full))
        answer = await self._wire.post(self.address(self._path()), self.headers(), body)
        sent = self._answered(answer)
        reply = self._reply(sent, schema)
        return replace(
            reply, notes=(*notes, *reply.notes), served=self._served(sent, answer.headers)
        )

    @abstractmethod
    def _path(self) -> str:
        """Return the path, below the base URL, to which requests are sent."""

    @abstractmethod
    def _pieces(self, full: Request) -> list[bytes]:
        """Return the pieces of a request's body."""

    @abstractmethod
    def _reply(self, body: Mapping[str, Any], schema: Mapping[str, Any] | None) -> Reply:
        """Return the reply in the server's JSON object; ``schema`` is the one it was asked to
        follow.
        """

    def _answered(self, answer: Answer) -> dict[str, Any]:
        try:
            parsed = self.object_of(answer)
            error = embedded_error(parsed, answer.body, self._redact)
            if error is not None:
                raise error
            return parsed
        except ApiError as refusal:
            if refusal.status == 401 and self._key is None:
                refusal.args = (f"{refusal}; no API key was sent: set it, {NAME_KEY}",)
            if refusal.status == 404 and (wrong := version_problem(self.base_url, self.versioned)):
                refusal.args = (f"{refusal}; {wrong}",)
            raise

    def object_of(self, answer: Answer) -> dict[str, Any]:
        """Return the JSON object in an answer.

        Raises
        ------
        ApiError
            If it has an error status.
        TransportError
            If it is not a JSON object.
        """
        if not 200 <= answer.status < 300:
            raise api_error(answer.status, answer.body, answer.headers, self._redact)
        try:
            parsed = orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            parsed = None
        if isinstance(parsed, list) and len(parsed) == 1:  # Google lists its errors
            parsed = parsed[0]
        if not isinstance(parsed, dict):
            kind = one_line(answer.headers.get("Content-Type", ""))
            begin = one_line(self._redact(answer.body[:80].decode("utf-8", "replace")))
            raise TransportError(
                f"{self.base_url}: the reply is not JSON, but {kind or 'bytes'}: {begin!r}",
                cause="not JSON",
            )
        return parsed

    def _served(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> Served:
        lower = {name.lower(): value for name, value in headers.items()}
        router = next((lower[name] for name in _PROVIDERS if name in lower), None)
        stated = (
            body.get("model") or body.get("modelVersion"),
            body.get("system_fingerprint"),
            body.get("provider") or router,
        )
        return Served(*map(self._name, stated))

    def _name(self, stated: Any) -> str | None:
        # Return a name on one line with secrets masked, or None if it is not a text.
        text = one_line(self._redact(stated)) if isinstance(stated, str) else ""
        return text[:_LONGEST_NAME] or None

    def _clean(self, reply: Reply) -> Reply:
        # Return the reply with secrets masked and unwritable characters replaced. Tokens that may
        # spell a secret are omitted.
        text = self._redact(writable(reply.text))
        tokens = reply.tokens if text == reply.text else None
        calls = tuple(
            ToolCall(
                call.id,
                self._redact(call.name),
                self._redact(writable(call.arguments)),
                call.problem,
            )
            for call in reply.calls
        )
        echo = reply.echo if reply.echo is None or self._redact(reply.echo) == reply.echo else None
        notes = tuple(self._redact(note) for note in reply.notes)
        return replace(reply, text=text, tokens=tokens, notes=notes, calls=calls, echo=echo)


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _checked_headers(headers: Mapping[str, Any]) -> dict[str, str]:
    for name, value in headers.items():
        text = f"{name}{value}"
        if not isinstance(value, str) or not (text.isprintable() and name.isascii()):
            raise UsageError(f"headers: {name[:40]!r} must be printable text without line breaks")
    return {name: value for name, value in headers.items() if name.lower() not in _RESERVED_HEADERS}
