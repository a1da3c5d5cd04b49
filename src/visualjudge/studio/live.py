"""Server-sent events: the state of every run, and the replies of one as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict

import orjson
from starlette.requests import Request

from visualjudge.studio.places import RunPlace
from visualjudge.studio.site import Site, watched

MOST_WATCHED = 30
LIVE_EVERY_S = 1.0


async def states(site: Site, request: Request) -> AsyncIterator[bytes]:
    """The state of every run, and again whenever one has changed."""
    sent: dict[str, bytes] = {}
    while not await request.is_disconnected():
        for run in site.places.runs:
            state = orjson.dumps(asdict(await asyncio.to_thread(site.state, run)))
            if sent.get(run.slug) != state:
                sent[run.slug] = state
                yield b"event: run\ndata: " + state + b"\n\n"
        yield b": here\n\n"
        await asyncio.sleep(LIVE_EVERY_S)


async def verdicts(site: Site, request: Request, place: RunPlace) -> AsyncIterator[bytes]:
    """The newest replies of a run whose dataset is here, and each new one."""
    seen = -1
    while not await request.is_disconnected():
        index = await asyncio.to_thread(site.run_index, place)
        assert index is not None
        if index.total != seen:
            fresh = MOST_WATCHED if seen < 0 else min(MOST_WATCHED, max(index.total - seen, 0))
            seen = index.total
            latest = await asyncio.to_thread(watched, index, fresh)
            yield b"event: verdicts\ndata: " + orjson.dumps([asdict(verdict) for verdict in latest]) + b"\n\n"
        yield b": here\n\n"
        await asyncio.sleep(LIVE_EVERY_S)
