"""The figure of a dataset on the home page."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from fastapi.testclient import TestClient

from judged_records import pair, said, scoring, write_dataset, write_run
from visualjudge.analysis import analyse
from visualjudge.analysis.report.readings import rough_share
from visualjudge.studio.app import create_app
from visualjudge.studio.places import find_places
from visualjudge.studio.site import Site

TASKS = ("object_detection", "keypoint")


def opened(root: Path) -> tuple[TestClient, str]:
    site = Site(find_places([root]), root / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:8421")
    return client, f"/d/{site.places.datasets[0].slug}/tasks.svg"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_figure_shows_the_accuracy_of_the_report(tmp_path: Path, theme: str) -> None:
    pairs = [pair(i, (8.0, 3.0), task=TASKS[i % 2]) for i in range(48)]
    dataset = write_dataset(tmp_path / "ds", pairs)
    runs = [
        write_run(
            tmp_path / "runs" / name,
            dataset,
            [said(q, "AB"[i % often == 0]) for i, q in enumerate(pairs)],
        )
        for name, often in (("one", 5), ("two", 3))
    ]
    client, address = opened(tmp_path)
    page = client.get("/").text
    assert f'src="{address}?theme={theme}"' in page and f"of-{theme}" in page
    found = client.get(address, params={"theme": theme})
    assert found.headers["content-type"] == "image/svg+xml"
    drawn = "{http://www.w3.org/2000/svg}"
    tree = ElementTree.fromstring(found.text)
    texts = {node.text for node in tree.iter(f"{drawn}text")}
    assert {"object detection", "keypoint detection"} <= texts
    shown = {str(node.text) for node in tree.iter(f"{drawn}title")}
    for judge in analyse(runs).results.judges:
        for cell in judge.by_task:
            ends = (f"{judge.name}: ", f": {rough_share(cell.accuracy.shown)}")
            assert any(t.startswith(ends[0]) and t.endswith(ends[1]) for t in shown)


def test_without_judged_pairs_there_is_no_figure(tmp_path: Path) -> None:
    scores = [scoring(i, float(i % 9)) for i in range(12)]
    dataset = write_dataset(tmp_path / "ds", scores)
    write_run(tmp_path / "runs/one", dataset, [said(q, q.answer) for q in scores])
    client, address = opened(tmp_path)
    assert "tasks.svg" not in client.get("/").text
    assert client.get(address).status_code == 404
