"""Exit statuses and one-line errors of the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from visualjudge.cli import main
from visualjudge.core.errors import DataError, UsageError


@pytest.mark.parametrize(
    ("error", "status"), [(DataError("a.json: broken\nhere"), 1), (UsageError("no such"), 2)]
)
def test_errors_become_one_line_and_a_status(
    error: Exception,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(main, "app", fail)
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == status
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--gt {0} {1} --out x", "--gt must be followed by one value, .*quote a pattern, as --gt"),
        ("--class-of-interest dog cat", "repeat the option: --class-of-interest dog --class"),
        ("--out my data", "quote a value that has spaces"),
        ("--replace data", "an argument too many, 'data'; see coco --help"),
    ],
)
def test_values_left_over_name_their_option(words: str, told: str, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.json", "b.json")]
    for file in files:
        file.write_text("{}")
    given = ["--task", "object_detection", "--gt", "a", "--images", "b", "--pred", "c"]
    given += ["--source", "s", "--out", "d"]
    with pytest.raises(UsageError, match=told):
        main.app(["import", "coco", *given, *words.format(*files).split()])


def test_every_command_has_help_with_an_example() -> None:
    from typer.testing import CliRunner

    for name in main.COMMANDS:
        result = CliRunner().invoke(main.app, [name, "--help"])
        assert result.exit_code == 0, (name, result.output)
        assert f"visualjudge {name}" in result.output, name


@pytest.mark.parametrize(
    ("words", "offered"), [("visualjudge ju", "judge"), ("visualjudge judge --base", "--base-url")]
)
def test_the_shell_completes_commands_and_options(words: str, offered: str) -> None:
    place = {
        "_VISUALJUDGE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    script = "import sys; sys.argv[0] = 'visualjudge'; from visualjudge.cli.main import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **place}, capture_output=True, text=True
    )
    assert done.stdout.split() == [offered]
