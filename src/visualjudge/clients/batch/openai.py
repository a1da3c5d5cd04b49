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
from visualjudge.clients.batch.provider import TAG, Look, Provider, Ticket, count_of, last_id, named
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
        head = orjson.dumps({"custom_id": name, "method": "POST", "url": ENDPOINT})
        return [head[:-1], b',"body":', *body, b"}"]

    async def create(self, ticket: Ticket, path: Path) -> str:

        async def upload() -> str:
            with path.open("rb") as file:
                form = aiohttp.FormData({"purpose": "batch"})
                name = f"{ticket.part}.jsonl"
                form.add_field("file", file, filename=name, content_type="application/jsonl")
                return self.id_in(await self._call("POST", "/files", form))

        body = {
            "input_file_id": await self.patiently(upload),
            "endpoint": ENDPOINT,
            "completion_window": "24h",
            "metadata": {TAG: ticket.part},
        }
        return await self._make("/batches", orjson.dumps(body), ticket)

    async def find(self, ticket: Ticket) -> str | None:

        def following(page: Mapping[str, Any]) -> str | None:
            last = last_id(page, self)
            return last and f"&after={last}"

        async for row in self._rows("/batches?limit=100", "data", following):
            if member(row.get("metadata"), TAG) == ticket.part:
                return self.id_in(row)
        return None

    async def look(self, batch: str) -> Look:
        body = await self._call("GET", f"/batches/{batch}")
        listed = member(body.get("errors"), "data")
        errors = listed if isinstance(listed, list) else []
        status = self.state(body.get("status"), _ENDED)
        files = (body.get("output_file_id"), body.get("error_file_id"))
        return Look(
            status,
            ended=status in _ENDED,
            limited=any(member(error, "code") in _LIMITS for error in errors),
            succeeded=count_of(member(body.get("request_counts"), "completed")),
            files=tuple(file for file in files if isinstance(file, str) and file),
            reason="; ".join(str(member(error, "message")) for error in errors) or None,
        )

    def read(self, row: Mapping[str, Any]) -> tuple[str, Result]:
        name, response, error = named(row["custom_id"]), row.get("response"), row.get("error")
        if isinstance(response, dict) and type(response.get("status_code")) is int:
            return name, Result(response["status_code"], orjson.dumps(response.get("body")))
        code = str(member(error, "code") or member(error, "message") or "batch error")
        cause = _CAUSES.get(code, code)
        return name, Result(0, b"", cause, retryable=cause != CANCELLED)

    async def download(self, file: str, into: BinaryIO) -> None:
        await self._save(f"/files/{self.id_in({'id': file})}/content", into)

    async def cancel(self, batch: str) -> None:
        await self.patiently(lambda: self._call("POST", f"/batches/{batch}/cancel"))
