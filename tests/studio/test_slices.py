"""Shares by facet and judge are the report's, interval and all, and each leads to its
questions."""

from __future__ import annotations

import html
import operator
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from judged_records import pair, said, scoring, write_dataset, write_run
from stored_figures import of_study, stored
from visualjudge.analysis import analyse
from visualjudge.analysis.accuracy_cells import accuracy_cells
from visualjudge.analysis.load import load_study
from visualjudge.analysis.report.card import card_of
from visualjudge.core.records import Probe
from visualjudge.studio.app import create_app
from visualjudge.studio.places import find_places
from visualjudge.studio.slices import matrix, slices, worst_tasks
from visualjudge.studio.studio_data import Site

TASKS = ("object_detection", "keypoint")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Pairs of two tasks on 24 images with refusals and repeats, scores, and a probe of
    60 questions.
    """
    rng = np.random.default_rng(3)
    pairs: list[Any] = [
        pair(
            i,
            (9.0, 8.0 - i % 7),
            task=TASKS[i % 5 == 0],
            image_id=f"i{i % 24}",
            class_of_interest=("cat", "dog")[: 1 + i % 2],
        )
        for i in range(200)
    ]
    scores = [scoring(i, 5.0) for i in range(20)]
    probes = [
        pair(
            1000 + i,
            (9.0, 1.0),
            image_id=f"i{i % 24}",
            probe=Probe("same_option", "same", f"g{i}", "both", "any"),
        )
        for i in range(60)
    ]
    home = tmp_path_factory.mktemp("judged")
    root = write_dataset(home / "ds", [*pairs, *scores, *probes])
    for name, chance in (("good", 0.9), ("poor", 0.6)):
        verdicts = []
        for q in pairs[:180]:
            for order in ("AB", "BA"):
                refused = rng.random() < 0.05
                value = (
                    q.answer
                    if rng.random() < chance
                    else "BA"["BA".index(str(q.answer)) - 1]
                )
                verdicts.append(
                    said(q, value, order, "refusal" if refused else "ok")
                )
        verdicts += [
            said(q, 5.0 if i % 2 else 9.0) for i, q in enumerate(scores)
        ]
        verdicts += [said(q, "A") for q in probes]
        write_run(home / "runs" / name, root, verdicts, judge=name)
    return Site(find_places([home]), home / "cache")


@pytest.mark.parametrize("by", ["task", "error_type"])
def test_shares_and_intervals_are_those_of_the_report(
    judged: Site, by: str
) -> None:
    shelf = judged.shelf(judged.places.datasets[0].slug)
    named = {one.name: one for one in shelf.facets()}
    table = slices(shelf, named[by], "pairwise", [])
    for k, (judge, _) in enumerate(shelf.runs):
        answered = load_study([judge.root]).kind(0, "pairwise")
        cells = {
            dict(cell.keys)[by]: cell.accuracy.share
            for cell in accuracy_cells(answered, [by])
        }
        assert len(cells) == len(table.rows)
        for row in table.rows:
            share, cell = cells[dict(row.pairs)[by]], row.cells[k]
            assert (cell.share, cell.verdicts) == (share.value, share.n)
            assert (cell.low, cell.high) == pytest.approx(
                share.interval, abs=1e-12
            )


def test_counts_are_those_of_the_questions_that_a_cell_leads_to(
    judged: Site,
) -> None:
    slug = judged.places.datasets[0].slug
    client = TestClient(create_app(judged), base_url="http://127.0.0.1:1")
    for by in ("task", "class", "margin", "source"):
        page = client.get(f"/d/{slug}/slices?by={by}&type=pairwise").text
        found = re.findall(r'class="count"><a href="([^"]*)">([^<]*)<', page)
        assert found
        for address, count in found:
            query = html.unescape(address).partition("?")[2]
            facets = client.get(f"/d/{slug}/facets?{query}").json()
            assert facets["total"] == int(count)


def test_copies_made_by_probes_are_counted_where_the_report_counts_them_only_if_asked_for(
    judged: Site,
) -> None:
    shelf = judged.shelf(judged.places.datasets[0].slug)
    client = TestClient(create_app(judged), base_url="http://127.0.0.1:1")
    address = f"/d/{judged.places.datasets[0].slug}/facets"
    found = client.get(address).json()
    assert (found["total"], found["of"]) == (220, 220)
    assert found["copies"] == {"shown": False, "number": 60}
    probe = next(one for one in found["facets"] if one["name"] == "probe")
    assert {one["value"]: one["count"] for one in probe["values"]}[
        "same_option"
    ] == 60
    for query in ("probes=shown", "probe=same_option&probe=(none)"):
        shown = client.get(f"{address}?{query}").json()
        assert (shown["total"], shown["of"]) == (280, 280)
    (a, first), (b, _) = shelf.runs
    analysis = analyse([a.root, b.root])
    (compared,) = (
        row
        for row in of_study(analysis, "comparisons")
        if row["measure"] == "accuracy"
    )
    counts = matrix(shelf, a, b, [("type", "pairwise")]).counts
    assert counts.total() == compared["n"] == 180
    shown = matrix(
        shelf, a, b, [("type", "pairwise"), ("probes", "shown")]
    ).counts
    assert shown.total() == 240
    unread = stored(analysis)[0]["unread"]
    totals = first.totals()
    assert (totals.verdicts, totals.failed) == (unread["n"], unread["failed"])


def test_a_question_of_two_classes_is_counted_in_both(judged: Site) -> None:
    shelf = judged.shelf(judged.places.datasets[0].slug)
    facet = next(one for one in shelf.facets() if one.name == "class")
    rows = {row.label: row for row in slices(shelf, facet, "pairwise", []).rows}
    assert {name: row.questions for name, row in rows.items()} == {
        "cat": 200,
        "dog": 100,
    }
    assert rows["cat"].cells[0].verdicts == 360
    assert rows["dog"].cells[0].verdicts == 180


def test_filters_narrow_and_types_stand_apart(judged: Site) -> None:
    shelf = judged.shelf(judged.places.datasets[0].slug)
    task = next(one for one in shelf.facets() if one.name == "task")
    scores = slices(shelf, task, "scoring", [])
    assert [
        (row.questions, row.cells[0].right, row.cells[0].verdicts)
        for row in scores.rows
    ] == [(20, 10, 20)]
    narrow = slices(shelf, task, "pairwise", [("task", "keypoint")])
    assert [row.label for row in narrow.rows] == [
        "keypoint"
    ]  # as in the report
    assert slices(shelf, task, "ranking", []).rows == ()


def test_what_a_probe_shows_is_the_reports_state(judged: Site) -> None:
    slug = judged.places.datasets[0].slug
    client = TestClient(create_app(judged), base_url="http://127.0.0.1:1")
    shelf = judged.shelf(slug)
    found = [judged.judged(place) for place, _ in shelf.runs]
    again = [judged.judged(place) for place, _ in shelf.runs]
    assert all(map(operator.is_, found, again))  # computed once
    assert [(one.judge.name, one.probes[0].state) for one in found] == [
        ("good", "fail"),
        ("poor", "fail"),
    ]
    page = client.get(f"/d/{slug}/slices?by=probe").text
    assert "What the probes show" in page
    assert 'class="wrong"><b>✕ fails' in page
    probe = next(one for one in shelf.facets() if one.name == "probe")
    rows = {row.label: row for row in slices(shelf, probe, "pairwise", []).rows}
    assert rows["same option"].cells[0].share is None  # no answer is right
    assert (
        client.get(f"/d/{slug}/slices?by=nonsense&type=nonsense").status_code
        == 200
    )


def test_probes_that_fail_come_first_with_an_example(judged: Site) -> None:
    shelf = judged.shelf(judged.places.datasets[0].slug)
    for place, _ in shelf.runs:
        shown = judged.judged(place).probes[0]
        assert shown.state == "fail"
        row = shelf.study.row_of(str(shown.example))
        assert row is not None
        question = shelf.study.question(row)
        assert question.probe is not None
        assert question.probe.name == shown.name
    client = TestClient(create_app(judged), base_url="http://127.0.0.1:1")
    address = f"/d/{judged.places.datasets[0].slug}"
    page = client.get(f"{address}/slices?by=probe").text
    assert f'href="{address}/q/{shown.example}"' in page
    assert "failed</th>" not in page
    assert (
        "choose the first place as often"
        in client.get(f"{address}/q/{shown.example}").text
    )


def test_the_home_page_asks_for_the_cards_answer_and_the_probes_that_a_run_fails(
    judged: Site,
) -> None:
    client = TestClient(create_app(judged), base_url="http://127.0.0.1:1")
    home = client.get("/").text
    addresses = re.findall(r'<vj-answer data-from="([^"]*)"', home)
    assert len(addresses) == 2
    for address in addresses:
        told = client.get(address).json()
        assert told["failing"] == ["same option"]
        page, _, place = told["address"].partition("#")
        table = (
            client.get(page)
            .text.partition(f'id="{place}"')[2]
            .partition("</section>")[0]
        )
        run = next(run for run in judged.places.runs if run.slug in address)
        assert (
            f"Probes of {run.name}</h2>" in table
        )  # its own table, not the first judge's
        assert "✕ fails" in table
    analysis = analyse([run.root])
    answer = stored(analysis)[0]["answer"]
    assert told["caution"]
    assert told["caution"] in " ".join(str(card_of(analysis)).split())
    assert told["reasons"]
    for reason in told["reasons"]:
        assert reason["text"] in answer["sentence"]


def test_rows_are_sorted_by_the_share_of_a_judge(judged: Site) -> None:
    shelf = judged.shelf(judged.places.datasets[0].slug)
    facet = next(one for one in shelf.facets() if one.name == "task")
    for k, (place, _) in enumerate(shelf.runs):
        rows = slices(shelf, facet, "pairwise", order=place.slug).rows
        shares = [row.cells[k].share for row in rows]
        assert shares == sorted(
            shares, key=lambda share: (share is None, share or 0.0)
        )


def test_a_judge_that_answers_nothing_has_no_share(tmp_path: Path) -> None:
    questions = [
        pair(i, (9.0, 1.0), task=TASKS[i % 2], image_id=f"i{i}")
        for i in range(40)
    ]
    root = write_dataset(tmp_path / "ds", questions)
    write_run(
        tmp_path / "run",
        root,
        [
            said(q, "A", status="ok" if q.task == TASKS[0] else "refusal")
            for q in questions
        ],
    )
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    slug = site.places.datasets[0].slug
    shelf = site.shelf(slug)
    rows = slices(
        shelf,
        next(one for one in shelf.facets() if one.name == "task"),
        "pairwise",
        [],
    ).rows
    told = {dict(row.pairs)["task"]: row.cells[0] for row in rows}
    assert (told[TASKS[0]].share, told[TASKS[1]].share, told[TASKS[1]].low) == (
        1.0,
        None,
        None,
    )
    client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
    for address in (f"/d/{slug}/slices", "/"):
        assert "no answer to any of 20" in client.get(address).text
    worst, *_ = worst_tasks(shelf)
    assert dict(worst[0].pairs)["task"] == TASKS[1]


def test_slices_begin_with_probes_where_there_are_any(
    judged: Site, tmp_path: Path
) -> None:
    plain = write_dataset(tmp_path / "plain", [pair(0, (1.0, 2.0))])
    for one, by in (
        (judged, "probe"),
        (Site(find_places([plain]), tmp_path / "own"), "task"),
    ):
        client = TestClient(create_app(one), base_url="http://127.0.0.1:1")
        page = client.get(f"/d/{one.places.datasets[0].slug}/slices").text
        assert f'<option value="{by}" selected>' in page
        assert ("What the probes show" in page) == (by == "probe")


def test_the_order_of_a_judge_stays_when_the_facet_changes(
    judged: Site,
) -> None:
    client = TestClient(create_app(judged), base_url="http://127.0.0.1:1")
    slug, run = judged.places.datasets[0].slug, judged.places.runs[0].slug
    page = client.get(f"/d/{slug}/slices?by=task&order_by={run}").text
    form = page.partition('<form method="get" class="pickers">')[2].partition(
        "</form>"
    )[0]
    assert f'<input type="hidden" name="order_by" value="{run}">' in form


def test_a_cell_of_two_facets_leads_to_its_questions(judged: Site) -> None:
    client = TestClient(create_app(judged), base_url="http://127.0.0.1:1")
    slug, shelf = (
        judged.places.datasets[0].slug,
        judged.shelf(judged.places.datasets[0].slug),
    )
    named = {facet.name: facet for facet in shelf.facets()}
    place = shelf.runs[0][0]
    table = slices(
        shelf, named["task"], "pairwise", across=(named["error_type"], place)
    )
    page = client.get(
        f"/d/{slug}/slices?by=task&across=error_type&judge={place.slug}"
    ).text
    assert page.count('<td class="share-') == sum(
        cell.share is not None for row in table.rows for cell in row.cells
    )
    one_way = {
        row.label: row for row in slices(shelf, named["task"], "pairwise").rows
    }
    for row in table.rows:
        assert (
            sum(cell.right for cell in row.cells)
            == one_way[row.label].cells[0].right
        )
        for cell in row.cells:
            missed = client.get(
                f"/d/{slug}/facets", params=list(cell.missed)
            ).json()["total"]
            asked = client.get(
                f"/d/{slug}/facets", params=list(cell.pairs)
            ).json()["total"]
            assert missed <= asked == cell.verdicts / 2  # both orders


def test_the_home_page_shows_the_worst_tasks_first(judged: Site) -> None:
    shelf = judged.shelf(judged.places.datasets[0].slug)
    lowest = [cell.share or 0.0 for _, _, cell in worst_tasks(shelf)]
    assert len(lowest) > 1
    assert lowest == sorted(lowest)
    home = (
        TestClient(create_app(judged), base_url="http://127.0.0.1:1")
        .get("/")
        .text
    )
    places = [
        home.index(f">{row.label}</th>") for row, _, _ in worst_tasks(shelf)
    ]
    assert places == sorted(places)
