"""A server that pushes back, asked by one process, by two and by two commands: refused replies and
throughput.

    python benchmarks/limits.py [--places 16] [--calls 1500]

The server answers after 0.1 to 0.3 s and refuses with HTTP 429 what goes beyond ``places`` calls at
once. Throughput is that over ``places`` calls at once without a pause, which no limit can exceed;
"of the best" is it over the best of the ceilings set by hand, ``places`` and one or two more, in
one process.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
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
            return web.json_response({"error": {"message": "too many requests"}}, status=429)
        self.inside += 1
        try:
            await asyncio.sleep(self.rng.uniform(0.1, 0.3))
        finally:
            self.inside -= 1
        self.answered, self.last = self.answered + 1, time.perf_counter()
        return web.json_response(REPLY)


async def ask(url: str, calls: int, ceiling: int) -> None:
    """As many calls as one process makes, ``ceiling`` at once at most."""
    config = {"backend": "api", "base_url": url, "model_name": "m", "api_key": "k"}
    client = open_client(
        config,
        concurrency=ceiling,
        retry=RetryPolicy(attempts=100, first_wait_s=0.05, longest_wait_s=2),
    )
    await asyncio.gather(*(client.ask(ASK) for _ in range(calls)))
    await client.aclose()


async def measured(
    places: int, calls: int, processes: int, *, alone: bool, ceiling: int = 64
) -> tuple[float, float]:
    """Share of refused replies, and throughput as a share of the best. ``alone``: processes share
    nothing.
    """
    server = Server(places)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    with tempfile.TemporaryDirectory() as cache:
        words = [
            sys.executable,
            __file__,
            "--url",
            f"http://127.0.0.1:{port}/v1",
            "--calls",
            str(calls // processes),
            "--ceiling",
            str(ceiling),
        ]
        children = []
        for number in range(processes):
            home = f"{cache}/{number}" if alone else cache
            children.append(
                await asyncio.create_subprocess_exec(
                    *words, env={**os.environ, "XDG_CACHE_HOME": home}
                )
            )
        codes = [await child.wait() for child in children]
    await runner.cleanup()
    assert codes == [0] * processes, codes
    best = server.answered * 0.2 / places
    return server.refused / (server.refused + server.answered), best / (server.last - server.first)


def main() -> None:
    """Print the table, or ask."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--places", type=int, default=16)
    options.add_argument("--calls", type=int, default=1500)
    options.add_argument("--url")
    options.add_argument("--ceiling", type=int, default=64)
    chosen = options.parse_args()
    if chosen.url:
        asyncio.run(ask(chosen.url, chosen.calls, chosen.ceiling))
        return
    print("| Processes | Limit | Refused | Throughput | Of the best |\n|---|---|---:|---:|---:|")
    best = 0.0
    for ceiling in range(chosen.places, chosen.places + 3):
        refused, through = asyncio.run(
            measured(chosen.places, chosen.calls, 1, alone=True, ceiling=ceiling)
        )
        best = max(best, through)
        print(f"| 1 | by hand, {ceiling} | {100 * refused:.1f} % | {through:.2f} | |", flush=True)
    for processes, alone in ((1, False), (2, True), (2, False), (4, True), (4, False)):
        refused, through = asyncio.run(
            measured(chosen.places, chosen.calls, processes, alone=alone)
        )
        kind = "each its own" if alone else "shared"
        row = f"| {processes} | {kind} | {100 * refused:.1f} % | {through:.2f} |"
        print(f"{row} {through / best:.2f} |", flush=True)


if __name__ == "__main__":
    main()
