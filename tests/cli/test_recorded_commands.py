"""Commands with options other than their defaults: the numbers that they print and
write, recorded."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from commanding import command
from docs.workspace import make_workspace
from recording import check, contents

LINES = Path(__file__).with_name("commands_with_options.txt")


def test_commands_with_other_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers of what each prints and writes, and its exit status."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-some-length")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    home = tmp_path / "home"
    home.mkdir()
    done = {}

    def call(line: str) -> Any:
        words = shlex.split(line)
        if words[0] in ("build", "probe"):
            # the same bytes, without processes to start
            words += ["--workers", "1"]
        return command(*words, folder=home)

    make_workspace(home, lambda line: call(line.removeprefix("visualjudge ")))
    for number, line in enumerate(LINES.read_text("utf-8").splitlines()):
        before = {*home.rglob("*")}
        ended = call(line)
        done[f"{number}-{line.split()[0]}"] = {
            "status": ended.returncode,
            "out": ended.stdout.splitlines(),
            "err": ended.stderr.splitlines(),
            "files": contents(home, without=before),
        }
    check("commands", done)
