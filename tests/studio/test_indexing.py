"""A large dataset is indexed while its pages are served: they say how far it is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from judged_records import pair, said, write_dataset, write_run
from visualjudge.core.errors import DataError
from visualjudge.studio import index as index_module, site as site_module, verdicts
from visualjudge.studio.app import create_app
from visualjudge.studio.places import find_places
from visualjudge.studio.site import Site


class Gate:
    """Lets one call pass at a time."""

    def __init__(self) -> None:
        self._open, self.waiting = threading.Semaphore(0), threading.Semaphore(0)

    def let(self) -> None:
        self._open.release()

    def before(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def gated(*arguments: Any) -> Any:
            self.waiting.release()
            assert self._open.acquire(timeout=30)
            return work(*arguments)

        return gated


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    questions = [pair(i, (8.0, 1.0 + i % 7), prompt=f"word zebra {i}") for i in range(40)]
    root = write_dataset(tmp_path / "ds", questions)
    replies = [said(q, "AB"[i % 2]) for i, q in enumerate(questions)]
    write_run(tmp_path / "run", root, replies, judge="one")
    return tmp_path


@pytest.fixture
def opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Gate, Gate]]:
    """Pages of a dataset that is indexed as far as two gates let: of questions, and of replies."""
    questions, replies = Gate(), Gate()
    monkeypatch.setattr(site_module, "LARGE", 0)
    monkeypatch.setattr(index_module, "STEP", 2000)
    monkeypatch.setattr(index_module, "_QUESTIONS", 10)
    monkeypatch.setattr(verdicts, "TOLD_EVERY_S", 0.0)
    monkeypatch.setattr(index_module, "part_of", questions.before(index_module.part_of))
    monkeypatch.setattr(verdicts, "read_part", replies.before(verdicts.read_part))
    site = Site(find_places([folder]), folder / "cache")
    thread = site.open_all(lambda place: None)
    yield TestClient(create_app(site), base_url="http://127.0.0.1:1"), questions, replies
    for gate in (questions, replies):
        for _ in range(500):
            gate.let()
    thread.join(30)
    assert not thread.is_alive()


def test_pages_say_that_questions_are_being_read(opened: tuple[Any, Gate, Gate]) -> None:
    client, questions, _ = opened
    assert questions.waiting.acquire(timeout=30)
    assert client.get("/").status_code == 200
    (line,) = client.get("/progress").json()["lines"]
    assert line.startswith("ds: reading the questions, 0%")
    for _ in range(3):  # a part is told when the next one but one is read
        questions.let()
        assert questions.waiting.acquire(timeout=30)
    (line,) = client.get("/progress").json()["lines"]
    assert 0 < int(line.split(", ")[1].split("%")[0]) < 100
    slug = client.get("/").text.split('href="/d/')[1].split('"')[0]
    page = client.get(f"/d/{slug}", headers={"accept": "text/html"})
    assert "Reading the questions" in page.text
    refused = client.get(f"/d/{slug}/facets")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")


def test_the_grid_is_used_while_replies_are_indexed(opened: tuple[Any, Gate, Gate]) -> None:
    client, questions, replies = opened
    for _ in range(500):
        questions.let()
    seen = set()
    while True:
        assert replies.waiting.acquire(timeout=30)
        slug = client.get("/").text.split('href="/d/')[1].split('"')[0]
        told = client.get(f"/d/{slug}/facets?q=zebra").json()
        assert told["total"] == 40
        (share,) = told["behind"].values()
        outcome = next(f for f in told["facets"] if f["name"].startswith("outcome."))
        asked = sum(v["count"] for v in outcome["values"] if v["value"] != "not asked")
        assert (asked == 0) == (share == 0)
        (line,) = client.get("/progress").json()["lines"]
        assert f"indexing replies (one {share:.0%})" in line
        seen.add(asked)
        replies.let()
        if len(seen) == 3:
            break
    assert sorted(seen)[0] == 0


def test_all_is_there_in_the_end(opened: tuple[Any, Gate, Gate]) -> None:
    client, questions, replies = opened
    for gate in (questions, replies):
        for _ in range(500):
            gate.let()
    for _ in range(600):
        if not client.get("/progress").json()["lines"]:
            break
        threading.Event().wait(0.05)
    slug = client.get("/").text.split('href="/d/')[1].split('"')[0]
    told = client.get(f"/d/{slug}/facets").json()
    outcome = next(f for f in told["facets"] if f["name"].startswith("outcome."))
    assert sum(v["count"] for v in outcome["values"] if v["value"] != "not asked") == 40
    assert told["behind"] == {}


def test_a_studio_that_ends_leaves_no_half_of_an_index(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = Gate()
    monkeypatch.setattr(site_module, "LARGE", 0)
    monkeypatch.setattr(index_module, "_QUESTIONS", 10)
    monkeypatch.setattr(index_module, "part_of", questions.before(index_module.part_of))
    site = Site(find_places([folder]), folder / "cache")
    thread = site.open_all(lambda place: None)
    for _ in range(3):
        assert questions.waiting.acquire(timeout=30)
        questions.let()
    assert list((folder / "cache").glob("*.part"))
    threading.Timer(0.2, lambda: [questions.let() for _ in range(500)]).start()
    site.stop()
    assert not thread.is_alive()
    assert not list((folder / "cache").iterdir())


def test_a_large_dataset_that_cannot_be_read_is_said_on_its_page_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(site_module, "LARGE", 0)
    path = folder / "ds/questions.json"
    path.write_text(path.read_text().replace('"pairwise"', '"no kind"', 1))
    site = Site(find_places([folder]), folder / "cache")
    site.open_all(lambda place: None).join(30)
    with pytest.raises(DataError, match="question_type"):
        site.shelf(site.places.datasets[0].slug)
    client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
    assert client.get("/").status_code == 200
    slug = site.places.datasets[0].slug
    assert client.get(f"/d/{slug}", headers={"accept": "text/html"}).status_code == 404
    assert "question_type" in caplog.text


def test_replies_read_before_a_failure_are_read_again_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "STEP", 1000)
    index = index_module.open_index(folder / "ds", folder / "cache", "x")
    run = verdicts.RunIndex(folder / "run" / "verdicts.jsonl", index, folder / "r.sqlite")
    read, parts = verdicts.read_part, list[Any]()

    def failing(part: Any) -> Any:
        parts.append(part)
        if len(parts) == 3:
            raise DataError("unreadable")
        return read(part)

    monkeypatch.setattr(verdicts, "read_part", failing)
    with pytest.raises(DataError, match="unreadable"):
        run.refresh()
    run.refresh()
    assert len(parts) > 5
    again = verdicts.RunIndex(folder / "run" / "verdicts.jsonl", index, folder / "r.sqlite")
    for found in (run, again):
        assert found.total == 40
        assert found.summary().outcome.tolist() == [1, 3] * 20
