"""Addresses that a report writes open a question and a filtered grid of a running
studio."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from fastapi.testclient import TestClient

from commanding import command
from visualjudge.core.addresses import (
    STUDIO,
    grid_address,
    question_address,
    result_filter,
)
from visualjudge.core.checksums import file_sha256
from visualjudge.studio import serving
from visualjudge.studio.app import create_app
from visualjudge.studio.dataset_index import FACETS
from visualjudge.studio.places import find_places
from visualjudge.studio.studio_data import Site


@pytest.fixture
def digest(folder: Path, client: TestClient) -> str:
    client.get("/")  # opens the dataset, which states no checksum
    return file_sha256(folder / "ds/questions.json")


def test_an_address_of_a_question_opens_it(
    client: TestClient, digest: str
) -> None:
    address = question_address(digest, "q3")
    assert address.startswith(STUDIO)
    response = client.get(address.removeprefix(STUDIO))
    assert response.status_code == 200
    assert "pairwise question q3" in response.text


def test_an_address_of_a_grid_selects_by_what_a_judge_answered(
    client: TestClient, digest: str, slug: str
) -> None:
    filters = [
        ("type", "pairwise"),
        (result_filter(Path("/else/where/One")), "wrong"),
    ]
    address = grid_address(digest, filters)
    opened = client.get(address.removeprefix(STUDIO), follow_redirects=False)
    target = urlsplit(opened.headers["location"])
    assert target.path == f"/d/{slug}"
    counts = client.get(f"{target.path}/facets?{target.query}").json()
    assert counts["total"] == 1
    assert len(parse_qsl(target.query)) == 2


@pytest.mark.parametrize("name", FACETS)
@pytest.mark.parametrize("value", ["0305", "a/b/c", ""])
def test_a_value_that_no_question_has_selects_none_and_is_shown_as_chosen(
    client: TestClient, slug: str, name: str, value: str
) -> None:
    query = urlencode({name: value})
    reply = client.get(f"/d/{slug}/facets?{query}").json()
    (facet,) = (facet for facet in reply["facets"] if facet["name"] == name)
    assert reply["total"] == 0
    assert facet["chosen"] == [value]
    assert client.get(f"/d/{slug}/slices?{query}").status_code == 200


@pytest.mark.parametrize("run", ["none", "two"])
def test_an_address_is_refused_where_its_dataset_or_run_is_not_clear(
    folder: Path, run: str
) -> None:
    (folder / "other/two").mkdir(parents=True)
    for name in ("run.json", "verdicts.jsonl"):
        copy = (folder / "runs/two" / name).read_bytes()
        (folder / "other/two" / name).write_bytes(copy)
    site = Site(find_places([folder]), folder / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:8421")
    client.get("/")
    digest = file_sha256(folder / "ds/questions.json")
    address = grid_address(digest, [(result_filter(Path(run)), "right")], "")
    assert client.get(address).status_code == 404
    assert client.get(grid_address("0" * 64, [], "")).status_code == 404
    assert client.get(grid_address(digest, [], "")).status_code == 200


def test_the_command_prints_the_link_to_a_question(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = []

    def visit(app: Any, host: str, port: int) -> None:
        said = sys.stdout.buffer.getvalue().decode()  # type: ignore[attr-defined]
        (link,) = (line for line in said.splitlines() if "/open/" in line)
        address = link.removeprefix("ds: ")
        assert address.startswith(f"http://{host}:{port}/")
        with TestClient(app, base_url=f"http://{host}:{port}") as browser:
            pages.append(browser.get(address).text)

    monkeypatch.setattr(serving, "serve", visit)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    command("studio", folder, "--question", "q3")
    assert "pairwise question q3" in pages[0]
