"""Base class of the providers' batch interfaces. Only calls that are safe to repeat are
retried. The client that uses them is in ``batched_client.py``.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import orjson

from visualjudge.clients.batch.batched_client import Result
from visualjudge.clients.protocol_fields import member
from visualjudge.clients.remote_client import RemoteClient
from visualjudge.clients.retry import RetryPolicy, retried
from visualjudge.clients.server_errors import one_line
from visualjudge.core.errors import ApiError, TransportError
from visualjudge.core.jsons import Fields, Json

# Maximum length of a batch's status or failure cause in characters.
LONGEST_WORD = 60
# Maximum number of pages in a server's list of batches.
MOST_PAGES = 1_000

PATIENCE = RetryPolicy(
    attempts=8, absent=8, longest_wait_s=120.0, patience_s=3600.0
)
# Returns the result of a call that is safe to repeat.
patiently = partial(retried, policy=PATIENCE)
# Field that names the part of a run in a provider's batch metadata.
TAG = "visualjudge_part"
# A batch or file id that is safe in a URL, a file and a message.
ID = re.compile(r"[A-Za-z0-9_-]+(?:[./][A-Za-z0-9_-]+)*")
_LONGEST_ID = 200
# States of a batch that has ended, for the providers and compatible servers, in lower
# case.
ENDED = frozenset(
    {"ended", "completed", "succeeded", "partially_succeeded"}
    | {"failed", "expired", "cancelled", "canceled"}
)


class Part(NamedTuple):
    """The requests of one batch, and how far it has come."""

    name: str
    requests: int
    # Time of the first attempt to create the batch, ISO 8601, until the server refused
    # it.
    since: str | None = None
    batch: str | None = None
    # How the batch ended.
    status: str | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """The state of a batch. ``succeeded`` is the number of replies that its results
    must contain.
    """

    status: str
    # Whether it was refused because too much is queued; it can be tried again later.
    limited: bool = False
    succeeded: int = 0
    files: tuple[str, ...] = ()
    reason: str | None = None


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
    # What stands before, between and after the requests in a file.
    framing: ClassVar[tuple[bytes, bytes, bytes]] = (b"", b"\n", b"\n")
    # Price of a batched request as a share of its list price.
    discount: ClassVar[float] = 0.5
    # Path of the list of batches with the query of its first page, and the rows of a
    # page.
    listed: ClassVar[str]
    rows: ClassVar[str] = "data"
    # Parameter of the query that names the last row of the page before.
    after: ClassVar[str] = "after"
    id: ClassVar[str] = "id"
    # Path of one batch.
    batch: ClassVar[str]
    # Path of a file of results.
    results: ClassVar[str]

    def __init__(self, client: RemoteClient) -> None:
        self.client = client

    @abstractmethod
    def line(self, name: str, body: Sequence[bytes]) -> list[bytes]:
        """Return one request as pieces of a file."""

    @abstractmethod
    async def create(self, part: Part, path: Path) -> str:
        """Create a batch of the requests in a file and return its id.

        Raises
        ------
        Unsure
            If there was no answer: use :meth:`find` to check whether the batch exists.
        ClientError
            If the server refused.
        """

    @abstractmethod
    def fits(self, row: Fields, part: Part) -> bool:
        """Return whether a row of the list is, or may be, the batch of a part."""

    @abstractmethod
    def looked(self, body: Fields) -> Look:
        """Return the state of a batch that the server describes."""

    @abstractmethod
    def read(self, row: Fields) -> tuple[str, Result]:
        """Return the request's name and result from a line of results.

        Raises
        ------
        ValueError, KeyError, TypeError
            If the line is not a result.
        """

    async def find(self, part: Part, known: Collection[str]) -> str | None:
        """Return the batch that was, or may have been, created for a part, searching
        all batches of the server except those ``known`` to be others.
        """
        address = self.listed
        for _ in range(MOST_PAGES):
            page = await patiently(partial(self.call, "GET", address))
            rows = page.get(self.rows)
            for row in rows if isinstance(rows, list) else ():
                if isinstance(row, Mapping) and self.fits(row, part):
                    batch = self.id_in(row, self.id)
                    if batch not in known:
                        return batch
            last = self._last(page)
            if last is None:
                return None
            address = f"{self.listed}&{self.after}={last}"
        return None

    async def look(self, batch: str) -> Look:
        """Return the state of a batch.

        Raises
        ------
        ClientError
            If the server does not report it.
        """
        return self.looked(await self.call("GET", self.batch.format(batch)))

    async def download(self, file: str) -> bytes:
        """Return a file of results, with secrets masked."""
        url = self.client.address(self.results.format(self.id_in({"id": file})))

        async def once() -> bytes:
            answer = await self.client.wire.send(
                "GET", url, self.client.headers(), bulk=True
            )
            if not 200 <= answer.status < 300:
                self.client.object_of(answer)
            return answer.body

        return await patiently(once)

    def result_of(self, line: bytes) -> tuple[str, Result]:
        """Return the result of :meth:`read` for a line of results."""
        name, result = self.read(orjson.loads(line))
        return str(name), replace(
            result, cause=result.cause and word_of(result.cause)
        )

    def id_in(self, body: Any, key: str = "id") -> str:
        """Return an id of the server.

        Raises
        ------
        TransportError
            If ``body`` contains no usable one.
        """
        stated = member(body, key)
        if not (
            isinstance(stated, str)
            and len(stated) <= _LONGEST_ID
            and ID.fullmatch(stated)
        ):
            raise TransportError(
                f"the reply has no usable {key}", cause="no reply in body"
            )
        return stated

    async def call(
        self, method: str, path: str, data: Any = None, **extra: str
    ) -> Json:
        """Make one call and return the server's JSON object."""
        headers = {**self.client.headers(), **extra}
        if not (isinstance(data, bytes) or extra):
            del headers["Content-Type"]
        url = self.client.address(path)
        answer = await self.client.wire.send(
            method, url, headers, data, bulk=True
        )
        return self.client.object_of(answer)

    async def make(self, path: str, data: Any, part: Part) -> str:
        """Send a POST that creates a batch, once. If the answer is lost, the batch may
        or may not exist.
        """
        extra = {
            "Content-Type": "application/json",
            "Idempotency-Key": part.name,
        }
        try:
            return self.id_in(
                await self.call("POST", path, data, **extra), self.id
            )
        except TransportError as error:
            raise Unsure(str(error)) from None
        except ApiError as error:
            if error.status >= 500 or error.status in (408, 409):
                raise Unsure(str(error)) from None
            raise

    def _last(self, page: Fields) -> str | None:
        # Return what names the end of a page if others follow.
        rows = page.get("data")
        if not page.get("has_more") or not isinstance(rows, list) or not rows:
            return None
        return self.id_in(rows[-1])


def word_of(value: Any) -> str:
    """Return a status or cause on one short line; empty if it is not a text."""
    return one_line(value)[:LONGEST_WORD] if isinstance(value, str) else ""


def count_of(value: Any) -> int:
    """Return a count, which Google sends as text; 0 for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:15])
    return value if type(value) is int and value >= 0 else 0
