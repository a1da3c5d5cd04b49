from __future__ import annotations

import io
from collections import Counter
from itertools import pairwise

import pytest
from rich.console import Console

from visualjudge.runs.budget import Budget, Prices
from visualjudge.runs.progress import Display, counted, spent
from visualjudge.runs.runner import Progress


def state(done: int) -> Progress:
    progress = Progress(
        total=10, done=done, statuses=Counter(ok=done - 1, refusal=1), budget=Budget(None, Prices(10, 10))
    )
    progress.budget.begin()
    progress.budget.settle({"prompt_tokens": 900, "completion_tokens": 100})
    return progress


def test_a_terminal_sees_each_status_counted_and_what_was_spent() -> None:
    screen = io.StringIO()
    with Display(console=Console(file=screen, force_terminal=True, width=160)) as display:
        display.update(state(4))
    shown = screen.getvalue()
    assert "4/10" in shown
    assert "ok 3 · refusal 1 · 1000 tokens, cost 0.0100" in shown


def test_a_terminal_of_80_columns_has_the_bar_the_number_and_all_counts() -> None:
    statuses = Counter(ok=390, unparseable=20, refusal=12, truncated=9, api_error=1)
    progress = Progress(total=1514, done=432, statuses=statuses, budget=state(2).budget)
    screen = io.StringIO()
    with Display(console=Console(file=screen, force_terminal=True, width=80, color_system=None)) as display:
        display.update(progress)
    bar, counts = next((line, below) for line, below in pairwise(screen.getvalue().splitlines()) if "432/1514" in line)
    assert "━━━━━━━━" in bar
    assert "ok 390 · unparseable 20 · refusal 12 · truncated 9 · api_error 1" in counts


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    steps = [state(2), state(5), state(9)]
    display = Display(console=Console(file=io.StringIO(), force_terminal=False))
    display._said = 0.0
    times = iter([9.0, 11.0, 11.0, 20.0])  # asked once an update, once more where a line is written
    monkeypatch.setattr("visualjudge.runs.progress.time.monotonic", lambda: next(times))
    for step in steps:
        display.update(step)
    assert capsys.readouterr().err == "5 of 10: ok 4 · refusal 1\n"


def test_counts_stand_in_the_order_of_their_number() -> None:
    assert counted(Counter(api_error=1, ok=5)) == "ok 5 · api_error 1"
    assert spent(Progress()) == ""
