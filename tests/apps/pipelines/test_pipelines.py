"""YAML pipelines: configuration, rows, results, errors row by row, going on after an
end of any kind.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from clients.loopback import Loopback, refused, serving
from scripted_client import ScriptedClient
from visualjudge.apps.adopt.logs import pipeline as pipeline_log
from visualjudge.apps.pipelines import (
    PipelineReport,
    Row,
    build_pipes,
    read_config,
    read_rows,
    run_pipeline,
)
from visualjudge.apps.pipelines.config import prompts_of
from visualjudge.apps.pipelines.results import MetricCounts
from visualjudge.apps.pipelines.run import settings_of
from visualjudge.cli.main import app as whole
from visualjudge.clients import Reply
from visualjudge.clients.sync_calls import run_sync
from visualjudge.core.errors import ApiError, DataError, UsageError
from visualjudge.judges import PairwiseJudge, VIEscorePipe
from visualjudge.prompts import PromptAssetStore
from visualjudge.runs.budget import Budget, Limits, Prices
from visualjudge.vision.raster.images import write_png

KEY = "a-key-of-some-length"
GOOD = '{"winner": "Image A"}'
CONFIG = """\
pipes_default:
  pairwise-judge: {retries: 2, max_tokens: 222, prompt_info: {version: v1}}
client_config: {api_key: "${oc.env:VJ_TEST_KEY}", base_url: "${oc.env:VJ_TEST_URL,http://127.0.0.1:9/v1}"}
metric_configs:
  pair-judge:
    pipe_name: pairwise-judge
    default_config: ${pipes_default.pairwise-judge}
    init_config:
      backend: api
      model_name: m
      retries: 1
      attempts: 1
      api_key: ${client_config.api_key}
      base_url: ${client_config.base_url}
      prompt_info: {prompt_id: vlm/assessment/visual_consistency/pairwise}
"""


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VJ_TEST_KEY", KEY)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def make_rows(
    folder: Path, number: int = 3, **change: Any
) -> list[dict[str, Any]]:
    for name in ("in", "a", "b"):
        write_png(
            folder / f"{name}.png", np.full((8, 8, 3), ord(name[0]), np.uint8)
        )
    rows = [
        {
            "key": f"r{i}",
            "instruction": f"do {i}",
            "input_image": "in.png",
            "edited_images": ["a.png", "b.png"],
        }
        | change
        for i in range(number)
    ]
    write(
        folder / "rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows)
    )
    return rows


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# ---------------------------------------------------------------- configuration


def test_interpolations_and_variables_are_filled_in_and_init_wins(
    tmp_path: Path,
) -> None:
    metric = read_config(write(tmp_path / "c.yaml", CONFIG))["pair-judge"]
    assert metric.merged == {
        "retries": 1,
        "attempts": 1,
        "max_tokens": 222,
        "backend": "api",
        "model_name": "m",
        "api_key": KEY,
        "base_url": "http://127.0.0.1:9/v1",
        "prompt_info": {
            "prompt_id": "vlm/assessment/visual_consistency/pairwise",
            "version": "v1",
        },
    }
    pipe = build_pipes({"pair-judge": metric})["pair-judge"]
    assert isinstance(pipe, PairwiseJudge)
    assert pipe.retries == 1
    assert KEY not in repr(pipe)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (
            "pipe_name: pairwise-judge",
            "pipe_name: no-such-pipe",
            "no-such-pipe",
        ),
        ("backend: api", "backend: no-such-backend", "no-such-backend"),
        (
            "VJ_TEST_KEY",
            "VJ_NOT_SET",
            "variable VJ_NOT_SET is not set; set it, or remove the line",
        ),
        ("visual_consistency", "no_such_prompt", "no_such_prompt"),
        (
            "visual_consistency",
            "visual_consistancy",
            "mean 'vlm/assessment/visual_consistency/",
        ),
        (
            "/pairwise}",
            "/viescore}",
            "pair-judge: pairwise-judge cannot use the prompt",
        ),
        ("version: v1", "version: v77", "v77"),
        ("metric_configs:", "metrics:", "got no metric_configs"),
        ("init_config:", "init_confg:", "init_confg"),
        ("model_name: m", "model: m", "`model_name` is missing"),
        ("max_tokens: 222", "max_tokens: many", "max_tokens"),
        ("retries: 1", "retries: -1", "retries"),
        ("backend: api", "backend: [1, 2", "c.yaml"),
        ("${client_config.base_url}", "${client_config.nope}", "nope"),
    ],
)
def test_a_mistake_in_the_file_is_one_line_that_names_it(
    tmp_path: Path, old: str, new: str, named: str
) -> None:
    assert old in CONFIG
    with pytest.raises(
        (UsageError, DataError, LookupError), match=named
    ) as caught:
        build_pipes(
            read_config(write(tmp_path / "c.yaml", CONFIG.replace(old, new, 1)))
        )
    assert KEY not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.yaml"):
        read_config(tmp_path / "gone.yaml")


# ---------------------------------------------------------------- rows


def test_images_are_found_beside_the_rows(tmp_path: Path) -> None:
    make_rows(tmp_path, 1, input_image="http://h/x.png")
    rows, problems = read_rows(tmp_path / "rows.jsonl")
    assert problems == []
    assert rows == [
        Row(
            "r0",
            "do 0",
            "http://h/x.png",
            (str(tmp_path / "a.png"), str(tmp_path / "b.png")),
        )
    ]


@pytest.mark.parametrize(
    ("line", "field", "reason"),
    [
        ("{not json", "row", "is not JSON"),
        ("[1]", "row", "must be an object"),
        (
            '{"key": "x", "instruction": "i", "input_image": "a"}',
            "edited_images",
            "the field is missing",
        ),
        (
            '{"key": "x", "instruction": 7, "input_image": "a", "edited_images": ["b"]}',
            "instruction",
            "must be a string",
        ),
        (
            '{"key": "x", "instruction": "i", "input_image": "a", "edited_images": [1]}',
            "edited_images.0",
            "a string",
        ),
        (
            '{"key": "x", "instruction": "i", "input_image": "a", "edited_images": []}',
            "edited_images",
            "not be empty",
        ),
        (
            '{"key": "r0", "instruction": "i", "input_image": "a", "edited_images": '
            '["b"]}',
            "key",
            "an earlier line",
        ),
    ],
)
def test_a_bad_row_is_reported_by_line_and_field_and_costs_no_other(
    tmp_path: Path, line: str, field: str, reason: str
) -> None:
    make_rows(tmp_path, 2)
    file = tmp_path / "rows.jsonl"
    file.write_text(file.read_text() + "\n" + line + "\n", "utf-8-sig")
    rows, problems = read_rows(file)
    assert [row.key for row in rows] == ["r0", "r1"]
    (problem,) = problems
    assert problem.record.startswith("line 4")
    assert problem.field == field
    assert reason in problem.reason


# ---------------------------------------------------------------- runs


PAIR = PromptAssetStore().get_prompt("vlm/assessment/visual_quality/pairwise")
VIE = PromptAssetStore().get_prompt(
    "vlm/assessment/visual_quality/viescore", "v2"
)


def pipes(script: Any) -> dict[str, Any]:
    return {
        "pair": PairwiseJudge(
            PAIR, {"retries": 0}, client=ScriptedClient(script)
        ),
        "vie": VIEscorePipe(
            VIE, {"retries": 0}, client=ScriptedClient(['{"score": [10, 20]}'])
        ),
    }


def go(
    folder: Path, script: Any, *, limit: int | None = None, **options: Any
) -> PipelineReport:
    rows, _ = read_rows(folder / "rows.jsonl")
    return asyncio.run(
        run_pipeline(
            pipes(script),
            rows[:limit],
            folder / "out.jsonl",
            concurrency=1,
            **options,
        )
    )


def test_each_row_has_a_line_with_each_metrics_result(tmp_path: Path) -> None:
    make_rows(tmp_path, 2)
    report = go(tmp_path, [GOOD, "nothing"])
    first, second = lines(tmp_path / "out.jsonl")
    assert first["key"] == "r0"
    assert first["results"]["pair"] == {
        "type": "pairwise_comparison",
        "value": "Image A",
        "meta": {"raw_response": GOOD},
    }
    assert first["results"]["vie"]["meta"]["vie_score"] == [10.0, 10.0]
    assert second["results"]["pair"]["value"] == "Failed"
    assert second["details"] == {"pair": {"cause": "no answer"}}
    assert report.statuses == {"ok": 1, "partly failed": 1}
    assert (report.errors, report.missing) == ({}, 0)
    assert (report.metrics["pair"].answered, report.metrics["pair"].failed) == (
        1,
        1,
    )
    assert report.metrics["vie"].values == {"Tie": 2}


def test_an_error_of_one_metric_leaves_the_others_result_and_is_asked_again(
    tmp_path: Path,
) -> None:
    make_rows(tmp_path, 3)
    report = go(tmp_path, [GOOD, ApiError(400, "too large"), GOOD])
    second = lines(tmp_path / "out.jsonl")[1]
    assert list(second["results"]) == ["vie"]
    assert second["errors"] == {"pair": "HTTP 400: too large"}
    assert report.errors == {"r1": "pair: HTTP 400: too large"}
    again = go(tmp_path, [GOOD], resume=True)
    assert again.progress.done == 1
    assert again.statuses == {"ok": 3}
    assert sorted(line["key"] for line in lines(tmp_path / "out.jsonl")) == [
        "r0",
        "r1",
        "r2",
    ]


def change_instruction(folder: Path) -> None:
    make_rows(folder, 3, instruction="something else")


def swap_edits(folder: Path) -> None:
    make_rows(folder, 3, edited_images=["b.png", "a.png"])


def edit_an_image(folder: Path) -> None:
    write_png(folder / "a.png", np.full((8, 8, 3), 1, np.uint8))


def drop_an_edit(folder: Path) -> None:
    make_rows(folder, 3, edited_images=["a.png"])


@pytest.mark.parametrize(
    "change", [change_instruction, swap_edits, edit_an_image, drop_an_edit]
)
def test_results_of_other_rows_under_the_same_keys_are_refused(
    tmp_path: Path, change: Any
) -> None:
    make_rows(tmp_path, 3)
    go(tmp_path, [GOOD], limit=2)
    before = (tmp_path / "out.jsonl").read_bytes()
    change(tmp_path)
    with pytest.raises(
        UsageError,
        match="instruction or images are not those that were judged, for key r0, r1;",
    ):
        go(tmp_path, [GOOD], resume=True)
    assert (tmp_path / "out.jsonl").read_bytes() == before


def test_rows_may_move_with_their_images(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    make_rows(tmp_path / "one", 3)
    go(tmp_path / "one", [GOOD], limit=2)
    (tmp_path / "one").rename(tmp_path / "two")
    assert go(tmp_path / "two", [GOOD], resume=True).progress.done == 1


def test_results_of_an_earlier_version_are_continued(tmp_path: Path) -> None:
    make_rows(tmp_path, 2)
    go(tmp_path, [GOOD])
    out = tmp_path / "out.jsonl"
    old = [
        {name: value for name, value in line.items() if name != "input"}
        for line in lines(out)
    ]
    write(
        out,
        "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in old),
    )
    change_instruction(tmp_path)
    report = go(tmp_path, [GOOD], resume=True)
    assert (report.statuses, report.progress.done) == ({"ok": 3}, 1)


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        '{"key": "r0", "instruction": "x"}\n',
        '{"id": 1, "value": "A"}',
        "hello",
        "[1]\n[2]\n",
    ],
)
def test_a_file_of_another_kind_is_left_as_it_is(
    tmp_path: Path, text: str, resume: bool
) -> None:
    make_rows(tmp_path, 1)
    out = write(tmp_path / "out.jsonl", text)
    with pytest.raises(
        DataError, match=r"out\.jsonl: line 1 is not a pipeline result"
    ):
        go(tmp_path, [GOOD], resume=resume)
    assert out.read_text() == text
    assert not (tmp_path / "out.run.json").exists()


# ---------------------------------------------------------------- rows with one edit


def test_a_metric_of_two_edits_is_an_error_for_one_and_asks_nothing(
    tmp_path: Path,
) -> None:
    make_rows(tmp_path, 2, edited_images=["a.png"])
    report = go(tmp_path, [ApiError(400, "not to be asked")])
    assert report.errors["r0"].startswith(
        "pair: edited_images: must have at least 2 items, got 1"
    )
    assert (report.metrics["pair"].errors, report.metrics["vie"].scores) == (
        2,
        2,
    )
    assert report.metrics["vie"].mean_score == 10.0


def test_more_edits_than_a_judge_compares_are_an_error_in_plain_words(
    tmp_path: Path,
) -> None:
    make_rows(tmp_path, 1, edited_images=["a.png", "b.png", "a.png"])
    report = go(tmp_path, [GOOD])
    assert report.errors["r0"].startswith(
        "pair: edited_images: must have at most 2 items, got 3"
    )


# ---------------------------------------------------------------- budgets

USAGE = {"prompt_tokens": 100, "completion_tokens": 20}


class Counting:
    """Replies after a moment, every ``bad``-th one of no use; counts the calls, and
    those at once.
    """

    def __init__(self, bad: int = 0) -> None:
        self.bad, self.made, self.now, self.most = bad, 0, 0, 0

    async def ask(self, request: Any, attempt: int = 0) -> Reply:
        self.made += 1
        self.now += 1
        self.most = max(self.most, self.now)
        text = (
            "no"
            if self.bad and self.made % self.bad == 0
            else '{"winner": "Tie", "score": [3, 3]}'
        )
        await asyncio.sleep(0.002)
        self.now -= 1
        return Reply(text, usage=USAGE)


def metered(
    folder: Path, client: Counting, limits: Limits, **options: Any
) -> PipelineReport:
    rows, _ = read_rows(folder / "rows.jsonl")
    judges = pipes([GOOD])
    for judge in judges.values():
        judge.client = _Client(client)
        judge.retries = 3
    budget = Budget(limits, Prices(10, 50))
    return asyncio.run(
        run_pipeline(
            judges, rows, folder / "out.jsonl", budget=budget, **options
        )
    )


class _Client(ScriptedClient):
    def __init__(self, counting: Counting) -> None:
        super().__init__([GOOD])
        self.counting = counting

    async def ask(self, request: Any, *, attempt: int = 0) -> Reply:
        return await self.counting.ask(request, attempt)


@pytest.mark.parametrize("concurrency", [1, 16])
def test_calls_are_counted_not_rows_and_rows_that_begin_are_finished(
    tmp_path: Path, concurrency: int
) -> None:
    make_rows(tmp_path, 40)
    client = Counting()
    report = metered(
        tmp_path, client, Limits(max_calls=20), concurrency=concurrency
    )
    assert (client.made, report.statuses, report.missing) == (
        9,
        {"ok": 3},
        37,
    )  # a row takes three, at most twelve
    said = (
        "stopped before the budget (20 calls) is exceeded: 9 calls used, the next "
        "may add 12 calls"
    )
    assert report.progress.stopped == said
    assert report.progress.budget.tokens == 9 * 120


@pytest.mark.parametrize("bad", [2, 3, 5, 7])
def test_repeats_of_a_call_are_within_the_budget_too(
    tmp_path: Path, bad: int
) -> None:
    make_rows(tmp_path, 40)
    client = Counting(bad)
    report = metered(tmp_path, client, Limits(max_calls=20))
    assert client.made <= 20
    assert report.progress.budget.calls == client.made
    assert report.missing == 40 - len(lines(tmp_path / "out.jsonl")) > 0
    assert set(report.statuses) == {"ok"}
    paid = sum(
        sum(line["usage"].values()) for line in lines(tmp_path / "out.jsonl")
    )
    assert (
        paid == 120 * client.made
    )  # nothing was paid for a row without a line


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_budget_below_that_of_one_row_is_refused(
    tmp_path: Path, concurrency: int
) -> None:
    make_rows(tmp_path, 4)
    client = Counting()
    with pytest.raises(
        UsageError, match=r"`max_calls` must be at least 12, .* got 11"
    ):
        metered(tmp_path, client, Limits(max_calls=11), concurrency=concurrency)
    assert client.made == 0
    assert not (tmp_path / "out.jsonl").exists()


def test_what_the_message_says_is_what_was_spent(tmp_path: Path) -> None:
    make_rows(tmp_path, 40)
    client = Counting()
    report = metered(tmp_path, client, Limits(max_cost=0.05))
    cost = client.made * (100 * 10 + 20 * 50) / 1e6
    assert 0.02 < cost <= 0.05
    assert report.progress.budget.cost == pytest.approx(cost)
    assert (
        f"the budget (cost 0.05) is exceeded: cost {cost:.6g} used, the next may add "
        "cost 0.006" in str(report.progress.stopped)
    )


def test_a_first_row_tells_what_a_call_takes(tmp_path: Path) -> None:
    make_rows(tmp_path, 40)
    client = Counting()
    report = metered(tmp_path, client, Limits(max_tokens=500))
    assert client.made == 3
    assert "360 tokens used" in str(report.progress.stopped)


def test_a_budget_that_is_not_reached_changes_nothing(tmp_path: Path) -> None:
    make_rows(tmp_path, 12)
    client = Counting()
    report = metered(tmp_path, client, Limits(max_calls=45))
    assert (report.statuses, report.progress.stopped, client.made) == (
        {"ok": 12},
        None,
        36,
    )
    assert (
        client.most > 4
    )  # many at once, as without a budget; how many depends on the machine


def test_a_torn_last_line_is_judged_again(tmp_path: Path) -> None:
    make_rows(tmp_path, 3)
    go(tmp_path, [GOOD])
    out = tmp_path / "out.jsonl"
    out.write_bytes(out.read_bytes()[:-30])
    assert go(tmp_path, [GOOD], resume=True).progress.done == 1
    assert [line["key"] for line in lines(out)] == ["r0", "r1", "r2"]


def test_results_are_not_overwritten_and_not_mixed(tmp_path: Path) -> None:
    make_rows(tmp_path, 1)
    go(tmp_path, [GOOD])
    with pytest.raises(UsageError, match="`resume`"):
        go(tmp_path, [GOOD])
    rows, _ = read_rows(tmp_path / "rows.jsonl")
    other = {"pair": pipes([GOOD])["pair"]}
    with pytest.raises(UsageError, match="'vie'"):
        asyncio.run(
            run_pipeline(other, rows, tmp_path / "out.jsonl", resume=True)
        )


@pytest.mark.parametrize("content", [None, b"", b"[]", b'{"metrics": 1}'])
def test_results_without_the_record_of_their_settings_are_not_continued(
    tmp_path: Path, content: bytes | None
) -> None:
    make_rows(tmp_path, 1)
    go(tmp_path, [GOOD])
    record = tmp_path / "out.run.json"
    record.unlink()
    if content is not None:
        record.write_bytes(content)
    before = (tmp_path / "out.jsonl").read_bytes()
    with pytest.raises(
        UsageError,
        match=r"out.run.json is missing or cannot be read: .* restore it, or choose "
        r"another",
    ):
        go(tmp_path, [GOOD], resume=True)
    assert (tmp_path / "out.jsonl").read_bytes() == before
    (tmp_path / "out.jsonl").write_bytes(b"")
    assert go(tmp_path, [GOOD], resume=True).progress.done == 1


# ---------------------------------------------------------------- the command


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Starts a loopback server in the background loop; the command runs in this
    thread."""
    opened: list[Any] = []

    def start(*answers: Any) -> Loopback:
        context = serving(*answers)
        opened.append(context)
        started: Loopback = run_sync(context.__aenter__())
        monkeypatch.setenv("VJ_TEST_URL", f"{started.url}/v1")
        return started

    yield start
    for context in opened:
        run_sync(context.__aexit__(None, None, None))


def command(folder: Path, *more: str) -> Any:
    write(folder / "c.yaml", CONFIG)
    arguments = [
        str(folder / "c.yaml"),
        "--input",
        str(folder / "rows.jsonl"),
        "--out",
        str(folder / "out.jsonl"),
    ]
    return CliRunner().invoke(whole, ["pipeline", *arguments, *more])


def test_the_command_judges_rows_and_a_second_run_is_free(
    tmp_path: Path, server: Any
) -> None:
    make_rows(tmp_path, 3)
    started = server(GOOD)
    result = command(tmp_path)
    assert result.exit_code == 0, result.output
    assert "3 rows: ok 3" in result.output
    assert len(started.raw) == 3
    assert started.bodies[0]["max_tokens"] == 222
    (tmp_path / "out.jsonl").unlink()
    assert command(tmp_path).exit_code == 0
    assert len(started.raw) == 3
    assert "usage" not in lines(tmp_path / "out.jsonl")[0]  # nothing was paid


def test_the_results_are_not_written_over_an_input(
    tmp_path: Path, server: Any
) -> None:
    make_rows(tmp_path, 1)
    server(GOOD)
    write(tmp_path / "c.yaml", CONFIG)
    before = (tmp_path / "rows.jsonl").read_bytes()
    for name in ("rows.jsonl", "c.yaml"):
        call = [
            str(tmp_path / "c.yaml"),
            "--input",
            str(tmp_path / "rows.jsonl"),
            "--out",
            str(tmp_path / name),
        ]
        result = CliRunner().invoke(whole, ["pipeline", *call, "--resume"])
        assert (
            str(result.exception)
            == f"--out: {tmp_path / name} is an input file; name another file"
        )
    assert (tmp_path / "rows.jsonl").read_bytes() == before


def test_the_summary_counts_each_metric_and_names_a_command_that_works(
    tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    make_rows(tmp_path, 3)
    started = server(GOOD, "nothing", "nothing", GOOD)
    result = command(tmp_path, "--concurrency", "1")
    assert result.exit_code == 0, result.output
    assert "3 rows: ok 2 · failed 1" in result.stdout
    columns, counts = (
        re.split(r"\s{2,}", line) for line in result.stdout.splitlines()[1:3]
    )
    told = dict(zip(columns, counts, strict=True))
    assert told == {
        "Metric": "pair-judge",
        "Answered": "2",
        "Image A (shown first)": "2",
        "Failed": "1",
    }
    assert (
        "failed results, by cause: no answer 1; the first reply: nothing"
        in result.stderr
    )
    assert "next: visualjudge adopt" in result.stdout
    started.answers = [refused(400, "no")]
    (tmp_path / "a file.jsonl").write_bytes(
        (tmp_path / "rows.jsonl").read_bytes().replace(b"do ", b"not ")
    )
    call = [
        str(tmp_path / "c.yaml"),
        "--input",
        str(tmp_path / "a file.jsonl"),
        "--out",
        str(tmp_path / "o.jsonl"),
    ]
    result = CliRunner().invoke(
        whole, ["pipeline", *call, "--rules", "geditbench", "--limit", "2"]
    )
    assert result.exit_code == 1
    assert "HTTP 400" in result.stderr and "with --resume" in result.stderr
    started.answers = [GOOD]
    again = CliRunner().invoke(
        whole,
        [
            "pipeline",
            *call,
            "--rules",
            "geditbench",
            "--limit",
            "2",
            "--resume",
        ],
    )
    assert again.exit_code == 0, again.output
    assert "2 rows: ok 2" in again.stdout


def test_a_run_without_any_value_fails_and_says_why_and_how_to_ask_again(
    tmp_path: Path, server: Any
) -> None:
    make_rows(tmp_path, 2)
    started = server("A")
    for asked, told in (
        (4, "2 rows: failed 2 (36 tokens)"),
        (4, "(4 replies from the cache)"),
    ):
        result = command(tmp_path)
        assert result.exit_code == 1, result.output
        assert told in result.stdout
        assert "by cause: no answer 2; the first reply: A" in result.stderr
        assert "--no-cache and another --out" in result.stderr
        assert len(started.raw) == asked
        (tmp_path / "out.jsonl").unlink()
    started.answers = [GOOD]
    assert "ok 2" in command(tmp_path, "--no-cache").stdout


def test_a_table_in_place_of_rows_is_told_once(
    tmp_path: Path, server: Any
) -> None:
    make_rows(tmp_path)
    for content in ("key,instruction\n1,do it\n2,do it\n", "", '[{"key": 1}]'):
        write(tmp_path / "rows.jsonl", content)
        with pytest.raises(
            DataError, match="must hold one JSON object per line, such as"
        ):
            read_rows(tmp_path / "rows.jsonl")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, None),
        ({"edited_images": ["b", "b"]}, "one image is named twice"),
        ({"edited_images": ["a"]}, "one image is named twice"),
        ({"instruction": " "}, "instruction: is empty"),
    ],
)
def test_rows_that_are_hardly_meant_are_told(
    tmp_path: Path,
    change: dict[str, Any],
    told: str | None,
    recwarn: pytest.WarningsRecorder,
) -> None:
    row = {"instruction": "i", "input_image": "a", "edited_images": ["b", "c"]}
    write(tmp_path / "rows.jsonl", json.dumps({"key": "x", **row, **change}))
    rows, problems = read_rows(tmp_path / "rows.jsonl")
    assert (len(rows), problems) == (1, [])
    texts = [str(warning.message) for warning in recwarn]
    assert len(texts) == (told is not None)
    assert told is None or told in texts[0]


def test_a_folder_for_the_results_is_told(tmp_path: Path, server: Any) -> None:
    make_rows(tmp_path, 1)
    started = server(GOOD)
    (tmp_path / "out.jsonl").mkdir()
    result = command(tmp_path)
    assert isinstance(result.exception, UsageError)
    assert (
        str(result.exception)
        == f"--out: {tmp_path / 'out.jsonl'} must be a regular file"
    )
    assert not started.raw


def test_a_refused_key_is_said_once_a_row_and_written_nowhere(
    tmp_path: Path, server: Any
) -> None:
    make_rows(tmp_path, 2)
    server(refused(401, f"Incorrect API key: {KEY}"))
    result = command(tmp_path)
    assert result.exit_code == 1
    assert "r0: pair-judge: HTTP 401: Incorrect API key: ***" in result.output
    assert KEY not in result.output
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or KEY not in path.read_text(errors="replace")


def test_a_image_that_is_missing_fails_its_row_alone(
    tmp_path: Path, server: Any
) -> None:
    make_rows(tmp_path, 2)
    file = tmp_path / "rows.jsonl"
    file.write_text(file.read_text().replace('"a.png"', '"gone.png"', 1))
    server(GOOD)
    result = command(tmp_path)
    assert result.exit_code == 1
    assert "gone.png: no such file" in result.output
    assert [
        bool(line["results"])
        for line in sorted(
            lines(tmp_path / "out.jsonl"), key=lambda line: line["key"]
        )
    ] == [
        False,
        True,
    ]


def test_a_limit_and_a_budget_stop_cleanly(tmp_path: Path, server: Any) -> None:
    make_rows(tmp_path, 6)
    started = server(GOOD)
    assert command(tmp_path, "--limit", "2").exit_code == 0
    assert len(started.raw) == 2
    result = command(tmp_path, "--resume", "--max-calls", "2")
    assert result.exit_code == 1
    assert "3 rows are missing" in result.output
    assert command(tmp_path, "--resume").exit_code == 0
    assert len(started.raw) == 6


def test_a_killed_run_goes_on_and_asks_only_what_is_missing(
    tmp_path: Path, server: Any
) -> None:
    make_rows(tmp_path, 30)
    started = server(0.03)
    started.late = GOOD
    config = write(tmp_path / "c.yaml", CONFIG)
    arguments = [
        "pipeline",
        str(config),
        "--input",
        str(tmp_path / "rows.jsonl"),
        "--out",
        str(tmp_path / "out.jsonl"),
    ]
    start = "from visualjudge.cli.main import run; run()"
    call = [
        sys.executable,
        "-c",
        start,
        *arguments,
        "--concurrency",
        "2",
        "--no-cache",
    ]
    with subprocess.Popen(
        call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 30
        while (
            len(started.raw) < 10
            and time.monotonic() < deadline
            and process.poll() is None
        ):
            time.sleep(0.01)
        process.kill()
    before = {
        line["key"]: line for line in _whole_lines(tmp_path / "out.jsonl")
    }
    asked = len(started.raw)
    assert 0 < len(before) < 30
    assert len(before) >= asked - 3
    result = command(tmp_path, "--resume", "--no-cache")
    after = {line["key"]: line for line in lines(tmp_path / "out.jsonl")}
    assert len(after) == 30, result.output
    assert {key: after[key] for key in before} == before
    assert len(started.raw) == asked + 30 - len(before)


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def test_help_shows_an_example() -> None:
    assert (
        "visualjudge pipeline judges.yaml"
        in CliRunner().invoke(whole, ["pipeline", "--help"]).output
    )


def test_the_rules_of_geditbench_bring_its_sampling_and_stand_in_the_results(
    tmp_path: Path, server: Any
) -> None:
    make_rows(tmp_path, 1)
    started = server(GOOD)
    result = command(tmp_path, "--rules", "geditbench")
    assert result.exit_code == 0, result.output
    assert "replies are read by the rules of geditbench" in result.output
    assert (
        "temperature" not in started.bodies[0]
    )  # its OpenAI client sends none
    assert (
        started.bodies[0]["max_tokens"] == 222
    )  # what the file says goes before
    assert lines(tmp_path / "out.jsonl")[0]["rules"] == ["geditbench"]


def test_a_prompt_file_of_geditbench_is_read_as_it_stands(
    tmp_path: Path,
) -> None:
    text = """\
prompt_id: edit/pairwise
version: v1
system_prompt: You compare edits.
user_prompt:
  - text: "Source:"
  - image: {source: input_image}
  - text: "Edits:"
  - image: {source: edited_images, index: 0}
  - image: {source: edited_images, index: 1}
  - text: "Instruction: {{ instruction }}"
metadata: {input_schema_name: PairJudgeInput, output_schema_name: PairJudgeOutput}
"""
    (tmp_path / "edit" / "pairwise").mkdir(parents=True)
    write(tmp_path / "edit" / "pairwise" / "v1.yaml", text)
    prompt = PromptAssetStore(tmp_path).get_prompt("edit/pairwise")
    assert prompt.system == "You compare edits."
    assert (
        prompt.user
        == "Source:<image>\nEdits:<image>\n\n<image>\nInstruction: {{ instruction }}"
    )


@pytest.mark.parametrize(
    "field",
    [
        "backend",
        "model_name",
        "prompt_info",
        "structured_output",
        "cache_dir",
        "rules",
        "retries",
        "extra_body",
        "base_url",
    ],
)
def test_a_key_in_another_field_is_refused_and_not_shown(
    field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VJ_OTHER_KEY", key := "sk-misplaced-0123456789")
    value = {
        "prompt_info": "{prompt_id: '${a}'}",
        "extra_body": "{text: 'is ${a}'}",
        "base_url": "'http://x/${a}'",
    }
    file = tmp_path / "c.yaml"
    file.write_text(
        "a: ${oc.env:VJ_OTHER_KEY}\n"
        f"metric_configs: {{m: {{pipe_name: x, init_config: {{{field}: "
        f"{value.get(field, '${a}')!s}}}}}}}".replace(": ${a}", ": '${a}'")
    )
    with pytest.raises(
        UsageError,
        match=rf"init_config\.{field} must not hold the key of VJ_OTHER_KEY",
    ) as refused:
        read_config(file)
    assert key not in str(refused.value)


def test_a_key_may_stand_where_keys_belong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VJ_OTHER_KEY", key := "sk-in-its-place-0123456789")
    file = tmp_path / "c.yaml"
    init = "{api_key: '${k}', headers: {X-Any: '${k}'}, base_url: 'http://u:${k}@h'}"
    file.write_text(
        f"k: ${{oc.env:VJ_OTHER_KEY}}\nmetric_configs: {{m: {{pipe_name: x, "
        f"init_config: {init}}}}}"
    )
    assert read_config(file)["m"].init_config["api_key"] == key


@pytest.mark.parametrize(
    "field", ["headers", "extra_body", "structured_output"]
)
def test_a_field_of_a_wrong_kind_is_one_clear_line(
    field: str, tmp_path: Path
) -> None:
    file = tmp_path / "c.yaml"
    prompt = "{prompt_id: vlm/assessment/visual_consistency/pairwise}"
    init = (
        f"{{backend: vllm, model_name: m, prompt_info: {prompt}, {field}: [1]}}"
    )
    file.write_text(
        f"metric_configs: {{m: {{pipe_name: pairwise-judge, init_config: {init}}}}}"
    )
    with pytest.raises(UsageError, match=rf"{field}\b.* must") as refused:
        build_pipes(read_config(file))
    assert "\n" not in str(refused.value)


# ---------------------------------------------------------------- files of GEditBench
# v2


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Four pipelines and what they stand on, in the form and the folders of GEditBench
    v2."""
    home = tmp_path / "configs/pipelines"
    files = {
        "user_config.yaml": """
client_config:
  ip_address: "${env:VJ_TEST_HOST:127.0.0.1}"
  vlm_port: "${env:VJ_TEST_PORT:25930}"
  api_key: "${env:VJ_TEST_KEY:YOUR_OPENAI_API_KEY}"
  base_url: "${env:VJ_TEST_CALL:https://api.example.org/v1/chat/completions}"
  retries: "${env:VJ_TEST_RETRIES:3}"
model_paths: {clip_path: "${env:VJ_TEST_CLIP:/path/to/models/openai/clip-vit-base-patch32}"}
""",
        "modules_init/pipes_default.yaml": """
_base_:
  user_config: "../user_config.yaml"

clip-pipe: {path: "${user_config.model_paths.clip_path}", size: !tuple [224, 224]}
default_vlm_config:
  backend: null
  ip_address: ${user_config.client_config.ip_address}
  base_url: ${user_config.client_config.base_url}
  api_key: ${user_config.client_config.api_key}
  retries: ${user_config.client_config.retries}
  timeout: 600
  prompt_info: {prompt_id: null, version: null}
pairwise-judge: ${pipes_default.default_vlm_config}
""",
        "modules_init/experts_default.yaml": """
sam:
  threshold: !tuple [0.1, 0.9]
""",
    }
    inits = {
        "vlm_as_a_judge/eval_vc": "backend: vllm\n      ip_address: 100.64.0.1\n"
        "      port: ${client_config.vlm_port}",
        "ablation/eval_vc_qwen3": "backend: vllm\n      ip_address: 100.64.0.1\n      "
        "port: 25930",
        "ablation/eval_vc_gpt5d1": "backend: api\n      api_key: "
        "${client_config.api_key}\n"
        "      base_url: ${client_config.base_url}",
        "ablation/eval_vc_gemini": "backend: google\n      api_version: v1alpha\n"
        "      api_key: ${client_config.api_key}\n      base_url: "
        "https://proxy.example.org/gemini",
    }
    for name, init in inits.items():
        files[f"{name}.yaml"] = f"""_base_:
  pipes_default: "../modules_init/pipes_default.yaml"
  experts_default: "../modules_init/experts_default.yaml"

name: vlm-as-a-judge

metric_configs:
  pair-judge:
    pipe_name: pairwise-judge
    default_config: ${{pipes_default.pairwise-judge}}
    init_config:
      {init}
      model_name: some-model
      prompt_info:
        prompt_id: vlm/assessment/visual_consistency/pairwise
        version: v1
"""
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        write(home / name, text.lstrip())
    return home


@pytest.mark.parametrize(
    "name",
    [
        "vlm_as_a_judge/eval_vc",
        "ablation/eval_vc_qwen3",
        "ablation/eval_vc_gpt5d1",
        "ablation/eval_vc_gemini",
    ],
)
def test_pipelines_of_geditbench_start_as_they_are(
    name: str, clone: Path
) -> None:
    metrics = read_config(clone / f"{name}.yaml")
    (pipe,) = build_pipes(metrics).values()
    assert pipe.retries == 3
    assert (
        pipe.prompt_template.prompt_id
        == "vlm/assessment/visual_consistency/pairwise"
    )


def test_a_server_at_an_address_gets_neither_the_address_nor_the_key_of_a_provider(
    clone: Path,
) -> None:
    (pipe,) = build_pipes(
        read_config(clone / "vlm_as_a_judge/eval_vc.yaml")
    ).values()
    assert pipe.client.identity.base_url == "http://100.64.0.1:25930/v1"
    assert (
        "api_key"
        not in read_config(clone / "vlm_as_a_judge/eval_vc.yaml")[
            "pair-judge"
        ].merged
    )


def test_the_prompts_of_a_clone_are_its_own(clone: Path) -> None:
    file = clone / "vlm_as_a_judge/eval_vc.yaml"
    assert prompts_of(file) is None
    name, version = "vlm/assessment/visual_consistency/pairwise", "v1"
    own = f"src/prompts/assets/{name}/{version}.yaml"
    text = "<image><image><image> Which? {{instruction}}"
    (clone.parents[1] / own).parent.mkdir(parents=True)
    write(
        clone.parents[1] / own,
        f"prompt_id: {name}\nversion: {version}\nuser: '{text}'\n",
    )
    (pipe,) = build_pipes(
        read_config(file), store=PromptAssetStore(prompts_of(file))
    ).values()  # type: ignore[arg-type]
    assert pipe.prompt_template.user == text
    assert len(settings_of({"m": pipe})["m"]["prompt_sha256"]) == 64
    (ours,) = build_pipes(read_config(file)).values()
    assert "prompt_sha256" not in settings_of({"m": ours})["m"]


def test_a_client_config_of_the_file_takes_no_key_and_no_address_of_the_built_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-some-length")
    file = write(
        tmp_path / "judge.yaml",
        """
client_config: {backend: anthropic, model_name: m}
metric_configs:
  pair-judge: {pipe_name: pairwise-judge, default_config: "${client_config}"}
""",
    )
    (metric,) = read_config(file).values()
    assert metric.merged == {"backend": "anthropic", "model_name": "m"}


def test_the_minimal_configuration_of_the_document_needs_only_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(
        tmp_path / "judge.yaml",
        """
metric_configs:
  pair-judge:
    pipe_name: pairwise-judge
    default_config: ${pipes_default.pairwise-judge}
    init_config:
      backend: api
      model_name: gpt-4o
      api_key: ${client_config.api_key}
      base_url: ${client_config.base_url}
      prompt_info:
        prompt_id: vlm/assessment/visual_consistency/pairwise
        version: v1
""",
    )
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY is not set"):
        read_config(file)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    (pipe,) = build_pipes(read_config(file)).values()
    assert pipe.client.identity.base_url == "https://api.openai.com/v1"


def test_variables_have_defaults_and_the_environment_wins(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = clone / "vlm_as_a_judge/eval_vc.yaml"
    assert read_config(file)["pair-judge"].merged["port"] == "25930"
    monkeypatch.setenv("VJ_TEST_PORT", "8001")
    assert read_config(file)["pair-judge"].merged["port"] == "8001"
    api = read_config(clone / "ablation/eval_vc_gpt5d1.yaml")[
        "pair-judge"
    ].merged
    assert api["api_key"] == KEY
    assert api["base_url"] == "https://api.example.org/v1/chat/completions"


def test_a_base_that_is_missing_and_a_variable_without_a_default_are_named(
    clone: Path,
) -> None:
    (clone / "modules_init/experts_default.yaml").unlink()
    with pytest.raises(
        DataError,
        match=r"_base_\.experts_default: .*experts_default\.yaml does not",
    ):
        read_config(clone / "ablation/eval_vc_qwen3.yaml")
    file = write(
        clone / "own.yaml",
        "metric_configs: {m: {pipe_name: '${env:VJ_TEST_NOTHING}'}}",
    )
    with pytest.raises(UsageError, match="VJ_TEST_NOTHING"):
        read_config(file)
    for stated, got in (("{}", "none"), ("[a]", "a list")):
        write(file, f"metric_configs: {stated}")
        with pytest.raises(
            UsageError, match=f"at least one metric.* got {got}"
        ):
            read_config(file)
    write(file, "_base_: [a.yaml]\nmetric_configs: {}")
    with pytest.raises(UsageError, match="_base_ must name files"):
        read_config(file)


def test_a_key_of_a_user_config_is_masked_like_any_other(clone: Path) -> None:
    path = clone / "ablation/eval_vc_qwen3.yaml"
    write(
        path,
        path.read_text("utf-8").replace(
            "some-model", "${client_config.api_key}"
        ),
    )
    with pytest.raises(UsageError) as caught:
        read_config(path)
    assert KEY not in str(caught.value) and "VJ_TEST_KEY" in str(caught.value)


@pytest.mark.parametrize("form", ["'${a%d}${a%d}'", "['${a%d}', '${a%d}']"])
def test_references_cannot_multiply(form: str, tmp_path: Path) -> None:
    lines = [f"a{k}: {form % (k - 1, k - 1)}" for k in range(1, 40)]
    metric = "metric_configs: {m: {pipe_name: x, init_config: {y: '${a39}'}}}"
    file = write(tmp_path / "c.yaml", "\n".join(["a0: x", *lines, metric]))
    with pytest.raises(UsageError, match="must have at most"):
        read_config(file)


def test_rows_without_a_key_are_numbered_and_told(tmp_path: Path) -> None:
    row = {"instruction": "i", "input_image": "a", "edited_images": ["b"]}
    lines = [
        "",
        json.dumps(row),
        "",
        json.dumps(row | {"key": "x"}),
        json.dumps(row),
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines), "utf-8")
    with pytest.warns(UserWarning, match="has its number; .* this: 2"):
        rows, problems = read_rows(tmp_path / "rows.jsonl")
    assert ([one.key for one in rows], problems) == ([1, "x", 3], [])


def test_a_value_of_another_type_is_counted_and_not_taken_for_a_score(
    tmp_path: Path,
) -> None:
    counts = MetricCounts()
    counts.add({"value": ["hair", "hand"]})
    assert (counts.answered, counts.scores, counts.mean_score) == (1, 0, None)
    line = {"key": "1", "results": {"m": {"type": "faults", "value": ["hair"]}}}
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(line) + "\n", "utf-8")
    with pytest.raises(
        DataError, match="must be winners or scores, got faults"
    ):
        pipeline_log.rows(path, None)


def test_a_rubric_lies_beside_the_configuration_and_belongs_to_its_settings(
    tmp_path: Path,
) -> None:
    stated = "retries: 1\n      rubric: edits.yaml"
    (tmp_path / "judges.yaml").write_text(CONFIG.replace("retries: 1", stated))
    text = """{rubric: edits, version: v1, criteria: [
        {id: faces, ask: Which keeps faces?, answer: option}]}"""
    found = []
    for wording in (text, text.replace("faces?", "hands?")):
        (tmp_path / "edits.yaml").write_text(wording)
        metrics = read_config(tmp_path / "judges.yaml")
        found.append(settings_of(build_pipes(metrics, home=tmp_path)))
    first, second = (one["pair-judge"]["rubric"] for one in found)
    assert first["criteria"][0]["ask"] == "Which keeps faces?"
    assert first != second
