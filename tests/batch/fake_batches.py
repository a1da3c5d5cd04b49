"""The batch interfaces of OpenAI, Anthropic and Gemini on loopback, with their faults;
counts what was paid.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from visualjudge.core.seeding import rng_for


@dataclass(frozen=True)
class Faults:
    """Shares of events at which each fault happens."""

    busy: float = 0.0
    """429 on submit."""
    lost: float = 0.0
    """The connection ends after the batch was made, without an answer."""
    broken: float = 0.0
    """503 to a read, or a closed connection."""
    half: float = 0.0
    """Half a results file; at most twice a batch."""
    messy: float = 0.0
    """Results with duplicates, lines of others, in any order."""
    expired: float = 0.0
    """Of requests."""
    failing: float = 0.0
    """Of requests: HTTP 500 inside the batch."""
    limited: float = 0.0
    """The batch is refused since too much is queued (OpenAI)."""
    slow_s: float = 0.2
    """A batch takes up to so long."""


ALL = Faults(
    busy=0.15,
    lost=0.2,
    broken=0.1,
    half=0.3,
    messy=0.5,
    expired=0.05,
    failing=0.05,
    limited=0.1,
)


@dataclass
class Batch:
    id: str
    requests: list[tuple[str, dict[str, Any]]]
    ready: float
    about: dict[str, Any]
    outcomes: dict[str, str] = field(default_factory=dict)
    halves: int = 0
    cancelled: bool = False
    limited: bool = False
    made: float = field(default_factory=time.time)

    @property
    def ended(self) -> bool:
        return self.cancelled or self.limited or time.monotonic() >= self.ready

    def count(self, outcome: str) -> int:
        return list(self.outcomes.values()).count(outcome)


class FakeBatches:
    """One server with all three interfaces; a context that runs it in a thread.

    ``paid`` counts by the digest of a request's body how often it was run and charged
    for.
    """

    def __init__(self, faults: Faults = Faults(), seed: int = 0) -> None:
        self.faults = faults
        self.paid: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.live = 0
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, Batch] = {}
        self.keys: set[str] = set()
        self.refuse: dict[str, str] = {}
        """A field of the body that is refused with 400, and the message."""
        self._random = rng_for(seed, "fake batches")
        self._loop = asyncio.new_event_loop()

    # ------------------------------------------------------------ server

    def __enter__(self) -> FakeBatches:
        started = threading.Event()

        async def start() -> None:
            app = web.Application(client_max_size=2**30)
            app.router.add_route("*", "/{path:.*}", self._handle)
            self._runner = web.AppRunner(app)
            await self._runner.setup()
            site = web.TCPSite(self._runner, "127.0.0.1", 0)
            await site.start()
            self.url = (
                f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"  # type: ignore[union-attr]
            )
            started.set()

        def serve() -> None:
            asyncio.set_event_loop(self._loop)
            self._loop.run_until_complete(start())
            self._loop.run_forever()

        self._thread = threading.Thread(target=serve, daemon=True)
        self._thread.start()
        started.wait(10)
        return self

    def __exit__(self, *error: object) -> None:
        asyncio.run_coroutine_threadsafe(
            self._runner.cleanup(), self._loop
        ).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.keys |= {
            request.headers.get(name, "")
            for name in ("Authorization", "x-api-key", "x-goog-api-key")
        }
        path, body = request.path, await request.read()
        if request.method == "GET" and self._happens(self.faults.broken):
            return (
                self._closed(request)
                if self._happens(0.5)
                else web.json_response({"error": {}}, status=503)
            )
        for handler in (self._openai, self._anthropic, self._google):
            answer = handler(request, path, body)
            if answer is not None:
                return answer
        return web.json_response(
            {"error": {"message": f"no such path {path}"}}, status=404
        )

    def _happens(self, share: float) -> bool:
        return self._random.random() < share

    def _closed(self, request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    # ------------------------------------------------------------ what all share

    def _made(
        self,
        request: web.Request,
        requests: list[tuple[str, dict[str, Any]]],
        **about: Any,
    ) -> Any:
        """A batch, or the answer in its place."""
        if self._happens(self.faults.busy):
            return web.json_response(
                {"error": {"message": "slow down"}},
                status=429,
                headers={"Retry-After": "0"},
            )
        number = len(self.batches) + 1
        ready = time.monotonic() + self._random.random() * self.faults.slow_s
        batch = Batch(
            f"batch_{number}",
            requests,
            ready,
            about,
            limited=bool(about) and self._happens(self.faults.limited),
        )
        self.batches[batch.id] = batch
        if not batch.limited:
            for name, body in requests:
                batch.outcomes[name] = self._run(body)
        return (
            self._closed(request) if self._happens(self.faults.lost) else batch
        )

    def _run(self, body: dict[str, Any]) -> str:
        digest = digest_of(body)
        self.seen[digest] += 1
        if any(name in json.dumps(body) for name in self.refuse):
            return "refused"
        if self._happens(self.faults.expired):
            return "expired"
        if self._happens(self.faults.failing):
            return "failing"
        self.paid[digest] += 1
        return "ok"

    def _results(self, batch: Batch, line: Any) -> web.Response:
        rows = [
            json.dumps(line(name, body, batch.outcomes[name]))
            for name, body in batch.requests
        ]
        if self._happens(self.faults.messy):
            twice = list(self._random.choice(rows, len(rows) // 3))
            others = (
                [json.dumps(line("other", {}, "ok"))] if batch.about else []
            )
            rows += [*twice, *others, "{}", "not JSON"]
            self._random.shuffle(rows)
        content = "".join(f"{row}\n" for row in rows if row != "null").encode()
        if batch.halves < 2 and self._happens(self.faults.half):
            batch.halves += 1
            content = content[: len(content) // 2]
        return web.Response(body=content)

    def _page(
        self, request: web.Request, after: str
    ) -> tuple[list[Batch], bool]:
        """Newest first, four a page."""
        rows = sorted(
            self.batches.values(),
            key=lambda batch: -int(batch.id.split("_")[1]),
        )
        start = next(
            (place + 1 for place, row in enumerate(rows) if row.id == after), 0
        )
        return rows[start : start + 4], start + 4 < len(rows)

    def _file(self, content: bytes) -> str:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        return name

    # ------------------------------------------------------------ OpenAI

    def _openai(self, request: web.Request, path: str, body: bytes) -> Any:
        method = request.method
        if path == "/v1/chat/completions":
            self.live += 1
            return web.json_response(self._openai_body(json.loads(body)))
        if (method, path) == ("POST", "/v1/files"):
            return web.json_response(
                {"id": self._file(_uploaded(request, body)), "purpose": "batch"}
            )
        if (method, path) == ("POST", "/v1/batches"):
            asked = json.loads(body)
            lines = [
                json.loads(line)
                for line in self.files[asked["input_file_id"]].splitlines()
            ]
            assert {line["url"] for line in lines} == {"/v1/chat/completions"}
            assert (
                len({line["custom_id"] for line in lines})
                == len(lines)
                <= 50_000
            )
            requests = [(line["custom_id"], line["body"]) for line in lines]
            made = self._made(
                request,
                requests,
                file=asked["input_file_id"],
                metadata=asked["metadata"],
            )
            return (
                web.json_response(self._openai_row(made))
                if isinstance(made, Batch)
                else made
            )
        if (method, path) == ("GET", "/v1/batches"):
            page, more = self._page(request, request.query.get("after", ""))
            return web.json_response(
                {
                    "data": [self._openai_row(row) for row in page],
                    "has_more": more,
                }
            )
        if path.startswith("/v1/batches/"):
            batch = self.batches[path.split("/")[3]]
            batch.cancelled |= path.endswith("/cancel") and not batch.ended
            return web.json_response(self._openai_row(batch))
        if path.startswith("/v1/files/"):
            kind, _, name = path.split("/")[3].partition("-")
            return self._results(
                self.batches[name], lambda *row: self._openai_line(kind, *row)
            )
        return None

    def _openai_row(self, batch: Batch) -> dict[str, Any]:
        done, status = batch.ended, "in_progress"
        if done:
            status = (
                "cancelled"
                if batch.cancelled
                else "expired"
                if batch.count("expired")
                else "completed"
            )
        row = {
            "id": batch.id,
            "metadata": batch.about["metadata"],
            "input_file_id": batch.about["file"],
            "request_counts": {
                "total": len(batch.requests),
                "completed": done * batch.count("ok"),
                "failed": 0,
            },
        }
        if batch.limited:
            errors = {
                "data": [
                    {
                        "code": "token_limit_exceeded",
                        "message": "too many tokens enqueued",
                    }
                ]
            }
            return row | {"status": "failed", "errors": errors}
        files = (
            {
                "output_file_id": f"output-{batch.id}",
                "error_file_id": f"error-{batch.id}",
            }
            if done
            else {}
        )
        return row | {"status": status} | files

    def _openai_line(
        self, kind: str, name: str, body: Any, outcome: str
    ) -> Any:
        if (outcome == "ok") != (kind == "output"):
            return None
        if outcome == "ok":
            response = {"status_code": 200, "body": self._openai_body(body)}
        elif outcome == "expired":
            error = {"code": "batch_expired", "message": "not in time"}
            return {"custom_id": name, "response": None, "error": error}
        elif outcome == "refused":
            message = next(
                message
                for field, message in self.refuse.items()
                if field in json.dumps(body)
            )
            response = {
                "status_code": 400,
                "body": {"error": {"message": message}},
            }
        else:
            response = {
                "status_code": 500,
                "body": {"error": {"message": "sorry"}},
            }
        return {"custom_id": name, "response": response, "error": None}

    def _openai_body(self, body: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": said(body)}
        usage = {
            "prompt_tokens": 100,
            "completion_tokens": 2,
            "total_tokens": 102,
        }
        return {
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": message}
            ],
            "usage": usage,
        }

    # ------------------------------------------------------------ Anthropic

    def _anthropic(self, request: web.Request, path: str, body: bytes) -> Any:
        root = "/v1/messages/batches"
        if path == "/v1/messages":
            self.live += 1
            return web.json_response(self._anthropic_body(json.loads(body)))
        if (request.method, path) == ("POST", root):
            requests = [
                (row["custom_id"], row["params"])
                for row in json.loads(body)["requests"]
            ]
            made = self._made(request, requests)
            return (
                web.json_response(self._anthropic_row(made))
                if isinstance(made, Batch)
                else made
            )
        if (request.method, path) == ("GET", root):
            page, more = self._page(request, request.query.get("after_id", ""))
            return web.json_response(
                {
                    "data": [self._anthropic_row(row) for row in page],
                    "has_more": more,
                }
            )
        if not path.startswith(root):
            return None
        batch = self.batches[path.split("/")[4]]
        batch.cancelled |= path.endswith("/cancel") and not batch.ended
        if path.endswith("/results"):
            return self._results(batch, self._anthropic_line)
        return web.json_response(self._anthropic_row(batch))

    def _anthropic_row(self, batch: Batch) -> dict[str, Any]:
        total, ok, expired = (
            len(batch.requests),
            batch.count("ok"),
            batch.count("expired"),
        )
        counts = {
            "processing": total,
            "succeeded": 0,
            "errored": 0,
            "canceled": 0,
            "expired": 0,
        }
        if batch.ended:
            errored = total - ok - expired
            counts = {
                "processing": 0,
                "succeeded": ok,
                "errored": errored,
                "canceled": 0,
                "expired": expired,
            }
        made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(batch.made))
        status = "ended" if batch.ended else "in_progress"
        return {
            "id": batch.id,
            "processing_status": status,
            "request_counts": counts,
            "created_at": made,
        }

    def _anthropic_line(self, name: str, body: Any, outcome: str) -> Any:
        if outcome == "ok":
            return {
                "custom_id": name,
                "result": {
                    "type": "succeeded",
                    "message": self._anthropic_body(body),
                },
            }
        if outcome == "expired":
            return {"custom_id": name, "result": {"type": "expired"}}
        error = {
            "type": "error",
            "error": {"type": "api_error", "message": "sorry"},
        }
        return {
            "custom_id": name,
            "result": {"type": "errored", "error": error},
        }

    def _anthropic_body(self, body: dict[str, Any]) -> dict[str, Any]:
        content = [{"type": "text", "text": said(body)}]
        return {
            "content": content,
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 100, "output_tokens": 2},
        }

    # ------------------------------------------------------------ Gemini

    def _google(self, request: web.Request, path: str, body: bytes) -> Any:
        method = request.method
        if path.endswith(":generateContent"):
            self.live += 1
            return web.json_response(self._google_body(json.loads(body)))
        if (method, path) == ("POST", "/upload/v1beta/files"):
            return web.Response(
                # what counts is the path
                headers={
                    "X-Goog-Upload-URL": "https://[x/upload/v1beta/files/here"
                }
            )
        if (method, path) == ("POST", "/upload/v1beta/files/here"):
            return web.json_response(
                {"file": {"name": f"files/{self._file(body)}"}}
            )
        if path.endswith(":batchGenerateContent"):
            asked = json.loads(body)["batch"]
            name = asked["inputConfig"]["fileName"].removeprefix("files/")
            lines = [json.loads(line) for line in self.files[name].splitlines()]
            made = self._made(
                request,
                [(line["key"], line["request"]) for line in lines],
                name=asked["displayName"],
            )
            return (
                web.json_response(self._google_row(made))
                if isinstance(made, Batch)
                else made
            )
        if (method, path) == ("GET", "/v1beta/batches"):
            page, more = self._page(request, request.query.get("pageToken", ""))
            token = {"nextPageToken": page[-1].id} if more else {}
            return web.json_response(
                {"operations": [self._google_row(row) for row in page], **token}
            )
        if path.startswith("/v1beta/batches/"):
            name, _, verb = path.split("/")[3].partition(":")
            batch = self.batches[name]
            batch.cancelled |= verb == "cancel" and not batch.ended
            return web.json_response(self._google_row(batch))
        if path.startswith("/v1beta/files/") and path.endswith(":download"):
            return self._results(
                self.batches[path.split("/")[3].split(":")[0]],
                self._google_line,
            )
        return None

    def _google_row(self, batch: Batch) -> dict[str, Any]:
        about: dict[str, Any] = {
            "displayName": batch.about["name"],
            "state": "BATCH_STATE_RUNNING",
        }
        row = {"name": f"batches/{batch.id}", "metadata": about}
        if not batch.ended:
            return row
        if batch.limited:
            about["state"] = "BATCH_STATE_FAILED"
            return row | {
                "done": True,
                "error": {"code": 8, "message": "quota"},
            }
        about["state"] = (
            "BATCH_STATE_CANCELLED"
            if batch.cancelled
            else "BATCH_STATE_SUCCEEDED"
        )
        about["batchStats"] = {"successfulRequestCount": str(batch.count("ok"))}
        return row | {
            "done": True,
            "response": {"responsesFile": f"files/{batch.id}"},
        }

    def _google_line(self, name: str, body: Any, outcome: str) -> Any:
        if outcome == "ok":
            return {"key": name, "response": self._google_body(body)}
        code, status = (
            (4, "DEADLINE_EXCEEDED")
            if outcome == "expired"
            else (13, "INTERNAL")
        )
        return {
            "key": name,
            "error": {"code": code, "message": "sorry", "status": status},
        }

    def _google_body(self, body: dict[str, Any]) -> dict[str, Any]:
        content = {"role": "model", "parts": [{"text": said(body)}]}
        usage = {
            "promptTokenCount": 100,
            "candidatesTokenCount": 2,
            "thoughtsTokenCount": 88,
            "totalTokenCount": 190,
        }
        return {
            "candidates": [
                {"content": content, "finishReason": "STOP", "index": 0}
            ],
            "usageMetadata": usage,
        }


def digest_of(body: dict[str, Any]) -> str:
    """Of one request, whatever the order of its fields."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def said(body: dict[str, Any]) -> str:
    """A reply that is drawn by the request."""
    return "AB"[int(digest_of(body)[:8], 16) % 2]


def _uploaded(request: web.Request, body: bytes) -> bytes:
    """The file in a multipart body."""
    boundary = (
        b"--"
        + request.headers["Content-Type"]
        .split("boundary=")[1]
        .strip('"')
        .encode()
    )
    for part in body.split(boundary):
        head, _, content = part.partition(b"\r\n\r\n")
        if b"filename=" in head:
            return content.removesuffix(b"\r\n")
    raise AssertionError(urlsplit(str(request.url)).path)
