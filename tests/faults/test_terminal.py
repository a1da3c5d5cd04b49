"""Names of strangers on a terminal: nothing in them acts."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest

from judged_records import pair, said, write_dataset, write_run
from visualjudge.cli.main import run

NASTY = "\x1b]0;title\x07\x1b[31m\x1b[2Jred\x9b1A\u202e\u2066\u2028"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose judge, model and sources have names that move the cursor, set a title
    and turn the direction.
    """
    root = tmp_path_factory.mktemp("terminal")
    questions = [
        pair(k, (3.0, 1.0), sources=(NASTY, "b"), image_id=f"{NASTY}{k}")
        for k in range(6)
    ]
    dataset = write_dataset(root / "ds", questions)
    write_run(
        root / "run",
        dataset,
        [said(q, "A") for q in questions],
        judge=NASTY,
        model=NASTY,
    )
    return root


@pytest.mark.parametrize(
    "words", ["report run", "card run", "report run --where source=x"]
)
def test_no_character_of_a_name_acts_on_the_terminal(
    words: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["visualjudge", *words.split()])
    with contextlib.suppress(SystemExit):
        run()
    shown = "".join(capsys.readouterr())
    assert "red\\u009b1A\\u202e\\u2066" in shown
    acting = {c for c in shown if c != "\n" and not c.isprintable()}
    assert acting == set()
