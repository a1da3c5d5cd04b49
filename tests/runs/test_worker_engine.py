"""A run spread over workers: as one process would have it, whatever becomes of the workers."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

import visualjudge as vj
from runs.chaotic_server import ChaoticServer, running, serving
from runs.made_dataset import make_dataset
from visualjudge.clients import RetryPolicy, open_client
from visualjudge.core.engines import ProcessWorker, Worker, WorkerLost
from visualjudge.core.errors import RunError, UsageError
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.judges.baseline import baseline_judge
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.runs.budget import Budget, Limits
from visualjudge.runs.job_runner import Stop
from visualjudge.runs.judge_dataset import RunReport, RunSettings, run_judge
from visualjudge.runs.questions_left import answered, left_of
from visualjudge.runs.worker_engine import JudgeService, OpenWorkers, SpreadEngine, workers_of


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return load_dataset(make_dataset(tmp_path / "ds", pairwise=30, ranking=5, scoring=5))


class NearWorker(Worker):
    """A worker in this process, which may be slow, and may be lost after some answers."""

    def __init__(
        self,
        name: str,
        service: JudgeService,
        *,
        answers: int = 10**9,
        delay_s: float = 0.0,
        starts: bool = True,
    ) -> None:
        self.name, self.service = name, pickle.loads(pickle.dumps(service))
        self.left, self.delay_s = answers, delay_s
        self.ready: Future[None] = Future()
        if starts:
            self.ready.set_result(None)

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        async def answer() -> Any:
            if method == "answer":
                if not self.left:
                    raise WorkerLost(f"{self.name} has ended")
                self.left -= 1
            await asyncio.sleep(self.delay_s)
            return await getattr(self.service, method)(*arguments)

        return asyncio.run_coroutine_threadsafe(answer(), asyncio.get_event_loop())


def near(**of: dict[str, Any]) -> OpenWorkers:
    @contextmanager
    def opened(service: JudgeService) -> Iterator[list[NearWorker]]:
        yield [NearWorker(name, service, **options) for name, options in of.items()]

    return opened


def judged(
    dataset: Dataset,
    judge: Any,
    out: Path,
    opened: Any,
    block: int = 1,
    limits: Limits | None = None,
    **options: Any,
) -> RunReport:
    engine = SpreadEngine(judge, opened, block)
    return asyncio.run(
        run_judge(dataset, judge, out, RunSettings(**options), budget=Budget(limits), engine=engine)
    )


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]


def alone(dataset: Dataset, out: Path, **options: Any) -> bytes:
    asyncio.run(
        run_judge(dataset, baseline_judge("oracle:0.7", dataset.root), out, RunSettings(**options))
    )
    return (out / "verdicts.jsonl").read_bytes()


# ---------------------------------------------------------------- what is left


def test_the_asks_of_numbers_are_those_of_the_plan(dataset: Dataset) -> None:
    todo = left_of(dataset.questions, swap=True, repeats=3)
    assert todo.total == len(todo.numbers) == (30 * 2 + 10) * 3
    asked = [ask.key for ask in todo()]
    assert asked[:6] == [("pairwise0", order, k) for order in ("AB", "BA") for k in range(3)]
    assert len(set(asked)) == todo.total
    written = [
        orjson.dumps({"id": i, "order": o, "repeat": k, "status": "ok"}) + b"\n"
        for i, o, k in asked[::2]
    ]
    (dataset.root / "some.jsonl").write_bytes(b"".join(written))
    done = answered(dataset.root / "some.jsonl")
    rest = left_of(dataset.questions, swap=True, repeats=3, done=done)
    assert [ask.key for ask in rest()] == asked[1::2]
    assert rest.total == todo.total
    assert [ask.key for ask in rest.asks(rest.numbers[5:7])] == asked[11:14:2]


# ---------------------------------------------------------------- workers near by


@pytest.mark.parametrize("options", [{}, {"swap": True, "repeats": 2}, {"limit": 7}])
def test_blocks_come_into_the_journal_in_the_order_of_the_questions(
    dataset: Dataset, tmp_path: Path, options: dict[str, Any]
) -> None:
    opened = near(slow={"delay_s": 0.01}, quick={})
    report = judged(
        dataset,
        baseline_judge("oracle:0.7", dataset.root),
        tmp_path / "run",
        opened,
        block=4,
        **options,
    )
    assert (tmp_path / "run" / "verdicts.jsonl").read_bytes() == alone(
        dataset, tmp_path / "alone", **options
    )
    assert report.missing == 0


@pytest.mark.parametrize("block", [1, 4])
def test_the_questions_of_a_lost_worker_go_to_the_others(
    dataset: Dataset, tmp_path: Path, block: int, caplog: pytest.LogCaptureFixture
) -> None:
    opened = near(first={"answers": 2}, second={}, third={"answers": 1})
    with caplog.at_level(logging.WARNING):
        report = judged(
            dataset, baseline_judge("oracle:0.7", dataset.root), tmp_path / "run", opened, block
        )
    assert report.statuses.total() == 40
    assert sorted(line["id"] for line in lines(tmp_path / "run")) == sorted(
        q.id for q in dataset.questions
    )
    assert "first has ended; its work goes to the other" in caplog.text


@pytest.mark.parametrize("block", [1, 4])
def test_a_worker_that_never_starts_is_not_waited_for(
    dataset: Dataset, tmp_path: Path, block: int
) -> None:
    opened = near(pending={"starts": False, "answers": 0}, other={})
    judge = baseline_judge("oracle:0.7", dataset.root)
    assert judged(dataset, judge, tmp_path / "run", opened, block).statuses.total() == 40


def test_where_all_workers_are_lost_the_run_ends_and_resumes_with_others(
    dataset: Dataset, tmp_path: Path
) -> None:
    judge = baseline_judge("oracle:0.7", dataset.root)
    with pytest.raises(RunError, match=r"all workers have ended .* --resume"):
        judged(dataset, judge, tmp_path / "run", near(a={"answers": 3}, b={"answers": 2}), block=4)
    assert 0 < len(lines(tmp_path / "run")) < 40
    judged(dataset, judge, tmp_path / "run", near(a={}, b={}, c={}), block=3, resume=True)
    assert (tmp_path / "run" / "verdicts.jsonl").read_bytes() == alone(dataset, tmp_path / "alone")


def test_a_budget_of_calls_holds_for_all_workers_together(dataset: Dataset, tmp_path: Path) -> None:
    async def main() -> tuple[RunReport, int]:
        async with serving(ChaoticServer({})) as server:
            judge = asked(server.url, dataset)
            engine = SpreadEngine(judge, near(a={}, b={}, c={}))
            budget = Budget(Limits(max_calls=11))
            report = await run_judge(
                dataset, judge, tmp_path / "run", RunSettings(), budget=budget, engine=engine
            )
            return report, server.did.total()

    report, calls = asyncio.run(main())
    assert calls == 11 == report.statuses.total()
    assert report.missing == 29
    assert "11 calls" in (report.progress.stopped or "")


def test_refused_keys_end_a_run_as_they_do_in_one_process(dataset: Dataset, tmp_path: Path) -> None:
    async def main() -> tuple[RunReport, int]:
        async with serving(ChaoticServer({"HTTP 401": 1.0})) as server:
            judge = asked(server.url, dataset)
            engine = SpreadEngine(judge, near(a={}, b={}))
            options = RunSettings(concurrency=2)
            return await run_judge(
                dataset, judge, tmp_path / "r", options, engine=engine
            ), server.did.total()

    report, calls = asyncio.run(main())
    assert "given up: HTTP 401" in (report.progress.stopped or "")
    assert calls <= 12
    assert report.failures == {"HTTP 401": calls}
    assert "401" in (report.last_error or "")


def asked(url: str, dataset: Dataset, mode: Any = "text") -> QuestionJudge:
    client = open_client(
        {"backend": "api", "model_name": "m", "base_url": url, "api_key": "sk-very-secret"},
        retry=RetryPolicy(2, 0.0),
    )
    return QuestionJudge(client, dataset.root, mode)


def test_a_judge_that_cannot_be_sent_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    judge = baseline_judge("oracle:0.7", dataset.root)
    judge.note = lambda: None  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="SimulatedJudge cannot be sent to other processes"):
        judged(dataset, judge, tmp_path / "run", workers_of("local", 2))


# ---------------------------------------------------------------- real processes


def test_processes_ask_a_server_as_one_would_and_survive_the_death_of_one(
    dataset: Dataset, tmp_path: Path
) -> None:
    workers: list[ProcessWorker] = []

    @contextmanager
    def opened(service: JudgeService) -> Iterator[list[Worker]]:
        with workers_of("local", 2)(service) as found:
            workers.extend(one for one in found if isinstance(one, ProcessWorker))
            yield found

    async def main() -> tuple[RunReport, ChaoticServer]:
        rates = {"HTTP 500": 0.05, "connection": 0.02}
        async with serving(
            ChaoticServer(rates, delay_s=0.02, text='{"reasoning": "x", "answer": "A"}')
        ) as server:
            judge = asked(server.url, dataset, "auto")
            engine = SpreadEngine(judge, opened)

            def shot(progress: Any) -> None:
                if progress.done == 12 and workers:
                    workers[0].process.kill()

            options = RunSettings(concurrency=4, swap=True)
            report = await run_judge(
                dataset, judge, tmp_path / "run", options, engine=engine, on_event=shot
            )
            return report, server

    report, server = asyncio.run(main())
    found = lines(tmp_path / "run")
    assert len(found) == len({(line["id"], line["order"]) for line in found}) == 70
    assert report.missing == 0
    assert (
        server.peak <= 4 + 4
    )  # the server notices later than we do that a killed worker's calls have ended
    assert report.schema == "followed"
    assert sum(report.failures.values()) <= sum(
        number for fate, number in server.did.items() if fate != "ok"
    )
    assert not any(worker.process.is_alive() for worker in workers)
    assert b"sk-very-secret" not in b"".join(
        path.read_bytes() for path in (tmp_path / "run").iterdir()
    )


COMMAND = [sys.executable, "-m", "visualjudge", "judge"]


def begun(dataset: Path, url: str, out: Path, *more: object) -> subprocess.Popen[str]:
    words = ["--model", "m", "--base-url", url, "--no-cache", "--mode", "text", "--out", out, *more]
    return subprocess.Popen(
        [*COMMAND, str(dataset), *map(str, words)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def alive_in_session(leader: int) -> set[int]:
    found = set[int]()
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == leader and fields[0] != "Z":
                found.add(int(place.name))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_command_that_is_killed_or_interrupted_leaves_no_worker_and_resumes(
    tmp_path: Path, how: int
) -> None:
    make_dataset(tmp_path / "ds", pairwise=150, ranking=0, scoring=0)
    journal, until = tmp_path / "run" / "verdicts.jsonl", time.monotonic() + 120
    with running(ChaoticServer({}, delay_s=0.1)) as server:
        process = begun(tmp_path / "ds", server.url, tmp_path / "run", "--processes", 2)
        while server.did.total() < 60 and process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.01)
        if how == signal.SIGKILL:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGINT)
        said = process.communicate()[1]
        until = time.monotonic() + 20
        while alive_in_session(process.pid) and time.monotonic() < until:
            time.sleep(0.05)
        assert not alive_in_session(process.pid)
        assert how == signal.SIGKILL or "stopped by Ctrl-C" in said, said
        before, calls = journal.read_bytes(), server.did.total()
        assert before.count(b"\n") >= calls - 16
        server.delay_s = 0
        again = begun(tmp_path / "ds", server.url, tmp_path / "run", "--processes", 3, "--resume")
        said = again.communicate()[1]
        assert again.returncode == 0, said
        assert server.did.total() - calls == 150 - before.count(b"\n")
    assert journal.read_bytes().startswith(before)
    assert sorted(line["id"] for line in lines(tmp_path / "run")) == sorted(
        f"pairwise{k}" for k in range(150)
    )


def test_a_stop_ends_all_workers_between_asks(dataset: Dataset, tmp_path: Path) -> None:
    stop = Stop()
    judge = replace(baseline_judge("oracle:0.7", dataset.root))
    engine = SpreadEngine(judge, near(a={"delay_s": 0.1}, b={"delay_s": 0.1}))

    def enough(progress: Any) -> None:
        if progress.done >= 5:
            stop.request("enough")

    options = RunSettings(concurrency=2)
    report = asyncio.run(
        run_judge(
            dataset, judge, tmp_path / "run", options, engine=engine, on_event=enough, stop=stop
        )
    )
    assert report.progress.stopped == "enough"
    assert 5 <= report.statuses.total() < 40


def test_actors_of_ray_give_what_one_process_gives(dataset: Dataset, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    judge = baseline_judge("oracle:0.7", dataset.root)
    report = judged(dataset, judge, tmp_path / "run", workers_of("ray", 1), block=16, swap=True)
    assert (tmp_path / "run" / "verdicts.jsonl").read_bytes() == alone(
        dataset, tmp_path / "alone", swap=True
    )
    assert report.missing == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workers": "dask"}, "unknown engine 'dask'; one of: local, ray"),
        ({"processes": 0}, "--processes must be at least 1, got 0"),
    ],
)
def test_wrong_workers_are_refused_before_anything_is_asked(
    dataset: Dataset, tmp_path: Path, options: Any, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        vj.judge(
            dataset,
            vj.client("baseline", model="first"),
            tmp_path / "run",
            progress=False,
            **options,
        )
    assert not (tmp_path / "run").exists()
