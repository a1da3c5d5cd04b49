"""What a run cost over all its invocations, whichever of them could still say so."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from runs.made_dataset import make_dataset
from scripted_client import ScriptedClient
from visualjudge.clients.base import Reply
from visualjudge.clients.cache import Cached
from visualjudge.core.errors import TransportError
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.options import RunSettings
from visualjudge.runs.budget import Budget, Prices
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.judge_dataset import RunReport, run_judge
from visualjudge.runs.progress_display import spent_in_all

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
LIVE, BATCH = Prices(1.0, 10.0), Prices(1.0, 10.0, share=0.5)


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return load_dataset(
        make_dataset(tmp_path / "ds", pairwise=12, ranking=0, scoring=0)
    )


def asked(
    dataset: Dataset,
    out: Path,
    limit: int,
    prices: Prices | None = None,
    replies: Any = None,
    **more: Any,
) -> RunReport:
    judge = QuestionJudge(
        ScriptedClient(replies or [Reply("A", usage=USAGE)]),
        dataset.root,
        **more,
    )
    settings = RunSettings(limit=limit, resume=True)
    return asyncio.run(
        run_judge(dataset, judge, out, settings, budget=Budget(prices=prices))
    )


def told(report: RunReport) -> str:
    return spent_in_all(report.progress, report.total)


def test_a_resumed_run_states_what_it_spent_and_what_the_run_did(
    dataset: Dataset, tmp_path: Path
) -> None:
    first = asked(dataset, tmp_path / "run", 4, LIVE)
    assert told(first) == "4 calls, 440 tokens, cost 0.0008"
    second = asked(dataset, tmp_path / "run", 10, BATCH)
    assert told(second) == (
        "1100 tokens, cost 0.0014; this time 6 calls, 660 tokens, cost 0.0006; batch "
        "prices, 50 % of the list's"
    )
    assert (
        told(asked(dataset, tmp_path / "run", 10, LIVE))
        == "1100 tokens, cost 0.0014; this time nothing"
    )
    manifest = RunFolder(tmp_path / "run").manifest()
    assert manifest["total"] == {
        "tokens_in": 1000,
        "tokens_out": 100,
        "tokens_thinking": 0,
        "cost": 0.0014,
    }
    assert manifest["last_invocation"]["calls"] == 0
    unpriced = asked(dataset, tmp_path / "run", 12)
    assert told(unpriced) == "1320 tokens; this time 2 calls, 220 tokens"
    manifest = RunFolder(tmp_path / "run").manifest()
    assert (
        manifest["total"]["cost"] is manifest["last_invocation"]["cost"] is None
    )


def test_a_run_states_how_many_verdicts_come_from_the_cache(
    dataset: Dataset, tmp_path: Path
) -> None:
    client = Cached(
        ScriptedClient([Reply("A", usage=USAGE)]), tmp_path / "cache"
    )
    for name, limit, cached in (("first", 4, 0), ("second", 10, 4)):
        judge = QuestionJudge(client, dataset.root)
        settings, out = RunSettings(limit=limit), tmp_path / name
        report = asyncio.run(run_judge(dataset, judge, out, settings))
        assert report.from_cache == cached
        assert (
            RunFolder(out).manifest()["last_invocation"]["from_cache"] == cached
        )


def test_what_a_killed_invocation_spent_is_counted(
    dataset: Dataset, tmp_path: Path
) -> None:
    asked(dataset, tmp_path / "run", 4, LIVE)
    shutil.copytree(tmp_path / "run", tmp_path / "before")
    asked(dataset, tmp_path / "run", 10, LIVE)
    shutil.copy(
        tmp_path / "before" / "run.json", tmp_path / "run" / "run.json"
    )  # as after kill -9
    report = asked(dataset, tmp_path / "run", 10, BATCH)
    assert told(report) == "1100 tokens, cost 0.0020; this time nothing"


def test_what_was_not_paid_for_and_what_was_paid_beside_is_told_apart(
    dataset: Dataset, tmp_path: Path
) -> None:
    unreadable, good = Reply("?", usage=USAGE), Reply("A", usage=USAGE)
    replies = [good, unreadable, good, Reply("A", usage=USAGE, cached=True)]
    report = asked(dataset, tmp_path / "run", 3, LIVE, replies, retries=1)
    assert told(report) == "3 calls, 330 tokens, cost 0.0006"
    lines = [
        json.loads(line)
        for line in (tmp_path / "run" / "verdicts.jsonl")
        .read_text()
        .splitlines()
    ]
    assert sorted(str(line.get("paid")) for line in lines) == sorted(
        ["None", str({name: 2 * count for name, count in USAGE.items()}), "{}"]
    )
    run_json = tmp_path / "run" / "run.json"
    run_json.write_text(
        json.dumps(
            {
                n: v
                for n, v in json.loads(run_json.read_text()).items()
                if n != "total"
            }
        )
    )
    assert (
        told(asked(dataset, tmp_path / "run", 3, LIVE, retries=1))
        == "330 tokens, cost 0.0006; this time nothing"
    )


def test_a_failed_call_that_was_billed_is_paid_for(
    dataset: Dataset, tmp_path: Path
) -> None:
    nothing = TransportError(
        "no reply in body", usage={"prompt_tokens": 100, "completion_tokens": 5}
    )
    report = asked(
        dataset, tmp_path / "run", 2, LIVE, [nothing, Reply("A", usage=USAGE)]
    )
    assert told(report) == "2 calls, 215 tokens, cost 0.00035"
    (failed,) = (
        line
        for line in RunFolder(tmp_path / "run").verdicts().values()
        if line.status == "api_error"
    )
    assert (failed.usage, failed.paid) == (
        None,
        {"prompt_tokens": 100, "completion_tokens": 5},
    )
