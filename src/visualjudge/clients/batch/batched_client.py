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
from typing import Protocol

from visualjudge.clients.base import Client, Reply, Request, Wrapping, with_failed
from visualjudge.clients.cache import cache_key
from visualjudge.clients.http import Answer
from visualjudge.clients.remote_client import RemoteClient
from visualjudge.core.errors import ApiError, ClientError, Pending, TransportError, UsageError

# Maximum number of failed batches per request.
MOST_TRIES = 4
# Maximum number of batches per request, with those refused because too much is queued.
MOST_QUEUED = 50
CANCELLED, QUEUED = "batch cancelled", "too much is queued"
# Statuses that a refused parameter may cause.
_PARAMETERS = frozenset({400, 403, 422})


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
    # Whether this invocation uses the result for the first time, so that its cost counts once.
    is_first: bool = True


class RequestStore(Protocol):
    """Accepts requests and provides results."""

    def result(self, name: str) -> Result | None:
        """Return the result of a request, or None if there is none yet."""
        ...

    def note(self, name: str, body: Sequence[bytes]) -> None:
        """Add a request to the next batch, unless it is already in a batch."""
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
    cancel
        Whether to cancel the run's batches, keep their replies, and submit no others.
    """

    size: int | None = None
    poll_s: float = 120.0
    wait: bool = True
    cancel: bool = False


@dataclass(slots=True)
class _Call:
    """One call of one request: its name, how often it was posted, and the last result."""

    name: str
    posts: int = 0
    result: Result | None = None
    body: Sequence[bytes] = ()


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
        inner.send_through(self)

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
        _call.set(call)
        billed, tries = Counter[str](), 0
        while True:
            try:
                reply = with_failed(await self.inner.ask(request, attempt=attempt), billed)
                known = call.result is not None and not call.result.is_first
                return replace(reply, cached=True) if known else reply
            except Pending as pending:  # here, so that a disk error is not taken for a server's
                self._store.note(str(pending), call.body)
                raise
            except ClientError as error:
                billed.update(error.usage)
                tries += call.result is not None and call.result.cause != QUEUED
                if call.result is None or not self._again(call, error, tries):
                    error.usage = dict(billed)
                    raise

    def _again(self, call: _Call, error: ClientError, tries: int) -> bool:
        # Return whether to retry in another batch a failure that the request may not have caused.
        assert call.result is not None
        if call.result.old:
            return True
        if isinstance(error, ApiError) and error.status in _PARAMETERS:
            return call.result.learned != self.inner.refused_parameters.learned
        within = tries < MOST_TRIES and call.posts < MOST_QUEUED
        return error.retryable and call.result.retryable and within

    @property
    def _store(self) -> RequestStore:
        if self.requests is None:
            raise UsageError("a batched client can be used by `judge` only")
        return self.requests

    async def post(self, url: str, headers: Mapping[str, str], body: Sequence[bytes]) -> Answer:
        call = _call.get()
        name = f"{call.name}-{call.posts}"
        result = self._store.result(name)
        if result is None:
            call.body = body
            raise Pending(name)
        call.posts, call.result = call.posts + 1, result
        if result.cause is not None:
            said = f"{self.inner.base_url}: no reply: {result.cause}"
            raise TransportError(said, cause=result.cause)
        return Answer(result.status, {}, result.body)

    async def aclose(self) -> None:
        """Do nothing: no connection is open."""


def batched_in(client: object) -> Batched | None:
    """Return the batched client that ``client`` is or contains."""
    while client is not None and not isinstance(client, Batched):
        client = getattr(client, "inner", None)
    return client
