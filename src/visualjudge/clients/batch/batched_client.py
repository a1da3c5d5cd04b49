"""A client that takes replies from batches. Requests without a reply go into the next batch.

Only the way to the server differs: bodies, refused parameters, replies and refusals are those of a
live call. A request's name consists of its cache key, the judge's attempt and the retry number, so
it stays the same when the run is resumed on any machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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

    ``learned`` lists the refused parameters known when the request was written.
    """

    status: int
    body: bytes
    cause: str | None = None
    retryable: bool = True
    learned: frozenset[str] = frozenset()
    # Whether another question has used the result, so that its cost counts once.
    is_counted: bool = False


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
    """

    size: int | None = None
    poll_s: float = 120.0
    wait: bool = True


class Batched(Wrapping):
    """A client that uses batches. Only a run, which sets ``result`` and ``note``, may use it.

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
        # Returns the result of a request, by its name; None if there is none yet.
        self.result: Callable[[str], Result | None] | None = None
        # Adds a request to the next batch, unless it is already in a batch.
        self.note: Callable[[str, Sequence[bytes]], None] = lambda name, body: None

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """Return the reply from a batch, marked ``cached`` if its cost was counted before.

        Raises
        ------
        Pending
            If there is no reply yet because the request is in a pending batch.
        ClientError
            If the request failed.
        """
        if self.result is None:
            raise UsageError("a batched client can be used by `judge` only")
        result_of, name = self.result, f"{cache_key(self.identity, request)[:40]}-{attempt}"
        billed, results = Counter[str](), list[Result]()

        async def post(body: Sequence[bytes]) -> Answer:
            number = f"{name}-{len(results)}"
            result = result_of(number)
            if result is None:
                self.note(number, body)
                raise Pending(number)
            results.append(result)
            if result.cause is not None:
                message = f"{self.inner.base_url}: no reply: {result.cause}"
                raise TransportError(message, cause=result.cause)
            return Answer(result.status, {}, result.body)

        while True:
            try:
                reply = await self.inner.ask(request, attempt=attempt, post=post)
                return replace(with_failed(reply, billed), cached=results[-1].is_counted)
            except Pending:
                raise
            except ClientError as error:
                billed.update(error.usage)
                if not results or not self._again(results, error):
                    error.usage = dict(billed)
                    raise

    def _again(self, results: Sequence[Result], error: ClientError) -> bool:
        # Return whether to retry in another batch a failure that the request may not have caused.
        if isinstance(error, ApiError) and error.status in _PARAMETERS:
            return results[-1].learned != self.inner.refused_parameters.learned
        tries = sum(result.cause != QUEUED for result in results)
        within = tries < MOST_TRIES and len(results) < MOST_QUEUED
        return error.retryable and results[-1].retryable and within

    async def aclose(self) -> None:
        """Do nothing: no connection is open."""


def batched_in(client: object) -> Batched | None:
    """Return the batched client that ``client`` is or contains."""
    while client is not None and not isinstance(client, Batched):
        client = getattr(client, "inner", None)
    return client
