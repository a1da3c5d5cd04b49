"""OpenAI's batch interface, also used by other servers. Live calls are in
``clients/api.py``.

https://platform.openai.com/docs/api-reference/batch: at most 50,000 requests or 200 MB
and one model per file.
"""

from collections.abc import Sequence
from pathlib import Path

import aiohttp
import orjson

from visualjudge.clients.batch.batched_client import CANCELLED, Result
from visualjudge.clients.batch.provider import (
    TAG,
    Look,
    Part,
    Provider,
    count_of,
    patiently,
    word_of,
)
from visualjudge.clients.protocol_fields import member
from visualjudge.core.jsons import Fields

ENDPOINT = "/v1/chat/completions"
_CAUSES = {"batch_expired": "batch expired", "batch_cancelled": CANCELLED}
_LIMITS = frozenset({"token_limit_exceeded", "rate_limit_exceeded"})


class OpenAiBatches(Provider):
    """Uploads files, creates, polls and cancels batches, and downloads results."""

    most_requests = 50_000
    most_bytes = 200_000_000
    listed = "/batches?limit=100"
    batch = "/batches/{}"
    results = "/files/{}/content"

    def line(self, name: str, body: Sequence[bytes]) -> list[bytes]:
        head = orjson.dumps(
            {"custom_id": name, "method": "POST", "url": ENDPOINT}
        )
        return [head[:-1], b',"body":', *body, b"}"]

    async def create(self, part: Part, path: Path) -> str:

        async def upload() -> str:
            with path.open("rb") as file:
                form = aiohttp.FormData({"purpose": "batch"})
                name = f"{part.name}.jsonl"
                form.add_field(
                    "file",
                    file,
                    filename=name,
                    content_type="application/jsonl",
                )
                return self.id_in(await self.call("POST", "/files", form))

        body = {
            "input_file_id": await patiently(upload),
            "endpoint": ENDPOINT,
            "completion_window": "24h",
            "metadata": {TAG: part.name},
        }
        return await self.make("/batches", orjson.dumps(body), part)

    def fits(self, row: Fields, part: Part) -> bool:
        return bool(member(row.get("metadata"), TAG) == part.name)

    def looked(self, body: Fields) -> Look:
        listed = member(body.get("errors"), "data")
        errors = listed if isinstance(listed, list) else []
        files = (body.get("output_file_id"), body.get("error_file_id"))
        return Look(
            word_of(body.get("status")).lower(),
            limited=any(member(error, "code") in _LIMITS for error in errors),
            succeeded=count_of(member(body.get("request_counts"), "completed")),
            files=tuple(
                file for file in files if isinstance(file, str) and file
            ),
            reason="; ".join(str(member(error, "message")) for error in errors)
            or None,
        )

    def read(self, row: Fields) -> tuple[str, Result]:
        response = row.get("response")
        error = row.get("error")
        if (
            isinstance(response, dict)
            and type(response.get("status_code")) is int
        ):
            body = orjson.dumps(response.get("body"))
            return row["custom_id"], Result(response["status_code"], body)
        code = str(
            member(error, "code") or member(error, "message") or "batch error"
        )
        cause = _CAUSES.get(code, code)
        return row["custom_id"], Result(
            0, b"", cause, retryable=cause != CANCELLED
        )
