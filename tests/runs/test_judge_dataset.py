from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runs.chaotic_server import RATES, ChaoticServer, completion, serving
from runs.made_dataset import make_dataset
from scripted_client import ScriptedClient
from visualjudge.clients import RetryPolicy, open_client
from visualjudge.clients.base import Reply
from visualjudge.core.errors import ApiError, DataError, UsageError
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.judges.baseline import baseline_judge
from visualjudge.judges.panel import PanelJudge
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.options import RunSettings
from visualjudge.runs.asks import check_images
from visualjudge.runs.budget import Budget, Limits, Prices
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.judge_dataset import RunReport, run_judge

FIELDS = [
    "id",
    "order",
    "value",
    "status",
    "raw_response",
    "usage",
    "latency_s",
]


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return load_dataset(make_dataset(tmp_path / "ds"))


def judged(
    dataset: Dataset, judge: Any, out: Path, **options: Any
) -> RunReport:
    return asyncio.run(run_judge(dataset, judge, out, RunSettings(**options)))


def lines(out: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for line in (out / "verdicts.jsonl").read_text().splitlines()
    ]


def test_one_line_a_question_with_the_fields_of_the_contract(
    dataset: Dataset, tmp_path: Path
) -> None:
    client = ScriptedClient(
        [Reply("A", usage={"prompt_tokens": 100, "completion_tokens": 3})]
    )
    report = judged(
        dataset, QuestionJudge(client, dataset.root), tmp_path / "run"
    )
    written = lines(tmp_path / "run")
    assert [line["id"] for line in written] == [
        question.id for question in dataset.questions
    ]
    assert all(list(line)[:7] == FIELDS for line in written)
    assert report.statuses == {"ok": 8, "unparseable": 5}
    assert written[0]["usage"] == {"prompt_tokens": 100, "completion_tokens": 3}


def test_swap_asks_pairwise_questions_in_both_orders_and_turns_the_answers_back(
    dataset: Dataset, tmp_path: Path
) -> None:
    judged(
        dataset,
        QuestionJudge(ScriptedClient(["A"]), dataset.root),
        tmp_path / "run",
        swap=True,
    )
    orders = Counter(
        (line["order"], line["value"])
        for line in lines(tmp_path / "run")
        if line["status"] == "ok"
    )
    assert orders == {("AB", "A"): 8, ("BA", "B"): 8}
    assert RunFolder(tmp_path / "run").manifest()["asked"] == 21


def test_the_stated_prices_stand_in_run_json_from_the_start(
    dataset: Dataset, tmp_path: Path
) -> None:
    seen: list[Any] = []

    def reply(_request: Any, _attempt: int) -> str:
        seen.append(RunFolder(tmp_path / "run").manifest().get("prices"))
        return "A"

    budget = Budget(prices=Prices(2.5, 10.0))
    judge = QuestionJudge(ScriptedClient(reply), dataset.root)
    asyncio.run(
        run_judge(
            dataset,
            judge,
            tmp_path / "run",
            RunSettings(limit=1),
            budget=budget,
        )
    )
    assert seen == [
        {"per_million_in": 2.5, "per_million_out": 10.0, "share": 1.0}
    ]


def test_repeats_are_told_apart(dataset: Dataset, tmp_path: Path) -> None:
    client = ScriptedClient(lambda request, attempt: "AB"[request.repeat % 2])
    judged(
        dataset,
        QuestionJudge(client, dataset.root, seed=7),
        tmp_path / "run",
        repeats=3,
        limit=1,
    )
    assert [
        (line.get("repeat", 0), line["value"])
        for line in lines(tmp_path / "run")
    ] == [
        (0, "A"),
        (1, "B"),
        (2, "A"),
    ]
    assert [request.seed for request in client.requests] == [7, 8, 9]


def test_resume_asks_only_what_is_missing(
    dataset: Dataset, tmp_path: Path
) -> None:
    judged(
        dataset,
        QuestionJudge(ScriptedClient(["A"]), dataset.root),
        tmp_path / "run",
        limit=5,
    )
    before = lines(tmp_path / "run")
    client = ScriptedClient(["B"])
    report = judged(
        dataset,
        QuestionJudge(client, dataset.root),
        tmp_path / "run",
        resume=True,
    )
    assert len(client.requests) == len(dataset.questions) - 5
    assert lines(tmp_path / "run")[:5] == before
    assert report.statuses.total() == len(dataset.questions)


def test_a_run_is_not_resumed_by_another_judge_or_dataset(
    dataset: Dataset, tmp_path: Path
) -> None:
    judged(
        dataset,
        QuestionJudge(ScriptedClient(["A"]), dataset.root),
        tmp_path / "run",
        limit=1,
    )
    other = QuestionJudge(
        ScriptedClient(["A"], model_name="other"), dataset.root
    )
    with pytest.raises(UsageError, match='model was "scripted", now "other"'):
        judged(dataset, other, tmp_path / "run", resume=True)
    elsewhere = load_dataset(make_dataset(tmp_path / "ds2", pairwise=3))
    with pytest.raises(UsageError, match=r"questions\.json was"):
        judged(
            elsewhere,
            QuestionJudge(ScriptedClient(["A"]), elsewhere.root),
            tmp_path / "run",
            resume=True,
        )
    with pytest.raises(UsageError, match="`resume`"):
        judged(
            dataset,
            QuestionJudge(ScriptedClient(["A"]), dataset.root),
            tmp_path / "run",
        )


def test_resume_lists_every_setting_that_differs_and_records_those_accepted(
    dataset: Dataset, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    judged(
        dataset,
        QuestionJudge(ScriptedClient(["A"]), dataset.root, seed=1),
        out,
        limit=2,
    )
    other = QuestionJudge(
        ScriptedClient(["A"]), dataset.root, "json", retries=2, seed=1
    )
    with pytest.raises(
        UsageError,
        match=r'mode was "text", now "json"; retries was 0, now 2\. Choose another '
        "`out`",
    ):
        judged(dataset, other, out, resume=True)
    judged(dataset, other, out, resume=True, accept_changes=True, limit=4)
    told = RunFolder(out).manifest()
    fields = {
        "mode": {"was": "text", "now": "json"},
        "retries": {"was": 0, "now": 2},
    }
    assert [
        (change["verdicts"], change["fields"]) for change in told["changes"]
    ] == [(2, fields)]
    judged(dataset, other, out, resume=True)
    assert RunFolder(out).manifest()["changes"] == told["changes"]


@pytest.mark.parametrize(
    ("asked_now", "named"),
    [
        (
            {"limit": 3, "swap": True},
            r"asked was 21, now 6; verdicts left out by filters, swap or repeats was "
            r"0, now 15",
        ),
        (
            {},
            r"swap was true, now false; asked was 21, now 13; verdicts left out by "
            r"filters, swap or repeats was 0, now 8",
        ),
    ],
)
def test_a_resumed_run_may_grow_but_not_leave_verdicts_out(
    dataset: Dataset, tmp_path: Path, asked_now: dict[str, Any], named: str
) -> None:
    def go_on(**options: Any) -> RunReport:
        return judged(
            dataset,
            QuestionJudge(ScriptedClient(["A"]), dataset.root),
            out,
            **options,
        )

    out = tmp_path / "run"
    go_on(limit=2)
    go_on(limit=4, resume=True)
    assert go_on(swap=True, resume=True).missing == 0
    with pytest.raises(UsageError, match=named):
        go_on(**asked_now, resume=True)
    assert RunFolder(out).manifest()["asked"] == 21
    go_on(**asked_now, resume=True, accept_changes=True)
    told = RunFolder(out).manifest()
    assert told["changes"][0]["fields"]["asked"]["was"] == 21
    go_on(**asked_now, resume=True)
    assert RunFolder(out).manifest()["changes"] == told["changes"]


def test_a_run_without_swap_is_not_the_rest_of_one_with_swap(
    dataset: Dataset, tmp_path: Path
) -> None:
    """Also where it was stopped early."""
    judge = QuestionJudge(ScriptedClient(["A"]), dataset.root)
    budget = Budget(Limits(max_calls=4))
    asyncio.run(
        run_judge(
            dataset,
            judge,
            tmp_path / "run",
            RunSettings(swap=True, concurrency=1),
            budget=budget,
        )
    )
    with pytest.raises(UsageError, match="swap was true, now false"):
        judged(
            dataset,
            QuestionJudge(ScriptedClient(["A"]), dataset.root),
            tmp_path / "run",
            resume=True,
        )


def test_questions_edited_after_the_build_are_another_dataset(
    dataset: Dataset, tmp_path: Path
) -> None:
    """Although dataset.json still states the old checksum."""
    judged(
        dataset,
        QuestionJudge(ScriptedClient(["A"]), dataset.root),
        tmp_path / "run",
        limit=1,
    )
    path = dataset.root / "questions.json"
    path.write_text(path.read_text().replace("8.0", "1.0"))
    edited = load_dataset(dataset.root)
    assert edited.checksum == dataset.checksum
    with pytest.raises(UsageError, match=r"questions\.json was"):
        judged(
            edited,
            QuestionJudge(ScriptedClient(["A"]), edited.root),
            tmp_path / "run",
            resume=True,
        )


def test_a_run_without_verdicts_that_can_be_read_is_not_guessed_at(
    dataset: Dataset, tmp_path: Path
) -> None:
    judged(
        dataset,
        QuestionJudge(ScriptedClient(["A"]), dataset.root),
        tmp_path / "run",
        limit=2,
    )
    path = tmp_path / "run" / "verdicts.jsonl"
    good = path.read_bytes()
    for line in (
        b'{"id":1,"order":"AB","value":"A","status":"ok"}\n',
        b'{"id":"x","value":true,"status":"ok"}\n',
    ):
        path.write_bytes(line + good)
        with pytest.raises(DataError, match="line 1 is not a verdict"):
            RunFolder(tmp_path / "run").verdicts()
    path.write_bytes(good + b'{"id":"x"')
    assert len(RunFolder(tmp_path / "run").verdicts()) == 2


def test_errors_are_verdicts_and_are_asked_again_only_when_told(
    dataset: Dataset, tmp_path: Path
) -> None:
    failing = ScriptedClient([ApiError(400, "no")])
    report = judged(
        dataset, QuestionJudge(failing, dataset.root), tmp_path / "run"
    )
    assert report.statuses == {"api_error": 13}
    assert report.causes == {"HTTP 400": 13}
    assert {line["value"] for line in lines(tmp_path / "run")} == {"Failed"}
    good = ScriptedClient(["A"])
    judged(
        dataset,
        QuestionJudge(good, dataset.root),
        tmp_path / "run",
        resume=True,
    )
    assert good.requests == []
    report = judged(
        dataset,
        QuestionJudge(good, dataset.root),
        tmp_path / "run",
        resume=True,
        retry_errors=True,
    )
    assert report.statuses == {"ok": 8, "unparseable": 5}
    assert len(lines(tmp_path / "run")) == 13


def test_replaced_failures_of_a_killed_run_are_counted_once(
    dataset: Dataset, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    judged(
        dataset,
        QuestionJudge(ScriptedClient([ApiError(400, "no")]), dataset.root),
        out,
    )
    new = {**lines(out)[4], "status": "ok", "value": "A"}
    with (out / "verdicts.jsonl").open("a") as journal:
        journal.write(json.dumps(new) + "\n")
    report = judged(
        dataset,
        QuestionJudge(ScriptedClient(["A"]), dataset.root),
        out,
        resume=True,
    )
    assert report.statuses == {"api_error": 12, "ok": 1}
    assert len(RunFolder(out).verdicts()) == 13


def test_run_json_says_who_judged_what_and_how_it_ended(
    dataset: Dataset, tmp_path: Path
) -> None:
    judged(
        dataset,
        baseline_judge("oracle:0.9", dataset.root),
        tmp_path / "run",
        swap=True,
        name="chance",
    )
    told = RunFolder(tmp_path / "run").manifest()
    assert (told["judge"], told["backend"], told["model"]) == (
        "chance",
        "baseline",
        "oracle:0.9",
    )
    assert told["simulated"] is True
    assert told["dataset"] == {
        "path": str(dataset.root),
        "checksum": dataset.checksum,
    }
    assert told["statuses"] == {"ok": 21}
    assert told["asked"] == 21
    assert (told["swap"], told["missing"], told["stopped"]) == (True, 0, None)


def test_no_key_is_in_any_file_of_a_run(
    dataset: Dataset, tmp_path: Path
) -> None:
    key = "sk-secret-0123456789abcdef"

    async def main() -> None:
        async with serving(ChaoticServer({"HTTP 500": 0.3})) as server:
            config = {
                "backend": "api",
                "model_name": "m",
                "base_url": server.url,
                "api_key": key,
                "attempts": 1,
            }
            judge = QuestionJudge(open_client(config), dataset.root)
            await run_judge(dataset, judge, tmp_path / "run", RunSettings())

    asyncio.run(main())
    assert all(
        key.encode() not in path.read_bytes()
        for path in (tmp_path / "run").iterdir()
    )


def test_missing_images_are_told_before_anything_is_asked(
    dataset: Dataset,
) -> None:
    (dataset.root / dataset.questions[2].images[1]).unlink()
    with pytest.raises(DataError, match=dataset.questions[2].images[1]):
        check_images(dataset, dataset.questions)


def test_a_image_that_cannot_be_read_fails_its_question_alone(
    dataset: Dataset, tmp_path: Path
) -> None:
    (dataset.root / dataset.questions[2].images[1]).write_bytes(b"no image")
    report = judged(
        dataset,
        QuestionJudge(ScriptedClient(["A"]), dataset.root),
        tmp_path / "run",
    )
    assert report.causes["unreadable question"] == 1
    assert report.statuses.total() == 13


def test_a_panel_gives_the_majority_of_finished_runs(
    dataset: Dataset, tmp_path: Path
) -> None:
    for name, reply in (("one", "A"), ("two", "B"), ("three", "B")):
        judged(
            dataset,
            QuestionJudge(ScriptedClient([reply]), dataset.root),
            tmp_path / name,
        )
    members = {
        name: RunFolder(tmp_path / name).verdicts()
        for name in ("one", "two", "three")
    }
    judged(dataset, PanelJudge(members), tmp_path / "panel")
    verdicts = lines(tmp_path / "panel")
    assert {
        line["value"] for line in verdicts if line["id"].startswith("pairwise")
    } == {"B"}
    assert {
        line["value"] for line in verdicts if line["id"].startswith("ranking")
    } == {"Failed"}
    assert verdicts[0]["raw_response"] == "one: A; two: B; three: B"
    assert {line["latency_s"] for line in verdicts} == {0}


def test_chaos_loses_nothing_doubles_nothing_and_counts_as_the_server_does(
    tmp_path: Path,
) -> None:
    """A part of the full size, which is benchmarks/chaos.py."""
    dataset = load_dataset(
        make_dataset(
            tmp_path / "ds", pairwise=200, ranking=0, scoring=0, size=(8, 8)
        )
    )
    server = ChaoticServer(RATES, seed=3)

    async def main() -> RunReport:
        async with serving(server):
            config = {
                "backend": "api",
                "model_name": "m",
                "base_url": server.url,
                "timeout": 0.7,
            }
            client = open_client(
                config,
                retry=RetryPolicy(first_wait_s=0.01, longest_wait_s=0.1),
                concurrency=16,
            )
            judge = QuestionJudge(client, dataset.root)
            return await run_judge(
                dataset, judge, tmp_path / "run", RunSettings(concurrency=16)
            )

    report = asyncio.run(main())
    assert sorted(line["id"] for line in lines(tmp_path / "run")) == sorted(
        q.id for q in dataset.questions
    )
    assert report.diagnostics.failures == Counter(
        {cause: n for cause, n in server.did.items() if cause != "ok"}
    )
    assert report.statuses["ok"] == server.did["ok"]
    assert report.statuses.total() == 200
    assert len(report.diagnostics.failures) == len(RATES)


def test_completions_of_the_test_server_are_what_clients_read() -> None:
    assert completion("x")["choices"][0]["message"]["content"] == "x"  # type: ignore[index]
