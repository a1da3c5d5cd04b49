"""A server that pushes back: refused replies and throughput of the adaptive limit.

    python benchmarks/limits.py [--places 16] [--calls 1500]

The server answers after 0.1 to 0.3 s and refuses with HTTP 429 what goes beyond
``places`` calls at once. Throughput is that over ``places`` calls at once without a
pause, which no limit can exceed; "of the best" is it over the best of the ceilings set
by hand, ``places`` and one or two more, in one process.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time

from aiohttp import web

from visualjudge.clients import Request, RetryPolicy, TextPart, open_client
from visualjudge.core.seeding import rng_for

ASK = Request((TextPart("Which is better?"),))
REPLY = {"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]}


class Server:
    """Counts what it answers and what it refuses."""

    def __init__(self, places: int) -> None:
        self.places, self.inside, self.answered, self.refused = places, 0, 0, 0
        self.rng = rng_for(0, "latency")
        self.first = self.last = 0.0

    async def answer(self, request: web.Request) -> web.Response:
        """A reply, or 429 where all places are taken."""
        await request.read()
        self.first = self.first or time.perf_counter()
        if self.inside >= self.places:
            self.refused += 1
            return web.json_response(
                {"error": {"message": "too many requests"}}, status=429
            )
        self.inside += 1
        try:
            await asyncio.sleep(self.rng.uniform(0.1, 0.3))
        finally:
            self.inside -= 1
        self.answered, self.last = self.answered + 1, time.perf_counter()
        return web.json_response(REPLY)


async def ask(url: str, calls: int, ceiling: int) -> None:
    """As many calls as one process makes, ``ceiling`` at once at most."""
    config = {
        "backend": "api",
        "base_url": url,
        "model_name": "m",
        "api_key": "k",
    }
    client = open_client(
        config,
        concurrency=ceiling,
        retry=RetryPolicy(attempts=100, first_wait_s=0.05, longest_wait_s=2),
    )
    await asyncio.gather(*(client.ask(ASK) for _ in range(calls)))
    await client.aclose()


async def measured(
    places: int, calls: int, ceiling: int
) -> tuple[float, float]:
    """Share of refused replies, and throughput as a share of the best."""
    server = Server(places)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    words = ["--url", f"http://127.0.0.1:{port}/v1", "--calls", str(calls)]
    child = await asyncio.create_subprocess_exec(
        sys.executable, __file__, *words, "--ceiling", str(ceiling)
    )
    assert await child.wait() == 0
    await runner.cleanup()
    best = server.answered * 0.2 / places
    return server.refused / (server.refused + server.answered), best / (
        server.last - server.first
    )


def main() -> None:
    """Print the table, or ask."""
    options = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--places", type=int, default=16)
    options.add_argument("--calls", type=int, default=1500)
    options.add_argument("--url")
    options.add_argument("--ceiling", type=int, default=64)
    chosen = options.parse_args()
    if chosen.url:
        asyncio.run(ask(chosen.url, chosen.calls, chosen.ceiling))
        return
    print(
        "| Limit | Refused | Throughput | Of the best |\n|---|---:|---:|---:|"
    )
    best = 0.0
    for ceiling in (chosen.places, chosen.places + 1, chosen.places + 2, 64):
        refused, through = asyncio.run(
            measured(chosen.places, chosen.calls, ceiling)
        )
        share = "" if ceiling < 64 else f" {through / best:.2f}"
        best = max(best, through)
        kind = f"by hand, {ceiling}" if ceiling < 64 else "adaptive, at most 64"
        print(
            f"| {kind} | {100 * refused:.1f} % | {through:.2f} |{share} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
