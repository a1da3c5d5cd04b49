"""People, a VLM and a baseline on one dataset: one report of all, and agreement equal
to an independent computation.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from fastapi.testclient import TestClient
from scipy.stats import spearmanr

from commanding import command
from judged_records import pair, write_dataset
from visualjudge.core.seeding import rng_for
from visualjudge.options import Selection
from visualjudge.studio.people.pages import people_app, people_pages
from visualjudge.studio.people.plan import Settings
from visualjudge.studio.places import find_places
from visualjudge.studio.studio_data import Site

RATERS = ("anna", "ben", "carl")
PROMPT = (
    "Judge.\n\nOptions:\n\nA. left {}\n\nB. right\n\nWhich is better, A or B?"
)


class Scripted(BaseHTTPRequestHandler):
    """Answers by the length of the request: A, B, or something that cannot be read."""

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["content-length"])).decode()
        number = int(text.split("left ")[1].split("\\n")[0])
        reply = (
            "Both are fine."
            if number % 10 == 9
            else f"Answer: {'AB'[number % 3 == 0]}"
        )
        message = {"role": "assistant", "content": reply}
        body = json.dumps(
            {
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": message}
                ]
            }
        ).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    served = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{served.server_port}/v1"
    served.shutdown()


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    questions: list[Any] = [
        pair(
            i,
            (8.0, 1.0),
            prompt=PROMPT.format(i),
            images=(),
            encoding="text_xyxy",
            image_id=f"i{i}",
        )
        for i in range(30)
    ]
    questions += [
        pair(
            i,
            (8.0, 1.0),
            prompt=PROMPT.format(i),
            images=(),
            task="keypoint",
            encoding="text",
            image_id=f"k{i}",
        )
        for i in range(30, 36)
    ]
    return write_dataset(tmp_path / "ds", questions)


def _people(dataset: Path, folder: Path) -> dict[str, dict[str, float]]:
    """Three raters answer the questions of one task; what each of them said, 1 for
    option A."""
    settings = Settings(
        overlap=1.0,
        raters_per_question=3,
        filter=Selection(tasks=("object_detection",)).text,
    )
    pages = people_pages(
        Site(find_places([dataset]), folder.parent / "cache"),
        folder,
        settings,
        RATERS,
    )
    client = TestClient(people_app(pages), base_url="http://127.0.0.1:1")
    for rater in RATERS:
        headers, rng = (
            {"x-studio-token": pages.tokens.token(rater)},
            rng_for(7, rater),
        )
        state = client.get(f"/people/{rater}/next", headers=headers).json()
        while state["question"]:
            answer = (
                {"cannot_tell": True}
                if rng.random() < 0.1
                else {"value": "AB"[int(rng.random() < 0.4)]}
            )
            body = {"slot": state["question"]["slot"], "seconds": 1.0, **answer}
            state = client.post(
                f"/people/{rater}/answer", headers=headers, json=body
            ).json()
    pages.run.close()
    said: dict[str, dict[str, float]] = {rater: {} for rater in RATERS}
    for line in map(
        json.loads, (folder / "verdicts.jsonl").read_text().splitlines()
    ):
        if line["status"] == "ok":
            said[line["rater"]][line["id"]] = float(line["value"] == "A")
    return said


def _run(*words: object) -> None:
    done = command(*words)
    assert done.returncode == 0, done.stderr


def test_people_a_vlm_and_a_baseline_stand_in_one_report(
    dataset: Path, tmp_path: Path, server: str
) -> None:
    said = _people(dataset, tmp_path / "people")
    _run(
        "judge",
        dataset,
        "--model",
        "vlm",
        "--base-url",
        server,
        "--set",
        "mode=text",
        "--out",
        tmp_path / "vlm",
    )
    _run(
        "judge",
        dataset,
        "--backend",
        "baseline",
        "--model",
        "first",
        "--out",
        tmp_path / "first",
    )
    runs = [tmp_path / name for name in ("people", "vlm", "first")]
    _run(
        "report",
        *runs,
        "--out",
        tmp_path / "r.html",
        "--json",
        tmp_path / "m.json",
        "--compare",
        tmp_path / "vlm",  # a path, as it was given
        "first",
    )
    page = (tmp_path / "r.html").read_text()
    assert all(name in page for name in ("people", "vlm", "first"))

    pairs = [word for run in runs for word in ("--run", run)]
    _run("agreement", *pairs, "--json", tmp_path / "a.json")
    found = json.loads((tmp_path / "a.json").read_text())
    names = sorted({name for told in said.values() for name in told})
    table = np.array(
        [[said[rater].get(name, np.nan) for name in names] for rater in RATERS]
    )
    (alpha,) = found[
        "alpha"
    ]  # none for the task that no person was asked about
    assert alpha["dimension"] == "object_detection/pairwise"
    assert alpha["level"] == "nominal"  # of choices, unless asked
    expected = krippendorff.alpha(
        reliability_data=table, level_of_measurement="nominal"
    )
    assert alpha["alpha"] == pytest.approx(expected, abs=1e-9)

    verdicts = [
        json.loads(line)
        for line in (tmp_path / "vlm/verdicts.jsonl").read_text().splitlines()
    ]
    judged = {
        v["id"]: float(v["value"] == "A")
        for v in verdicts
        if v["status"] == "ok"
    }
    both = [name for name in names if name in judged]
    mean = np.nanmean(table[:, [names.index(name) for name in both]], axis=0)
    row = next(row for row in found["rows"] if row["rater"] == "vlm")
    assert row["items"] == len(both) == 27
    assert row["spearman"] == pytest.approx(
        spearmanr([judged[name] for name in both], mean).statistic, abs=1e-9
    )
