"""Commands killed at random moments: what is there afterwards is whole, and the next start completes it.

One kill of each command in a test run; ``make soak`` goes on for an hour (``VISUALJUDGE_SOAK`` = seconds), and
``VISUALJUDGE_KILLS`` is how often each command is killed.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faults.chaos import chaos
from making import make_folder
from visualjudge.apps.mmbench.results import read_workbook
from visualjudge.core.records import Pixels
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.build import BuildOptions, build
from visualjudge.dataset.sampling import Caps
from visualjudge.dataset.validate import validate
from visualjudge.runs.journal import read_records
from visualjudge.vision.raster.images import png_bytes, write_png

SOAK_S = float(os.environ.get("VISUALJUDGE_SOAK", "0"))
KILLS = int(os.environ.get("VISUALJUDGE_KILLS", "1"))
COMMANDS = 5
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


def killed_again_and_again(name: str, begin: Callable[[Path], list[str]], check: Callable[[Path], None]) -> None:
    """Start a command in a new folder, kill it at a random moment, start it again, until it ends; then ``check``.

    So it goes on, folder after folder, until it was killed often enough.
    """
    rng, end, kills, folders = rng_for(time.time_ns(), name), time.monotonic() + SOAK_S / COMMANDS, 0, 0
    with tempfile.TemporaryDirectory() as place:
        usual = finished(begin(Path(place)))
    while kills < KILLS or time.monotonic() < end:
        with tempfile.TemporaryDirectory() as place:
            words = begin(Path(place))
            while (kills < KILLS or time.monotonic() < end) and killed(words, float(rng.uniform(0.1, 1.1)) * usual):
                kills += 1
            finished(words)
            check(Path(place))
            folders += 1
    print(f"{name}: {kills} kills, {folders} folders")


def killed(words: list[str], after_s: float) -> bool:
    """Whether a command had to be killed; else it ended by itself."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_environment())
    try:
        process.wait(after_s)
    except subprocess.TimeoutExpired:
        process.kill()
    return process.wait() < 0


def _environment() -> dict[str, str]:
    return {**os.environ, "OPENAI_API_KEY": "sk-not-a-real-key-0123456789"}


def finished(words: list[str]) -> float:
    begun = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, env=_environment(), check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    return time.monotonic() - begun


def each_once(lines: Path, name: str, asked: list[str]) -> None:
    """Nothing is lost, nothing is doubled."""
    assert sorted(str(line[name]) for line in read_records(lines)) == sorted(asked)


def test_a_killed_build_leaves_nothing_or_a_whole_dataset(data: Path) -> None:
    def check(place: Path) -> None:
        assert validate(place / "out")[1] == []
        assert sorted(path.name for path in place.iterdir()) == ["out"]

    killed_again_and_again("build", lambda place: command("build", data, "--out", place / "out", "--force"), check)


def test_a_killed_import_leaves_what_was_there_and_can_be_repeated(tmp_path: Path) -> None:
    for number in range(12):
        write_png(tmp_path / f"images/i{number}.png", _noise(number, 96))
    gt = tmp_path / "gt.json"
    boxes = [{"image_id": k, "category_id": 1, "bbox": [9, 9, 40 + k, 40], "iscrowd": 0, "area": 9} for k in range(12)]
    images = [{"id": k, "file_name": f"i{k}.png", "width": 96, "height": 96} for k in range(12)]
    labels = [{"id": 1, "name": "dog"}]
    truths = [{"id": k} | box for k, box in enumerate(boxes)]
    gt.write_text(json.dumps({"images": images, "categories": labels, "annotations": truths}))
    (tmp_path / "pred.json").write_text(json.dumps([box | {"score": 0.9} for box in boxes]))

    def begin(place: Path) -> list[str]:
        words = ("import", "coco", "--task", "object_detection", "--gt", gt, "--images", tmp_path / "images")
        words = (*words, "--pred", tmp_path / "pred.json", "--out", place / "data", "--source")
        finished(command(*words, "before"))
        return command(*words, "again")

    def check(place: Path) -> None:
        records = json.loads((place / "data/annotations/object_detection_annotations.json").read_bytes())
        found = [(record["source"], record["image_id"]) for record in records]
        assert sorted(found) == sorted((source, f"i{k}") for source in ("before", "again") for k in range(12))
        assert len({record["annotation_id"] for record in records}) == 24

    killed_again_and_again("import", begin, check)


def test_a_killed_run_loses_and_doubles_no_verdict(dataset: Path, server: str) -> None:
    asked = [question["id"] for question in json.loads((dataset / "questions.json").read_bytes())]
    words = ("judge", dataset, "--model", "m", "--base-url", server, "--concurrency", 2, "--no-cache", "--resume")
    killed_again_and_again(
        "judge",
        lambda place: command(*words, "--out", place / "run"),
        lambda place: each_once(place / "run/verdicts.jsonl", "id", asked),
    )


def test_a_killed_pipeline_loses_and_doubles_no_row(server: str, tmp_path: Path) -> None:
    for name in "abc":
        write_png(tmp_path / f"{name}.png", _noise(name, 8))
    row = {"instruction": "x", "input_image": "a.png", "edited_images": ["b.png", "c.png"]}
    keys = [f"r{k}" for k in range(60)]
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps({"key": key} | row) for key in keys))
    (tmp_path / "c.yaml").write_text(
        "metric_configs: {m: {pipe_name: pairwise-judge, init_config: {backend: api, model_name: m, retries: 0, "
        f"base_url: '{server}', prompt_info: {{prompt_id: vlm/assessment/visual_consistency/pairwise}}}}}}}}"
    )
    words = ("pipeline", tmp_path / "c.yaml", "--input", tmp_path / "rows.jsonl", "--no-cache", "--resume")
    killed_again_and_again(
        "pipeline",
        lambda place: command(*words, "--out", place / "r.jsonl"),
        lambda place: each_once(place / "r.jsonl", "key", keys),
    )


def test_a_killed_mmbench_loses_and_doubles_no_reply(server: str, tmp_path: Path) -> None:
    indexes = [str(k) for k in range(60)]
    image = base64.b64encode(png_bytes(_noise("m", 16))).decode()
    lines = ["index\tquestion\tA\tB\tanswer\timage", *(f"{k}\twhich?\tcat\tdog\tA\t{image}" for k in indexes)]
    (tmp_path / "t.tsv").write_text("\n".join(lines) + "\n")
    words = ("mmbench", "infer", tmp_path / "t.tsv", "--model", "m", "--base-url", server, "--no-cache", "--resume")

    def check(place: Path) -> None:
        each_once(place / "p.jsonl", "index", indexes)
        assert sorted(map(str, read_workbook(place / "p.xlsx"))) == sorted(indexes)

    killed_again_and_again("mmbench", lambda place: command(*words, "--out", place / "p.xlsx"), check)


def _noise(seed: object, side: int) -> Pixels:
    return (rng_for(1, "noise", seed).random((side, side, 3)) * 255).astype("uint8")
