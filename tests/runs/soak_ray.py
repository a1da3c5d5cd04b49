"""Build and judge on a local Ray cluster of two nodes whose workers are killed at random moments.

    python tests/runs/soak_ray.py --data DATA --kills 5

Ends with status 1 unless build gives the bytes, and judge the verdicts, of one process.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import orjson
from aiohttp import web

import visualjudge as vj
from runs.chaotic_server import ChaoticServer, completion, running
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.build import BuildOptions, build


class DecidingServer(ChaoticServer):
    """Answers by what it is asked, after a while."""

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """One request."""
        body = await request.read()
        self.did["ok"] += 1
        reply = completion("AB"[hashlib.sha256(body).digest()[0] % 2])
        await asyncio.sleep(self.delay_s)
        return web.json_response(reply)


def workers() -> list[int]:
    """Processes of Ray that do our work."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                words = (place / "cmdline").read_bytes()
            except OSError:
                continue
            if words.startswith(b"ray::Host"):
                found.append(int(place.name))
    return found


@contextmanager
def killing(most: int, seed: int, longest_s: float) -> Iterator[list[int]]:
    """Kill one of the workers now and then; the list tells which."""
    killed, over, rng = list[int](), threading.Event(), rng_for(seed, "kills")

    def main() -> None:
        while len(killed) < most and not over.wait(float(rng.uniform(0.2, 1.0) * longest_s)):
            there = [pid for pid in workers() if pid not in killed]
            if there:
                killed.append(there[int(rng.integers(len(there)))])
                os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=main)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def digests(root: Path) -> dict[str, str]:
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and path.name != ".lock")
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def verdicts(run: Path) -> dict[tuple[str, str], Any]:
    rows = [orjson.loads(line) for line in (run / "verdicts.jsonl").read_bytes().splitlines()]
    found = {
        (row["id"], row["order"]): (row["value"], row["status"], row["raw_response"])
        for row in rows
    }
    assert len(found) == len(rows), "a question has two verdicts"
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--task", action="append")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--limit", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    cluster.add_node(num_cpus=1)
    os.environ["RAY_ADDRESS"] = cluster.address
    good = True
    try:
        with tempfile.TemporaryDirectory() as scratch:
            home, options = (
                Path(scratch),
                BuildOptions(tasks=tuple(args.task) if args.task else None),
            )
            build(args.data, home / "alone", options)
            with killing(args.kills, args.seed, 1.5) as killed:
                build(args.data, home / "spread", options, workers=2, engine="ray")
            same = digests(home / "alone") == digests(home / "spread")
            print(
                f"build: {len(killed)} workers killed, "
                f"{'the same bytes' if same else 'OTHER BYTES'}",
                flush=True,
            )
            good &= same
            with running(DecidingServer({}, delay_s=0.05)) as server:
                asked = vj.client("api", model="m", base_url=server.url, cache=False)
                how: Any = {
                    "limit": args.limit,
                    "swap": True,
                    "mode": "text",
                    "progress": False,
                    "concurrency": 4,
                }
                begun = time.monotonic()
                with killing(args.kills, args.seed + 1, 4.0) as killed:
                    vj.judge(home / "alone", asked, home / "r", processes=2, workers="ray", **how)
                seconds = time.monotonic() - begun
                asked = vj.client("api", model="m", base_url=server.url, cache=False)
                vj.judge(home / "alone", asked, home / "r1", **how)
            same = verdicts(home / "r") == verdicts(home / "r1")
            said = (
                f"{len(killed)} workers killed in {seconds:.0f} s, {len(verdicts(home / 'r'))} "
                "verdicts"
            )
            print(
                f"judge: {said}, {'the same' if same else 'OTHERS'} as from one process", flush=True
            )
            good &= same
    finally:
        cluster.shutdown()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
