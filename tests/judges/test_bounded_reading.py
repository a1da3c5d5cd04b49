"""Long replies are read off the event loop, within a budget of time and length."""

from __future__ import annotations

import asyncio
import re
import time

import pytest

from visualjudge.judges import bounded_reading as bounded
from visualjudge.judges.bounded_reading import NotRead, read_bounded

ENDLESS = re.compile("(a+)+b").match
"""Takes exponential time; a function of this file could not be imported by the process that
reads.
"""


def test_a_short_text_is_read_at_once() -> None:
    assert asyncio.run(read_bounded(len, "abc")) == 3


def test_a_long_text_is_read_by_another_process() -> None:
    assert asyncio.run(read_bounded(str.count, "ab" * 50_000, "b")) == 50_000


def test_a_text_that_is_too_long_is_not_read() -> None:
    with pytest.raises(NotRead, match="too long"):
        asyncio.run(read_bounded(len, "a" * (bounded.LONGEST_READ + 1)))


def test_reading_ends_when_its_time_is_up_and_the_loop_goes_on_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounded, "READ_WITHIN_S", 2.0)
    ticks = 0

    async def main() -> None:
        nonlocal ticks
        reading = asyncio.create_task(read_bounded(time.sleep, "x" * 100_000))
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        reading = asyncio.create_task(read_bounded(ENDLESS, "a" * 100_000))
        while not reading.done():
            ticks += 1
            await asyncio.sleep(0.05)
        await reading

    with pytest.raises(NotRead, match="too slow"):
        asyncio.run(main())
    assert ticks >= 3
