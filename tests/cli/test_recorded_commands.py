"""Commands with options other than their defaults: the numbers that they print and
write, recorded; and how each option is declared.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commanding import command
from docs.workspace import make_workspace
from recording import check, contents
from visualjudge.cli.main import COMMANDS, command_named

DECLARED = ("opts", "required", "multiple", "hidden", "show_default", "metavar")


def _commands(name: str, made: Any) -> Iterator[tuple[str, Any]]:
    below = getattr(made, "commands", {})
    for own, command_below in below.items():
        yield from _commands(f"{name} {own}", command_below)
    if not below:
        yield name, made


def _declared(option: Any) -> dict[str, Any]:
    """What a user sees of an option; typer has moved the bounds from the type of an
    option to the option."""
    row = {field: getattr(option, field, None) for field in DECLARED}
    for bound in ("min", "max"):
        row[bound] = getattr(getattr(option, "type", option), bound, None)
    return row | {"default": str(option.default)}


def test_every_option_has_its_names_default_and_bounds() -> None:
    declared = {
        f"{name} {option.name}".replace(" ", "."): _declared(option)
        for first in COMMANDS
        for name, made in _commands(first, command_named(first))
        for option in made.params
    }
    assert len(declared) > 250
    check("options", declared, depth=1)


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
