"""A server on loopback for client tests: it records bodies and plays a script of
answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


class Loopback:
    """Answers in turn, the last one for ever; an answer is (status, body, headers), a
    text of a chat completion, a number of seconds to hang, or None to close the
    connection.
    """

    def __init__(self, answers: Sequence[Any]) -> None:
        self.answers = list(answers)
        self.raw: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.url = ""
        self.late = "late"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(raw) for raw in self.raw]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.raw.append(await request.read())
        self.headers.append(dict(request.headers))
        self.paths.append(request.path)
        answer = self.answers[min(len(self.raw), len(self.answers)) - 1]
        if answer is None:
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        if isinstance(answer, float):
            await asyncio.sleep(answer)
            answer = self.late
        if isinstance(answer, str):
            answer = (200, completion(answer), {})
        status, body, headers = answer
        if isinstance(body, bytes):
            return web.Response(body=body, status=status, headers=headers)
        return web.json_response(body, status=status, headers=headers)


def completion(
    text: str | None, finish: str = "stop", **more: Any
) -> dict[str, Any]:
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": text},
    }
    return {"choices": [choice | more], "usage": usage}


def refused(
    status: int, message: str, **headers: str
) -> tuple[int, Any, dict[str, str]]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, {"error": {"message": message}}, named


@asynccontextmanager
async def serving(*answers: Any) -> AsyncIterator[Loopback]:
    server = Loopback(answers)
    app = web.Application(client_max_size=1 << 28)
    app.router.add_route("*", "/{tail:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()
