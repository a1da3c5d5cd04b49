"""Anthropic's message batches.

https://docs.anthropic.com/en/api/creating-message-batches: at most 100,000 requests or 256 MB per
batch; results come in any order and are kept for 29 days. Batches cannot be named. An unconfirmed
batch is matched by its number of requests and creation time; only its results confirm the match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from visualjudge.clients.batch.batched_client import CANCELLED, Result
from visualjudge.clients.batch.provider import (
    Framing,
    Look,
    Provider,
    Ticket,
    count_of,
    last_id,
    named,
)
from visualjudge.clients.reply_fields import member
from visualjudge.clients.server_errors import STATUS_OF_TYPE

_COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
_ENDED = frozenset({"ended"})
_CLOCKS_DIFFER = timedelta(days=1)
_BATCHES = "/v1/messages/batches"
_CAUSES = {"canceled": CANCELLED, "expired": "batch expired"}


class AnthropicBatches(Provider):
    """Anthropic's batches. The call that creates a batch contains its requests."""

    most_requests = 100_000
    most_bytes = 256_000_000
    anonymous = True
    framing = Framing(b'{"requests":[\n', b",\n", b"\n]}\n")

    def line(self, name: str, body: Sequence[bytes]) -> list[bytes]:
        return [b'{"custom_id":"', name.encode(), b'","params":', *body, b"}"]

    async def create(self, ticket: Ticket, path: Path) -> str:
        with path.open("rb") as file:
            return await self._make(_BATCHES, file, ticket)

    async def find(self, ticket: Ticket) -> str | None:

        def following(page: Mapping[str, Any]) -> str | None:
            last = last_id(page, self)
            return last and f"&after_id={last}"

        async for row in self._rows(f"{_BATCHES}?limit=100", "data", following):
            if not _is_newer(row, ticket.since):
                return None  # the list begins with the newest
            total = sum(count_of(member(row.get("request_counts"), name)) for name in _COUNTS)
            if total == ticket.requests and (batch := self.id_in(row)) not in ticket.known:
                return batch
        return None

    async def look(self, batch: str) -> Look:
        body = await self._call("GET", f"{_BATCHES}/{batch}")
        status = self.state(body.get("processing_status"), _ENDED)
        succeeded = count_of(member(body.get("request_counts"), "succeeded"))
        ended = status in _ENDED
        return Look(status, ended=ended, succeeded=succeeded, files=(batch,) if ended else ())

    def read(self, row: Mapping[str, Any]) -> tuple[str, Result]:
        name, result = named(row["custom_id"]), row["result"]
        if result["type"] == "succeeded":
            return name, Result(200, orjson.dumps(result["message"]))
        if result["type"] == "errored":
            error = result["error"]
            kind = str(member(member(error, "error"), "type") or member(error, "type"))
            return name, Result(STATUS_OF_TYPE.get(kind, 500), orjson.dumps(error))
        cause = _CAUSES[result["type"]]
        return name, Result(0, b"", cause, retryable=cause != CANCELLED)

    async def download(self, file: str, into: BinaryIO) -> None:
        await self._save(f"{_BATCHES}/{file}/results", into)

    async def cancel(self, batch: str) -> None:
        await self.patiently(lambda: self._call("POST", f"{_BATCHES}/{batch}/cancel"))


def _is_newer(row: Mapping[str, Any], since: datetime | None) -> bool:
    # Return whether a batch may have been created since then; True if its time cannot be read.
    try:
        created = datetime.fromisoformat(str(row.get("created_at")))
        return since is None or created > since - _CLOCKS_DIFFER
    except (ValueError, TypeError, OverflowError):
        return True
