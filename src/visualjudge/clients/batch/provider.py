"""Base class of the providers' batch interfaces. Only calls that are safe to repeat are retried."""

from __future__ import annotations

import asyncio
import os
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple, TypeVar

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
PATIENCE = RetryPolicy(attempts=8, absent=8, longest_wait_s=120.0, patience_s=3600.0)
# Field that names the part of a run in a provider's batch metadata.
TAG = "visualjudge_part"
# A batch or file id that is safe in a URL, a file and a message.
ID = re.compile(r"[A-Za-z0-9_-]+(?:[./][A-Za-z0-9_-]+)*")
_LONGEST_ID = 200


class Ticket(NamedTuple):
    """What is known of a batch before it is created, by which it can be found again. ``known``
    lists the ids of other batches.
    """

    part: str
    requests: int
    since: datetime | None = None
    known: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Look:
    """The state of a batch. ``succeeded`` is the number of replies that its results must
    contain.
    """

    status: str
    ended: bool = False
    # Whether it was refused because too much is queued; it can be tried again later.
    limited: bool = False
    succeeded: int = 0
    files: tuple[str, ...] = ()
    reason: str | None = None


class Framing(NamedTuple):
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
    anonymous: ClassVar[bool] = False
    """Whether :meth:`find` may return someone else's batch, which only its results reveal."""
    framing: ClassVar[Framing] = Framing()
    # Price of a batched request as a share of its list price.
    discount: ClassVar[float] = 0.5

    def __init__(self, client: RemoteClient) -> None:
        self.client = client
        self._wire = client.wire(stalls=True)

    @abstractmethod
    def line(self, name: str, body: Sequence[bytes]) -> list[bytes]:
        """Return one request as pieces of a file."""

    @abstractmethod
    async def create(self, ticket: Ticket, path: Path) -> str:
        """Create a batch of the requests in a file and return its id.

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
        """Return the state of a batch.

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

    @abstractmethod
    async def cancel(self, batch: str) -> None:
        """Cancel a batch, so that no further requests are started."""

    @abstractmethod
    async def download(self, file: str, into: BinaryIO) -> None:
        """Write a result file to ``into``."""

    def result_of(self, line: bytes) -> tuple[str, Result]:
        """Return the result of :meth:`read` with secrets masked, because it is written to a
        file.
        """
        name, result = self.read(orjson.loads(self.client.masked(line.decode())))
        return str(name), replace(result, cause=result.cause and self._word(result.cause))

    def state(self, value: Any, ended: frozenset[str]) -> str:
        """Return the state of a batch in lower case: one of ``ended``, or a running state.

        Raises
        ------
        TransportError
            If the state is unknown; such a batch would be polled forever.
        """
        word = self._word(value).lower() if isinstance(value, str) else ""
        if word not in ended and word not in _RUNNING:
            raise TransportError(
                "the reply does not say whether the batch has ended, its state is "
                f"{word or 'missing'}",
                cause="no reply in body",
            )
        return word

    def _word(self, text: str) -> str:
        return one_line(self.client.masked(text))[:LONGEST_WORD]

    def id_in(self, body: Any, key: str = "id") -> str:
        """Return an id of the server.

        Raises
        ------
        TransportError
            If ``body`` contains no usable one.
        """
        stated = member(body, key)
        text = stated[: _LONGEST_ID + 1] if isinstance(stated, str) else ""
        if len(text) > _LONGEST_ID or not ID.fullmatch(text) or self.client.masked(text) != text:
            raise TransportError(f"the reply has no usable {key}", cause="no reply in body")
        return text

    async def aclose(self) -> None:
        """Close connections."""
        await self._wire.aclose()

    # ------------------------------------------------------------ calls

    async def _call(self, method: str, path: str, data: Any = None, **extra: str) -> dict[str, Any]:
        headers = self.client.headers()
        if not isinstance(data, bytes):
            del headers["Content-Type"]
        answer = await self._sent(method, self.client.address(path), {**headers, **extra}, data)
        return self.client.object_of(answer)

    async def _sent(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        data: Any = None,
        into: BinaryIO | None = None,
    ) -> Answer:
        # Send one request. Files may take long; other calls use the time-out of a live call.
        short = into is None and (data is None or isinstance(data, bytes))
        limit_s = self.client.timeout_s if short else LONGEST_TRANSFER_S
        try:
            async with asyncio.timeout(limit_s):
                return await self._wire.send(method, url, headers, data, into=into)
        except TimeoutError:
            said = f"{self.client.base_url}: no reply within {limit_s:g} s"
        raise TransportError(said, cause="timeout")

    async def _rows(
        self, path: str, key: str, following: Callable[[Mapping[str, Any]], str | None]
    ) -> AsyncIterator[Mapping[str, Any]]:
        # Yield the rows of a list. ``following`` returns the query of the next page, or None after
        # the last.
        address = path
        for _ in range(MOST_PAGES):
            page = await self.patiently(partial(self._call, "GET", address))
            rows = page.get(key)
            for row in rows if isinstance(rows, list) else ():
                yield row if isinstance(row, Mapping) else {}
            more = following(page)
            if more is None:
                return
            address = f"{path}{more}"

    async def _save(self, path: str, into: BinaryIO) -> None:
        async def once() -> None:
            into.seek(0)
            into.truncate()
            url = self.client.address(path)
            answer = await self._sent("GET", url, self.client.headers(), into=into)
            if not 200 <= answer.status < 300:
                self.client.object_of(answer)

        await self.patiently(once)

    async def _make(self, path: str, data: Any, ticket: Ticket, key: str = "id") -> str:
        # Send a POST that creates a batch, once. If the answer is lost, the batch may or may not
        # exist.
        extra = {"Content-Type": "application/json", "Idempotency-Key": ticket.part}
        try:
            return self.id_in(await self._call("POST", path, data, **extra), key)
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


# States of a batch that has not ended, for the providers and compatible servers.
_RUNNING = {
    *("accepted", "canceling", "cancelling", "created", "finalizing", "in_progress"),
    *("initializing", "not_started", "paused", "pending", "preparing", "processing", "queued"),
    *("running", "scheduled", "started", "submitted", "updating", "validating", "waiting"),
}


def last_id(page: Mapping[str, Any], provider: Provider) -> str | None:
    """Return the id of the last row of a page of ``data``, if more pages follow."""
    rows = page.get("data")
    if not page.get("has_more") or not isinstance(rows, list) or not rows:
        return None
    return provider.id_in(rows[-1])


def count_of(value: Any) -> int:
    """Return a count, which Google sends as text; 0 for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:15])
    return value if type(value) is int and value >= 0 else 0


def named(value: Any) -> str:
    """Return the name of a request.

    Raises
    ------
    ValueError
        If it is not a text.
    """
    if not isinstance(value, str):
        raise ValueError("a request's name must be a text")
    return value
