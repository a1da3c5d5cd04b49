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

from visualjudge.clients.limiter import AdaptiveLimit
from visualjudge.clients.shared_limit import SharedLimit, shared_limit


def _call(limit: AdaptiveLimit, *, pushed_back: bool = False) -> None:
    """One call, alone."""
    limit.leave(asyncio.run(limit.enter()), pushed_back=pushed_back)


def _settled(*limits: SharedLimit) -> list[int]:
    """What each may have under way after all have told what they need."""
    for limit in (*limits, *limits):
        limit._settle(None)
    return [int(limit.allowed) for limit in limits]


def test_a_process_alone_has_its_ceiling(tmp_path: Path) -> None:
    limit = SharedLimit(8, tmp_path / "limit")
    _call(limit)
    assert limit.allowed == 8


def test_shares_add_up_to_what_a_server_allowed(tmp_path: Path) -> None:
    limits = [SharedLimit(10, tmp_path / "limit") for _ in range(3)]
    assert _settled(*limits) == [10, 10, 10]
    _call(limits[0], pushed_back=True)
    assert sum(_settled(*limits)) == 15
    time.sleep(0.01)
    _call(limits[1], pushed_back=True)
    assert sum(_settled(*limits)) in (7, 8)


def test_a_push_back_counts_once_for_all_calls_that_had_begun(tmp_path: Path) -> None:
    one, other = (SharedLimit(16, tmp_path / "limit") for _ in range(2))
    _settled(one, other)
    calls = [(limit, asyncio.run(limit.enter())) for limit in (one, other, one, other)]
    for limit, number in calls:
        limit.leave(number, pushed_back=True)
    assert sum(_settled(one, other)) == 16


def test_it_rises_again(tmp_path: Path) -> None:
    limit = SharedLimit(4, tmp_path / "limit")
    _call(limit, pushed_back=True)
    assert limit.allowed == 2
    for _ in range(30):
        _call(limit)
    assert _settled(limit) == [4]


def test_a_process_that_ended_has_no_share(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    limit = SharedLimit(8, tmp_path / "limit")
    _call(limit, pushed_back=True)
    state = orjson.loads((tmp_path / "limit").read_bytes())
    state["processes"][f"{int(child.stdout)}-1"] = [8, 100, time.time()]
    (tmp_path / "limit").write_bytes(orjson.dumps(state))
    assert _settled(limit) == [4]


def test_a_limit_that_is_closed_leaves_its_share(tmp_path: Path) -> None:
    one, other = (SharedLimit(8, tmp_path / "limit") for _ in range(2))
    _settled(one, other)
    _call(one, pushed_back=True)
    one.close()
    assert _settled(other) == [8]


@pytest.mark.parametrize(("learned", "first"), [(True, 2), (False, 8)])
def test_the_next_command_starts_from_what_was_learned(
    learned: bool, first: int, tmp_path: Path
) -> None:
    limit = SharedLimit(4, tmp_path / "limit", learned=learned)
    _call(limit, pushed_back=True)
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
    _call(limit, pushed_back=True)
    assert limit.allowed == 4
    assert orjson.loads((tmp_path / "limit").read_bytes())["allowed"] == 4


def test_where_nothing_can_be_written_a_process_keeps_to_a_limit_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    limit = SharedLimit(8, tmp_path / "file" / "limit")
    _call(limit, pushed_back=True)
    assert limit.allowed == 4
    _call(limit)
    limit._settle(None)
    assert limit.allowed == 4.25


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
