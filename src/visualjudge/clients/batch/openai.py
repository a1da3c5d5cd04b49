"""OpenAI's batch interface, also used by other servers.

https://platform.openai.com/docs/api-reference/batch: at most 50,000 requests or 200 MB and one
model per file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import aiohttp
import orjson

from visualjudge.clients.batch.batched_client import CANCELLED, Result
from visualjudge.clients.batch.provider import (
    TAG,
    Look,
    Provider,
    Ticket,
    count_of,
    rows_of,
    word_of,
)
from visualjudge.clients.reply_fields import member

ENDPOINT = "/v1/chat/completions"
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_CAUSES = {"batch_expired": "batch expired", "batch_cancelled": CANCELLED}
_LIMITS = frozenset({"token_limit_exceeded", "rate_limit_exceeded"})


class OpenAiBatches(Provider):
    """Uploads files, creates, polls and cancels batches, and downloads results."""

    most_requests = 50_000
    most_bytes = 200_000_000

    def line(self, name: str, body: Sequence[bytes]) -> list[bytes]:
        """Return a request as a line of a batch file."""
        head = orjson.dumps({"custom_id": name, "method": "POST", "url": ENDPOINT})
        return [head[:-1], b',"body":', *body, b"}"]

    async def upload(self, part: str, path: Path) -> str | None:
        """Upload the file and return its id."""

        async def send() -> str:
            with path.open("rb") as file:
                form = aiohttp.FormData({"purpose": "batch"})
                form.add_field(
                    "file", file, filename=f"{part}.jsonl", content_type="application/jsonl"
                )
                return self.id_in(await self._call("POST", "/files", form))

        return await self.patiently(send)

    async def create(self, ticket: Ticket, path: Path) -> str:
        """Create a batch with the part's name in its metadata."""
        body = {
            "input_file_id": ticket.file,
            "endpoint": ENDPOINT,
            "completion_window": "24h",
            "metadata": {TAG: ticket.part},
        }
        return await self._make("/batches", orjson.dumps(body), ticket)

    async def find(self, ticket: Ticket) -> str | None:
        """Find a batch by its metadata or its file."""

        def following(page: dict[str, Any]) -> str | None:
            rows = rows_of(page, "data")
            return f"&after={self.id_in(rows[-1])}" if page.get("has_more") and rows else None

        async for page in self._pages("/batches?limit=100", following):
            for row in rows_of(page, "data"):
                ours = (
                    member(row.get("metadata"), TAG) == ticket.part
                    or row.get("input_file_id") == ticket.file
                )
                if ours and (found := self.id_in(row)) not in ticket.known:
                    return found
        return None

    async def look(self, batch: str) -> Look:
        body = await self._call("GET", f"/batches/{batch}")
        errors = member(body.get("errors"), "data")
        listed = errors if isinstance(errors, list) else []
        status = self.status_in(body.get("status"), _ENDED)
        files = (word_of(body.get("output_file_id")), word_of(body.get("error_file_id")))
        return Look(
            status,
            ended=status in _ENDED,
            refused=status == "failed" and not any(files),
            limited=any(word_of(member(one, "code")) in _LIMITS for one in listed),
            succeeded=count_of(member(body.get("request_counts"), "completed")),
            files=tuple(file for file in files if file),
            reason=self.said(member(one, "message") for one in listed),
        )

    def read(self, row: Mapping[str, Any]) -> tuple[str, Result]:
        """Read one line of an output or error file."""
        name, response, error = row["custom_id"], row.get("response"), row.get("error")
        if not isinstance(name, str):
            raise ValueError("custom_id must be a string")
        if isinstance(response, dict) and type(response.get("status_code")) is int:
            return name, Result(response["status_code"], orjson.dumps(response.get("body")))
        code = str(member(error, "code") or member(error, "message") or "batch error")
        return name, Result(
            0, b"", _CAUSES.get(code, code), retryable=_CAUSES.get(code) != CANCELLED
        )

    async def download(self, file: str, into: BinaryIO) -> None:
        await self._save(f"/files/{self.id_in({'id': file})}/content", into)

    async def cancel(self, batch: str) -> None:
        await self.patiently(lambda: self._call("POST", f"/batches/{batch}/cancel"))
