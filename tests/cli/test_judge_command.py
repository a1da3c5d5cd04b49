"""`visualjudge judge` as a user runs it: exit statuses, messages, kill -9 and
--resume."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runs.chaotic_server import ChaoticServer, running
from runs.made_dataset import make_dataset
from visualjudge.cli.main import run

COMMAND = [
    sys.executable,
    "-c",
    "from visualjudge.cli.main import run; run()",
    "judge",
]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return make_dataset(tmp_path / "ds", pairwise=12, ranking=0, scoring=0)


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if "API_KEY" not in name
    }
    return {**kept, "XDG_CACHE_HOME": str(tmp_path / "cache"), **more}


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def judge(tmp_path: Path, *args: Any, **env: str) -> Done:
    """The command in this process, which saves its start."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        patch.setattr(os, "environ", environment(tmp_path, **env))
        patch.setattr(sys, "argv", ["visualjudge", "judge", *map(str, args)])
        try:
            run()
        except SystemExit as ended:
            status = int(ended.code or 0)
    return Done(status, out.getvalue(), err.getvalue())


def lines(run: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for line in (run / "verdicts.jsonl").read_text().splitlines()
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="names are text elsewhere")
def test_a_folder_whose_name_is_no_text_is_judged(
    tmp_path: Path, dataset: Path
) -> None:
    odd = tmp_path / os.fsdecode(b"\xff")
    shutil.copytree(dataset, odd)
    words = ["--backend", "baseline", "--model", "oracle:0.9"]
    done = judge(tmp_path, odd, *words, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    stated = json.loads((tmp_path / "run/run.json").read_text())["dataset"]
    assert stated["path"].endswith("\\udcff")


def test_a_killed_run_resumes_to_one_verdict_a_question(
    tmp_path: Path, dataset: Path
) -> None:
    with running(ChaoticServer({}, delay_s=0.15)) as server:
        args = [
            dataset,
            "--base-url",
            server.url,
            "--set",
            "cache=false",
            "--concurrency",
            2,
            "--out",
            tmp_path / "run",
        ]
        process = subprocess.Popen(
            [*COMMAND, *map(str, args), "--model", "m"],
            env=environment(tmp_path),
            stderr=subprocess.PIPE,
        )
        while server.did.total() < 6:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        before = (tmp_path / "run" / "verdicts.jsonl").read_bytes()
        (tmp_path / "run" / "verdicts.jsonl").write_bytes(
            before + b'{"id":"pairwise11","ord'
        )
        asked = server.did.total()
        done = judge(tmp_path, *args, "--resume")  # asks the run's model
        assert done.returncode == 0, done.stderr
        assert "because the run was killed" in done.stderr
        assert server.did.total() - asked == 12 - before.count(b"\n")
    assert (tmp_path / "run" / "verdicts.jsonl").read_bytes().startswith(before)
    assert sorted(line["id"] for line in lines(tmp_path / "run")) == sorted(
        f"pairwise{k}" for k in range(12)
    )


def test_a_repeated_run_comes_out_of_the_cache(
    tmp_path: Path, dataset: Path
) -> None:
    with running(ChaoticServer({})) as server:
        for name in ("one", "two"):
            done = judge(
                tmp_path,
                dataset,
                "--model",
                "m",
                "--base-url",
                server.url,
                "--out",
                tmp_path / name,
            )
            assert done.returncode == 0
        assert server.did.total() == 12
    values = [
        [(line["id"], line["value"]) for line in lines(tmp_path / name)]
        for name in ("one", "two")
    ]
    assert sorted(values[0]) == sorted(values[1])


def test_a_budget_stops_the_run_and_resume_goes_on(
    tmp_path: Path, dataset: Path
) -> None:
    with running(ChaoticServer({})) as server:
        args = [
            dataset,
            "--model",
            "m",
            "--base-url",
            server.url,
            "--out",
            tmp_path / "run",
        ]
        done = judge(tmp_path, *args, "--max-calls", 5)
        assert done.returncode == 1
        assert "5 calls" in done.stderr
        assert len(lines(tmp_path / "run")) == 5
        assert judge(tmp_path, *args, "--resume").returncode == 0
    assert len(lines(tmp_path / "run")) == 12


def test_no_budget_is_exceeded_by_concurrency_or_retries(
    tmp_path: Path, dataset: Path
) -> None:
    args = [
        dataset,
        "--model",
        "m",
        "--set",
        "cache=false",
        "--set",
        "mode=text",
        "--out",
        tmp_path / "run",
        "--base-url",
    ]
    with running(ChaoticServer({}, delay_s=0.02)) as server:
        done = judge(
            tmp_path,
            *args,
            server.url,
            "--max-cost",
            "0.0005",
            "--price",
            "1/1",
        )
        assert server.did["ok"] == 4
        assert (
            "(cost 0.0005) is exceeded: cost 0.000404 used, the next may add cost "
            "0.000101; 8 verdicts" in done.stderr
        )
    with running(ChaoticServer({}, delay_s=0.02, text="who knows")) as server:
        done = judge(
            tmp_path,
            *args,
            server.url,
            "--resume",
            "--max-calls",
            8,
            "--set",
            "retries=2",
        )
        assert done.returncode == 2  # other retries are another run
        args[-2] = tmp_path / "other"
        done = judge(
            tmp_path, *args, server.url, "--max-calls", 8, "--set", "retries=2"
        )
        assert server.did["ok"] == 6 and len(lines(tmp_path / "other")) == 2
        assert (
            "(8 calls) is exceeded: 6 calls used, the next may add 3 calls"
            in done.stderr
        )
    done = judge(
        tmp_path,
        *args,
        server.url,
        "--max-calls",
        2,
        "--set",
        "retries=2",
        "--resume",
    )
    assert (
        done.returncode == 2 and "--max-calls must be at least 3" in done.stderr
    )


def test_a_refused_key_is_said_once_and_shown_nowhere(
    tmp_path: Path, dataset: Path
) -> None:
    key = "sk-test-0123456789abcdefghij"
    with running(ChaoticServer({"HTTP 401": 1.0})) as server:
        args = [
            dataset,
            "--model",
            "m",
            "--base-url",
            server.url,
            "--api-key-env",
            "MY_KEY",
            "--out",
            tmp_path / "run",
        ]
        done = judge(tmp_path, *args, "--concurrency", 1, MY_KEY=key)
        assert server.did.total() == 1
    assert (done.returncode, done.stderr) == (
        1,
        f"visualjudge: {server.url}: HTTP 401: no\n",
    )
    assert key not in done.stdout + done.stderr
    assert all(
        key.encode() not in path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    )


def test_a_key_that_was_not_sent_is_said(tmp_path: Path, dataset: Path) -> None:
    with running(ChaoticServer({"HTTP 401": 1.0})) as server:
        done = judge(
            tmp_path,
            dataset,
            "--model",
            "m",
            "--base-url",
            server.url,
            "--out",
            tmp_path / "run",
        )
    assert (
        "HTTP 401: no; no API key was sent: set it, or give "
        "--api-key-env VARIABLE" in done.stderr
    )
    done = judge(tmp_path, dataset, "--model", "m", "--out", tmp_path / "run2")
    assert "set OPENAI_API_KEY, or give --api-key-env VARIABLE" in done.stderr
    done = judge(
        tmp_path,
        dataset,
        "--model",
        "m",
        "--api-key-env",
        "NOKEY",
        "--out",
        tmp_path / "run2",
    )
    assert "the environment variable NOKEY is not set\n" in done.stderr


def test_a_server_that_is_not_there_is_named_with_the_reason(
    tmp_path: Path, dataset: Path
) -> None:
    url = "http://joe:long-password@127.0.0.1:9/v1"
    done = judge(
        tmp_path,
        dataset,
        "--model",
        "m",
        "--base-url",
        url,
        "--set",
        "attempts=1",
        "--limit",
        2,
        "--out",
        tmp_path / "run",
    )
    assert done.returncode == 1
    assert (
        "the last: http://127.0.0.1:9/v1: connection refused\n" in done.stderr
    )
    assert "password" not in done.stderr


def test_a_dry_run_with_resume_counts_only_what_is_left(
    tmp_path: Path, dataset: Path
) -> None:
    args = [
        dataset,
        "--backend",
        "baseline",
        "--model",
        "first",
        "--out",
        tmp_path / "run",
    ]
    judge(tmp_path, *args, "--limit", 5)
    before = (tmp_path / "run" / "verdicts.jsonl").read_bytes()
    assert (
        "calls: 7\n" in judge(tmp_path, *args, "--resume", "--dry-run").stdout
    )
    assert "calls: 12\n" in judge(tmp_path, *args, "--dry-run").stdout
    failed = before.replace(b'"status":"ok"', b'"status":"api_error"', 2)
    (tmp_path / "run" / "verdicts.jsonl").write_bytes(failed)
    assert (
        "calls: 9\n"
        in judge(
            tmp_path,
            *args,
            "--set",
            "retry_errors=true",
            "--resume",
            "--dry-run",
        ).stdout
    )
    judge(tmp_path, *args, "--set", "retry_errors=true", "--resume")
    assert (
        "calls: 0\n" in judge(tmp_path, *args, "--resume", "--dry-run").stdout
    )


def test_a_file_where_a_folder_is_meant_is_told(
    tmp_path: Path, dataset: Path
) -> None:
    (tmp_path / "run").write_text("mine")
    done = judge(
        tmp_path,
        dataset,
        "--backend",
        "baseline",
        "--model",
        "first",
        "--out",
        tmp_path / "run",
    )
    assert done.returncode == 2
    assert (
        f"--out must be a folder of its own, got a file or dataset, {tmp_path / 'run'}"
        in done.stderr
    )


def test_a_dry_run_counts_and_asks_nothing(
    tmp_path: Path, dataset: Path
) -> None:
    done = judge(
        tmp_path,
        dataset,
        "--model",
        "m",
        "--swap",
        "--dry-run",
        "--price",
        "1/2",
        "--out",
        tmp_path / "run",
    )
    assert done.returncode == 0
    assert "calls: 24" in done.stdout
    assert "images: 72 (36 different files)" in done.stdout
    assert "cost" in done.stdout
    assert "2880 out (reasons and an answer)" in done.stdout
    args = [
        dataset,
        "--model",
        "m",
        "--swap",
        "--dry-run",
        "--set",
        "mode=text",
        "--out",
        tmp_path / "run",
    ]
    plain = judge(tmp_path, *args).stdout
    assert "192 out (an answer without reasoning)" in plain
    with_rubric = judge(tmp_path, *args, "--rubric", "quality").stdout
    tokens = [
        [int(count) for count in re.findall(r"(\d+) (?:in|out)\b", text)]
        for text in (plain, with_rubric)
    ]
    assert all(more > less for less, more in zip(*tokens, strict=True))


def test_a_panel_needs_no_model(tmp_path: Path, dataset: Path) -> None:
    for name, model in (("a", "oracle:1"), ("b", "oracle:1"), ("c", "first")):
        judge(
            tmp_path,
            dataset,
            "--backend",
            "baseline",
            "--model",
            model,
            "--out",
            tmp_path / name,
        )
    panel = [
        "--backend",
        "panel",
        "--model",
        ",".join(str(tmp_path / name) for name in "abc"),
    ]
    assert (
        judge(
            tmp_path, dataset, *panel, "--out", tmp_path / "majority"
        ).returncode
        == 0
    )
    answers = {
        q["id"]: q["answer"]
        for q in json.loads((dataset / "questions.json").read_text())
    }
    assert all(
        line["value"] == answers[line["id"]]
        for line in lines(tmp_path / "majority")
    )
    assert (
        json.loads((tmp_path / "majority" / "run.json").read_text())[
            "simulated"
        ]
        is True
    )


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        (["--model", "m", "--backend", "telepathy"], 2, "telepathy"),
        (["--backend", "baseline"], 2, "--model"),
        (["--backend", "baseline", "--model", "guess"], 2, "oracle:P"),
        (
            ["--model", "m", "--api-key-env", "NOT_SET_ANYWHERE"],
            2,
            "NOT_SET_ANYWHERE",
        ),
        (["--model", "m", "--task", "poetry"], 2, "poetry"),
        (
            ["--model", "m", "--base-url", "localhost:8765/v1"],
            2,
            "--base-url: must begin with http:// or https://",
        ),
        (["--backend", "panel", "--model", "nowhere,here"], 1, "nowhere"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path, dataset: Path, args: list[str], status: int, said: str
) -> None:
    done = judge(tmp_path, dataset, *args, "--out", tmp_path / "run")
    assert (done.returncode, done.stderr.count("\n")) == (status, 1)
    assert said in done.stderr


def test_a_missing_image_is_told_before_anything_is_asked(
    tmp_path: Path, dataset: Path
) -> None:
    (dataset / "media" / "pairwise3_1.png").unlink()
    done = judge(
        tmp_path,
        dataset,
        "--backend",
        "baseline",
        "--model",
        "first",
        "--out",
        tmp_path / "run",
    )
    assert done.returncode == 1
    assert "pairwise3_1.png" in done.stderr


def _terminated() -> tuple[str, ...]:
    signal.raise_signal(signal.SIGTERM)
    return ()


def _terminated_in_a_callback() -> tuple[str, ...]:
    """Python ignores an exception in the callback of a weak reference."""
    referred = set[str]()
    _reference = weakref.ref(referred, lambda _: _terminated())
    del referred
    time.sleep(5)
    raise AssertionError("the signal was lost")


@pytest.mark.parametrize("work", [_terminated, _terminated_in_a_callback])
def test_sigterm_ends_a_command_with_its_own_status(
    tmp_path: Path,
    dataset: Path,
    monkeypatch: pytest.MonkeyPatch,
    work: Callable[[], object],
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("visualjudge.cli.main.environment_secrets", work)
    try:
        done = judge(tmp_path, dataset, "--out", tmp_path / "run")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert done.returncode == 143


def test_criteria_that_nobody_answered_are_counted(
    tmp_path: Path, dataset: Path
) -> None:
    with running(ChaoticServer({})) as server:  # answers "A" alone
        args = [dataset, "--model", "m", "--base-url", server.url]
        plain = judge(tmp_path, *args, "--out", tmp_path / "plain")
        asked = judge(
            tmp_path, *args, "--rubric", "quality", "--out", tmp_path / "run"
        )
    words = "without a value of a criterion"
    assert words in asked.stderr and "12" in asked.stderr.partition(words)[2]
    assert words not in plain.stderr


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("I cannot see it.", "first reply: I cannot see it."),
        ("", "first reply: empty, as are all"),
        ("A", None),
    ],
)
def test_replies_of_which_none_can_be_read_are_shown(
    tmp_path: Path, dataset: Path, reply: str, told: str | None
) -> None:
    with running(ChaoticServer({}, text=reply)) as server:
        args = ("--model", "m", "--base-url", server.url, "--type", "pairwise")
        done = judge(tmp_path, dataset, *args, "--out", tmp_path / "run")
    assert ("no question was answered" in done.stderr) is (told is not None)
    assert (told or "") in done.stderr


@pytest.mark.parametrize(("pairs", "told"), [(0, True), (3, False)])
def test_an_order_that_no_question_has_is_told(
    tmp_path: Path, pairs: int, told: bool
) -> None:
    mixed = make_dataset(tmp_path / "mix", pairwise=pairs, ranking=3, scoring=3)
    model = ("--backend", "baseline", "--model", "first", "--swap")
    done = judge(tmp_path, mixed, *model, "--out", tmp_path / "run")
    assert done.returncode == 0
    assert ("--swap has no effect" in done.stderr) is told


def test_what_a_content_filter_stopped_needs_no_more_tokens(
    tmp_path: Path, dataset: Path
) -> None:
    server = ChaoticServer({}, text="", finish="content_filter")
    with running(server):
        args = ("--model", "m", "--base-url", server.url, "--type", "pairwise")
        done = judge(tmp_path, dataset, *args, "--out", tmp_path / "run")
    assert "content filter" in done.stderr
    assert "--max-tokens" not in done.stderr
