"""Gemini's batch interface: upload a file of requests, create a batch, download a file
of replies. Live calls are in ``clients/google.py``.

https://ai.google.dev/api/batch-api. Requests are always sent as a file of at most 2 GB;
the inline form, for less than 20 MB, is not used.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import orjson

from visualjudge.clients.batch.batched_client import Result
from visualjudge.clients.batch.provider import (
    ENDED,
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

# HTTP statuses of google.rpc.Code; all others count as server errors.
_STATUSES = {3: 400, 5: 404, 7: 403, 8: 429, 9: 400, 11: 400, 16: 401}
_TYPE = "application/jsonl"


class GoogleBatches(Provider):
    """Gemini's batches. Names, counts and states are in the metadata of an
    operation."""

    most_requests = 100_000
    most_bytes = 2_000_000_000
    listed = "/v1beta/batches?pageSize=100"
    rows = "operations"
    after = "pageToken"
    id = "name"
    batch = "/v1beta/{}"
    results = "/v1beta/{}:download?alt=media"

    def line(self, name: str, body: Sequence[bytes]) -> list[bytes]:
        return [b'{"key":"', name.encode(), b'","request":', *body, b"}"]

    async def create(self, part: Part, path: Path) -> str:
        file = await patiently(lambda: self._upload(part.name, path))
        model = quote(self.client.model.removeprefix("models/"), safe="")
        batch = {
            "displayName": f"{TAG}-{part.name}",
            "inputConfig": {"fileName": file},
        }
        address = f"/v1beta/models/{model}:batchGenerateContent"
        return await self.make(address, orjson.dumps({"batch": batch}), part)

    async def _upload(self, part: str, path: Path) -> str:
        # Upload in one piece with the resumable protocol, and return the file's name.
        about = orjson.dumps({"file": {"displayName": part, "mimeType": _TYPE}})
        headers = {
            **self.client.headers(),
            "X-Goog-Upload-Protocol": "resumable",
            "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Type": _TYPE,
            "X-Goog-Upload-Header-Content-Length": str(path.stat().st_size),
        }
        start = self.client.address("/upload/v1beta/files")
        answer = await self.client.wire.send("POST", start, headers, about)
        if answer.status >= 300:
            self.client.object_of(answer)
        # Only to the same server, whatever it says, because the headers contain the
        # key.
        stated = answer.headers.get("X-Goog-Upload-URL", "")
        target = "/".join([*start.split("/", 3)[:3], *stated.split("/", 3)[3:]])
        headers = self.client.headers() | {
            "X-Goog-Upload-Offset": "0",
            "X-Goog-Upload-Command": "upload, finalize",
        }
        with path.open("rb") as file:
            answer = await self.client.wire.send(
                "POST", target, headers, file, bulk=True
            )
        return self.id_in(member(self.client.object_of(answer), "file"), "name")

    def fits(self, row: Fields, part: Part) -> bool:
        return bool(
            member(row.get("metadata"), "displayName") == f"{TAG}-{part.name}"
        )

    def looked(self, body: Fields) -> Look:
        about = body.get("metadata")
        error = body.get("error")
        state = word_of(member(about, "state"))
        state = (
            state.removeprefix("BATCH_STATE_")
            .removeprefix("JOB_STATE_")
            .lower()
        )
        file = member(body.get("response"), "responsesFile") or member(
            member(about, "output"), "responsesFile"
        )
        return Look(
            "ended"
            if body.get("done") is True and state not in ENDED
            else state,
            limited=member(error, "code") == 8,
            succeeded=count_of(
                member(member(about, "batchStats"), "successfulRequestCount")
            ),
            files=(file,) if isinstance(file, str) else (),
            reason=str(member(error, "message")) if error else None,
        )

    def read(self, row: Fields) -> tuple[str, Result]:
        error = row.get("error")
        if not isinstance(error, Mapping):
            return row["key"], Result(200, orjson.dumps(row["response"]))
        code = count_of(error.get("code"))
        status = code if code >= 400 else _STATUSES.get(code, 500)
        return row["key"], Result(
            status, orjson.dumps({"error": {**error, "code": status}})
        )

    def _last(self, page: Fields) -> str | None:
        token = page.get("nextPageToken")
        return quote(token, safe="") if isinstance(token, str) else None
