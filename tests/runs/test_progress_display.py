from __future__ import annotations

import asyncio
import io
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from visualjudge.core.records import Verdict
from visualjudge.runs import job_runner
from visualjudge.runs.budget import Budget, Prices
from visualjudge.runs.job_runner import Progress
from visualjudge.runs.journal import Journal
from visualjudge.runs.progress_display import Display, counted, spent, waiting
from visualjudge.runs.verdicts import verdict_line


def state(done: int) -> Progress:
    progress = Progress(
        total=10,
        done=done,
        statuses=Counter(ok=done - 1, refusal=1),
        budget=Budget(None, Prices(10, 10)),
    )
    progress.budget.begin()
    progress.budget.settle({"prompt_tokens": 900, "completion_tokens": 100})
    return progress


def test_a_terminal_sees_each_status_counted_and_what_was_spent() -> None:
    screen = io.StringIO()
    with Display(
        console=Console(file=screen, force_terminal=True, width=160)
    ) as display:
        display.update(state(4))
    shown = screen.getvalue()
    assert "4/10" in shown
    assert "ok 3 · declined 1 · 1000 tokens, cost 0.0100" in shown


def test_a_terminal_of_80_columns_has_the_bar_the_number_and_all_counts() -> (
    None
):
    statuses = Counter(
        ok=390, unparseable=20, refusal=12, truncated=9, api_error=1
    )
    progress = Progress(
        total=1514, done=432, statuses=statuses, budget=state(2).budget
    )
    screen = io.StringIO()
    with Display(
        console=Console(
            file=screen, force_terminal=True, width=80, color_system=None
        )
    ) as display:
        display.update(progress)
    bar, counts = next(
        (line, below)
        for line, below in pairwise(screen.getvalue().splitlines())
        if "432/1514" in line
    )
    assert "━━━━━━━━" in bar
    assert (
        "ok 390 · unparseable 20 · declined 12 · truncated 9 · api_error 1"
        in counts
    )


def test_a_log_gets_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [state(2), state(5), state(9)]
    display = Display(console=Console(file=io.StringIO(), force_terminal=False))
    display._printed = 0.0
    times = iter(
        [9.0, 11.0, 11.0, 20.0]
    )  # asked once an update, once more where a line is written
    monkeypatch.setattr(
        "visualjudge.runs.progress_display.time.monotonic", lambda: next(times)
    )
    for step in steps:
        display.update(step)
    assert (
        capsys.readouterr().err
        == "5 of 10: ok 4 · declined 1 · 1000 tokens, cost 0.0100\n"
    )


def silent(**changes: Any) -> Progress:
    """8 calls of 200 are under way, and nothing has come back for 30 s."""
    progress = Progress(
        total=200,
        server="http://gpu:8000/v1",
        heard=time.monotonic() - 30,
        **changes,
    )
    for _ in range(8):
        progress.budget.begin()
    return progress


def test_calls_that_fail_while_nothing_comes_back_are_told() -> None:
    failing = replace(
        silent(), failed_calls=Counter({"connection": 6, "HTTP 503": 1})
    )
    assert waiting(failing).endswith(
        "/v1, failed calls: connection 6 · HTTP 503 1"
    )


def test_nothing_is_said_of_waiting_while_replies_come_or_none_is_under_way() -> (
    None
):
    assert (
        waiting(state(3))
        == waiting(replace(silent(), heard=time.monotonic()))
        == ""
    )
    assert waiting(replace(silent(), budget=Budget())) == ""


def test_the_run_tells_how_it_stands_while_nothing_comes_back(
    tmp_path: Path,
) -> None:
    seen = list[tuple[int, int]]()

    async def main() -> None:
        told = asyncio.Event()

        async def ask(job: int) -> Verdict:
            await told.wait()
            return Verdict(str(job), "AB", "A", "ok", "A")

        def hear(progress: Progress) -> None:
            seen.append((progress.done, progress.budget.in_flight))
            told.set()

        with Journal(tmp_path / "journal.jsonl") as journal:
            runner = job_runner.Runner(
                journal, verdict_line, Progress(total=2), on_event=hear
            )
            await asyncio.wait_for(runner.run([1, 2], ask), 20)

    asyncio.run(main())
    assert seen[0] == (0, 2) and seen[-1] == (2, 0)


def test_counts_stand_in_the_order_of_their_number() -> None:
    assert counted(Counter(api_error=1, ok=5)) == "ok 5 · api_error 1"
    assert spent(Progress()) == ""
