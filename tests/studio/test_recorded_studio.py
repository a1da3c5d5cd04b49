"""All numbers on the pages of the studio about a study that has something of everything,
recorded."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from fastapi.testclient import TestClient

from mixed_study import SEED, made_questions, make_study
from recording import check
from visualjudge.studio.app import create_app
from visualjudge.studio.places import find_places
from visualjudge.studio.studio_data import Site

JUDGES = ("careful", "hasty", "base")
FACETS = ("task", "encoding", "margin", "source", "image")
FILTERS = (
    "",
    "task=keypoint",
    "type=scoring",
    "type=ranking",
    "type=pairwise&margin=2-4",
    "encoding=keypoint%2F0305&error_type=missed&sort=margin",
    "outcome.<careful>=wrong",
    "outcome.<careful>=right&outcome.<hasty>=wrong",
    "text=i3",
    "start=24",
)


Opened = tuple[TestClient, dict[str, str]]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """A client, and the names of dataset and runs by their part of an address."""
    root = tmp_path_factory.mktemp("studio")
    make_study(root)
    site = Site(find_places([root]), root / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:8421")
    while client.get("/progress").json()["lines"]:
        time.sleep(0.05)
    places = [*site.places.datasets, *site.places.runs]
    return client, {place.root.name: place.slug for place in places}


def _page(opened: Opened, address: str) -> list[object]:
    client, slugs = opened
    for name, slug in slugs.items():
        address = address.replace(f"<{name}>", slug)
    got = client.get(address)
    text = re.sub(r"<(style|script).*?</\1>", "", got.text, flags=re.S)
    for slug in slugs.values():
        text = text.replace(slug, "")
    return [got.status_code, text.splitlines()]


def test_pages_of_a_dataset(opened: Opened) -> None:
    parts = ("", "/facets", "/cards", "/judges", "/slices", "/selection.txt")
    addresses = [
        *(f"/d/<ds>{part}?{query}" for part in parts for query in FILTERS),
        *(f"/d/<ds>/facets?name={name}" for name in FACETS),
        "/d/<ds>/slices?by=task&by=encoding",
        "/d/<ds>/judges?a=<careful>&b=<hasty>",
    ]
    pages = {address: _page(opened, address) for address in addresses}
    check("studio_dataset", pages, depth=1)


def test_pages_of_runs_and_questions(opened: Opened) -> None:
    questions = made_questions(np.random.default_rng(SEED))
    parts = ("", "/state", "/answer", "?failed=", "?failed=refusal&start=3")
    addresses = [
        "/",
        *(f"/r/<{run}>{part}" for run in JUDGES for part in parts),
        *(f"/d/<ds>/q/{question.id}" for question in questions[::17]),
    ]
    pages = {address: _page(opened, address) for address in addresses}
    check("studio_runs", pages, depth=1)
