"""Exit statuses and one-line errors of the command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from runs.made_dataset import make_dataset
from visualjudge.cli import main
from visualjudge.core.errors import DataError, UsageError


@pytest.mark.parametrize(
    ("error", "status"),
    [(DataError("a.json: broken\nhere"), 1), (UsageError("no such"), 2)],
)
def test_errors_become_one_line_and_a_status(
    error: Exception,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(main, "app", lambda standalone_mode: fail())
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == status
    assert capsys.readouterr().err.count("\n") == 1


def ended(
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> tuple[int, str, str]:
    """The status, output and errors of a command."""
    monkeypatch.setattr(sys, "argv", ["visualjudge", *words.split()])
    with pytest.raises(SystemExit) as stop:
        main.run()
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("jugde x", "(did you mean judge?)"),
        ("validate x", "validate was removed in 1.1; use: describe DATASET"),
        (
            "mmbench report x",
            "mmbench report was removed in 1.1; use: mmbench eval --out",
        ),
        ("judge x --outt y", "No such option: --outt"),
        (
            "adopt x.csv --out y --judge j\udcff",
            "--judge must be text in UTF-8",
        ),
        ("judge x --temperature 0 --out y", "--set NAME=VALUE"),
        (
            "judge x --model a --model=b --out y",
            "--model takes one value, got 2",
        ),
        ("label x --out next.xlsx", "--out must end in .csv, got next.xlsx"),
        ("build a b --out c", "quote values with spaces, repeat an option"),
        ("judge x", "Missing option '--out'"),
        (
            "judge x --backend baseline --model first --out x",
            "got a file or dataset, x",
        ),
        (
            "judge x --backend baseline --model first --out y --set repeat=2",
            "mean repeats?)",
        ),
        ("studio x --rater anna", "No such option: --rater"),
        ("studio people x --rater anna", "Missing option '--out'"),
        (
            "describe x --json no/such/folder.json",
            "--json: no/such/folder.json: no folder no/such",
        ),
        (
            "build x --out y --set max_pairs=3",
            "--set: must be one of max_side, form",
        ),
        (
            "judge x --out y --set timeout",
            "--set must be NAME=VALUE, such as timeout=60",
        ),
        (
            "judge x --model m --out y --price 3",
            "--price must be IN/OUT, such as 2.5/10, got '3'",
        ),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(
    words: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_dataset(tmp_path / "x", pairwise=1, ranking=0, scoring=0)
    monkeypatch.chdir(tmp_path)
    status, _, err = ended(words, monkeypatch, capsys)
    assert (status, err.count("\n")) == (2, 1), err
    assert message in err


def test_every_retired_command_names_a_command_that_exists() -> None:
    assert len(main.COMMANDS) <= 23
    assert not set(main.RETIRED) & set(main.COMMANDS)


def paths() -> list[str]:
    """Every command that has options of its own."""
    names = []
    for name in main.COMMANDS:
        command = main.command_named(name)
        below = (
            command.list_commands(None)
            if hasattr(command, "commands")
            else [""]
        )
        names += [f"{name} {sub}".strip() for sub in below]
    return names


@pytest.mark.parametrize("path", ["", *paths()])
def test_a_help_fits_a_screen_and_ends_with_an_example(
    path: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = ended(f"{path} --help", monkeypatch, capsys)
    assert status == 0
    assert out.count("\n") <= 42  # 41 and the empty line at the end
    assert f"visualjudge {path}" in out
    assert re.findall(r"<\w.*?>", out) == []  # no type of Python


HELP_OF_ALL = """
import contextlib, io, sys
from visualjudge.cli.main import COMMANDS, app
heavy = {"numpy", "polars", "pyarrow", "cv2", "scipy", "skimage", "PIL", "aiohttp"}
for words in ([], *([name] for name in COMMANDS)):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        app([*words, "--help"], prog_name="visualjudge")
    print(words, sorted(heavy & set(sys.modules)))
"""


def test_no_command_imports_a_heavy_library_for_its_help() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELP_OF_ALL],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) > 20
    assert [line for line in lines if not line.endswith("[]")] == []


@pytest.mark.parametrize(
    ("words", "offered"),
    [("visualjudge ju", "judge"), ("visualjudge judge --base", "--base-url")],
)
def test_the_shell_completes_commands_and_options(
    words: str, offered: str
) -> None:
    place = {
        "_VISUALJUDGE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    script = (
        "import sys; sys.argv[0] = 'visualjudge'; from visualjudge.cli.main "
        "import run; run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **place},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [offered]
