"""The first questions of a run: a wrong model, another model, replies that are cut."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from runs.made_dataset import make_dataset
from scripted_client import ScriptedClient
from visualjudge.clients import open_client
from visualjudge.clients.base import Identity, Reply
from visualjudge.core.errors import RunError, UsageError
from visualjudge.core.records import Served
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.options import RunSettings
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.judge_dataset import RunReport, run_judge
from visualjudge.runs.live import PREFLIGHT


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    root = make_dataset(
        tmp_path_factory.mktemp("ds"), pairwise=40, ranking=0, scoring=0
    )
    return load_dataset(root)


class Limited(ScriptedClient):
    """A script with a limit of tokens."""

    @property
    def identity(self) -> Identity:
        return Identity("scripted", None, self.model, {"max_tokens": 512})


def judged(
    dataset: Dataset, client: Any, out: Path, **options: Any
) -> RunReport:
    judge = QuestionJudge(client, dataset.root)
    return asyncio.run(run_judge(dataset, judge, out, RunSettings(**options)))


def by(model: str, fingerprint: str | None = None) -> Reply:
    return Reply("A", served=Served(model, fingerprint))


def test_a_wrong_name_costs_one_call_and_one_line_and_the_corrected_command_runs(
    dataset: Dataset, tmp_path: Path
) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        if request.method == "GET":
            names = [
                {"id": name} for name in ("gpt-4o-mini", "gpt-4o", "whisper-1")
            ]
            return web.json_response({"data": names})
        model = (await request.json())["model"]
        asked.append(model)
        if model != "gpt-4o-mini":
            error = {"message": f"The model `{model}` does not exist"}
            return web.json_response({"error": error}, status=404)
        choice = {"message": {"content": "A"}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice], "model": model})

    async def main() -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        at = f"://127.0.0.1:{runner.addresses[0][1]}/v1"

        async def go(model: str, scheme: str = "http") -> None:
            client = open_client(
                {
                    "backend": "api",
                    "model_name": model,
                    "base_url": scheme + at,
                    "attempts": 1,
                }
            )
            await run_judge(
                dataset, QuestionJudge(client, dataset.root), out, RunSettings()
            )

        try:
            with pytest.raises(
                RunError, match=r"does not exist; did you mean gpt-4o-mini"
            ):
                await go("gpt-4o-mimi")
            assert asked == ["gpt-4o-mimi"]
            # of a model that is served, something else is absent
            with pytest.raises(RunError, match=r"does not exist$"):
                await go("whisper-1")
            with pytest.raises(RunError, match="does the server speak http://"):
                await go("gpt-4o-mini", "https")
            await go("gpt-4o-mini")
        finally:
            await runner.cleanup()

    out = tmp_path / "run"
    asyncio.run(main())
    assert RunFolder(out).manifest()["statuses"] == {"ok": 40}


def test_a_run_that_two_models_answered_counts_both(
    dataset: Dataset, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    replies = [by("m-2024", "fp1")] * 15 + [by("m-2025", "fp2")]
    with caplog.at_level(logging.WARNING):
        report = judged(
            dataset,
            ScriptedClient(replies, model_name="m"),
            tmp_path,
            concurrency=1,
        )
    assert report.served == {
        Served("m-2024", "fp1"): 15,
        Served("m-2025", "fp2"): 25,
    }
    rows = RunFolder(tmp_path).manifest()["identity"]
    assert [(row["model"], row["fingerprint"], row["n"]) for row in rows] == [
        ("m-2025", "fp2", 25),
        ("m-2024", "fp1", 15),
    ]
    verdicts = list(RunFolder(tmp_path).verdicts().values())
    assert verdicts[0].served == Served("m-2024", "fp1")
    assert "m was asked, m-2024 answered" in caplog.text


def test_a_run_that_another_model_would_continue_asks_first(
    dataset: Dataset, tmp_path: Path
) -> None:
    judged(dataset, ScriptedClient([by("m", "fp1")]), tmp_path, limit=20)
    other = ScriptedClient([by("m", "fp2")])
    with pytest.raises(
        UsageError, match=r"answered by m \(fp1\), now m \(fp2\) answers"
    ):
        judged(dataset, other, tmp_path, resume=True)
    assert (
        len(other.requests) == 1 and len(RunFolder(tmp_path).verdicts()) == 20
    )
    judged(dataset, other, tmp_path, resume=True, accept_changes=True)
    assert len(RunFolder(tmp_path).verdicts()) == 40


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_replies_that_are_cut_stop_a_run_with_the_limit_that_would_do(
    dataset: Dataset, tmp_path: Path, share: float
) -> None:
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 510,
        "reasoning_tokens": 500,
    }
    cut, good = Reply("", "length", usage), Reply("A", usage=usage)
    client = Limited(
        lambda request, attempt: (
            cut if len(client.requests) * share % 1 else good
        )
    )
    report = judged(dataset, client, tmp_path, concurrency=1)
    if not share:
        assert report.missing == 0
        return
    assert (
        len(client.requests) == PREFLIGHT and report.missing == 40 - PREFLIGHT
    )
    stopped = str(report.progress.stopped)
    assert "6 of 12 replies are cut at 512 tokens" in stopped
    assert "`max_tokens` 2048, or a lower `effort`" in stopped
    assert (
        RunFolder(tmp_path).manifest()["total"]["tokens_thinking"]
        == 500 * PREFLIGHT
    )


def test_settings_may_change_while_nothing_was_answered(
    dataset: Dataset, tmp_path: Path
) -> None:
    from visualjudge.core.errors import ApiError

    failing = ScriptedClient([ApiError(400, "no")], model_name="old")
    judged(dataset, failing, tmp_path, limit=3)
    new = ScriptedClient(["A"], model_name="new")
    judged(dataset, new, tmp_path, resume=True, retry_errors=True)
    told = RunFolder(tmp_path).manifest()
    assert (told["model"], told["statuses"]) == ("new", {"ok": 40})
