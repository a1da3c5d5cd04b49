"""Base class of the providers' batch interfaces. Only calls that are safe to repeat are retried."""

from __future__ import annotations

import asyncio
import os
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, TypeGuard, TypeVar

import orjson

from visualjudge.clients.batch.batched_client import Result
from visualjudge.clients.http import Answer
from visualjudge.clients.remote_client import RemoteClient
from visualjudge.clients.reply_bounds import LONGEST_TRANSFER_S, LONGEST_WORD, MOST_PAGES
from visualjudge.clients.reply_fields import member
from visualjudge.clients.retry import RetryPolicy
from visualjudge.clients.server_errors import one_line
from visualjudge.core.errors import ApiError, ClientError, TransportError
from visualjudge.core.seeding import rng_for

Found = TypeVar("Found")
PATIENCE = RetryPolicy(attempts=8)
TAG = "visualjudge_part"
"""Field that names the part of a run in a provider's batch metadata."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """The details recorded before a batch is created, by which it can be found again.

    ``file`` is the id of the uploaded file; ``known`` lists the ids of other batches.
    """

    part: str
    requests: int
    file: str | None = None
    since: datetime | None = None
    known: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Look:
    """The state of a batch. ``succeeded`` is the number of replies that its results must
    contain.
    """

    status: str
    ended: bool = False
    refused: bool = False
    """Whether the batch ended without running any request."""
    limited: bool = False
    """Whether it was refused because too much is queued; it can be tried again later."""
    succeeded: int = 0
    files: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Framing:
    """How requests are separated in a file."""

    head: bytes = b""
    between: bytes = b"\n"
    tail: bytes = b"\n"


class Unsure(Exception):
    """A request received no answer, although the server may have carried it out."""


class Provider(ABC):
    """The batches of one server.

    Parameters
    ----------
    client
        Client whose server, key and time-out are used.
    """

    most_requests: ClassVar[int]
    most_bytes: ClassVar[int]
    framing: ClassVar[Framing] = Framing()
    discount: ClassVar[float] = 0.5
    """Price of a batched request as a share of its list price."""
    anonymous: ClassVar[bool] = False
    """Whether :meth:`find` may return someone else's batch, which only its results reveal."""

    def __init__(self, client: RemoteClient) -> None:
        self.client = client
        self._wire = client.wire(stalls=True)

    @abstractmethod
    def line(self, name: str, body: Sequence[bytes]) -> list[bytes]:
        """Yield one request as pieces of a file."""

    async def upload(self, part: str, path: Path) -> str | None:
        """Upload a file of requests and return its id, or None if :meth:`create` sends the file.
        May be called repeatedly.
        """
        return None

    @abstractmethod
    async def create(self, ticket: Ticket, path: Path) -> str:
        """Create a batch and return its id.

        Raises
        ------
        Unsure
            If there was no answer: use :meth:`find` to check whether the batch exists.
        ClientError
            If the server refused.
        """

    @abstractmethod
    async def find(self, ticket: Ticket) -> str | None:
        """Return the batch that was, or may have been, created for a ticket, searching all batches
        of the server.
        """

    @abstractmethod
    async def look(self, batch: str) -> Look:
        """Return the state of a batch. Sends one request.

        Raises
        ------
        ClientError
            If the server does not report it.
        """

    @abstractmethod
    def read(self, row: Mapping[str, Any]) -> tuple[str, Result]:
        """Return the request's name and result from a line of results.

        Raises
        ------
        ValueError, KeyError, TypeError
            If the line is not a result.
        """

    def result_of(self, line: bytes) -> tuple[str, Result]:
        """Return the result of :meth:`read` with secrets masked, because it is written to a
        file.
        """
        name, result = self.read(orjson.loads(line))
        cause = None if result.cause is None else self.word(result.cause)
        return name, replace(
            result, body=self.client.masked_json(result.body, _TOKENS), cause=cause
        )

    def word(self, said: str) -> str:
        """Return a short server text as one line, with secrets masked."""
        return one_line(self.client.masked(said))[:LONGEST_WORD]

    def said(self, messages: Iterable[Any]) -> str | None:
        """Return error messages as one line, with secrets masked."""
        return one_line(self.client.masked("; ".join(str(one) for one in messages if one))) or None

    def status_in(self, value: Any, ended: Set[str]) -> str:
        """Return the state of a batch in lower case: one of ``ended`` or of the known running
        states.

        Raises
        ------
        TransportError
            If the state is unknown; such a batch would be polled forever.
        """
        word = self.word(value).lower() if isinstance(value, str) else ""
        if word not in ended and word not in _GOES_ON:
            said = (
                "the reply does not say whether the batch has ended, its state is "
                f"{word or 'missing'}"
            )
            raise TransportError(said, cause="no reply in body")
        return word

    def id_in(self, body: Mapping[str, Any], key: str = "id") -> str:
        """Return an id that is safe in a URL, a file and a message.

        Raises
        ------
        TransportError
            If ``body`` contains no such id.
        """
        found = member(body, key)
        if not is_id(found) or self.client.masked(found) != found:
            raise TransportError(f"the reply has no usable {key}", cause="no reply in body")
        return str(found)

    @abstractmethod
    async def cancel(self, batch: str) -> None:
        """Cancel a batch, so that no further requests are started."""

    @abstractmethod
    async def download(self, file: str, into: BinaryIO) -> None:
        """Write a result file to ``into``."""

    async def aclose(self) -> None:
        """Close connections."""
        await self._wire.aclose()

    # ------------------------------------------------------------ calls

    async def _call(
        self, method: str, path: str, data: Any = None, **headers: str
    ) -> dict[str, Any]:
        """Make one call and return the JSON object in its answer."""
        own = {
            name: value
            for name, value in self.client.headers().items()
            if name.lower() != "content-type"
        }
        return self.client.object_of(
            await self._sent(method, self.client.address(path), {**own, **headers}, data)
        )

    async def _sent(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        data: Any = None,
        into: BinaryIO | None = None,
    ) -> Answer:
        """Send one request. Files may take long; other calls use the time-out of a live call."""
        short = into is None and (data is None or isinstance(data, bytes))
        limit_s = self.client.timeout_s if short else LONGEST_TRANSFER_S
        try:
            async with asyncio.timeout(limit_s):
                return await self._wire.send(method, url, headers, data, into=into)
        except TimeoutError:
            said = f"{self.client.base_url}: no reply within {limit_s:g} s"
        raise TransportError(said, cause="timeout")

    async def _get(self, path: str) -> dict[str, Any]:
        return await self.patiently(lambda: self._call("GET", path))

    async def _pages(
        self, path: str, following: Callable[[dict[str, Any]], str | None]
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the pages of a list. ``following`` returns the query of the next page, or None
        after the last.

        Raises
        ------
        TransportError
            If the list does not end.
        """
        page = await self._get(path)
        for _ in range(MOST_PAGES):
            yield page
            more = following(page)
            if more is None:
                return
            page = await self._get(f"{path}{more}")
        raise TransportError(
            f"the server lists more than {MOST_PAGES} pages of batches", cause="too large"
        )

    async def _save(self, path: str, into: BinaryIO) -> None:
        async def once() -> None:
            into.seek(0)
            into.truncate()
            url, headers = (
                self.client.address(path),
                {**self.client.headers(), "Accept-Encoding": "identity"},
            )
            answer = await self._sent("GET", url, headers, into=into)
            if answer.body or not 200 <= answer.status < 300:
                self.client.object_of(answer)

        await self.patiently(once)

    async def _make(self, path: str, data: Any, ticket: Ticket, key: str = "id") -> str:
        """Send a POST that creates a batch, once. If the answer is lost, the batch may or may not
        exist.
        """
        try:
            made = await self._call(
                "POST",
                path,
                data,
                **{"Content-Type": "application/json", "Idempotency-Key": ticket.part},
            )
            return self.id_in(made, key)
        except TransportError as error:
            raise Unsure(str(error)) from None
        except ApiError as error:
            if error.status >= 500 or error.status in (408, 409):
                raise Unsure(str(error)) from None
            raise

    async def patiently(self, call: Callable[[], Awaitable[Found]]) -> Found:
        """Return the result of a call that is safe to repeat, retrying as needed."""
        for failures in range(1, PATIENCE.attempts + 1):
            try:
                return await call()
            except ClientError as error:
                draw = float(rng_for(os.getpid(), "batch back-off", failures).random())
                wait_s = PATIENCE.wait_s(failures, error, draw)
                if wait_s is None:
                    raise
            await asyncio.sleep(wait_s)
        raise AssertionError("unreachable")


def is_id(value: Any) -> TypeGuard[str]:
    """Return whether a text is a valid batch or file id: words joined by ``/`` or ``.``, without
    path traversal.
    """
    return isinstance(value, str) and len(value) <= LONGEST_ID and _ID.fullmatch(value) is not None


def is_part(value: Any) -> TypeGuard[str]:
    """Return whether a text is a part's name: 16 hexadecimal digits, generated by a run."""
    return isinstance(value, str) and _PART.fullmatch(value) is not None


_PART = re.compile(r"[0-9a-f]{16}")
_ID = re.compile(r"[A-Za-z0-9_-]+(?:[./][A-Za-z0-9_-]+)*")
LONGEST_ID = 200
_GOES_ON = frozenset(
    {
        "accepted",
        "canceling",
        "cancelling",
        "created",
        "finalizing",
        "in_progress",
        "initializing",
        "not_started",
        "paused",
        "pending",
        "preparing",
        "processing",
        "queued",
        "running",
        "scheduled",
        "started",
        "submitted",
        "updating",
        "validating",
        "waiting",
    }
)
"""States of a batch that has not ended, for the providers and compatible servers."""
_TOKENS = frozenset({"logprobs", "logprobsResult"})
"""Fields that repeat a reply token by token."""


def rows_of(page: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return the objects of a list.

    Raises
    ------
    TransportError
        If the value of ``key`` is not a list.
    """
    rows = page.get(key, [])
    if not isinstance(rows, list):
        raise TransportError(f"the reply has no list of {key}", cause="no reply in body")
    return [row for row in rows if isinstance(row, Mapping)]


def count_of(value: Any) -> int:
    """Return a count, which Google sends as text; 0 for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:15])
    return value if type(value) is int and value >= 0 else 0


def word_of(value: Any) -> str | None:
    """Return a non-empty text, or None."""
    return value if isinstance(value, str) and value else None
