"""A client that takes replies from batches. Requests without a reply go into the next
batch. The providers are beside it; rounds of a run are in ``runs/batches.py``.

Only the way to the server differs: bodies, refused parameters, replies and refusals are
those of a live call. A request's name is a digest of its body and the number of the
try, so it stays the same when the run is resumed on any machine.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from visualjudge.clients.base import (
    Client,
    Reply,
    Request,
    Wrapping,
    layers,
    with_failed,
)
from visualjudge.clients.http import Answer
from visualjudge.clients.remote_client import RemoteClient
from visualjudge.core.errors import (
    ClientError,
    Pending,
    TransportError,
    UsageError,
)

# Maximum number of failed batches per request.
MOST_TRIES = 4
# Maximum number of batches per request, with those refused because too much is queued.
MOST_QUEUED = 50
CANCELLED = "batch cancelled"
QUEUED = "too much is queued"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one batched request: HTTP status and body, or why they are
    missing."""

    status: int
    body: bytes
    cause: str | None = None
    retryable: bool = True
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
    """A client that uses batches. Only a run, which sets ``result`` and ``note``, may
    use it.

    Raises
    ------
    UsageError
        If the backend does not use a server.
    """

    inner: RemoteClient

    def __init__(self, inner: Client, settings: Settings) -> None:
        if not isinstance(inner, RemoteClient):
            raise UsageError(
                f"`batch` needs a backend with a server, got {inner.identity.backend!r}"
            )
        super().__init__(inner)
        self.settings = settings
        # Returns the result of a request, by its name; None if there is none yet.
        self.result: Callable[[str], Result | None] | None = None
        # Adds a request to the next batch, unless it is already in a batch.
        self.note: Callable[[str, Sequence[bytes]], None] = lambda name, body: (
            None
        )

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """Return the reply from a batch, marked ``cached`` if its cost was counted
        before.

        Raises
        ------
        Pending
            If there is no reply yet because the request is in a pending batch.
        ClientError
            If the request failed.
        """
        if self.result is None:
            raise UsageError("a batched client can be used by judge only")
        result_of = self.result
        billed = Counter[str]()
        results: defaultdict[str, list[Result]] = defaultdict(list)

        async def post(body: Sequence[bytes]) -> Answer:
            # A request without a refused parameter has another body, and so another
            # name.
            sample = f" {request.repeat} {attempt}".encode()
            stem = hashlib.sha256(b"".join([*body, sample])).hexdigest()[:40]
            name = f"{stem}-{len(results[stem])}"
            result = result_of(name)
            if result is None:
                self.note(name, body)
                raise Pending(name)
            results[stem].append(result)
            if result.cause is not None:
                message = f"{self.inner.base_url}: no reply: {result.cause}"
                raise TransportError(message, cause=result.cause)
            return Answer(result.status, {}, result.body)

        while True:
            try:
                reply = await self.inner.ask(
                    request, attempt=attempt, post=post
                )
                last = [*results.values()][-1][-1]
                return replace(
                    with_failed(reply, billed), cached=last.is_counted
                )
            except Pending:
                raise
            except ClientError as error:
                billed.update(error.usage)
                if not (results and _again([*results.values()][-1], error)):
                    error.usage = dict(billed)
                    raise


def _again(results: Sequence[Result], error: ClientError) -> bool:
    # Return whether to retry in another batch a failure that the request may not have
    # caused.
    tries = sum(result.cause != QUEUED for result in results)
    within = tries < MOST_TRIES and len(results) < MOST_QUEUED
    return error.retryable and results[-1].retryable and within


def batched_in(client: object) -> Batched | None:
    """Return the batched client that ``client`` is or contains."""
    return next(
        (layer for layer in layers(client) if isinstance(layer, Batched)), None
    )
