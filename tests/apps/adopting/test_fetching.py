"""Media behind addresses: each fetched once and checked, then named by indexes and datasets."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image
from typer.testing import CliRunner

import visualjudge as vj
from visualjudge.apps.adopting.fetching import FETCHED, fetch, https_of
from visualjudge.cli.main import app
from visualjudge.core.errors import DataError, UsageError


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
    site.files = {f"/{name}": png(colour) for name, colour in (("a", 10), ("b", 200), ("x", 90))}
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
        stem = "lowlevel-deblur" + ("_annotations" if name == "annotations" else "")
        (home / name / f"{stem}.json").write_text(json.dumps(value), "utf-8")
    return home


def test_a_data_folder_is_completed_and_can_be_built(site: Site, tmp_path: Path) -> None:
    home = folder(tmp_path / "data", site)
    done = fetch(home, allow_private=True)
    assert (done.downloaded, done.kept, done.failed) == (3, 0, ())
    index = json.loads((home / "images/lowlevel-deblur.json").read_text("utf-8"))
    assert (home / index["a"]["file"]).read_bytes() == png(10)
    assert index["a"]["url"].startswith(site.url) and index["b"]["width"] == 16
    records = (home / "annotations/lowlevel-deblur_annotations.json").read_text("utf-8")
    assert (home / json.loads(records)[0]["prediction"]["image"]).read_bytes() == png(90)
    assert CliRunner().invoke(app, ["describe", str(home)]).exit_code == 0
    assert "secret" not in (home / "files/fetched" / FETCHED).read_text("utf-8")


def test_a_second_run_fetches_what_is_missing_or_was_changed(site: Site, tmp_path: Path) -> None:
    home = folder(tmp_path / "data", site)
    del site.files["/b"]
    first = fetch(home, allow_private=True)
    assert first.downloaded == 2 and len(first.failed) == 1 and "HTTP 404" in first.failed[0]
    index = json.loads((home / "images/lowlevel-deblur.json").read_text("utf-8"))
    assert index["b"]["file"] == f"{site.url}/b"
    site.files["/b"] = png(200)
    site.asked.clear()
    second = fetch(home, allow_private=True)
    assert (second.downloaded, second.failed, site.asked) == (1, (), ["/b"])
    again = fetch(home, allow_private=True)
    assert (again.downloaded, again.kept) == (0, 0)


def test_a_damaged_file_is_fetched_again(site: Site, tmp_path: Path) -> None:
    home = folder(tmp_path / "data", site)
    before = (home / "images/lowlevel-deblur.json").read_bytes()
    fetch(home, allow_private=True)
    (damaged,) = [p for p in (home / "files/fetched").glob("*.png") if p.read_bytes() == png(10)]
    damaged.write_bytes(b"half")
    (home / "images/lowlevel-deblur.json").write_bytes(before)
    assert fetch(home, allow_private=True).downloaded == 1
    assert damaged.read_bytes() == png(10)


def test_private_addresses_and_other_kinds_are_refused(site: Site, tmp_path: Path) -> None:
    home = folder(tmp_path / "data", site)
    path = home / "images/lowlevel-deblur.json"
    path.write_text(path.read_text("utf-8").replace("http://", "https://"), "utf-8")
    done = fetch(home)
    assert sum("not a public address" in one for one in done.failed) == 2
    assert site.asked == []


def test_plain_addresses_and_other_files_are_told(site: Site, tmp_path: Path) -> None:
    done = fetch(folder(tmp_path / "data", site))
    assert "3 addresses must begin with https://" in done.failed[0] and site.asked == []
    assert "--allow-private-urls permits http://" in done.failed[0]
    (tmp_path / "urls.txt").write_text("https://example.org/a.png", "utf-8")
    with pytest.raises(UsageError, match=r"urls\.txt: must be questions \(\.json, .*\) or a data"):
        fetch(tmp_path / "urls.txt", tmp_path / "out")


def test_what_is_no_image_and_what_is_too_much_is_told(site: Site, tmp_path: Path) -> None:
    home = folder(tmp_path / "data", site)
    site.files["/a"] = b"<html>no image</html>"
    done = fetch(home, allow_private=True)
    assert done.downloaded == 2 and len(done.failed) == 1 and "secret" not in done.failed[0]
    done = fetch(folder(tmp_path / "other", site), allow_private=True, most_gb=0)
    assert done.downloaded == 0 and "--most-gb 0 is reached" in done.failed[0]


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


def test_questions_alone_become_a_dataset(site: Site, tmp_path: Path) -> None:
    site.files = {"/a": png(10)}
    (tmp_path / "near.png").write_bytes(png(200))
    rows = questions(site, [f"{site.url}/a", "near.png"])
    (tmp_path / "questions.json").write_text(json.dumps(rows), "utf-8")
    out = tmp_path / "dataset"
    run = ["fetch", str(tmp_path / "questions.json"), "--out", str(out), "--allow-private-urls"]
    result = CliRunner().invoke(app, run)
    assert result.exit_code == 0, result.output
    dataset = vj.load_dataset(out)
    shown = [np.asarray(Image.open(out / name))[0, 0, 0] for name in dataset[0].images]
    assert shown == [10, 200]
    checked = CliRunner().invoke(app, ["validate", str(out)])
    assert checked.exit_code == 0, checked.output
    assert not out.with_name("dataset.fetched").exists()


def test_images_as_columns_of_hugging_face_become_a_dataset(site: Site, tmp_path: Path) -> None:
    images = [{"bytes": png(10), "path": "1.png"}, {"bytes": png(200), "path": None}]
    (tmp_path / "hub/data").mkdir(parents=True)
    table = pl.DataFrame(questions(site, images))
    table.write_parquet(tmp_path / "hub/data/test-00000-of-00001.parquet")
    fetch(tmp_path / "hub", tmp_path / "out")
    assert len(vj.load_dataset(tmp_path / "out")[0].images) == 2


def test_a_dataset_is_not_written_without_all_images(site: Site, tmp_path: Path) -> None:
    rows = questions(site, [f"{site.url}/a", f"{site.url}/b"])
    (tmp_path / "questions.json").write_text(json.dumps(rows), "utf-8")
    site.files = {"/a": png(10)}
    with pytest.raises(DataError, match=r"1 images? cannot be fetched, the first: .*HTTP 404"):
        fetch(tmp_path / "questions.json", tmp_path / "out", allow_private=True)
    assert not (tmp_path / "out").exists()
    site.files["/b"] = png(20)
    done = fetch(tmp_path / "questions.json", tmp_path / "out", allow_private=True)
    assert (done.downloaded, done.kept) == (1, 1)


def test_what_it_cannot_work_on_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"must be a data folder, or have questions\.json"):
        fetch(tmp_path)
    (tmp_path / "questions.json").write_text("[]", "utf-8")
    with pytest.raises(UsageError, match="--out must name the dataset to write"):
        fetch(tmp_path)
    with pytest.raises(DataError, match="must be hf://datasets/OWNER/NAME/FILE"):
        https_of("hf://datasets/owner")
    assert https_of("hf://owner/model/a.png").endswith("owner/model/resolve/main/a.png")
