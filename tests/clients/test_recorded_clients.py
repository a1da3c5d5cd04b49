"""What each backend sends, and what it reads of a reply, recorded: a cost and a cached
reply follow from both."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from clients.tool_protocols import BACKENDS, REPLY, base_url, call
from recording import check
from visualjudge.clients import build_client
from visualjudge.clients.base import (
    ImagePart,
    Request,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
)
from visualjudge.clients.http import Answer
from visualjudge.clients.server_errors import (
    STATUS_OF_TYPE,
    RefusedParameters,
    api_error,
    embedded_error,
    one_line,
)
from visualjudge.core.errors import ApiError

IMAGE = ImagePart(b"not really a picture")
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}
PLAIN = Request((TextPart("Which?"), IMAGE, TextPart("A or B")))
CALLED = ToolCall("call-1", "zoom", '{"x": 3}')
TURNS = (
    Turn("Look.", (ToolResult(CALLED, (TextPart("a region"), IMAGE)),)),
    Turn("", (ToolResult(CALLED, (TextPart("no"),), failed=True),)),
)
REQUESTS = {
    "plain": PLAIN,
    "all": replace(
        PLAIN,
        system="Be brief.",
        temperature=0.25,
        max_tokens=64,
        seed=9,
        top_p=0.75,
        top_logprobs=5,
        schema=SCHEMA,
    ),
    "tools": replace(
        PLAIN, tools=(ToolSpec("zoom", "Show.", SCHEMA),), turns=TURNS
    ),
}
EFFORTS = (None, "none", "low", "high", 3000)


async def _asked(backend: str, request: Request, **options: Any) -> list[Any]:
    """What was sent, and what the backend read of a reply with a call."""
    client: Any = build_client(
        backend,
        model_name="m",
        base_url=base_url(backend, "http://127.0.0.1:9"),
        api_key="a-secret-of-some-length",
        **options,
    )
    said = REPLY[backend]("I look: A", [call("zoom", {"x": 2})])
    bodies = list[Any]()

    async def post(body: Sequence[bytes]) -> Answer:
        bodies.append(json.loads(b"".join(body)))
        return Answer(200, {}, json.dumps(said).encode())

    try:
        reply = await client.ask(request, post=post)
    finally:
        await client.aclose()
    return [*bodies, reply, client.identity]


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_backend_sends_and_reads(backend: str) -> None:
    asked = {
        f"{name}, {effort}": asyncio.run(
            _asked(backend, request, effort=effort, extra_body={"k": 3})
        )
        for name, request in REQUESTS.items()
        for effort in EFFORTS
    }
    check(f"client_{backend}", list(asked.values()), depth=1)


WAITS = (
    ({"Retry-After": "7"}, b""),
    ({"retry-after-ms": "250"}, b""),
    ({}, b'{"error": {"details": [{"retryDelay": "34s"}]}}'),
    ({}, b'{"error": {"message": "Rate limit: try again in 1.5s."}}'),
    ({}, b'{"error": {"message": "Please retry in 250 ms"}}'),
    ({"Retry-After": "-1"}, b""),
)


def _learns(status: int, words: str) -> bool:
    error = ApiError(status, f"unsupported: {words}")
    return RefusedParameters({}).learn(error, REQUESTS["all"], frozenset(), "m")


def test_what_is_made_of_errors_of_a_server() -> None:
    """By status, by the provider's word for it, and by the parameter that is refused:
    asked again or not, after how long, and what counts as a refusal."""
    filtered = (
        b'{"error": {"message": "content_filter: the input was flagged"}}'
    )
    out: dict[str, Any] = {}
    for status in (*range(299, 304), *range(399, 430), 451, *range(499, 531)):
        error = api_error(status, b"", {})
        out[f"status.{status}"] = {
            "retryable": error.retryable,
            "said": str(error),
            "kind": type(api_error(status, filtered, {})).__name__,
            "refused": [
                _learns(status, words)
                for words in ("temperature", "log_prob", "seed", "json schema")
            ],
        }
    for name in STATUS_OF_TYPE:
        out[name] = embedded_error({"error": {"type": name}}).status
    for code in (399, 400, 599, 600):
        embedded = embedded_error({"error": {"code": code, "message": "no"}})
        out[f"code.{code}"] = str(embedded)
    out["waits"] = [
        api_error(429, body, headers).retry_after for headers, body in WAITS
    ]
    out["lengths"] = [len(one_line("x" * k)) for k in (399, 400, 401, 900)]
    check("server_errors", out, depth=1)
