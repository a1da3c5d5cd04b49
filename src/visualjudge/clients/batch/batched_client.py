"""A client that takes replies from batches. Requests without a reply go into the next batch.

Only the backend's transport is replaced: bodies, refused parameters, replies and refusals are
handled as in a live call. A request's name consists of its cache key, the judge's attempt and the
retry number, so it stays the same when the run is resumed on any machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from visualjudge.clients.base import Client, Reply, Request, Wrapping, with_failed
from visualjudge.clients.cache import cache_key
from visualjudge.clients.http import Answer
from visualjudge.clients.remote_client import RemoteClient
from visualjudge.core.errors import ApiError, ClientError, Pending, TransportError, UsageError

MOST_TRIES = 4
"""Maximum number of failed batches per request."""
MOST_QUEUED = 50
"""Maximum number of batches per request that may be refused because too much is queued."""
CANCELLED, REFUSED, UNSENT = "batch cancelled", "batch refused", "batch not submitted"
NOT_RUN = frozenset({CANCELLED, REFUSED, UNSENT})
"""Causes that say nothing about the request, because it was not tried."""
_PARAMETERS = frozenset({400, 403, 422})
"""Statuses that a refused parameter may cause."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one batched request: HTTP status and body, or the reason why they are missing.

    ``learned`` lists the refused parameters known when the request was written. ``old`` marks a
    failure of an earlier invocation; such a request is sent again.
    """

    status: int
    body: bytes
    cause: str | None = None
    retryable: bool = True
    learned: frozenset[str] = frozenset()
    old: bool = False


class RequestStore(Protocol):
    """Accepts requests and provides results."""

    def result(self, name: str) -> Result | None:
        """Return the result of a request, or None if there is none yet."""
        ...

    def note(self, name: str, body: Sequence[bytes]) -> None:
        """Add a request to the next batch, unless it is already in a batch."""
        ...

    def is_first(self, name: str) -> bool:
        """Return whether this invocation uses the result for the first time, so that its cost is
        counted only once.
        """
        ...


@dataclass(frozen=True, slots=True)
class Settings:
    """How batches are created and polled.

    Parameters
    ----------
    size
        Maximum number of requests per batch; None = the provider's limit.
    poll_s
        Maximum number of seconds between two polls.
    wait
        Whether to wait for the replies; if False, end once everything is submitted.
    folder
        Exchange batches as files in this folder, for a program such as vLLM's ``run-batch``; None =
        use the provider's interface.
    """

    size: int | None = None
    poll_s: float = 120.0
    wait: bool = True
    folder: Path | None = None


@dataclass(slots=True)
class _Call:
    """One call of one request: its name, and the number of times it was posted so far."""

    name: str
    posts: int = 0
    result: Result | None = None
    known: bool = False
    body: Sequence[bytes] = ()
    """The body of the request that has no result yet."""


_call: ContextVar[_Call] = ContextVar("call")


class Batched(Wrapping):
    """A client that uses batches. Only a run, which sets ``requests``, may use it.

    Raises
    ------
    UsageError
        If the backend does not use a server.
    """

    inner: RemoteClient

    def __init__(self, inner: Client, settings: Settings) -> None:
        if not isinstance(inner, RemoteClient):
            raise UsageError(
                f"--batch needs a backend with a server, got {inner.identity.backend!r}"
            )
        super().__init__(inner)
        self.settings = settings
        self.requests: RequestStore | None = None
        inner.send_through(_BatchWire(self))

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """Return the reply from a batch, marked ``cached`` if it was returned before.

        Raises
        ------
        Pending
            If there is no reply yet because the request is in a pending batch.
        ClientError
            If the request failed.
        """
        call = _Call(f"{cache_key(self.identity, request)[:40]}-{attempt}")
        token = _call.set(call)
        causes, billed = Counter[str | None](), Counter[str]()
        try:
            while True:
                try:
                    reply = with_failed(await self.inner.ask(request, attempt=attempt), billed)
                    return replace(reply, cached=True) if call.known else reply
                # Called here, so that a disk error is not mistaken for a server error.
                except Pending as pending:
                    self._requests.note(str(pending), call.body)
                    raise
                except ClientError as error:
                    billed.update(error.usage)
                    if call.result is not None:
                        causes[call.result.cause] += 1
                    if call.result is None or not self._again(call.result, error, causes):
                        error.usage = dict(billed)
                        raise
        finally:
            _call.reset(token)

    def _again(self, result: Result, error: ClientError, causes: Counter[str | None]) -> bool:
        """Return whether to retry in another batch a failure that the request may not have
        caused.
        """
        tries = sum(count for cause, count in causes.items() if cause not in NOT_RUN)
        if isinstance(error, ApiError) and error.status in _PARAMETERS:
            return result.old or result.learned != self.inner.refused_parameters.learned
        within = tries < MOST_TRIES and causes[REFUSED] < MOST_QUEUED
        return result.old or (error.retryable and result.retryable and within)

    @property
    def _requests(self) -> RequestStore:
        if self.requests is None:
            raise UsageError("a batched client can be used by `judge` only")
        return self.requests

    def answer(self, body: Sequence[bytes]) -> Answer:
        """Return the result of a request in its batch."""
        call = _call.get()
        name = f"{call.name}-{call.posts}"
        result = self._requests.result(name)
        if result is None:
            call.body = body
            raise Pending(name)
        call.posts, call.result, call.known = (
            call.posts + 1,
            result,
            not self._requests.is_first(name),
        )
        if result.cause is not None:
            raise TransportError(
                f"{self.inner.base_url}: no reply: {result.cause}", cause=result.cause
            )
        return Answer(result.status, {}, result.body)


class _BatchWire:
    def __init__(self, client: Batched) -> None:
        self._client = client

    async def post(self, url: str, headers: Mapping[str, str], body: Sequence[bytes]) -> Answer:
        return self._client.answer(body)

    async def aclose(self) -> None:
        """Do nothing: no connection is open."""


def batched_in(client: object) -> Batched | None:
    """Return the batched client that ``client`` is or contains."""
    while client is not None:
        if isinstance(client, Batched):
            return client
        client = getattr(client, "inner", None)
    return None
