"""Files are whole or absent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from visualjudge.core.atomic import (
    atomic_path,
    new_scratch,
    write_bytes,
    write_json,
)
from visualjudge.core.output_files import OutputFile


def test_failed_write_leaves_the_old_file_and_no_scratch(
    tmp_path: Path,
) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(target) as scratch:
        scratch.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]


def test_nan_becomes_null_because_json_has_none(tmp_path: Path) -> None:
    write_json(tmp_path / "m.json", {"a": float("nan"), "b": np.float64(0.5)})
    assert json.loads((tmp_path / "m.json").read_text()) == {
        "a": None,
        "b": 0.5,
    }


def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    write_json(tmp_path / "a" / "b" / "m.json", [])
    assert (tmp_path / "a" / "b" / "m.json").read_text() == "[]\n"


def test_an_interrupt_as_the_file_is_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(handle: int) -> None:
        close(handle)
        raise KeyboardInterrupt

    close = os.close
    monkeypatch.setattr(os, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(tmp_path / "file", b"x")
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_write_left_goes_with_the_next_one(
    tmp_path: Path,
) -> None:
    target = tmp_path / "a.json"
    write = (
        "import os, sys; from pathlib import Path; from visualjudge.core import "
        "atomic\n"
        "atomic.new_scratch(Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", write, target], check=False)
    [left] = tmp_path.iterdir()
    mine = new_scratch(target)
    other = new_scratch(tmp_path / "b.json")
    OutputFile(target).write("x")
    assert not left.exists()
    assert {*tmp_path.iterdir()} == {target, mine, other}


def test_what_a_running_write_needs_stays(tmp_path: Path) -> None:
    """Looking for a process neither ends it nor removes its file."""
    with atomic_path(tmp_path / "a") as scratch:
        scratch.write_text("mine")
        host = scratch.name.removeprefix(".a.").partition("-")[0]
    with subprocess.Popen(["sleep", "9"]) as other:
        beside = tmp_path / "folder" / f".b.{host}-{other.pid}.x"
        beside.parent.mkdir()
        beside.write_text("theirs")
        with atomic_path(tmp_path / "folder/c") as scratch:
            scratch.write_text("mine")
        assert beside.exists()
        assert other.poll() is None
        other.terminate()
        assert other.wait() == -signal.SIGTERM
