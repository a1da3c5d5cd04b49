"""The interface of every backend: it takes a frozen request and returns a frozen reply.
Clients that wrap another client derive from :class:`Wrapping`. The base of those with a
server is in ``remote_client.py``.
"""

import hashlib
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from visualjudge.core.finish_reasons import FinishReason
from visualjudge.core.records import Served


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of text."""

    text: str


@dataclass(frozen=True)
class ImagePart:
    """An image file as bytes, with its MIME type in ``mime``, such as ``image/png``.

    A part may be used in many requests, so its base64 form and digest are computed once
    and cached.
    """

    data: bytes = field(repr=False)
    mime: str = "image/png"

    @cached_property
    def base64(self) -> bytes:
        """The standard base64 of ``data``, as ASCII."""
        return b64encode(self.data)

    @cached_property
    def sha256(self) -> str:
        """Hex digest of ``data``, for cache keys."""
        return hashlib.sha256(self.data).hexdigest()


Part = TextPart | ImagePart


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as described to a model. ``parameters`` is the JSON schema of its
    arguments, an object.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's tool call. ``arguments`` is JSON text, as written by the model if it is
    an object; ``problem`` says what was malformed.
    """

    id: str
    name: str
    arguments: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call: texts and images. ``failed`` is True if the tool could not
    be run."""

    call: ToolCall
    parts: tuple[Part, ...]
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply with its tool calls and their results."""

    text: str
    results: tuple[ToolResult, ...]
    # See :class:`Reply`.
    echo: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One call: an optional system text, followed by the user's parts in order.

    The server chooses parameters that are None. ``schema`` is a JSON schema that the
    reply should follow.
    """

    parts: tuple[Part, ...]
    system: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    schema: Mapping[str, Any] | None = None
    # Number of alternatives per token; None requests no log-probabilities.
    top_logprobs: int | None = None
    # Tools that the model may call instead of answering.
    tools: tuple[ToolSpec, ...] = ()
    # Calls so far and their results, which follow the user's parts.
    turns: tuple[Turn, ...] = ()
    # Sample number of the request: part of the cache key, never sent.
    repeat: int = 0
    top_p: float | None = None


@dataclass(frozen=True, slots=True)
class Alternative:
    """A candidate token with its natural log-probability."""

    token: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Token:
    """One token of the reply and its alternatives."""

    token: str
    logprob: float
    top: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply as received."""

    text: str
    finish_reason: FinishReason = "stop"
    usage: Mapping[str, int] = field(default_factory=dict)
    tokens: tuple[Token, ...] | None = None
    # Notes of the client, such as "schema refused by the server; asked without".
    notes: tuple[str, ...] = ()
    # Whether the reply came from a response cache, and so cost nothing.
    cached: bool = False
    # Why the server refused, if it said so (``"content filter"``).
    cause: str | None = None
    # Who answered; None if the backend has no server.
    served: Served | None = None
    # The tools that the model calls.
    calls: tuple[ToolCall, ...] = ()
    # The server's own JSON form of a reply with calls. It must be sent back unchanged
    # if the protocol signs it (thoughts of Gemini and Claude).
    echo: str | None = None


def with_failed(reply: Reply, usage: Mapping[str, int]) -> Reply:
    """Add the billed tokens of earlier, failed calls to ``reply``."""
    return (
        replace(reply, usage=dict(Counter(reply.usage) + Counter(usage)))
        if usage
        else reply
    )


@dataclass(frozen=True, slots=True)
class Identity:
    """The model that is asked, and where and how. Together with the payload it forms
    the cache key. Contains no secrets.
    """

    backend: str
    base_url: str | None
    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Failures and parameter changes of a client so far."""

    # Failed calls by cause, including those that succeeded on retry.
    failures: Counter[str] = field(default_factory=Counter)
    # Parameters that the server refused and that later requests omit or rename.
    adjustments: tuple[str, ...] = ()
    # How the server treated a JSON schema: ``"followed"``, ``"refused"``,
    # ``"ignored"``; None if none was sent.
    schema: str | None = None


class Client(Protocol):
    """A backend, or a client that wraps one (retry, cache)."""

    @property
    def model(self) -> str:
        """The model's name on the server."""

    @property
    def identity(self) -> Identity:
        """Backend, base URL without secrets, model and parameters."""

    @property
    def diagnostics(self) -> Diagnostics:
        """Return failures and adjustments so far."""

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """Return one reply.

        ``attempt`` numbers a judge's repeats of the same request, so that a cache
        stores each one separately.

        Raises
        ------
        visualjudge.core.errors.ClientError
            If no reply could be obtained or the reply is malformed. Clients must not
            raise other exceptions.
        """

    async def aclose(self) -> None:
        """Close connections."""


def layers(client: Any) -> Iterator[Any]:
    """Yield a client and those that it wraps, the backend last."""
    while client is not None:
        yield client
        client = getattr(client, "inner", None)


class Wrapping:
    """A client around ``inner``; subclasses define ``ask``."""

    def __init__(self, inner: Client) -> None:
        self.inner = inner

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def identity(self) -> Identity:
        return self.inner.identity

    @property
    def diagnostics(self) -> Diagnostics:
        return self.inner.diagnostics

    async def aclose(self) -> None:
        await self.inner.aclose()
