"""What is found in the folders that a user names."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from judged_records import (
    pair,
    ranking,
    said,
    scoring,
    write_dataset,
    write_run,
)
from visualjudge.analysis import analyse
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.analysis.figures.scoring import RANKINGS
from visualjudge.core.errors import UsageError
from visualjudge.core.records import Probe
from visualjudge.dataset.exports import export
from visualjudge.dataset.folder import load_dataset
from visualjudge.runs.budget import money
from visualjudge.runs.verdicts import verdict_line
from visualjudge.studio.app import create_app
from visualjudge.studio.people.pages import people_pages
from visualjudge.studio.people.plan import Settings
from visualjudge.studio.places import find_places
from visualjudge.studio.slices import slices
from visualjudge.studio.studio_data import Site


def test_datasets_and_runs_are_found_below_a_folder(folder: Path) -> None:
    places = find_places([folder])
    assert [place.name for place in places.datasets] == ["ds"]
    assert {run.dataset for run in places.runs} == {places.datasets[0].slug}


def test_a_run_brings_its_dataset_and_a_moved_one_is_known_by_its_checksum(
    folder: Path,
) -> None:
    assert [
        place.name for place in find_places([folder / "runs"]).datasets
    ] == ["ds"]
    (folder / "ds").rename(folder / "moved")
    places = find_places([folder / "moved", folder / "runs"])
    assert {run.dataset for run in places.runs} == {places.datasets[0].slug}


def test_runs_of_one_judge_are_told_apart(tmp_path: Path) -> None:
    question = pair(0, (2.0, 1.0))
    root = write_dataset(tmp_path / "ds", [question])
    for name in ("a", "b"):
        write_run(tmp_path / name, root, [said(question, "A")], judge="same")
    assert {run.name for run in find_places([tmp_path]).runs} == {
        "same (a)",
        "same (b)",
    }


def test_datasets_of_one_name_are_distinguished_by_their_folders(
    tmp_path: Path,
) -> None:
    for name in ("one/ds", "two/ds", "two/other"):
        write_dataset(tmp_path / name, [pair(len(name), (2.0, 1.0))])
    names = [place.name for place in find_places([tmp_path]).datasets]
    assert sorted(names) == ["one/ds", "other", "two/ds"]


def test_a_folder_with_nothing_to_show_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"no dataset \(questions.json\) or run"
    ):
        find_places([tmp_path])
    with pytest.raises(UsageError, match="no such folder"):
        find_places([tmp_path / "none"])
    (tmp_path / "report.html").touch()
    with pytest.raises(UsageError, match="is a file"):
        find_places([tmp_path / "report.html"])


def test_a_parquet_dataset_is_shown_as_its_json_is(tmp_path: Path) -> None:
    questions = [
        pair(i, (8.0, 1.0 + i % 7), prompt=f"zebra {chr(97 + i)}word")
        for i in range(12)
    ]
    root = write_dataset(tmp_path / "json", questions)
    export(load_dataset(root), "dataset-parquet", tmp_path / "parquet")
    pages = []
    for folder in (root, tmp_path / "parquet"):
        site = Site(find_places([folder]), tmp_path / "cache")
        client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
        base = f"/d/{site.places.datasets[0].slug}"
        pages.append(
            (
                client.get(f"{base}/cards?q=dword").json(),
                client.get(f"{base}/facets?margin=2+to+4").json(),
            )
        )
        assert "zebra hword" in client.get(f"{base}/q/q7").text
    assert pages[0] == pages[1]
    assert pages[0][0]["total"] == 1


def test_tokens_and_cost_are_those_that_run_json_states(tmp_path: Path) -> None:
    question = pair(0, (2.0, 1.0))
    root = write_dataset(tmp_path / "ds", [question])
    total = {"tokens_in": 5000, "tokens_out": 20, "cost": 0.5}
    write_run(tmp_path / "runs/paid", root, [said(question, "A")], total=total)
    write_run(tmp_path / "runs/free", root, [said(question, "A")])
    client = TestClient(
        create_app(Site(find_places([tmp_path]), tmp_path / "cache"))
    )
    page = client.get("/", headers={"host": "127.0.0.1"}).text
    assert (
        page.count("<dd>5,020</dd>")
        == page.count(f"<dd>{money(0.5)}</dd>")
        == 1
    )
    assert page.count("<dt>tokens</dt>") == 1


def _shares(tmp_path: Path) -> dict[str, tuple[int, int]]:
    """Right verdicts and all that count, by question type."""
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    shelf = site.shelf(site.places.datasets[0].slug)
    task = next(facet for facet in shelf.facets() if facet.name == "task")
    return {
        kind: (row.cells[0].right, row.cells[0].verdicts)
        for kind in shelf.study.types()
        for row in slices(shelf, task, kind).rows
    }


def _lines(run: Path, lines: Sequence[dict[str, object]]) -> None:
    (run / "verdicts.jsonl").write_text(
        "".join(
            json.dumps(line, separators=(",", ":")) + "\n" for line in lines
        )
    )


def test_shares_are_those_of_the_report_one_for_each_question_type(
    tmp_path: Path,
) -> None:
    cue = Probe("marked", "cue", "g", "A mark.", "answer")
    questions = [pair(i, (8.0, 1.0)) for i in range(8)]
    questions += [
        pair(8, (8.0, 1.0), probe=cue),
        *(ranking(i, (1.0, 5.0, 9.0)) for i in range(4)),
    ]
    questions += [scoring(i, 5.0) for i in range(3)]
    root = write_dataset(tmp_path / "ds", questions)
    statuses = [
        "ok",
        "ok",
        "ok",
        "ok",
        "refusal",
        "cannot_tell",
        "ok_extracted",
        "unparseable",
    ]
    verdicts = [
        said(questions[i], "AAAB"[i % 4], status=status)
        for i, status in enumerate(statuses)
    ]
    verdicts[6] = replace(verdicts[6], value="A")
    verdicts += [
        said(questions[8], "A"),
        *(said(questions[9 + i], "CBA" if i else "CAB") for i in range(4)),
    ]
    verdicts += [
        said(questions[13 + i], value)
        for i, value in enumerate((5.5, 6.0, 9.0))
    ]
    run = write_run(tmp_path / "runs/one", root, verdicts)
    told = analyse([run]).judges[0]
    shares = _shares(tmp_path)
    assert shares == {"pairwise": (3, 8), "ranking": (3, 4), "scoring": (2, 3)}
    accuracy, exact = told[PAIRWISE].accuracy.share, told[RANKINGS].exact
    assert (accuracy.value, accuracy.n, exact.value, exact.n) == (
        3 / 8,
        8,
        3 / 4,
        4,
    )


def test_questions_that_check_raters_are_in_no_share(tmp_path: Path) -> None:
    questions = [pair(i, (8.0, 1.0)) for i in range(3)]
    root = write_dataset(tmp_path / "ds", questions)
    run = write_run(tmp_path / "runs/people", root, [], backend="people")
    lines = [verdict_line(said(q, "BAA"[i])) for i, q in enumerate(questions)]
    purposes = ["question", "known", "repeat"]
    _lines(
        run,
        [
            {**line, "rater": "anna", "purpose": name}
            for line, name in zip(lines, purposes, strict=True)
        ],
    )
    told = analyse([run]).judges[0][PAIRWISE].accuracy.share
    assert _shares(tmp_path) == {"pairwise": (0, 1)}
    assert (told.value, told.n) == (0, 1)


def test_a_judge_without_an_answer_has_no_share(tmp_path: Path) -> None:
    questions = [pair(i, (8.0, 1.0)) for i in range(3)]
    root = write_dataset(tmp_path / "ds", questions)
    write_run(
        tmp_path / "runs/one",
        root,
        [said(q, "A", status="refusal") for q in questions],
    )
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:8421")
    home = client.get("/").text
    table = client.get(f"/d/{site.places.datasets[0].slug}/slices").text
    assert "no answer to any of 3" in table
    assert "0.0 %" not in home.partition("<h2 class")[0]


def test_labels_alone_are_said_to_be_that_and_show_prompts_without_boxes(
    tmp_path: Path,
) -> None:
    bare = [
        pair(
            0, (2.0, 1.0), prompt="Request:\nA red cube.", encoding="published"
        ),
        pair(1, (2.0, 1.0)),
    ]
    for name, stated in (("labels", {"labels_only": True}), ("whole", {})):
        root = write_dataset(tmp_path / name, bare)
        meta = json.loads((root / "dataset.json").read_text())
        (root / "dataset.json").write_text(
            json.dumps({**meta, "benchmark": {"name": "bench", **stated}})
        )
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:8421")
    pages = {}
    for place in site.places.datasets:
        base = f"/d/{place.slug}"
        pages[place.name] = (
            client.get(base).text,
            client.get(f"{base}/q/q0").text,
        )
        assert (
            client.get(f"{base}/cards").json()["cards"][0]["prompt"]
            == "Request:\nA red cube."
        )
    assert client.get("/").text.count("labels only") == 1
    assert [
        "This dataset holds labels only" in pages[name][0]
        for name in ("labels", "whole")
    ] == [
        True,
        False,
    ]
    with pytest.raises(
        UsageError, match="people cannot be asked: it contains only labels"
    ):
        people_pages(
            Site(find_places([tmp_path / "labels"]), tmp_path / "cache"),
            tmp_path / "p",
            Settings(),
            ["anna"],
        )


def test_a_run_of_published_replies_is_finished_once_all_are_there(
    tmp_path: Path,
) -> None:
    questions = [pair(i, (2.0, 1.0)) for i in range(2)]
    root = write_dataset(tmp_path / "ds", questions)
    for name, asked in (("all", 2), ("some", 3)):
        run = write_run(
            tmp_path / "runs" / name,
            root,
            [said(q, "A") for q in questions],
            asked=asked,
        )
        os.utime(run / "verdicts.jsonl", (0, 0))
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    assert {run.name: site.state(run).state for run in site.places.runs} == {
        "all": "finished",
        "some": "stopped",
    }
