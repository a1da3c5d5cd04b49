"""Colours of what commands print: where a terminal has them, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

LINE = "from visualjudge.cli.console import in_colour; print(in_colour({!r}))"
BUFFERED = """
from contextlib import redirect_stdout
from io import StringIO
from visualjudge.cli.console import in_colour
with redirect_stdout(StringIO()) as buffer:
    print(in_colour({!r}))
print(in_colour(buffer.getvalue()), end="")
"""
MESSAGE = "from visualjudge.cli.console import say; say({!r})"


def printed(text: str, program: str = LINE, **environment: str) -> str:
    """Return what a program prints on a terminal."""
    own, terminal = pty.openpty()
    try:
        subprocess.run(
            [sys.executable, "-c", program.format(text)],
            stdout=terminal,
            stderr=terminal,
            check=True,
            env={**os.environ, "TERM": "xterm-256color", **environment},
        )
        return os.read(own, 10_000).decode()
    finally:
        os.close(terminal)
        os.close(own)


@pytest.mark.parametrize("sign", ["✓", "✗"])
def test_a_reason_has_a_colour_on_a_terminal(
    sign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert f"m{sign}\x1b[" in printed(f"  {sign} 5 of 6 pairs")
    assert "\x1b" not in printed(f"  {sign} 5 of 6 pairs", NO_COLOR="1")


def test_what_a_name_holds_stays_harmless_on_a_terminal() -> None:
    assert "\x1b]0;title" not in printed("\x1b]0;title\x07 [red]name[/red]")
    assert "[red]name[/red]" in printed("[red]name[/red]")


def test_what_was_buffered_is_coloured_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert printed("  ✓ 5 of 6", BUFFERED) == printed("  ✓ 5 of 6")


def test_a_message_breaks_between_words_on_a_terminal() -> None:
    message = "the field must have verdicts on scoring questions, " * 4
    lines = printed(message, MESSAGE, COLUMNS="70").splitlines()
    assert max(map(len, lines)) <= 70
    assert " ".join(lines).split() == ["visualjudge:", *message.split()]
