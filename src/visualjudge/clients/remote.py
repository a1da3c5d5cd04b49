"""What backends behind a server share: parameters, identity, and the loop "ask, learn a refused parameter, ask again".

A backend says how a request becomes a body and a body a reply; it meets nothing foreign but JSON. This class is the one
seam to servers: whatever comes of a call is a :class:`Reply` or a ``ClientError``.
"""

from __future__ import annotations

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from urllib.parse import urlsplit

import orjson

from visualjudge.clients.base import Diagnostics, Identity, Reply, Request
from visualjudge.clients.failures import ContentFiltered, api_error, embedded_error, one_line
from visualjudge.clients.fields import writable
from visualjudge.clients.limits import LARGEST_BODY
from visualjudge.clients.parameters import Sampling
from visualjudge.clients.quirks import Quirks
from visualjudge.clients.secrets import NAME_KEY, Redactor, Secret, check_url, is_secret_name, public_url, url_secrets
from visualjudge.clients.wire import Answer, Sender, Wire
from visualjudge.errors import ApiError, ClientError, TransportError, UsageError

CONTENT_FILTER = "content filter"
RESERVED_HEADERS = frozenset({"authorization", "content-type", "content-length", "host", "transfer-encoding"})
_VERSION = re.compile(r"/v[0-9]+[a-z0-9]*/?$")
_log = logging.getLogger("visualjudge.clients")


@dataclass(frozen=True, slots=True)
class Server:
    """Where a client sends its requests, and what it holds back.

    Parameters
    ----------
    url
        With its user and password, if it has any.
    where
        The option that names it, for messages.
    key
        Goes into one header; masked everywhere else.
    headers
        Further headers.
    """

    url: str
    where: str
    key: Secret | None = None
    headers: Mapping[str, str] | None = None
    timeout_s: float = 300.0
    largest_reply: int = LARGEST_BODY
    follow_redirects: bool = False

    def __post_init__(self) -> None:
        check_url(self.url, self.where)
        for name, value in (self.headers or {}).items():
            if not isinstance(value, str) or not isinstance(name, str):
                raise UsageError(f"headers: must map names to texts, got {type(value).__name__} for {str(name)[:40]!r}")
            if not (f"{name}{value}".isprintable() and name.isascii()):
                raise UsageError(f"headers: {name[:40]!r} must be printable and without line breaks")

    @property
    def own_headers(self) -> dict[str, str]:
        """Further headers without those that the protocol sets."""
        return {name: value for name, value in (self.headers or {}).items() if name.lower() not in RESERVED_HEADERS}

    @property
    def redactor(self) -> Redactor:
        """Masks the key, secret headers and secrets in the URL."""
        named = [Secret(value) for name, value in self.own_headers.items() if is_secret_name(name)]
        return Redactor([self.key, *named, *url_secrets(self.url)])


def version_problem(base_url: str, versioned: bool) -> str | None:
    """Why a server may say that there is nothing at ``base_url``; None where its end is as the backend wants it."""
    if bool(_VERSION.search(urlsplit(base_url).path)) is versioned:
        return None
    return "base_url (--base-url) " + ("may lack /v1" if versioned else "must not end in a version, such as /v1")


class RemoteClient(ABC):
    """One model behind a server; subclasses define :meth:`_call` for their protocol."""

    backend: ClassVar[str]
    models_path: ClassVar[str] = "/models"
    """Where the server lists its models, below the base URL."""
    versioned: ClassVar[bool] = False
    """Whether the base URL ends in a version, such as ``/v1``."""

    def __init__(self, model_name: str, server: Server, sampling: Sampling) -> None:
        self.model = model_name
        self.base_url = public_url(server.url)
        self.sampling = sampling
        self.quirks = Quirks()
        self._server = server
        self._url = server.url.rstrip("/")
        self._redact = server.redactor
        self._wire: Sender = self.wire(follow_redirects=server.follow_redirects)

    def wire(self, *, follow_redirects: bool = False, stalls: bool = False) -> Wire:
        """A wire to this client's server."""
        return Wire(
            self.base_url,
            self._redact,
            timeout_s=self._server.timeout_s,
            largest_body=self._server.largest_reply,
            follow_redirects=follow_redirects,
            stalls=stalls,
        )

    def send_through(self, wire: Sender) -> None:
        """Have ``wire`` carry the requests from now on."""
        self._wire = wire

    def address(self, path: str) -> str:
        """The URL of ``path`` below the base URL, secrets included."""
        return f"{self._url}{path}"

    @abstractmethod
    def headers(self) -> dict[str, str]:
        """What goes with every request, the key included."""

    @property
    def identity(self) -> Identity:
        """Backend, base URL, model and parameters, with secrets masked."""
        return Identity(self.backend, self.base_url, self.model, self._redact.mapping(self.sampling.as_dict()))

    @property
    def diagnostics(self) -> Diagnostics:
        """The parameters that the server refused."""
        return Diagnostics(adjustments=self.quirks.adjustments)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model_name={self.model!r}, base_url={self.base_url!r})"

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """One reply; a parameter that the server refuses by name is asked for differently, and noted.

        Raises
        ------
        ApiError
            The server answered with an error status.
        TransportError
            No usable reply came: refused, reset, timed out, too large, not JSON, not the protocol.
        """
        full = self.sampling.complete(request)
        while True:
            known = self.quirks.learned
            try:
                return self._clean(await self._typed(request, full))
            except ContentFiltered as error:
                return Reply("", "refusal", notes=(one_line(str(error)),), cause=CONTENT_FILTER)
            except ApiError as error:
                if not self.quirks.learn(error, self._parameters(full), known, self.model):
                    raise

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._wire.aclose()

    def _parameters(self, full: Request) -> frozenset[str]:
        """What a request asks for, as quirks name it."""
        return self.sampling.parameters(full)

    def _schema(self, full: Request) -> Mapping[str, Any] | None:
        """The schema that is sent."""
        return None if "no_schema" in self.quirks else full.schema

    def _prepared(self, request: Request, make: Callable[[], list[bytes]]) -> list[bytes]:
        """The body for what is known of the server now, made once a request: a retry sends the same bytes."""
        known = (self, self.quirks.learned)
        if known not in request.prepared:
            request.prepared.clear()
            request.prepared[known] = make()
        prepared: list[bytes] = request.prepared[known]
        return prepared

    async def _typed(self, request: Request, full: Request) -> Reply:
        """One call; whatever is raised on the way, by whatever library, is a ClientError without the original."""
        failure: ClientError
        try:
            return await self._call(request, full)
        except ClientError:
            raise
        except TimeoutError:
            failure = TransportError(f"{self.base_url}: no reply within {self._server.timeout_s:g} s", cause="timeout")
        except Exception as error:
            said = one_line(self._redact(str(error)))
            failure = TransportError(
                f"{self.base_url}: the reply is not what the API's documentation says ({type(error).__name__}: {said})",
                cause="no reply in body",
            )
        raise failure

    @abstractmethod
    async def _call(self, request: Request, full: Request) -> Reply:
        """One call. ``full`` is ``request`` with the client's own parameters. May raise anything."""

    async def _post(self, url: str, headers: Mapping[str, str], body: Sequence[bytes]) -> dict[str, Any]:
        """The JSON object that answers a POST.

        Raises
        ------
        ApiError
            The server answered with an error status, or with an error that has a code.
        TransportError
            There is no answer, or it is not a JSON object.
        """
        try:
            return await self._posted(url, headers, body)
        except ApiError as refusal:
            if refusal.status == 401 and self._server.key is None:
                refusal.args = (f"{refusal}; no API key was sent: set it, {NAME_KEY}",)
            if refusal.status == 404 and (wrong := version_problem(self.base_url, self.versioned)):
                refusal.args = (f"{refusal}; {wrong}",)
            raise

    async def _posted(self, url: str, headers: Mapping[str, str], body: Sequence[bytes]) -> dict[str, Any]:
        answer = await self._wire.post(url, headers, body)
        parsed = self.object_of(answer)
        error = embedded_error(parsed, answer.body, self._redact)
        if error is not None:
            raise error
        return parsed

    def object_of(self, answer: Answer) -> dict[str, Any]:
        """The JSON object in an answer.

        Raises
        ------
        ApiError
            It has an error status.
        TransportError
            It is not a JSON object.
        """
        if not 200 <= answer.status < 300:
            raise api_error(answer.status, answer.body, answer.headers, self._redact)
        try:
            parsed = orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            parsed = None
        if not isinstance(parsed, dict):
            raise TransportError(f"{self.base_url}: the reply is not JSON", cause="not JSON")
        return parsed

    def _clean(self, reply: Reply) -> Reply:
        """The reply with secrets masked and every text writable; tokens that may spell a secret are left out."""
        text = self._redact(writable(reply.text))
        tokens = reply.tokens if text == reply.text else None
        return replace(reply, text=text, tokens=tokens, notes=tuple(self._redact(note) for note in reply.notes))
