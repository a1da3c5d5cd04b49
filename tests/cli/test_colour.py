"""Colours of what commands print: where a terminal has them, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

LINE = "from visualjudge.cli.output import in_colour; print(in_colour({!r}))"


def printed(text: str, **environment: str) -> str:
    """Return what a program prints on a terminal."""
    own, terminal = pty.openpty()
    try:
        subprocess.run(
            [sys.executable, "-c", LINE.format(text)],
            stdout=terminal,
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
