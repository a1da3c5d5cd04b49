"""A rubric in every way of asking: batches, a cache, a killed run that resumes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import visualjudge as vj
from batch import fake_batches
from batch.fake_batches import FakeBatches
from commanding import command
from runs.made_dataset import make_dataset
from visualjudge.clients.batch.batched_client import Settings
from visualjudge.clients.retry import RetryPolicy

RUBRIC = """
rubric: mine
version: v1
criteria:
  - {id: better, ask: Which is sharper?, answer: option}
  - {id: level, ask: How sharp?, answer: {scale: [1, 5]}}
  - {id: place, ask: Where?, answer: place}
"""
SAID = {"better": "A", "level": 4, "place": [1, 2, 30, 40]}
REPLY = json.dumps({"criteria": SAID, "answer": "A"})
QUESTIONS = 12


@pytest.fixture
def rubric(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(RUBRIC)
    return path


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("dataset")
    return make_dataset(root, pairwise=QUESTIONS, ranking=0, scoring=0)


def lines(out: Path) -> list[dict[str, Any]]:
    text = (out / "verdicts.jsonl").read_text()
    read = [json.loads(line) for line in text.splitlines()]
    return sorted(read, key=lambda line: (line["id"], line["order"]))


def check(out: Path, orders: int = 1) -> None:
    """Each question has its criteria once in each order, with stored letters."""
    rows = lines(out)
    assert len({(row["id"], row["order"]) for row in rows}) == len(rows)
    assert len(rows) == QUESTIONS * orders
    for row in rows:
        letter = "A" if row["order"] == "AB" else "B"
        assert row["value"] == letter
        assert row["criteria"] == SAID | {"better": letter}


@pytest.mark.filterwarnings("ignore:(?s)Pydantic serializer warnings")
@pytest.mark.parametrize(
    ("backend", "mode"),
    [("api", "json"), ("anthropic", "text"), ("google", "json")],
)
def test_a_batch_answers_the_criteria_of_both_orders(
    dataset: Path,
    rubric: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    backend: str,
    mode: Any,
) -> None:
    asked = []

    def said(body: Any) -> str:
        asked.append(json.dumps(body))
        return REPLY

    monkeypatch.setattr(fake_batches, "said", said)
    patience = RetryPolicy(attempts=8, first_wait_s=0.02)
    monkeypatch.setattr("visualjudge.clients.batch.provider.PATIENCE", patience)
    with FakeBatches() as fake:
        judge = vj.client(
            backend,
            model="m",
            base_url=f"{fake.url}/v1" if backend == "api" else fake.url,
            api_key="sk-0123456789",
            cache=False,
            batch=Settings(size=5, poll_s=0.05),
        )
        run = vj.judge(
            dataset,
            judge,
            tmp_path / "run",
            rubric=rubric,
            swap=True,
            mode=mode,
            progress=False,
        )
        assert not fake.live
    check(run.path, orders=2)
    assert all("Which is sharper?" in body for body in asked)


class Server(ThreadingHTTPServer):
    """Answers every request with the criteria, and counts them."""

    asked = 0
    wait_s = 0.0


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked += 1
        time.sleep(self.server.wait_s)
        message = {"role": "assistant", "content": REPLY}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        body = json.dumps({"choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(wait_s: float = 0.0) -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    server.wait_s = wait_s
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


def test_the_cache_knows_the_rubric(
    dataset: Path, rubric: Path, tmp_path: Path
) -> None:
    def asked(name: str, **options: Any) -> int:
        before = server.asked
        client = vj.client(
            "api", model="m", base_url=url(server), cache=tmp_path / "cache"
        )
        vj.judge(dataset, client, tmp_path / name, progress=False, **options)
        return server.asked - before

    with serving() as server:
        assert asked("first", rubric=rubric) == QUESTIONS
        assert asked("again", rubric=rubric) == 0
        assert asked("none") == QUESTIONS
        rubric.write_text(RUBRIC.replace("How sharp?", "How crisp?"))
        assert asked("other", rubric=rubric) == QUESTIONS
    for name in ("first", "again", "other"):
        check(tmp_path / name)
    assert all("criteria" not in row for row in lines(tmp_path / "none"))


def test_a_killed_run_resumes_with_its_criteria(
    dataset: Path,
    rubric: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "run"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    with serving(wait_s=0.05) as server:
        words = ["judge", str(dataset), "--model", "m", "--swap"]
        words += ["--base-url", url(server), "--rubric", str(rubric)]
        words += ["--out", str(out), "--concurrency", "2"]
        words += ["--set", "cache=false"]
        process = subprocess.Popen(
            [sys.executable, "-m", "visualjudge", *words], stdout=-3, stderr=-3
        )
        until = time.monotonic() + 60
        while server.asked < 10 and process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        written = server.asked
        ended = command(*words, "--resume")
        assert ended.returncode == 0, ended.stderr
        assert server.asked - written <= 2 * QUESTIONS - (written - 2 * 2)
    check(out, orders=2)
