"""The viewer shows a dataset to this machine, and nothing else to anybody."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from PIL import Image

from judged_records import pair, said, write_dataset, write_run
from visualjudge.viewer.pages import create_app
from visualjudge.viewer.shelf import open_shelf

NASTY = "<script>alert(1)</script>"


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    (tmp_path / "secret.png").write_bytes(b"secret")
    questions = [
        pair(i, (8.0, 1.0), prompt=NASTY, images=("media/one.png", "../secret.png", "media/page.svg"))
        for i in range(60)
    ]
    dataset = write_dataset(tmp_path / "ds", questions)
    (dataset / "media").mkdir()
    Image.new("RGB", (4, 4)).save(dataset / "media" / "one.png")
    Image.new("RGB", (4, 4)).save(dataset / "media" / "unnamed.png")
    (dataset / "media" / "page.svg").write_text("<svg/>")
    verdicts = [said(q, "A" if i else "B") for i, q in enumerate(questions[:50])]
    run = write_run(tmp_path / "run", dataset, verdicts, judge=NASTY)
    return TestClient(create_app(open_shelf(dataset, [run])), base_url="http://127.0.0.1:8421")


def test_list_pages_and_filters(client: TestClient) -> None:
    assert "60 questions" in client.get("/").text
    assert "Page 1 of 2" in client.get("/").text
    assert "1 questions" in client.get("/?outcome=wrong").text
    assert "10 questions" in client.get("/?outcome=not+asked").text
    assert client.get("/?page=99999999999999999999&task=x").status_code == 200
    assert client.get("/?page=-1").status_code == 200


def test_question_shows_verdict_and_escapes(client: TestClient) -> None:
    text = client.get("/question/q0").text
    assert "B, wrong" in text
    assert NASTY not in text
    assert "&lt;script&gt;" in text
    assert client.get("/question/none").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "../secret.png",
        "..%2Fsecret.png",
        "media/page.svg",
        "media/unnamed.png",
        "questions.json",
        "/etc/passwd",
        "media/../../secret.png",
    ],
)
def test_nothing_but_the_datasets_pictures_is_served(client: TestClient, path: str) -> None:
    assert client.get(f"/picture/{path}").status_code == 404


def test_picture_is_served_with_its_type(client: TestClient) -> None:
    reply = client.get("/picture/media%2Fone.png")
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "image/png"
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_another_host_name_is_refused(client: TestClient) -> None:
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400


def test_no_schema_or_docs_pages(client: TestClient) -> None:
    assert client.get("/docs").status_code == 404
    assert client.get("/openapi.json").status_code == 404


def test_right_in_one_order_and_wrong_in_the_other_is_mixed(tmp_path: Path) -> None:
    questions = [pair(i, (8.0, 1.0)) for i in range(3)]
    dataset = write_dataset(tmp_path / "ds", questions)
    answers = [("A", "B"), ("A", "A"), ("B", "B")]
    verdicts = [
        said(q, value, order)
        for q, both in zip(questions, answers, strict=True)
        for value, order in zip(both, ("AB", "BA"), strict=True)
    ]
    shelf = open_shelf(dataset, [write_run(tmp_path / "run", dataset, verdicts)])
    assert shelf.table["outcome"].to_list() == ["mixed", "right", "wrong"]
    text = TestClient(create_app(shelf), base_url="http://127.0.0.1:8421").get("/?outcome=mixed").text
    assert "1 questions" in text
    assert "mixed (1 of 2 right)" in text
    assert "some verdicts are right and some wrong" in text
