"""Commands killed at random moments: what is there afterwards is whole, and the next start completes it.

A few kills in a test run; ``make soak`` goes on for an hour (``VISUALJUDGE_SOAK`` = seconds).
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.chaos import chaos
from making import make_folder
from visualjudge.dataset.build import BuildOptions, build
from visualjudge.dataset.sampling import Caps
from visualjudge.dataset.validate import validate
from visualjudge.raster.images import write_png
from visualjudge.runs.journal import read_records
from visualjudge.seeding import rng_for

SOAK_S = float(os.environ.get("VISUALJUDGE_SOAK", "0"))
KILLS = 2
OPTIONS = BuildOptions(tasks=("object_detection",), caps=Caps())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("crash") / "data", tasks=["object_detection"], images=6, annotations=4)


@pytest.fixture(scope="module")
def dataset(data: Path) -> Path:
    build(data, data.parent / "dataset", OPTIONS)
    return data.parent / "dataset"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A good server in a thread."""
    loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    found: list[str] = []

    async def serve() -> None:
        async with chaos("api") as running:
            found.append(running.url)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    ready.wait(10)
    yield f"{found[0]}/v1"
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "visualjudge", *map(str, words)]


def killed_again_and_again(words: list[str], usual_s: float, name: str) -> int:
    """Start a command and kill it after a random share of its usual time; how often it was killed."""
    rng, end, kills = rng_for(time.time_ns(), name), time.monotonic() + SOAK_S / 4, 0
    while kills < KILLS or time.monotonic() < end:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_environment())
        try:
            process.wait(float(rng.uniform(0.05, 1.05)) * usual_s)
        except subprocess.TimeoutExpired:
            process.kill()
        process.wait()
        kills += 1
    return kills


def _environment() -> dict[str, str]:
    return {**os.environ, "OPENAI_API_KEY": "sk-not-a-real-key-0123456789"}


def finished(words: list[str]) -> float:
    begun = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, env=_environment(), check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    return time.monotonic() - begun


def test_a_killed_build_leaves_nothing_or_a_whole_dataset(data: Path, tmp_path: Path) -> None:
    words = command("build", data, "--out", tmp_path / "out", "--force")
    usual = finished(words)
    killed_again_and_again(words, usual, "build")
    assert validate(tmp_path / "out")[1] == []
    finished(words)
    assert validate(tmp_path / "out")[1] == []
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_killed_run_loses_and_doubles_no_verdict(dataset: Path, server: str, tmp_path: Path) -> None:
    asked = len(json.loads((dataset / "questions.json").read_bytes()))
    common = ("judge", dataset, "--model", "m", "--base-url", server, "--concurrency", 2, "--no-cache")
    usual = finished(command(*common, "--out", tmp_path / "usual"))
    words = command(*common, "--out", tmp_path / "run", "--resume")
    killed_again_and_again(words, usual, "judge")
    finished(words)
    ids = [line["id"] for line in read_records(tmp_path / "run/verdicts.jsonl")]
    assert (len(ids), len(set(ids))) == (asked, asked)


def test_a_killed_pipeline_loses_and_doubles_no_row(server: str, tmp_path: Path) -> None:
    for name in "abc":
        write_png(tmp_path / f"{name}.png", (rng_for(1, name).random((8, 8, 3)) * 255).astype("uint8"))
    rows = [
        {"key": f"r{k}", "instruction": "x", "input_image": "a.png", "edited_images": ["b.png", "c.png"]}
        for k in range(60)
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "c.yaml").write_text(
        "metric_configs: {m: {pipe_name: pairwise-judge, init_config: {backend: api, model_name: m, retries: 0, "
        f"base_url: '{server}', prompt_info: {{prompt_id: vlm/assessment/visual_consistency/pairwise}}}}}}}}"
    )
    words = command("pipeline", tmp_path / "c.yaml", "--input", tmp_path / "rows.jsonl", "--out", tmp_path / "r.jsonl")
    words += ["--no-cache", "--resume"]
    killed_again_and_again(words, 2.5, "pipeline")
    finished(words)
    keys = [line["key"] for line in read_records(tmp_path / "r.jsonl")]
    assert sorted(keys) == sorted(row["key"] for row in rows)
