"""Processes that ask one server with one key share what it allows; what one learns serves the
others.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from visualjudge.clients.concurrency import AdaptiveLimit, Load, SharedLimit, shared_limit


def _call(limit: AdaptiveLimit, load: Load = "answered") -> None:
    """One call, alone."""
    limit.leave(asyncio.run(limit.enter()), load)


def _settled(*limits: SharedLimit) -> list[int]:
    """What each may have under way after all have told what they need."""
    for limit in (*limits, *limits, *limits):
        limit.settle()
    return [int(limit.allowed) for limit in limits]


def test_a_process_alone_has_its_ceiling(tmp_path: Path) -> None:
    limit = SharedLimit(8, tmp_path / "limit")
    _call(limit)
    assert limit.allowed == 8


def test_places_add_up_to_what_a_server_allowed(tmp_path: Path) -> None:
    limits = [SharedLimit(10, tmp_path / "limit") for _ in range(3)]
    assert _settled(*limits) == [10, 10, 10]
    _call(limits[0], "refused")
    assert sum(_settled(*limits)) == 29
    _call(limits[1], "overloaded")
    assert sum(_settled(*limits)) in (24, 25)


def test_a_refused_call_takes_a_place_of_its_own_process(tmp_path: Path) -> None:
    one, other = (SharedLimit(16, tmp_path / "limit") for _ in range(2))
    _settled(one, other)
    for limit in (one, other, one, other):
        _call(limit, "refused")
    assert (one.allowed, other.allowed) == (14, 14)
    assert sum(_settled(one, other)) == 28


def test_a_process_that_comes_later_gets_places_that_are_put_back(tmp_path: Path) -> None:
    first, later = (SharedLimit(16, tmp_path / "limit") for _ in range(2))
    _call(first, "refused")
    first.settle()
    calls = [asyncio.run(first.enter()) for _ in range(4)]
    _call(later)
    assert int(later.allowed) == 1
    for number in calls:
        first.leave(number, "answered")
    assert _settled(first, later) in ([7, 8], [8, 7], [8, 8])


def test_a_call_that_waits_gets_places_that_others_put_back(tmp_path: Path) -> None:
    first, later = (SharedLimit(4, tmp_path / "limit") for _ in range(2))
    _call(first, "refused")

    async def main() -> int:
        number = await later.enter()
        waiting = asyncio.create_task(later.enter())
        await asyncio.sleep(0)
        first.close()
        await asyncio.wait_for(waiting, 20)
        later.close()
        return number

    assert asyncio.run(main()) == 1


def test_it_rises_again(tmp_path: Path) -> None:
    limit = SharedLimit(4, tmp_path / "limit")
    _call(limit, "refused")
    assert limit.allowed == 3
    for _ in range(30):
        _call(limit)
    assert _settled(limit) == [4]


def test_a_process_that_ended_has_no_share(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    limit = SharedLimit(8, tmp_path / "limit")
    _call(limit, "refused")
    state = orjson.loads((tmp_path / "limit").read_bytes())
    state["processes"][f"{int(child.stdout)}-1"] = [8, 100, time.time()]
    (tmp_path / "limit").write_bytes(orjson.dumps(state))
    assert _settled(limit) == [7]
    state = orjson.loads((tmp_path / "limit").read_bytes())
    state["processes"][f"{int(child.stdout)}-1"] = [1, 100, time.time()]
    (tmp_path / "limit").write_bytes(orjson.dumps(state))
    assert _settled(limit) == [8]  # what it held of a known limit is free


def test_a_limit_that_is_closed_leaves_its_share(tmp_path: Path) -> None:
    one, other = (SharedLimit(8, tmp_path / "limit") for _ in range(2))
    _settled(one, other)
    _call(one, "refused")
    one.close()
    assert _settled(other) == [8]


@pytest.mark.parametrize(("learned", "first"), [(True, 3), (False, 8)])
def test_the_next_command_starts_from_what_was_learned(
    learned: bool, first: int, tmp_path: Path
) -> None:
    limit = SharedLimit(4, tmp_path / "limit", learned=learned)
    _call(limit, "refused")
    limit.close()
    after = SharedLimit(8, tmp_path / "limit", learned=learned)
    _call(after)
    assert int(after.allowed) == first


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"allowed": "x"}', b'{"processes": {"1": 2}}', b"\0" * 100_000]
)
def test_a_damaged_file_is_written_anew(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "limit").write_bytes(content)
    limit = SharedLimit(8, tmp_path / "limit")
    _call(limit, "refused")
    assert _settled(limit) == [7]
    assert orjson.loads((tmp_path / "limit").read_bytes())["met"] == 7


def test_where_nothing_can_be_written_a_process_keeps_to_a_limit_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    limit = SharedLimit(8, tmp_path / "file" / "limit")
    _call(limit, "refused")
    assert limit.allowed == 7
    _call(limit)
    limit.settle()
    assert 7 < limit.allowed < 7.1


def test_the_file_tells_neither_server_nor_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    limits = [
        shared_limit(4, "https://api.example.org/v1", key) for key in ("sk-one", "sk-one", "sk-two")
    ]
    for limit in limits:
        _call(limit)
    files = sorted(
        path for path in (tmp_path / "visualjudge/limits").iterdir() if path.suffix != ".lock"
    )
    assert len(files) == 2
    for path in files:
        assert b"example" not in path.read_bytes() + path.name.encode()
        assert b"sk-" not in path.read_bytes() + path.name.encode()
        assert os.name != "posix" or path.parent.stat().st_mode & 0o077 == 0
