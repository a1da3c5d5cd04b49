"""Anthropic's message batches. Live calls are in ``clients/anthropic.py``.

https://docs.anthropic.com/en/api/creating-message-batches: at most 100,000 requests or
256 MB per batch; results come in any order and are kept for 29 days. Batches cannot be
named: an unconfirmed batch is the newest with its number of requests that was created
since. If that is another's, its results name none of ours, which count as lost.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import orjson

from visualjudge.clients.batch.batched_client import CANCELLED, Result
from visualjudge.clients.batch.provider import (
    ENDED,
    Look,
    Part,
    Provider,
    count_of,
    word_of,
)
from visualjudge.clients.protocol_fields import member
from visualjudge.clients.server_errors import STATUS_OF_TYPE
from visualjudge.core.jsons import Fields

_COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
_CLOCKS_DIFFER = timedelta(minutes=10)
_BATCHES = "/v1/messages/batches"
_CAUSES = {"canceled": CANCELLED, "expired": "batch expired"}


class AnthropicBatches(Provider):
    """Anthropic's batches. The call that creates a batch contains its requests."""

    most_requests = 100_000
    most_bytes = 256_000_000
    framing = (b'{"requests":[\n', b",\n", b"\n]}\n")
    listed = f"{_BATCHES}?limit=100"
    after = "after_id"
    batch = f"{_BATCHES}/{{}}"
    results = f"{_BATCHES}/{{}}/results"

    def line(self, name: str, body: Sequence[bytes]) -> list[bytes]:
        return [b'{"custom_id":"', name.encode(), b'","params":', *body, b"}"]

    async def create(self, part: Part, path: Path) -> str:
        with path.open("rb") as file:
            return await self.make(_BATCHES, file, part)

    def fits(self, row: Fields, part: Part) -> bool:
        total = sum(
            count_of(member(row.get("request_counts"), name))
            for name in _COUNTS
        )
        try:
            created = datetime.fromisoformat(str(row.get("created_at")))
            begun = datetime.fromisoformat(str(part.since))
        except ValueError:
            return total == part.requests
        return total == part.requests and created > begun - _CLOCKS_DIFFER

    def looked(self, body: Fields) -> Look:
        status = word_of(body.get("processing_status")).lower()
        succeeded = count_of(member(body.get("request_counts"), "succeeded"))
        files = (self.id_in(body),) if status in ENDED else ()
        return Look(status, succeeded=succeeded, files=files)

    def read(self, row: Fields) -> tuple[str, Result]:
        name = row["custom_id"]
        result = row["result"]
        if result["type"] == "succeeded":
            return name, Result(200, orjson.dumps(result["message"]))
        if result["type"] == "errored":
            error = result["error"]
            kind = str(
                member(member(error, "error"), "type") or member(error, "type")
            )
            return name, Result(
                STATUS_OF_TYPE.get(kind, 500), orjson.dumps(error)
            )
        cause = _CAUSES[result["type"]]
        return name, Result(0, b"", cause, retryable=cause != CANCELLED)
