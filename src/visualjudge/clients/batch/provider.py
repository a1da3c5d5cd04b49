"""What the batch interfaces of all providers share: requests that are repeated only where that can
do no harm.
"""

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

from visualjudge.clients.batch.asking import Result
from visualjudge.clients.failures import one_line
from visualjudge.clients.fields import member
from visualjudge.clients.limits import LONGEST_TRANSFER_S, LONGEST_WORD, MOST_PAGES
from visualjudge.clients.remote import RemoteClient
from visualjudge.clients.retry import RetryPolicy
from visualjudge.clients.wire import Answer
from visualjudge.core.errors import ApiError, ClientError, TransportError
from visualjudge.core.seeding import rng_for

Found = TypeVar("Found")
PATIENCE = RetryPolicy(attempts=8)
TAG = "visualjudge_part"
"""Names the part of a run in what a provider keeps of a batch."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What is known of a batch before it is made: enough to find it again.

    ``file`` is the uploaded file's id; ``known`` are batches that are not this one.
    """

    part: str
    requests: int
    file: str | None = None
    since: datetime | None = None
    known: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Look:
    """How a batch stands. ``succeeded`` counts the replies that its results must hold."""

    status: str
    ended: bool = False
    refused: bool = False
    """Ended without a request having been run."""
    limited: bool = False
    """Refused since too much is queued: later is another matter."""
    succeeded: int = 0
    files: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Framing:
    """How requests follow each other in a file."""

    head: bytes = b""
    between: bytes = b"\n"
    tail: bytes = b"\n"


class Unsure(Exception):
    """No answer came to a request that may have been carried out."""


class Provider(ABC):
    """The batches of one server.

    Parameters
    ----------
    client
        Whose server, key and time-out are used.
    """

    most_requests: ClassVar[int]
    most_bytes: ClassVar[int]
    framing: ClassVar[Framing] = Framing()
    discount: ClassVar[float] = 0.5
    """What a request costs in a batch, as a share of its list price."""
    anonymous: ClassVar[bool] = False
    """Whether :meth:`find` may return a batch of others, which only its results tell."""

    def __init__(self, client: RemoteClient) -> None:
        self.client = client
        self._wire = client.wire(stalls=True)

    @abstractmethod
    def line(self, name: str, body: Sequence[bytes]) -> list[bytes]:
        """One request of a file, in pieces."""

    async def upload(self, part: str, path: Path) -> str | None:
        """Send a file of requests; its id, or None where it goes with :meth:`create`. Twice does no
        harm.
        """
        return None

    @abstractmethod
    async def create(self, ticket: Ticket, path: Path) -> str:
        """Have the requests answered; the batch's id.

        Raises
        ------
        Unsure
            If no answer came: :meth:`find` tells whether the batch is there.
        ClientError
            If the server refused.
        """

    @abstractmethod
    async def find(self, ticket: Ticket) -> str | None:
        """The batch that was made for a ticket, or may have been, among all that the server
        lists.
        """

    @abstractmethod
    async def look(self, batch: str) -> Look:
        """How a batch stands, asked once.

        Raises
        ------
        ClientError
            If the server does not say so.
        """

    @abstractmethod
    def read(self, row: Mapping[str, Any]) -> tuple[str, Result]:
        """The request's name and result in one line of results.

        Raises
        ------
        ValueError, KeyError, TypeError
            If the line is no result.
        """

    def result_of(self, line: bytes) -> tuple[str, Result]:
        """:meth:`read` of a line, secrets masked: it is written to a file."""
        name, result = self.read(orjson.loads(line))
        cause = None if result.cause is None else self.word(result.cause)
        return name, replace(
            result, body=self.client.masked_json(result.body, _TOKENS), cause=cause
        )

    def word(self, said: str) -> str:
        """A short text of the server in one line, secrets masked."""
        return one_line(self.client.masked(said))[:LONGEST_WORD]

    def said(self, messages: Iterable[Any]) -> str | None:
        """The messages of errors in one line, secrets masked."""
        return one_line(self.client.masked("; ".join(str(one) for one in messages if one))) or None

    def status_in(self, value: Any, ended: Set[str]) -> str:
        """The word for how a batch stands, in lower case: one of ``ended``, or one that means that
        it goes on.

        Raises
        ------
        TransportError
            If it is neither: a batch of an unknown state would be waited for without end.
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
        """An id that can stand in a URL, a file and a message.

        Raises
        ------
        TransportError
            If ``body`` has no such id.
        """
        found = member(body, key)
        if not is_id(found) or self.client.masked(found) != found:
            raise TransportError(f"the reply has no usable {key}", cause="no reply in body")
        return str(found)

    @abstractmethod
    async def cancel(self, batch: str) -> None:
        """Have no more requests of a batch begun."""

    @abstractmethod
    async def download(self, file: str, into: BinaryIO) -> None:
        """One of a look's files, written to ``into``."""

    async def aclose(self) -> None:
        """Close connections."""
        await self._wire.aclose()

    # ------------------------------------------------------------ calls

    async def _call(
        self, method: str, path: str, data: Any = None, **headers: str
    ) -> dict[str, Any]:
        """One call; the JSON object that answers it."""
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
        """One request; files may take long, other calls no longer than a live one."""
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
        """A list page by page; ``following`` says what is added to ``path`` for the next one, None
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
        """A POST that makes a batch, sent once: an answer that is lost leaves it open whether one
        was made.
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
        """The outcome of a call that may be repeated."""
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
    """Whether it is an id of a batch or file: words with ``/`` or ``.`` between them, that lead
    nowhere in a URL.
    """
    return isinstance(value, str) and len(value) <= LONGEST_ID and _ID.fullmatch(value) is not None


def is_part(value: Any) -> TypeGuard[str]:
    """Whether it is the name of a part: 16 hexadecimal digits, which a run draws."""
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
"""States of a batch that has not ended, of the providers and of servers that are like theirs."""
_TOKENS = frozenset({"logprobs", "logprobsResult"})
"""Fields of a reply that spell it token by token."""


def rows_of(page: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The objects of a list.

    Raises
    ------
    TransportError
        If there is something else than a list under ``key``.
    """
    rows = page.get(key, [])
    if not isinstance(rows, list):
        raise TransportError(f"the reply has no list of {key}", cause="no reply in body")
    return [row for row in rows if isinstance(row, Mapping)]


def count_of(value: Any) -> int:
    """A count, which Google writes as text; 0 for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:15])
    return value if type(value) is int and value >= 0 else 0


def word_of(value: Any) -> str | None:
    """A text that says something, else None."""
    return value if isinstance(value, str) and value else None
