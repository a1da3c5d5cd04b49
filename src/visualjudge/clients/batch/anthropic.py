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
from visualjudge.clients.batch.provider import Framing, Look, Provider, Ticket, count_of, rows_of
from visualjudge.clients.reply_fields import member

_COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_ENDED = frozenset({"ended"})
_CLOCKS_DIFFER = timedelta(days=1)
_BATCHES = "/v1/messages/batches"


class AnthropicBatches(Provider):
    """Anthropic's batches. The call that creates a batch contains its requests."""

    most_requests = 100_000
    most_bytes = 256_000_000
    anonymous = True
    framing = Framing(b'{"requests":[\n', b",\n", b"\n]}\n")

    def line(self, name: str, body: Sequence[bytes]) -> list[bytes]:
        """Return a request as an entry of the list."""
        return [b'{"custom_id":"', name.encode(), b'","params":', *body, b"}"]

    async def create(self, ticket: Ticket, path: Path) -> str:
        with path.open("rb") as file:
            return await self._make(_BATCHES, file, ticket)

    async def find(self, ticket: Ticket) -> str | None:
        """Return the newest unknown batch with the same number of requests that is not older than
        the ticket."""

        def following(page: dict[str, Any]) -> str | None:
            rows = rows_of(page, "data")
            more = page.get("has_more") and rows and _is_newer(rows[-1], ticket.since)
            return f"&after_id={self.id_in(rows[-1])}" if more else None

        async for page in self._pages(f"{_BATCHES}?limit=100", following):
            for row in rows_of(page, "data"):
                total = sum(count_of(member(row.get("request_counts"), name)) for name in _COUNTS)
                same = total == ticket.requests and _is_newer(row, ticket.since)
                if same and (found := self.id_in(row)) not in ticket.known:
                    return found
        return None

    async def look(self, batch: str) -> Look:
        body = await self._call("GET", f"{_BATCHES}/{batch}")
        status = self.status_in(body.get("processing_status"), _ENDED)
        succeeded = count_of(member(body.get("request_counts"), "succeeded"))
        ended = status in _ENDED
        return Look(status, ended=ended, succeeded=succeeded, files=(batch,) if ended else ())

    def read(self, row: Mapping[str, Any]) -> tuple[str, Result]:
        """Read one line of the results."""
        name, result = row["custom_id"], row["result"]
        kind = result["type"]
        if not isinstance(name, str):
            raise ValueError("custom_id must be a string")
        if kind == "succeeded":
            return name, Result(200, orjson.dumps(result["message"]))
        if kind == "errored":
            stated = member(member(result["error"], "error"), "type") or member(
                result["error"], "type"
            )
            return name, Result(_STATUSES.get(str(stated), 500), orjson.dumps(result["error"]))
        cause = {"canceled": CANCELLED, "expired": "batch expired"}[kind]
        return name, Result(0, b"", cause, retryable=cause != CANCELLED)

    async def download(self, file: str, into: BinaryIO) -> None:
        await self._save(f"{_BATCHES}/{file}/results", into)

    async def cancel(self, batch: str) -> None:
        await self.patiently(lambda: self._call("POST", f"{_BATCHES}/{batch}/cancel"))


def _is_newer(row: Mapping[str, Any], since: datetime | None) -> bool:
    """Return whether a batch may have been created since then; True if its time cannot be read."""
    try:
        return (
            since is None
            or datetime.fromisoformat(str(row.get("created_at"))) > since - _CLOCKS_DIFFER
        )
    except (ValueError, TypeError, OverflowError):
        return True
