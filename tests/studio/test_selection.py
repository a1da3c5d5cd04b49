"""Questions are chosen by facets whose counts follow each other, by words, and in an order."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings, strategies as st

from judged_records import pair, ranking, said, scoring, write_dataset, write_run
from visualjudge.core.errors import DataError, RunError
from visualjudge.core.workers import Workers
from visualjudge.studio import index as index_module, text_index
from visualjudge.studio.app import create_app
from visualjudge.studio.facets import shown_facet
from visualjudge.studio.index import open_index
from visualjudge.studio.places import find_places
from visualjudge.studio.selection import Shelf, State
from visualjudge.studio.site import Site
from visualjudge.studio.summary import Share
from visualjudge.studio.verdicts import RunIndex


def _facet(reply: Any, name: str) -> dict[str, int]:
    found = next(facet for facet in reply["facets"] if facet["name"].startswith(name))
    return {value["value"]: value["count"] for value in found["values"]}


def test_counts_follow_the_other_filters_and_not_their_own(client: TestClient, slug: str) -> None:
    reply = client.get(f"/d/{slug}/facets?type=ranking").json()
    assert (reply["total"], reply["of"]) == (5, 70)
    assert _facet(reply, "type") == {"pairwise": 60, "ranking": 5, "scoring": 5}
    assert sum(_facet(reply, "task").values()) == 5


def test_values_of_one_facet_add_up_and_facets_narrow(client: TestClient, slug: str) -> None:
    assert client.get(f"/d/{slug}/facets?type=ranking&type=scoring").json()["total"] == 10
    assert client.get(f"/d/{slug}/facets?type=ranking&class=cat").json()["total"] == 0
    assert client.get(f"/d/{slug}/facets?class=cat").json()["total"] == 5


def test_outcome_and_order_of_a_run(client: TestClient, slug: str, site: Site) -> None:
    two = next(run.slug for run in site.places.runs if run.name == "two")
    reply = client.get(f"/d/{slug}/facets").json()
    assert _facet(reply, f"outcome.{two}") == {"not asked": 50, "mixed": 20}
    assert _facet(reply, f"order.{two}")["flipped by order"] == 20
    cards = client.get(f"/d/{slug}/cards?outcome.{two}=mixed").json()["cards"]
    assert {card["verdicts"][-1]["said"] for card in cards} == {"mixed"}  # no letter as a verdict
    assert client.get(f"/d/{slug}/facets?order.{two}=flipped+by+order").json()["total"] == 20


def test_words_are_found_in_prompts_and_replies_and_ids(client: TestClient, slug: str) -> None:
    assert client.get(f"/d/{slug}/facets?q=zebra").json()["total"] == 60
    assert client.get(f"/d/{slug}/facets?q=q17").json()["total"] == 1
    assert client.get(f"/d/{slug}/facets?q=nowhere").json()["total"] == 0


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(max_size=30))
def test_no_query_is_an_error(site: Site, slug: str, words: str) -> None:
    assert site.shelf(slug).select(State(words=words.strip())).rows.size <= 70


def test_cards_come_in_the_order_asked(client: TestClient, slug: str) -> None:
    margins = [
        c["margin"]
        for c in client.get(f"/d/{slug}/cards?sort=margin&type=pairwise&count=60").json()["cards"]
    ]
    assert margins == sorted(margins)
    assert margins[0] == 1.0
    page = client.get(f"/d/{slug}/cards?start=65&count=999999999999999999").json()
    assert len(page["cards"]) == 5
    assert client.get(f"/d/{slug}/cards?start=-1&count=x&sort=none&q=%00").status_code == 200


def test_counts_agree_with_a_plain_count(site: Site, slug: str) -> None:
    shelf = site.shelf(slug)
    raw = [shelf.index.question(row) for row in range(shelf.index.columns.count)]
    state = State.from_query([("error_type", "missed"), ("margin", "4 and more")])
    selection = shelf.select(state)
    expected = [
        i
        for i, q in enumerate(raw)
        if len(q.final_scores) > 1 and max(q.final_scores) - min(q.final_scores) >= 4
    ]
    assert selection.rows.tolist() == expected
    margin = next(f for f in shelf.facets() if f.name == "margin")
    assert margin.counts(selection.among("margin")).sum() == 70
    many = next(f for f in shelf.facets() if f.name == "class")
    assert shown_facet(many, np.ones(70, dtype=bool), (), find="CA").values[0].count == 5


def test_changed_questions_are_indexed_anew_and_unchanged_ones_are_not(tmp_path: Path) -> None:
    root = write_dataset(tmp_path / "ds", [pair(0, (1.0, 2.0))])
    open_index(root, tmp_path / "cache", "x")
    index = tmp_path / "cache" / "x.sqlite"
    first = index.stat().st_ino
    (root / "questions.json").touch()
    assert open_index(root, tmp_path / "cache", "x").columns.count == 1
    assert index.stat().st_ino == first
    wire = json.loads((root / "questions.json").read_text())
    (root / "questions.json").write_text(json.dumps([*wire, {**wire[0], "id": "other"}]))
    assert open_index(root, tmp_path / "cache", "x").columns.count == 2
    index.write_bytes(b"not a database")
    assert open_index(root, tmp_path / "cache", "x").columns.count == 2


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM column_",
        "UPDATE column_ SET dtype = 'x'",
        "DROP TABLE vocabulary",
        "DROP TABLE meta",
    ],
)
def test_a_damaged_index_is_made_anew(tmp_path: Path, damage: str) -> None:
    root = write_dataset(tmp_path / "ds", [pair(0, (1.0, 2.0))])
    open_index(root, tmp_path / "cache", "x")
    with closing(sqlite3.connect(tmp_path / "cache/x.sqlite")) as index, index:
        index.execute(damage)
    assert open_index(root, tmp_path / "cache", "x").columns.count == 1


def test_an_index_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_dataset(tmp_path / "ds", [pair(0, (1.0, 2.0))])
    monkeypatch.setattr(
        index_module, "_SCHEMA", "CREATE TABLE no_such_thing AS SELECT * FROM full;"
    )
    with pytest.raises(
        RunError, match=r"y\.sqlite: cannot be written: .*; set XDG_CACHE_HOME to another folder"
    ):
        open_index(root, tmp_path / "cache", "y")


def test_other_processes_make_the_same_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [
        pair(i, (float(i % 3), 2.0), prompt=f"word {'abcdefghij'[i % 7]}") for i in range(40)
    ]
    root = write_dataset(tmp_path / "ds", questions)
    wire = json.loads((root / "questions.json").read_text())
    (root / "questions.json").write_text("[\n" + ",\n".join(json.dumps(q) for q in wire) + "\n]\n")
    run = write_run(tmp_path / "run", root, [said(q, "AB"[i % 2]) for i, q in enumerate(questions)])
    monkeypatch.setattr(index_module, "STEP", 2000)
    monkeypatch.setattr(text_index, "FEWEST_TEXTS", 5)
    tables = []
    with Workers(2) as pool:
        for name, engine in (("one", index_module.HERE), ("two", pool)):
            index = open_index(root, tmp_path / name, "x", engine)
            found = RunIndex(run / "verdicts.jsonl", index, tmp_path / name / "r.sqlite")
            found.refresh(engine)
            files = [sqlite3.connect(tmp_path / name / file) for file in ("x.sqlite", "r.sqlite")]
            names = ("question", "vocabulary", "column_", "text", "frequent")
            tables.append(
                [files[0].execute(f"SELECT * FROM {table}").fetchall() for table in names]
            )
            assert tables[-1][-1]
            tables[-1].append([found.rows.tobytes()])
            assert [index.question(row) for row in range(40)] == questions
            assert index.search("a").sum() == 6
            right = sum((q.answer == "AB"[i % 2]) for i, q in enumerate(questions))
            assert [share.right for share in found.summary().shares] == [right]
        assert tables[0] == tables[1]
        wire[30]["final_scores"] = "none"
        (root / "questions.json").write_text(
            "[\n" + ",\n".join(json.dumps(q) for q in wire) + "\n]\n"
        )
        with pytest.raises(DataError, match=f"{wire[30]['id']}: final_scores: "):
            open_index(root, tmp_path / "two", "x", pool)
        wire[30]["final_scores"] = wire[29]["final_scores"]
        (root / "questions.json").write_text(
            "[\n" + ",\n".join(json.dumps(q) for q in wire) + "\n{]\n"
        )
        with pytest.raises(DataError, match="must be JSON"):
            open_index(root, tmp_path / "two", "x", pool)


def test_counts_from_the_smaller_side_are_the_counts(site: Site, slug: str) -> None:
    shelf, rng = site.shelf(slug), np.random.default_rng(0)
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        among = rng.random(70) < share
        for facet in shelf.facets():
            expected = [
                int((facet.mask([code]) & among).sum()) for code in range(len(facet.values))
            ]
            assert facet.counts(among).tolist() == expected, facet.name


def test_the_beginning_of_a_line_changes_nothing(tmp_path: Path) -> None:
    question = pair(0, (8.0, 1.0))
    root = write_dataset(tmp_path / "ds", [question])
    run = write_run(tmp_path / "run", root, [said(question, "A")])
    found = RunIndex(
        run / "verdicts.jsonl", open_index(root, tmp_path / "cache", "x"), tmp_path / "r.sqlite"
    )
    found.refresh()
    before = found.generation
    with (run / "verdicts.jsonl").open("a") as journal:
        journal.write('{"id": "q0", "or')
    found.refresh()
    assert found.generation == before


def test_a_growing_journal_is_taken_in_line_by_line(tmp_path: Path) -> None:
    questions = [pair(i, (8.0, 1.0)) for i in range(4)]
    root = write_dataset(tmp_path / "ds", questions)
    run = write_run(tmp_path / "run", root, [said(questions[0], "A")])
    index = open_index(root, tmp_path / "cache", "x")
    shelf = Shelf(
        index,
        [
            (
                find_places([tmp_path]).runs[0],
                RunIndex(run / "verdicts.jsonl", index, tmp_path / "r.sqlite"),
            )
        ],
    )
    shelf.refresh()
    assert shelf.runs[0][1].summary().verdicts == 1
    with (run / "verdicts.jsonl").open("a") as journal:
        journal.write(
            json.dumps(
                {"id": "q1", "order": "AB", "value": "B", "status": "ok", "raw_response": "B"}
            )
            + "\n"
        )
        journal.write('{"id": "q2", "or')
    shelf.refresh()
    assert shelf.runs[0][1].summary().outcome.tolist() == [1, 3, 0, 0]
    with (run / "verdicts.jsonl").open("a") as journal:
        journal.write('der": "AB", "value": "A", "status": "ok", "raw_response": "A"}\n')
    again = RunIndex(run / "verdicts.jsonl", index, tmp_path / "r.sqlite")
    again.refresh()
    assert again.summary().outcome.tolist() == [1, 3, 1, 0]


def test_a_verdict_asked_again_counts_once_and_failures_are_not_wrong(tmp_path: Path) -> None:
    questions = [pair(0, (8.0, 1.0)), scoring(1, 7.0), pair(2, (8.0, 1.0))]
    root = write_dataset(tmp_path / "ds", questions)
    verdicts = [
        said(questions[0], "B"),
        said(questions[0], "A"),
        said(questions[1], 6.2),
        said(questions[2], "A", status="refusal"),
    ]
    run = write_run(tmp_path / "run", root, verdicts)
    index = open_index(root, tmp_path / "cache", "x")
    found = RunIndex(run / "verdicts.jsonl", index, tmp_path / "r.sqlite")
    found.refresh()
    assert found.summary().outcome.tolist() == [1, 1, 4]
    assert (found.summary().verdicts, found.summary().failed) == (3, 1)
    assert found.summary().shares == (Share("pairwise", 1, 2, 1), Share("scoring", 1, 1, 1))


def test_a_question_refused_in_one_order_was_asked_in_both(tmp_path: Path) -> None:
    questions = [pair(i, (9.0, 1.0), ties=("tie",)) for i in range(5)]
    root = write_dataset(tmp_path / "ds", questions)
    replies = [
        ("A", "ok", "A", "ok"),
        ("A", "ok", "B", "ok"),
        ("A", "ok", "", "refusal"),
        ("tie", "ok", "tie", "ok"),
        ("", "refusal", None, ""),
    ]
    verdicts = []
    for question, (ab, ab_status, ba, ba_status) in zip(questions, replies, strict=True):
        verdicts.append(said(question, ab, "AB", ab_status))
        if ba is not None:
            verdicts.append(said(question, ba, "BA", ba_status))
    write_run(tmp_path / "run", root, verdicts)
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
    reply = client.get(f"/d/{site.places.datasets[0].slug}/facets").json()
    assert _facet(reply, "order.") == {
        "same answer": 2,
        "flipped by order": 1,
        "not answered in both orders": 1,
        "not asked in both orders": 1,
    }


def test_an_id_that_the_index_cannot_hold_is_refused(tmp_path: Path) -> None:
    root = write_dataset(tmp_path / "ds", [replace(pair(0, (1.0, 9.0)), id="a\0b")])
    with pytest.raises(DataError, match="id: must hold no NUL character, got"):
        open_index(root, tmp_path / "cache", "ds")


def test_encodings_of_a_task_are_one_value_by_how_they_are_shown(tmp_path: Path) -> None:
    stems = ("pixel_s0_m0", "pixel_s1_m0", "text_xyxy", "pixel_s0_m0")
    questions = [pair(i, (1.0, 2.0), encoding=stem) for i, stem in enumerate(stems)]
    site = Site(find_places([write_dataset(tmp_path / "ds", questions)]), tmp_path / "cache")
    shelf = site.shelf(site.places.datasets[0].slug)
    facet = next(facet for facet in shelf.facets() if facet.name == "form")
    shown = shown_facet(facet, np.ones(4, dtype=bool), ())
    assert [(value.label, value.count) for value in shown.values] == [
        ("object detection: drawn", 3),
        ("object detection: text", 1),
    ]
    chosen = shelf.select(State.from_query([("form", "object_detection/text")]))
    assert chosen.rows.tolist() == [2]


def test_a_wrong_ranking_counts_by_the_options_that_it_confuses(tmp_path: Path) -> None:
    questions = [
        ranking(0, (10.0, 0.0, 9.0, 4.0)),
        ranking(1, (10.0, 0.0, 9.0, 4.0)),
        ranking(2, (9.0, 2.0, 7.5)),
        pair(3, (8.0, 2.0)),
        pair(4, (3.0, 9.5), ties=("tie",)),
        scoring(5, 9.0),
        pair(6, (1.0, 9.0)),
    ]
    root = write_dataset(tmp_path / "ds", questions)
    one = ["CADB", "DBCA", "ACB", "B", "tie", 1.0, "A"]
    verdicts = [said(q, value) for q, value in zip(questions, one, strict=True)]
    verdicts.append(said(questions[6], "B", "BA"))
    write_run(tmp_path / "runs/one", root, verdicts)
    write_run(tmp_path / "runs/two", root, [said(q, q.answer) for q in questions])
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
    slug, run = site.places.datasets[0].slug, site.places.runs[0].slug
    cards = client.get(f"/d/{slug}/cards?sort=-wrong_difference").json()["cards"]
    found = [(card["id"], card["verdicts"][0]["wrong_difference"]) for card in cards]
    assert found == [
        ("r1", 10.0),  # D and B before A: 10 of them
        ("q6", 8.0),
        ("q4", 6.5),
        ("q3", 6.0),
        ("r0", 1.0),  # only C and A are swapped, of a margin of 10
        ("r2", None),
        ("s5", None),
    ]
    facets = client.get(f"/d/{slug}/facets").json()
    assert _facet(facets, f"wrong_difference.{run}") == {"1 to 2": 1, "4 and more": 4}
    query = f"margin=4+and+more&wrong_difference.{run}=4+and+more"
    chosen = client.get(f"/d/{slug}/cards?{query}").json()["cards"]
    assert {card["id"] for card in chosen} == {"r1", "q3", "q4", "q6"}
    asked = "The order in which the options were asked"  # a ranking has one
    pages = [client.get(f"/d/{slug}/q/{name}").text for name in ("q3", "r1", "s5")]
    assert [asked in page for page in pages] == [True, False, False]
    assert "between the best and the worst option" in pages[1]


def test_the_largest_wrong_difference_is_that_of_the_run_in_the_filters(tmp_path: Path) -> None:
    questions = [pair(i, (9.0 - i, 1.0)) for i in range(2)]
    root = write_dataset(tmp_path / "ds", questions)
    write_run(tmp_path / "runs/one", root, [said(questions[0], "B"), said(questions[1], "A")])
    write_run(tmp_path / "runs/two", root, [said(questions[0], "A"), said(questions[1], "B")])
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    shelf = site.shelf(site.places.datasets[0].slug)
    one, two = site.places.runs
    for run, first in ((one, 0), (two, 1)):
        query = [(f"outcome.{run.slug}", name) for name in ("right", "wrong")]
        state = State.from_query([*query, ("sort", "-wrong_difference")])
        assert shelf.select(state).rows.tolist()[0] == first
