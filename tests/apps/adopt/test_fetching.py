"""Media behind addresses: each fetched once and checked, then named by indexes and
datasets."""

from __future__ import annotations

import hashlib
import io
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import visualjudge as vj
from making import make_folder
from visualjudge.apps.adopt.fetch import fetch, https_of
from visualjudge.apps.adopt.question_sets import adopt_questions
from visualjudge.cli.main import app
from visualjudge.core.errors import DataError, UsageError
from visualjudge.dataset.validate import validate


def png(colour: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.full((12, 16, 3), colour, np.uint8)).save(file, "PNG")
    return file.getvalue()


class Site:
    """A loopback server; ``files`` by path, ``asked`` in order."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                site.asked.append(path)
                content = site.files.get(path)
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()


def folder(home: Path, site: Site) -> Path:
    """Two images and two records, all behind addresses."""
    site.files = {
        f"/{name}": png(colour)
        for name, colour in (("a", 10), ("b", 200), ("x", 90))
    }
    index = {
        "a": {"url": f"{site.url}/a?signature=secret"},
        "b": {"file": f"{site.url}/b", "width": 16, "height": 12},
    }
    record = {
        "annotation_id": "r1",
        "image_id": "a",
        "task": "lowlevel-deblur",
        "prediction": {"image": f"{site.url}/x"},
        "final_score": 5.0,
    }
    for name, value in (("images", index), ("annotations", [record])):
        (home / name).mkdir(parents=True)
        stem = "lowlevel-deblur" + (
            "_annotations" if name == "annotations" else ""
        )
        (home / name / f"{stem}.json").write_text(json.dumps(value), "utf-8")
    return home


def test_a_data_folder_is_completed_and_can_be_built(
    site: Site, tmp_path: Path
) -> None:
    home = folder(tmp_path / "data", site)
    done = fetch(home, allow_private=True)
    assert (done.downloaded, done.kept, done.failed) == (3, 0, [])
    index = json.loads(
        (home / "images/lowlevel-deblur.json").read_text("utf-8")
    )
    assert (home / index["a"]["file"]).read_bytes() == png(10)
    assert index["a"]["url"].startswith(site.url) and index["b"]["width"] == 16
    records = (home / "annotations/lowlevel-deblur_annotations.json").read_text(
        "utf-8"
    )
    assert (
        home / json.loads(records)[0]["prediction"]["image"]
    ).read_bytes() == png(90)
    assert CliRunner().invoke(app, ["describe", str(home)]).exit_code == 0
    names = [path.name for path in (home / "files/fetched").iterdir()]
    assert len(names) == 3 and "secret" not in str(names)


def test_a_second_run_fetches_what_is_missing_or_was_changed(
    site: Site, tmp_path: Path
) -> None:
    home = folder(tmp_path / "data", site)
    del site.files["/b"]
    first = fetch(home, allow_private=True)
    assert (
        first.downloaded == 2
        and len(first.failed) == 1
        and "HTTP 404" in first.failed[0]
    )
    index = json.loads(
        (home / "images/lowlevel-deblur.json").read_text("utf-8")
    )
    assert index["b"]["file"] == f"{site.url}/b"
    site.files["/b"] = png(200)
    site.asked.clear()
    second = fetch(home, allow_private=True)
    assert (second.downloaded, second.failed, site.asked) == (1, [], ["/b"])
    again = fetch(home, allow_private=True)
    assert (again.downloaded, again.kept) == (0, 1)


def test_private_addresses_and_other_kinds_are_refused(
    site: Site, tmp_path: Path
) -> None:
    home = folder(tmp_path / "data", site)
    path = home / "images/lowlevel-deblur.json"
    path.write_text(
        path.read_text("utf-8").replace("http://", "https://"), "utf-8"
    )
    done = fetch(home)
    assert sum("not a public address" in one for one in done.failed) == 2
    assert site.asked == []


def questions(site: Site, images: list[Any]) -> list[dict[str, Any]]:
    return [
        {
            "id": "q1",
            "task": "lowlevel-deblur",
            "encoding": "pixel",
            "question_type": "pairwise",
            "subset": ["judge_analysis"],
            "image_id": "a",
            "class_of_interest": None,
            "error_type": None,
            "annotation_ids": ["1", "2"],
            "final_scores": [2.0, 8.0],
            "sources": [None, None],
            "prompt": "Options:\nA: <image>\nB: <image>\nWhich is better?",
            "images": images,
            "answer": "B",
        }
    ]


def test_plain_addresses_and_what_is_no_image_are_told(
    site: Site, tmp_path: Path
) -> None:
    done = fetch(folder(tmp_path / "data", site))
    assert (
        all("must begin with https://" in one for one in done.failed)
        and site.asked == []
    )
    assert "secret" not in done.failed[0]
    home = folder(tmp_path / "other", site)
    site.files["/a"] = b"<html>no image</html>"
    done = fetch(home, allow_private=True)
    assert (
        done.downloaded == 2
        and len(done.failed) == 1
        and "secret" not in done.failed[0]
    )


def test_what_a_strangers_folder_holds_is_one_line_without_secrets(
    site: Site, tmp_path: Path
) -> None:
    home = folder(tmp_path / "data", site)
    (home / "images/x.json").write_text(
        json.dumps({"x": {"url": [f"{site.url}/x"]}}), "utf-8"
    )
    place = home / "files/fetched"
    place.mkdir(parents=True)
    for name in (f"{site.url}/a?signature=secret", f"{site.url}/b"):
        stem = hashlib.sha256(name.encode()).hexdigest()[:20]
        (place / f"{stem}.d").mkdir()
        Path(os.fsdecode(bytes(place / stem) + b".\xff")).touch()
    site.files["/a"] = b"<html>no image</html>"
    done = fetch(home, allow_private=True)
    assert (done.downloaded, done.kept) == (2, 0)
    assert done.failed[0].startswith(f"{site.url}/a: not an image")
    path = home / "images/x.json"
    path.write_text(json.dumps({"x": {"url": "http://me:secret@h/x"}}), "utf-8")
    assert "secret" not in str(fetch(home).failed)


@pytest.mark.parametrize(
    "name", ["images/lowlevel-deblur.json", "files/fetched", "images"]
)
def test_links_of_a_data_folder_are_not_followed(
    site: Site, tmp_path: Path, name: str
) -> None:
    home = folder(tmp_path / "data", site)
    (home / "files/fetched").mkdir(parents=True)
    (home / name).rename(tmp_path / "outside")
    (home / name).symlink_to(tmp_path / "outside")
    before = {
        path: path.read_bytes() for path in tmp_path.rglob("outside/*.json")
    }
    with pytest.raises(DataError, match="may be a link"):
        fetch(home, allow_private=True)
    assert before == {path: path.read_bytes() for path in before}
    assert not list((tmp_path / "outside").glob("*.png"))


def test_questions_become_a_dataset(site: Site, tmp_path: Path) -> None:
    site.files = {"/a": png(10)}
    (tmp_path / "near.png").write_bytes(png(200))
    rows = questions(site, [f"{site.url}/a", "near.png"])
    (tmp_path / "questions.json").write_text(json.dumps(rows), "utf-8")
    words = [
        "adopt",
        str(tmp_path / "questions.json"),
        "--out",
        str(tmp_path / "out"),
    ]
    lacking = CliRunner().invoke(app, words)
    assert (
        ": not in " in str(lacking.exception)
        and not (tmp_path / "out").exists()
    )
    (tmp_path / "out/fetched").mkdir(parents=True)
    (tmp_path / "out/fetched/mine.txt").write_text("kept", "utf-8")
    result = CliRunner().invoke(
        app, [*words, "--fetch", "--allow-private-urls"]
    )
    assert result.exit_code == 0, result.output
    assert [path.name for path in (tmp_path / "out/fetched").iterdir()] == [
        "mine.txt"
    ]
    dataset, problems = validate(tmp_path / "out/dataset")
    assert problems == []
    shown = [
        np.asarray(Image.open(dataset.root / name))[0, 0, 0]
        for name in dataset[0].images
    ]
    assert shown == [10, 200]


def test_addresses_are_found_in_a_local_copy_of_the_media(
    site: Site, tmp_path: Path
) -> None:
    address = (
        "https://huggingface.co/datasets/o/n/resolve/main/deblur/a%201.png"
    )
    copy = tmp_path / "media/deblur"
    copy.mkdir(parents=True)
    (copy / "a 1.png").write_bytes(png(10))
    (tmp_path / "media/b.png").write_bytes(png(90))
    (tmp_path / "set").mkdir()
    path = tmp_path / "set/questions.json"
    path.write_text(json.dumps(questions(site, [address, "b.png"])), "utf-8")
    assert (
        adopt_questions(path, tmp_path / "out", media=tmp_path / "media") == 1
    )
    dataset = vj.load_dataset(tmp_path / "out/dataset")
    shown = [
        np.asarray(Image.open(dataset.root / name))[0, 0, 0]
        for name in dataset[0].images
    ]
    assert shown == [10, 90]
    two = [
        address.replace("main/deblur", f"main/{name}") for name in ("x", "y")
    ]
    (tmp_path / "media/a 1.png").write_bytes(png(10))
    path.write_text(json.dumps(questions(site, two)), "utf-8")
    with pytest.raises(DataError, match="two addresses have one file"):
        adopt_questions(path, tmp_path / "other", media=tmp_path / "media")


def test_what_it_cannot_work_on_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must be a data folder, or questions"):
        fetch(tmp_path)
    with pytest.raises(
        DataError, match="must be hf://datasets/OWNER/NAME/FILE"
    ):
        https_of("hf://datasets/owner")
    assert https_of("hf://owner/model/a.png").endswith(
        "owner/model/resolve/main/a.png"
    )


DOCUMENTED = ("task", "encoding", "question_type", "subset", "prompt", "images")


def test_the_fields_of_the_document_are_enough(tmp_path: Path) -> None:
    data = make_folder(
        tmp_path / "data", tasks=["object_detection", "lowlevel-deblur"]
    )
    built = vj.build(data, tmp_path / "built")
    full = json.loads((built.root / "questions.json").read_text("utf-8"))
    for row in full:
        row["media"] = "kept"
    few = [
        {
            name: row[name]
            for name in (*DOCUMENTED, "annotation_ids", "answer", "media")
        }
        for row in full
    ]
    few[0]["annotation_ids"] = None
    found = {}
    for name, rows in (("full", full), ("few", few)):
        path = tmp_path / name / "questions.json"
        path.parent.mkdir()
        path.write_text(json.dumps(rows), "utf-8")
        count = adopt_questions(
            path, tmp_path / f"{name}-set", media=built.root
        )
        assert count == len(full)
        dataset = vj.load_dataset(tmp_path / f"{name}-set/dataset")
        judge = vj.client("baseline", model="first")
        run = vj.judge(dataset, judge, tmp_path / f"{name}-run")
        right: dict[tuple[Any, ...], list[bool]] = {}
        values = {
            key[0]: verdict.value for key, verdict in run.verdicts.items()
        }
        for question in dataset:
            part = (question.task, question.encoding, question.subset)
            right.setdefault(part, []).append(
                values[question.id] == question.answer
            )
        found[name] = right
        more = (tmp_path / f"{name}-set/other_fields.jsonl").read_text("utf-8")
        assert json.loads(more.splitlines()[0])["media"] == "kept"
    assert found["few"] == found["full"]


@pytest.mark.parametrize("address", ["https://[::1/a.png", "https://", "hf://"])
def test_what_only_looks_like_an_address_is_one_line(
    address: str, tmp_path: Path
) -> None:
    question = {
        "task": "lowlevel-deblur",
        "encoding": "pixel_s0_m0",
        "question_type": "scoring",
        "prompt": "<image>",
        "images": [address],
        "answer": 5.0,
    }
    path = tmp_path / "questions.json"
    path.write_text(json.dumps([question]), "utf-8")
    with pytest.raises(DataError, match="record 1: images names"):
        adopt_questions(path, tmp_path / "out")
