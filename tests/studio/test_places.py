"""What is found in the folders that a user names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from judged_records import pair, said, write_dataset, write_run
from visualjudge.dataset.convert import convert
from visualjudge.errors import UsageError
from visualjudge.studio.app import create_app
from visualjudge.studio.places import find_places
from visualjudge.studio.site import Site


def test_datasets_and_runs_are_found_below_a_folder(folder: Path) -> None:
    places = find_places([folder])
    assert [place.name for place in places.datasets] == ["ds"]
    assert {run.dataset for run in places.runs} == {places.datasets[0].slug}


def test_a_run_brings_its_dataset_and_a_moved_one_is_known_by_its_checksum(folder: Path) -> None:
    assert [place.name for place in find_places([folder / "runs"]).datasets] == ["ds"]
    (folder / "ds").rename(folder / "moved")
    places = find_places([folder / "moved", folder / "runs"])
    assert {run.dataset for run in places.runs} == {places.datasets[0].slug}


def test_runs_of_one_judge_are_told_apart(tmp_path: Path) -> None:
    question = pair(0, (2.0, 1.0))
    root = write_dataset(tmp_path / "ds", [question])
    for name in ("a", "b"):
        write_run(tmp_path / name, root, [said(question, "A")], judge="same")
    assert {run.name for run in find_places([tmp_path]).runs} == {"same (a)", "same (b)"}


def test_a_folder_with_nothing_to_show_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no dataset \(questions.json\) or run"):
        find_places([tmp_path])
    with pytest.raises(UsageError, match="no such folder"):
        find_places([tmp_path / "none"])


def test_a_parquet_dataset_is_shown_as_its_json_is(tmp_path: Path) -> None:
    questions = [pair(i, (8.0, 1.0 + i % 7), prompt=f"zebra {chr(97 + i)}word") for i in range(12)]
    root = write_dataset(tmp_path / "json", questions)
    convert(root, tmp_path / "parquet", "parquet")
    pages = []
    for folder in (root, tmp_path / "parquet"):
        site = Site(find_places([folder]), tmp_path / "cache")
        client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
        base = f"/d/{site.places.datasets[0].slug}"
        pages.append((client.get(f"{base}/cards?q=dword").json(), client.get(f"{base}/facets?margin=2+to+4").json()))
        assert "zebra hword" in client.get(f"{base}/q/q7").text
    assert pages[0] == pages[1]
    assert pages[0][0]["total"] == 1


def test_the_cost_so_far_is_that_of_the_tokens_at_the_stated_prices(tmp_path: Path) -> None:
    questions = [pair(i, (2.0, 1.0)) for i in range(3)]
    root = write_dataset(tmp_path / "ds", questions)
    usage = {"prompt_tokens": 1000, "completion_tokens": 10}
    verdicts = [replace(said(q, "A"), usage=usage) for q in questions]
    prices = {"per_million_in": 2.0, "per_million_out": 50.0}
    write_run(tmp_path / "runs/priced", root, verdicts, prices=prices)
    write_run(tmp_path / "runs/batched", root, verdicts, prices={**prices, "share": 0.5})
    write_run(tmp_path / "runs/unpriced", root, verdicts)
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    site.shelf(site.places.datasets[0].slug)
    costs = {run.name: site.state(run).cost for run in site.places.runs}
    full = 3 * (1000 * 2 + 10 * 50) / 1e6
    assert costs == {"priced": pytest.approx(full), "batched": pytest.approx(full / 2), "unpriced": None}
