"""Runs with tools, from the dataset to the report: traces, costs, kills."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from aiohttp import web

import visualjudge as vj
from clients.tool_protocols import call, openai
from commanding import command
from runs.made_dataset import make_dataset
from scripted_client import ScriptedClient
from visualjudge.analysis.figures.comparisons import COMPARISONS
from visualjudge.clients.base import ImagePart, Reply, Request, ToolCall
from visualjudge.core.errors import UsageError
from visualjudge.core.seeding import rng_for
from visualjudge.judges.panel import PanelJudge
from visualjudge.runs.budget import Limits
from visualjudge.vision.raster.images import write_png

PAIRS = 30


def calling(name: str, text: str = "", **arguments: Any) -> Reply:
    called = ToolCall(f"c-{name}-{len(arguments)}", name, json.dumps(arguments))
    return Reply(
        text,
        usage={"prompt_tokens": 10, "completion_tokens": 1},
        calls=(called,),
    )


def shown(request: Request) -> list[np.ndarray[Any, Any]]:
    """The images of all results so far."""
    parts = [
        part
        for turn in request.turns
        for result in turn.results
        for part in result.parts
    ]
    images = [
        np.frombuffer(part.data, np.uint8)
        for part in parts
        if isinstance(part, ImagePart)
    ]
    return [
        cv2.imdecode(image, cv2.IMREAD_COLOR)[:, :, ::-1] for image in images
    ]


def coin(request: Request) -> str:
    """An answer that knows nothing, the same for the same images."""
    digests = [
        part.sha256 for part in request.parts if isinstance(part, ImagePart)
    ]
    return (
        "Answer: "
        + "AB"[
            int(
                hashlib.sha256("".join(sorted(digests)).encode()).hexdigest(),
                16,
            )
            % 2
        ]
    )


def looks_closely(request: Request, _attempt: int) -> Reply | str:
    """Can tell only from enlarged regions: the option that is as the original is
    better."""
    if not request.tools:
        return coin(request)
    images = shown(request)
    if len(images) < 3:
        name = ("original", "A", "B")[len(images)]
        return calling("zoom", image=name, x0=0, y0=0, x1=64, y1=48)
    original, *options = (image.astype(float) for image in images)
    apart = [np.abs(option - original).mean() for option in options]
    return "Answer: " + "AB"[int(np.argmin(apart))]


def never_needs(request: Request, _attempt: int) -> Reply | str:
    """Sees all without tools, and calls them all the same."""
    if request.tools and not request.turns:
        return calling("zoom", image="original", x0=0, y0=0, x1=8, y1=8)
    options = [part for part in request.parts if isinstance(part, ImagePart)][
        1:
    ]
    pixels = [
        cv2.imdecode(
            np.frombuffer(part.data, np.uint8), cv2.IMREAD_COLOR
        ).astype(float)
        for part in options
    ]
    original = next(
        part for part in request.parts if isinstance(part, ImagePart)
    )
    whole = cv2.imdecode(
        np.frombuffer(original.data, np.uint8), cv2.IMREAD_COLOR
    ).astype(float)
    return (
        "Answer: "
        + "AB"[int(np.argmin([np.abs(one - whole).mean() for one in pixels]))]
    )


@pytest.fixture(scope="module")
def spots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each option is the original with a small wrong spot, fainter in the better
    one."""
    root = make_dataset(
        tmp_path_factory.mktemp("spots"), pairwise=PAIRS, ranking=0, scoring=0
    )
    for question in json.loads((root / "questions.json").read_text()):
        original, *options = question["images"]
        rng = rng_for(1, "spot", question["id"])
        pixels = cv2.GaussianBlur(
            rng.integers(0, 256, (48, 64, 3)).astype(np.uint8), (0, 0), 3
        )
        write_png(root / original, pixels)
        x, y = int(rng.integers(0, 56)), int(rng.integers(0, 40))
        for name, score in zip(options, question["final_scores"], strict=True):
            changed = pixels.copy()
            changed[y : y + 6, x : x + 6] = np.clip(
                changed[y : y + 6, x : x + 6].astype(int) + 60 - 6 * score,
                0,
                255,
            )
            write_png(root / name, changed)
    return root


def judge(root: Path, out: Path, script: Any, **options: Any) -> vj.Run:
    client = ScriptedClient(script, model_name=out.name)
    return vj.judge(root, client, out, mode="text", progress=False, **options)  # type: ignore[arg-type]


def accuracy(root: Path, run: vj.Run) -> float:
    answers = {
        question["id"]: question["answer"]
        for question in json.loads((root / "questions.json").read_text())
    }
    return float(
        np.mean(
            [
                verdict.value == answers[verdict.id]
                for verdict in run.verdicts.values()
            ]
        )
    )


def test_a_judge_that_sees_only_after_zooming_gains(
    spots: Path, tmp_path: Path
) -> None:
    plain = judge(spots, tmp_path / "plain", looks_closely)
    tools = judge(
        spots, tmp_path / "tools", looks_closely, tools=["zoom", "compare"]
    )
    assert accuracy(spots, plain) <= 0.65
    assert accuracy(spots, tools) >= 0.9
    trace = next(iter(tools.verdicts.values())).extra["tool_calls"]
    assert [entry["name"] for entry in trace] == ["zoom", "zoom", "zoom"]
    assert tools.manifest["parameters"]["tools"] == ["zoom", "compare"]
    found = vj.analyse([plain, tools]).analysis
    (pair,) = found[COMPARISONS]
    assert pair.gap.interval is not None
    assert pair.gap.interval[1] < 0, "the plain judge is worse"


def test_a_judge_that_needs_no_tools_shows_no_gain(
    spots: Path, tmp_path: Path
) -> None:
    plain = judge(spots, tmp_path / "plain", never_needs)
    tools = judge(spots, tmp_path / "tools", never_needs, tools=["zoom"])
    assert accuracy(spots, plain) == accuracy(spots, tools) == 1.0
    (pair,) = vj.analyse([plain, tools]).analysis[COMPARISONS]
    assert pair.gap.value == 0


def test_traces_are_the_same_in_every_run(spots: Path, tmp_path: Path) -> None:
    runs = [
        judge(spots, tmp_path / f"r{k}", looks_closely, tools=["all"], limit=6)
        for k in range(2)
    ]
    assert runs[0].manifest["parameters"]["max_tool_calls"] == 6
    traces = [
        [
            verdict.extra["tool_calls"]
            for _, verdict in sorted(run.verdicts.items())
        ]
        for run in runs
    ]
    assert traces[0] == traces[1]


def test_all_turns_are_counted(spots: Path, tmp_path: Path) -> None:
    run = judge(
        spots,
        tmp_path / "run",
        looks_closely,
        tools=["zoom", "compare"],
        limit=5,
    )
    usage = [verdict.usage for verdict in run.verdicts.values()]
    assert usage == [{"prompt_tokens": 30, "completion_tokens": 3}] * 5
    assert run.manifest["last_invocation"]["calls"] == 20


def test_a_budget_of_calls_is_kept(spots: Path, tmp_path: Path) -> None:
    run = judge(
        spots,
        tmp_path / "run",
        looks_closely,
        tools=["zoom", "compare"],
        limits=Limits(max_calls=30),
    )
    assert run.manifest["last_invocation"]["calls"] <= 30
    assert run.missing > 0
    with pytest.raises(UsageError, match="calls"):
        judge(
            spots,
            tmp_path / "small",
            looks_closely,
            tools=["zoom"],
            limits=Limits(max_calls=7),
        )


def test_a_question_that_no_tool_suits_is_asked_plainly(
    spots: Path, tmp_path: Path
) -> None:
    asked = ScriptedClient(["Answer: A"])
    run = vj.judge(
        spots, asked, tmp_path / "run", tools=["count"], limit=1, progress=False
    )
    assert asked.requests[0].tools == ()
    assert "tools" not in str(asked.requests[0].parts)
    assert run.manifest["parameters"]["mode"] == "text"


def test_swapped_questions_have_swapped_tools(
    spots: Path, tmp_path: Path
) -> None:
    run = judge(
        spots,
        tmp_path / "run",
        looks_closely,
        tools=["zoom", "compare"],
        swap=True,
        limit=6,
    )
    assert len(run) == 12
    assert accuracy(spots, run) >= 0.9


def test_what_cannot_be_combined_is_refused(
    spots: Path, tmp_path: Path
) -> None:
    client = ScriptedClient(["A"])
    for options, words in (
        ({"tools": ["zooom"]}, "tools.*must be all or some of zoom"),
        ({"tools": ["zoom"], "mode": "logprobs"}, "mode.*must be auto or text"),
        (
            {"tools": ["zoom"], "max_tool_calls": 0},
            "max.tool.calls.*at least 1",
        ),
    ):
        with pytest.raises(UsageError, match=words):
            vj.judge(spots, client, tmp_path / "run", progress=False, **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="need a model of a backend"):
        vj.judge(
            spots,
            vj.client("baseline", model="random"),
            tmp_path / "run",
            progress=False,
            tools=["zoom"],
        )
    with pytest.raises(UsageError, match="`rubric` needs a model"):
        vj.judge(
            spots,
            PanelJudge({}),
            tmp_path / "run",
            progress=False,
            rubric="reason",
        )
    batched = vj.client(
        "api",
        model="m",
        base_url="http://127.0.0.1:1/v1",
        api_key="a-secret-of-some-length",
        batch=True,
    )
    with pytest.raises(
        UsageError, match="`tools` cannot be used together with `batch`"
    ):
        vj.judge(
            spots, batched, tmp_path / "run", progress=False, tools=["zoom"]
        )


# ---------------------------------------------------------------- kills


class Talker:
    """A server that calls a tool three times and answers; it counts requests by
    question and turn.
    """

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, int]] = Counter()
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        question = hashlib.sha256(
            json.dumps(body["messages"][0]).encode()
        ).hexdigest()
        turn = sum(
            message["role"] == "assistant" for message in body["messages"]
        )
        self.asked[question, turn] += 1
        await asyncio.sleep(0.02)
        box = {"image": "A", "x0": turn, "y0": 0, "x1": 9, "y1": 9}
        return web.json_response(
            openai(None, [call("zoom", box)])
            if turn < 3
            else openai("Answer: A")
        )

    async def serve(
        self, ready: threading.Event, done: threading.Event
    ) -> None:
        app = web.Application(client_max_size=1 << 28)
        app.router.add_post("/{tail:.*}", self.handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        ready.set()
        while not done.is_set():
            await asyncio.sleep(0.02)
        await runner.cleanup()


@contextmanager
def talking() -> Iterator[Talker]:
    server, ready, done = Talker(), threading.Event(), threading.Event()
    thread = threading.Thread(
        target=lambda: asyncio.run(server.serve(ready, done))
    )
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        done.set()
        thread.join()


KILLS = int(os.environ.get("VISUALJUDGE_KILLS", "1"))
AT_ONCE = 4


def test_a_killed_run_resumes_at_the_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 12 * (KILLS + 1)
    root, out = (
        make_dataset(tmp_path / "ds", pairwise=count, ranking=0, scoring=0),
        tmp_path / "run",
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    with talking() as server:
        words = [
            "judge",
            str(root),
            "--model",
            "m",
            "--base-url",
            server.url,
            "--tools",
            "zoom",
            "--out",
            str(out),
            "--concurrency",
            str(AT_ONCE),
            "--set",
            "cache=false",
        ]
        resume: list[str] = []
        for kill in range(KILLS):
            begun, process = (
                server.asked.total(),
                subprocess.Popen(
                    [sys.executable, "-m", "visualjudge", *words, *resume],
                    stderr=-3,
                    stdout=-3,
                ),
            )
            until = time.monotonic() + 60
            while (
                server.asked.total() < begun + 20 + kill % 7
                and process.poll() is None
            ):
                assert time.monotonic() < until
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.wait()
            resume = ["--resume"]
        ended = command(*words, *resume)
    assert ended.returncode == 0, ended.stderr
    lines = [
        json.loads(line)
        for line in (out / "verdicts.jsonl").read_text().splitlines()
    ]
    assert len({line["id"] for line in lines}) == len(lines) == count
    assert {line["value"] for line in lines} == {"A"}
    again = Counter(
        question
        for question, turn in server.asked
        if turn == 0
        for _ in range(server.asked[question, 0] - 1)
    )
    assert sum(again.values()) <= KILLS * AT_ONCE, (
        "only questions in flight are asked again"
    )
