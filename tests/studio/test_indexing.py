"""A large dataset is indexed while its pages are served: they say how far it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient

from judged_records import pair, said, write_dataset, write_run
from visualjudge.core.errors import DataError
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.json_form import json_file, question_json
from visualjudge.studio import (
    dataset_index,
    studio_data,
)
from visualjudge.studio.app import create_app
from visualjudge.studio.dataset_index import RunVerdicts
from visualjudge.studio.places import find_places
from visualjudge.studio.studio_data import Site


class Gate:
    """Lets one call pass at a time."""

    def __init__(self) -> None:
        self._open, self.waiting = (
            threading.Semaphore(0),
            threading.Semaphore(0),
        )

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
    questions = [
        pair(i, (8.0, 1.0 + i % 7), prompt=f"word zebra {i}") for i in range(40)
    ]
    root = write_dataset(tmp_path / "ds", questions)
    replies = [said(q, "AB"[i % 2]) for i, q in enumerate(questions)]
    write_run(tmp_path / "run", root, replies, judge="one")
    return tmp_path


def _wait(client: TestClient) -> None:
    for _ in range(600):
        if not client.get("/progress").json()["lines"]:
            return
        threading.Event().wait(0.05)
    raise AssertionError("still indexing")


def test_pages_are_served_while_a_large_dataset_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, replies = Gate(), Gate()
    monkeypatch.setattr(studio_data, "SHOWN_AFTER_S", 0)
    monkeypatch.setattr(dataset_index, "VERDICTS", 10)
    monkeypatch.setattr(dataset_index, "BATCH", 25)
    monkeypatch.setattr(
        dataset_index, "_store", opening.before(dataset_index._store)
    )
    monkeypatch.setattr(
        RunVerdicts, "_take_some", replies.before(RunVerdicts._take_some)
    )
    site = Site(find_places([folder]), folder / "cache")
    thread = site.open_all()
    client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
    assert opening.waiting.acquire(timeout=30)
    slug = client.get("/").text.split('href="/d/')[1].split('"')[0]
    (line,) = client.get("/progress").json()["lines"]
    assert line.startswith("ds: reading the questions")
    page = client.get(f"/d/{slug}", headers={"accept": "text/html"})
    assert "Reading the questions" in page.text
    refused = client.get(f"/d/{slug}/facets")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    opening.let()
    assert opening.waiting.acquire(timeout=30)
    some = client.get(f"/d/{slug}/facets").json()
    assert (
        some["total"]
        == some["of"]
        == len(client.get(f"/d/{slug}/cards").json()["cards"])
    )
    assert 0 < some["total"] < 40
    (line,) = client.get("/progress").json()["lines"]
    assert f"reading the questions, {some['total']} so far" in line
    last = load_dataset(folder / "ds")[39].id
    for address in (
        f"/d/{slug}/slices",
        f"/d/{slug}/q/{last}",
    ):  # not of some of the questions
        page = client.get(address, headers={"accept": "text/html"})
        assert 'data-until="reading the questions"' in page.text
    opening.let()
    for read in (0, 10, 19):  # the last line of a part is read again
        assert replies.waiting.acquire(timeout=30)
        told = client.get(f"/d/{slug}/facets").json()
        outcome = next(
            f for f in told["facets"] if f["name"].startswith("outcome.")
        )
        asked = sum(
            v["count"] for v in outcome["values"] if v["value"] != "not asked"
        )
        assert asked == read
        (line,) = client.get("/progress").json()["lines"]
        assert f"reading the replies, {read} so far" in line
        replies.let()
    for _ in range(200):
        replies.let()
    _wait(client)
    thread.join(30)
    assert client.get(f"/d/{slug}/facets?q=zebra").json()["total"] == 40


def test_another_process_reads_a_large_dataset_and_the_studio_may_end_meanwhile(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studio_data, "SHOWN_AFTER_S", 0)
    monkeypatch.setattr(dataset_index, "LARGE", 0)
    site = Site(find_places([folder]), folder / "cache")
    thread = site.open_all()
    site.stop()
    thread.join(60)
    again = Site(find_places([folder]), folder / "cache")
    again.open_all().join(60)
    shelf = again.shelf(again.places.datasets[0].slug)
    assert shelf.study.count == 40
    assert shelf.runs[0][1].totals().verdicts == 40
    again.stop()


def test_a_large_dataset_that_cannot_be_read_is_said_on_its_page_only(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(studio_data, "SHOWN_AFTER_S", 0)
    path = folder / "ds/questions.json"
    lines = [
        question_json(question) for question in load_dataset(folder / "ds")
    ]
    lines[-1] = lines[-1].replace(b'"pairwise"', b'"no kind"')
    path.write_bytes(b"".join(json_file(lines)))
    monkeypatch.setattr(dataset_index, "FIRST_STEP", 2000)
    site = Site(find_places([folder]), folder / "cache")
    site.open_all().join(30)
    for opened in (site, Site(find_places([folder]), folder / "cache")):
        for _ in range(2):
            with pytest.raises(DataError, match="question_type"):
                opened.shelf(site.places.datasets[0].slug)
    client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
    assert client.get("/").status_code == 200
    slug = site.places.datasets[0].slug
    assert (
        client.get(f"/d/{slug}", headers={"accept": "text/html"}).status_code
        == 404
    )
    assert "question_type" in caplog.text


def test_replies_read_before_a_failure_are_read_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_index, "VERDICTS", 10)
    study = dataset_index.open_study(folder / "ds", folder / "cache", "x")
    assert list(dataset_index.read_in(study)) == [None]
    run = RunVerdicts(study, folder / "run", "r")
    store, parts = RunVerdicts._store, list[Any]()

    def failing(self: RunVerdicts, db: Any, lines: Any) -> None:
        store(self, db, lines)
        parts.append(lines)
        if len(parts) == 3:
            raise DataError("unreadable")

    monkeypatch.setattr(RunVerdicts, "_store", failing)
    with pytest.raises(DataError, match="unreadable"):
        run.refresh()
    run.refresh()
    assert run.totals().verdicts == 40
    assert study.all("SELECT sum(right), sum(asked) FROM outcome") == [(20, 40)]
    assert (
        len(study.all("SELECT rowid FROM replies WHERE replies MATCH 'a OR b'"))
        == 40
    )


@pytest.mark.parametrize(
    "form", ["one a line", "a number as id", "two on a line", "NaN"]
)
def test_questions_are_read_alike_however_their_file_was_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(dataset_index, "FIRST_STEP", 2000)
    monkeypatch.setattr(dataset_index, "STEP", 2000)
    monkeypatch.setattr(dataset_index, "BATCH", 16)
    root, lines = (
        folder / "ds",
        [question_json(q) for q in load_dataset(folder / "ds")],
    )
    if form == "a number as id":  # as in datasets of version 0.1
        lines[30] = orjson.dumps(orjson.loads(lines[30]) | {"id": 30})
    elif form == "two on a line":
        lines[30:32] = [b", ".join(lines[30:32])]
    elif form == "NaN":
        lines[30] = lines[30][:-1] + b', "features": [{"area": NaN}, {}]}'
    (root / "questions.json").write_bytes(b"".join(json_file(lines)))
    study = dataset_index.open_study(root, folder / "cache", "x")
    if form == "NaN":
        with pytest.raises(DataError, match=r"questions\.json: .*is not JSON"):
            list(dataset_index.read_in(study))
        return
    begun = dataset_index.read_in(study)
    next(begun)
    killed = dataset_index.open_study(
        root, folder / "cache", "x"
    )  # as after a kill
    assert (killed.count, killed.complete) == (0, False)
    assert len(list(dataset_index.read_in(killed))) > 2
    study, dataset = killed, load_dataset(root)
    assert [study.question(row) for row in range(study.count)] == list(dataset)
    assert (study.count, study.checksum) == (40, dataset.digest)
    again = dataset_index.open_study(root, folder / "cache", "x")
    assert again.complete and again.values == study.values
