"""Batch servers that lie about some batches: every second batch meets one lie at one step, the
others none.

``lies`` names them. A lie of the wire is one of :mod:`faults.chaos`; the others change the right
JSON.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from aiohttp import web

from batch.fake_batches import FakeBatches, Faults
from faults.chaos import wire_faults

KEY = "sk-batch+key/of_a=certain-length-0123"
Pieces = Iterable[bytes | float]
SPELT = {
    "plain": f"your key is {KEY}",
    "base64": base64.b64encode(f"Bearer {KEY}".encode()).decode(),
    "percent-encoded": quote(KEY, safe=""),
    "hexadecimal": KEY.encode().hex(),
    "split": KEY[:4] + "\n" + KEY[4:],
    "cut": "your key is " + KEY[:-4],
}
MARKS = (
    KEY[:12],
    base64.b64encode(KEY.encode()).decode()[:16],
    quote(KEY, safe="")[:16],
    KEY.encode().hex()[:20],
)
"""What no file and no message may hold."""
_LOOKS = """
    HTTP 401 with text; HTTP 403 with HTML; HTTP 404 with empty; HTTP 404 with text
    HTTP 400 with deep JSON; HTTP 500 with HTML; HTTP 429 with text; status 204; status 99
    status 999; status abc; 307 to another host; 301 to another host; redirect to 'file:///etc/'
    redirect to 'http://u:p@1'; hang; half a body; half a header; close; garbage; HTTP/0.9
    a header of a megabyte; negative length; bad chunks; cut chunks; gzip, cut; gzip, false
    gzip bomb; br; zstd; JSON: empty; JSON: list; JSON: deep; JSON: deep list; event stream
    the key in an error, cut
"""
_RESULTS = """
    HTTP 401 with text; HTTP 403 with HTML; HTTP 404 with text; HTTP 500 with empty
    307 to another host; half a body; close; gzip, cut; gzip, false; br; bad chunks; JSON: empty
    JSON: list; status 204
"""
_CREATIONS = (
    "HTTP 400 with text; HTTP 404 with HTML; close; JSON: list; 307 to another host; half a "
    "body; hang"
)


@dataclass(frozen=True)
class Lie:
    """At which step of a batch (``create``, ``look``, ``results``), and what becomes of the right
    answer.
    """

    step: str
    name: str
    pieces: Callable[[bytes], Pieces]


def _named(step: str, listed: str) -> list[Lie]:
    faults = wire_faults()
    names = [name.strip() for line in listed.splitlines() for name in line.split(";")]
    return [Lie(step, name, faults[name]) for name in names if name]


def _changed(step: str, name: str, change: Callable[[Any], Any]) -> Lie:
    def pieces(good: bytes) -> Pieces:
        rows = (
            [change(json.loads(line)) for line in good.splitlines()] if step == "results" else None
        )
        body = (
            json.dumps(change(json.loads(good)))
            if rows is None
            else "".join(f"{json.dumps(r)}\n" for r in rows)
        )
        head = (
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
            f"{len(body.encode())}\r\n\r\n"
        )
        return [head.encode() + body.encode()]

    return Lie(step, name, pieces)


def _every(value: Any, made: Callable[[str, Any], Any]) -> Any:
    """Each field, at every depth, by its name and value."""
    if isinstance(value, dict):
        return {name: made(name, _every(item, made)) for name, item in value.items()}
    return [_every(item, made) for item in value] if isinstance(value, list) else value


_STATES = frozenset({"status", "processing_status", "state"})
_COUNTS = frozenset({"completed", "succeeded", "successfulRequestCount"})
_FILES = frozenset({"output_file_id", "error_file_id", "responsesFile", "id", "name"})
_TEXTS = frozenset({"content", "text"})
_NAMES = frozenset({"custom_id", "key"})


def _set(fields: frozenset[str], value: Any) -> Callable[[Any], Any]:
    return lambda body: _every(body, lambda name, item: value if name in fields else item)


def _say(value: Any) -> Callable[[Any], Any]:
    """Another text of the reply."""
    return lambda body: _every(
        body, lambda name, old: value if name in _TEXTS and isinstance(old, str) else old
    )


def _failed(message: Any) -> Callable[[Any], Any]:
    """A batch that was refused, for a reason in each provider's place for it."""

    def change(body: Any) -> Any:
        if "processing_status" in body:  # Anthropic refuses none; the word for its state says it
            return body | {"processing_status": str(message)[:50], "error": {"message": message}}
        if "metadata" in body and "status" not in body:
            about = body["metadata"] | {"state": "BATCH_STATE_FAILED", "batchStats": {}}
            return {
                "name": body["name"],
                "metadata": about,
                "done": True,
                "error": {"code": 3, "message": message},
            }
        errors = {"data": [{"code": "invalid", "message": message}]}
        gone = {"output_file_id": None, "error_file_id": None, "request_counts": {"completed": 0}}
        return {**body, "status": "failed", "errors": errors, **gone}

    return change


def _cancelled(body: Any) -> Any:
    """Cancelled in the provider's console before it ran."""
    words = {"status": "cancelled", "state": "BATCH_STATE_CANCELLED", "processing_status": "ended"}
    gone = _set(_FILES - {"id", "name"}, None)(_set(_COUNTS, 0)(body))
    return _every(gone, lambda name, item: words.get(name, item))


def lies() -> list[Lie]:
    """All of them."""
    found = _named("look", _LOOKS) + _named("results", _RESULTS) + _named("create", _CREATIONS)
    for kind, value in {"a number": 7, "a list": [], "null": None, "the key": KEY}.items():
        found.append(_changed("look", f"the state is {kind}", _set(_STATES, value)))
    for kind, value in {"1e30": 1e30, "negative": -5, "text": "many", "a list": [1]}.items():
        found.append(_changed("look", f"the count is {kind}", _set(_COUNTS, value)))
    for kind, value in {
        "a path": "../../x",
        "a URL": "http://127.0.0.2:1/x",
        "a list": [1],
        "the key": KEY,
    }.items():
        found.append(_changed("look", f"a file is {kind}", _set(_FILES, value)))
    for spelling, text in SPELT.items():
        found.append(_changed("look", f"refused, key {spelling}", _failed(text)))
        found.append(_changed("results", f"key {spelling}", _say(text)))
    found.append(_changed("look", "refused, odd errors", _failed([{"a": [1]}])))
    found.append(_changed("look", "cancelled in the console", _cancelled))
    for kind, value in {
        "a number": 5,
        "a list": [1],
        "null": None,
        "another's": "x",
        "the key": KEY,
    }.items():
        found.append(_changed("results", f"the name is {kind}", _set(_NAMES, value)))
    for kind, value in {
        "a number": 5,
        "a list": [1],
        "null": None,
        "NUL": "\0\x1b[31m",
        "half": "\ud800",
    }.items():
        found.append(_changed("results", f"the text is {kind}", _say(value)))
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    found.append(_changed("results", "300 levels", _say(deep)))
    for kind, value in {
        "the key": KEY,
        "a path": "../x",
        "a number": 4,
        "another batch": "batch_1",
    }.items():
        found.append(
            _changed("create", f"the id is {kind}", _set(frozenset({"id", "name"}), value))
        )
    return found


class LyingBatches(FakeBatches):
    """Lies about every second part: the first one meets the first lie, and so on; later parts meet
    none.
    """

    def __init__(self, told: list[Lie], faults: Faults | None = None, seed: int = 0) -> None:
        super().__init__(faults or Faults(slow_s=0), seed)
        self.told = told
        self.parts: list[str] = []
        """In the order in which their batches were asked for first."""
        self.made: dict[str, str] = {}
        """Batch -> part."""

    def lie_of(self, part: str | None) -> Lie | None:
        place = self.parts.index(part) if part in self.parts else 0
        return self.told[place // 2] if place % 2 and place // 2 < len(self.told) else None

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        before = set(self.batches)
        step, part = self._step(request)
        try:
            good = await super()._handle(request)
        except KeyError:
            return web.json_response({"error": {"message": "no such batch"}}, status=404)
        for batch in set(self.batches) - before:
            self.made[batch] = part or ""
        lie = self.lie_of(part)
        if lie is None or lie.step != step or not isinstance(good, web.Response) or not good.body:
            return good
        assert request.transport is not None
        try:
            for piece in lie.pieces(bytes(good.body)):  # type: ignore[arg-type]
                if isinstance(piece, float):
                    await asyncio.sleep(min(piece, 1.0))
                elif request.transport.is_closing():
                    break
                else:
                    request.transport.write(piece)
        finally:
            request.transport.close()
        return web.Response()

    def _step(self, request: web.Request) -> tuple[str, str | None]:
        """The step of a batch that a request is, and the batch's part."""
        if part := request.headers.get("Idempotency-Key"):
            if part not in self.parts:
                self.parts.append(part)
            return "create", part
        words = (
            request.path.replace(":", "/").replace("output-", "").replace("error-", "").split("/")
        )
        batch = next((word for word in words if word in self.made), None)
        fetched = "results" in words or "content" in words or "download" in words
        step = "results" if fetched else "look" if request.method == "GET" else "other"
        return step, self.made.get(batch or "")
