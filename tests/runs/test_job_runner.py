from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from visualjudge.core.errors import RunError
from visualjudge.runs.budget import Budget, Limits, Prices
from visualjudge.runs.job_runner import (
    Progress,
    Runner,
    Stop,
    run_until_stopped,
)
from visualjudge.runs.journal import Journal, read_records


@dataclass(frozen=True)
class Outcome:
    record: Mapping[str, Any]
    status: str = "ok"
    cause: str | None = None
    tokens_paid: Mapping[str, int] = field(default_factory=dict)
    calls: int = 1
    error: str | None = None


def outcome(
    number: int, status: str = "ok", cause: str | None = None
) -> Outcome:
    return Outcome(
        {"id": number, "status": status},
        status,
        cause,
        {"prompt_tokens": 10, "completion_tokens": 1},
    )


def runs(path: Path, jobs: Any, ask: Any, **options: Any) -> Progress:
    async def main() -> Progress:
        with Journal(path, resume=True) as journal:
            own = {
                name: options.pop(name)
                for name in ("total", "budget")
                if name in options
            }
            runner = Runner(
                journal,
                lambda outcome: outcome.record,
                options.get("progress") or Progress(**own),
                options.get("concurrency", 8),
                options.get("on_event"),
                options.get("stop") or Stop(),
            )
            return await runner.run(jobs, ask)

    return asyncio.run(main())


def test_every_job_is_done_once_and_counted(tmp_path: Path) -> None:
    async def ask(number: int) -> Outcome:
        await asyncio.sleep(0)
        return outcome(number, "ok" if number % 3 else "refusal")

    progress = runs(tmp_path / "j", range(30), ask, concurrency=4)
    assert sorted(
        record["id"] for record in read_records(tmp_path / "j")
    ) == list(range(30))
    assert progress.statuses == {"ok": 20, "refusal": 10}
    assert (progress.done, progress.stopped) == (30, None)
    assert progress.budget.tokens == 330


def test_never_more_at_once_than_the_concurrency_and_as_many(
    tmp_path: Path,
) -> None:
    state = {"now": 0, "peak": 0}

    async def ask(number: int) -> Outcome:
        state["now"] += 1
        state["peak"] = max(state["peak"], state["now"])
        await asyncio.sleep(0.005)
        state["now"] -= 1
        return outcome(number)

    runs(tmp_path / "j", range(20), ask, concurrency=3)
    assert state["peak"] == 3


def test_jobs_are_drawn_when_a_worker_is_free(tmp_path: Path) -> None:
    drawn: list[int] = []
    ahead: list[int] = []
    done: list[int] = []

    def jobs() -> Iterator[int]:
        for number in range(50):
            drawn.append(number)
            yield number

    async def ask(number: int) -> Outcome:
        await asyncio.sleep(0)
        done.append(number)
        ahead.append(len(drawn) - len(done))
        return outcome(number)

    runs(tmp_path / "j", jobs(), ask, concurrency=4)
    assert max(ahead) <= 4


@pytest.mark.parametrize("calls", [0, 1])
def test_a_verdict_is_on_the_disk_before_it_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    path, synced = tmp_path / "j", {"lines": 0}
    real = os.fdatasync

    def sync(handle: int) -> None:
        lines = path.read_bytes().count(b"\n")
        real(handle)
        synced["lines"] = lines

    monkeypatch.setattr(os, "fdatasync", sync)
    seen: list[int] = []

    def on_event(progress: Progress) -> None:
        assert progress.done <= synced["lines"]
        seen.append(progress.done)

    async def ask(number: int) -> Outcome:
        await asyncio.sleep(0.001)
        return replace(outcome(number), calls=calls)

    runs(path, range(40), ask, concurrency=5, on_event=on_event)
    assert seen == sorted(seen) and seen[-1] == 40


def test_what_was_paid_for_is_written_at_once(tmp_path: Path) -> None:
    path, seen = tmp_path / "j", list[int]()

    async def ask(number: int) -> Outcome:
        seen.append(path.read_bytes().count(b"\n"))
        return replace(outcome(number), calls=int(number == 2))

    runs(path, range(4), ask, concurrency=1)
    assert seen[2:] == [seen[2], 3]
    assert len(list(read_records(path))) == 4


def test_a_budget_stops_between_calls_and_says_so(tmp_path: Path) -> None:
    async def ask(number: int) -> Outcome:
        await asyncio.sleep(0.001)
        return outcome(number)

    progress = runs(
        tmp_path / "j",
        range(50),
        ask,
        concurrency=8,
        budget=Budget(Limits(max_calls=10)),
    )
    assert progress.done == 10
    assert "10 calls" in str(progress.stopped)
    assert len(list(read_records(tmp_path / "j"))) == 10


@pytest.mark.parametrize(
    "limits", [Limits(max_tokens=100), Limits(max_cost=100e-6)]
)
def test_no_limit_is_exceeded_by_what_is_in_flight(
    tmp_path: Path, limits: Limits
) -> None:
    flying, peak = 0, list[int]()

    async def ask(number: int) -> Outcome:
        nonlocal flying
        flying += 1
        peak.append(flying)
        await asyncio.sleep(0.001)
        flying -= 1
        return outcome(number)

    budget = Budget(limits, Prices(1, 1))
    progress = runs(
        tmp_path / "j", range(50), ask, concurrency=16, budget=budget
    )
    assert (progress.done, budget.tokens) == (9, 99)
    assert peak[0] == 1 and max(peak) == 8
    assert progress.stopped is not None and "is exceeded: " in progress.stopped


def test_a_run_that_ends_with_its_budget_was_not_stopped(
    tmp_path: Path,
) -> None:
    async def ask(number: int) -> Outcome:
        await asyncio.sleep(0)
        return outcome(number)

    progress = runs(
        tmp_path / "j",
        range(10),
        ask,
        concurrency=4,
        budget=Budget(Limits(max_calls=10)),
    )
    assert (progress.done, progress.stopped) == (10, None)


def test_an_error_of_the_asking_ends_the_run_but_keeps_what_others_finish(
    tmp_path: Path,
) -> None:
    async def ask(number: int) -> Outcome:
        if number == 3:
            raise RunError("broken")
        await asyncio.sleep(0.01)
        return outcome(number)

    with pytest.raises(RunError, match="broken"):
        runs(tmp_path / "j", range(100), ask, concurrency=4)
    assert sorted(record["id"] for record in read_records(tmp_path / "j")) == [
        0,
        1,
        2,
    ]


def test_a_request_to_stop_lets_calls_in_flight_finish(tmp_path: Path) -> None:
    stop = Stop()

    async def ask(number: int) -> Outcome:
        if number == 5:
            stop.request("enough")
        await asyncio.sleep(0.005)
        return outcome(number)

    progress = runs(tmp_path / "j", range(100), ask, concurrency=3, stop=stop)
    assert progress.stopped == "enough"
    assert 6 <= progress.done <= 8


@pytest.mark.parametrize(
    ("cause", "most"), [("HTTP 401", 12), ("HTTP 407", 12), ("connection", 66)]
)
def test_a_run_that_can_only_fail_is_given_up(
    tmp_path: Path, cause: str, most: int
) -> None:
    async def ask(number: int) -> Outcome:
        await asyncio.sleep(0)
        return outcome(number, "api_error", cause)

    progress = runs(tmp_path / "j", range(500), ask, concurrency=4)
    assert cause in str(progress.stopped)
    assert progress.done <= most


def test_wrong_requests_are_no_reason_to_give_up(tmp_path: Path) -> None:
    async def ask(number: int) -> Outcome:
        return outcome(number, "api_error", "HTTP 400")

    assert runs(tmp_path / "j", range(200), ask).done == 200


@pytest.mark.parametrize(
    ("cause", "done"),
    [("HTTP 500", 200), ("not JSON", 200), ("connection", 60)],
)
def test_where_failures_are_asked_again_those_of_a_living_server_do_not_end_it(
    tmp_path: Path, cause: str, done: int
) -> None:
    async def ask(number: int) -> Outcome:
        return outcome(number, "api_error", cause)

    progress = runs(
        tmp_path / "j",
        range(200),
        ask,
        concurrency=1,
        progress=Progress(total=200, again=True),
    )
    assert progress.done == done


INTERRUPTED = """
import asyncio, sys
from visualjudge.runs.journal import Journal
from visualjudge.core.records import Verdict
from visualjudge.runs.job_runner import Progress, Runner, run_until_stopped

async def ask(number):
    print(number, flush=True)
    await asyncio.sleep(float(sys.argv[2]))
    return Verdict(str(number), "AB", "A", "ok", "A")

def record(verdict):
    return {"id": int(verdict.id)}

async def main(stop):
    with Journal(sys.argv[1], resume=True) as journal:
        return await Runner(journal, record, concurrency=2, stop=stop).run(range(1000), ask)

try:
    print(run_until_stopped(main).stopped)
except KeyboardInterrupt:
    print("at once")
"""


def interrupted(path: Path, seconds: float, times: int) -> tuple[str, float]:
    command = [sys.executable, "-c", INTERRUPTED, str(path), str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(2):
        process.stdout.readline()
    begun = time.monotonic()
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    said = process.stdout.read().split("\n")
    process.wait()
    return said[-2], time.monotonic() - begun


def test_ctrl_c_finishes_what_is_under_way(tmp_path: Path) -> None:
    said, _ = interrupted(tmp_path / "j", 0.6, 1)
    assert said == "stopped by Ctrl-C"
    assert len(list(read_records(tmp_path / "j"))) == 2


def test_ctrl_c_twice_stops_at_once(tmp_path: Path) -> None:
    said, seconds = interrupted(tmp_path / "j", 30, 2)
    assert said == "at once"
    assert seconds < 10


def test_the_result_comes_through_where_nobody_interrupts() -> None:
    async def main(stop: Stop) -> int:
        return 7

    assert run_until_stopped(main) == 7
