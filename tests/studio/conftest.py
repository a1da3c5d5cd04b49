"""A small dataset with hostile texts, two runs on it, and a studio over both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from fastapi.testclient import TestClient
from PIL import Image

from judged_records import (
    pair,
    ranking,
    said,
    scoring,
    write_dataset,
    write_run,
)
from visualjudge.studio.app import create_app
from visualjudge.studio.places import find_places
from visualjudge.studio.studio_data import Site

NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="session", autouse=True)
def one_event_loop() -> Iterator[None]:
    """A client starts a thread and an event loop for each request, which cost as much
    as a page; all clients share these."""
    with (
        start_blocking_portal() as portal,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(TestClient, "portal", portal)
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """``ds`` with 70 questions, ``runs/one`` and ``runs/two``; a file outside that must
    never be served.
    """
    (tmp_path / "secret.png").write_bytes(b"secret")
    names = (
        "media/one.png",
        "../secret.png",
        "media/link.png",
        "media/page.svg",
    )
    questions = [
        pair(
            i,
            (8.0, 1.0 + i % 7),
            prompt=f"which {NASTY} zebra{i % 3 or ''}",
            images=names,
        )
        for i in range(60)
    ]
    questions += [ranking(i, (1.0, 5.0, 9.0)) for i in range(5)]
    questions += [
        scoring(i, float(i), class_of_interest=("cat", NASTY)) for i in range(5)
    ]
    dataset = write_dataset(tmp_path / "ds", questions)
    (dataset / "media").mkdir()
    Image.new("RGB", (640, 480), "red").save(dataset / "media" / "one.png")
    Image.new("RGB", (4, 4)).save(dataset / "media" / "unnamed.png")
    (dataset / "media" / "page.svg").write_text("<svg/>")
    (dataset / "media" / "link.png").symlink_to(tmp_path / "secret.png")
    first = [said(q, "A" if i else "B") for i, q in enumerate(questions[:50])]
    both = [
        said(q, value, order)
        for q in questions[:20]
        for value, order in (("A", "AB"), ("B", "BA"))
    ]
    write_run(tmp_path / "runs" / "one", dataset, first, judge=NASTY)
    write_run(tmp_path / "runs" / "two", dataset, both, judge="two")
    return tmp_path


@pytest.fixture
def site(folder: Path) -> Site:
    return Site(find_places([folder]), folder / "cache")


@pytest.fixture
def client(site: Site) -> TestClient:
    return TestClient(create_app(site), base_url="http://127.0.0.1:8421")


@pytest.fixture
def slug(site: Site) -> str:
    return site.places.datasets[0].slug
