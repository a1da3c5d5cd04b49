"""A loopback server that fails in all the usual ways, at fixed rates, and counts what
it did."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

from aiohttp import web

from visualjudge.core.seeding import rng_for

RATES = {
    "HTTP 429": 0.10,
    "HTTP 500": 0.05,
    "timeout": 0.02,
    "not JSON": 0.02,
    "connection": 0.01,
}
HANG_S = 600.0


def completion(text: str, finish: str = "stop") -> dict[str, object]:
    """A chat completion of ``text``."""
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": text},
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


class ChaoticServer:
    """``did`` counts requests by what became of them, under the names that clients give
    to causes.
    """

    def __init__(
        self,
        rates: Mapping[str, float] = RATES,
        *,
        seed: int = 0,
        text: str = "A",
        finish: str = "stop",
        delay_s: float = 0,
    ) -> None:
        self.rates = dict(rates)
        self.seed = seed
        self.text = text
        self.finish = finish
        self.delay_s = delay_s
        self.did: Counter[str] = Counter()
        self.in_flight = 0
        self.peak = 0
        self.url = ""
        self.bodies: list[bytes] = []
        self.keep_bodies = False

    def _fate(self) -> str:
        draw = float(rng_for(self.seed, "fate", self.did.total()).random())
        for cause, rate in self.rates.items():
            draw -= rate
            if draw < 0:
                return cause
        return "ok"

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """One request."""
        body = await request.read()
        if self.keep_bodies:
            self.bodies.append(body)
        fate = self._fate()
        self.did[fate] += 1
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            return await self._suffer(fate, request)
        finally:
            self.in_flight -= 1

    async def _suffer(
        self, fate: str, request: web.Request
    ) -> web.StreamResponse:
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        if fate.startswith("HTTP "):
            status = int(fate.removeprefix("HTTP "))
            return web.json_response(
                {"error": {"message": "no"}},
                status=status,
                headers={"Retry-After": "0"},
            )
        if fate == "timeout":
            await asyncio.sleep(HANG_S)
        if fate == "not JSON":
            return web.Response(
                text="<html>busy</html>", content_type="text/html"
            )
        if fate == "connection" and request.transport is not None:
            request.transport.close()
        return web.json_response(completion(self.text, self.finish))


@asynccontextmanager
async def serving(server: ChaoticServer) -> AsyncIterator[ChaoticServer]:
    """Run it on a free port; ``url`` tells where."""
    app = web.Application(client_max_size=1 << 30)
    app.router.add_post("/v1/chat/completions", server.chat)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    server.url = f"http://127.0.0.1:{port}/v1"
    try:
        yield server
    finally:
        await runner.cleanup()


@contextmanager
def running(server: ChaoticServer) -> Iterator[ChaoticServer]:
    """The server in a thread of its own."""
    ready, over = threading.Event(), threading.Event()

    async def main() -> None:
        async with serving(server):
            ready.set()
            while not over.is_set():
                await asyncio.sleep(0.02)

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield server
    finally:
        over.set()
        thread.join(10)
