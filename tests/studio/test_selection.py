"""Questions are chosen by facets whose counts follow each other, by words, and in an
order."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings, strategies as st

from judged_records import (
    pair,
    ranking,
    said,
    scoring,
    write_dataset,
    write_run,
)
from visualjudge.core.errors import DataError, RunError
from visualjudge.studio import dataset_index
from visualjudge.studio.app import create_app
from visualjudge.studio.dataset_index import (
    OUTCOMES,
    RunVerdicts,
    open_study,
    read_in,
)
from visualjudge.studio.places import find_places
from visualjudge.studio.selection import State
from visualjudge.studio.studio_data import Site


def _study(root: Path) -> dataset_index.Study:
    study = open_study(root, root.parent / "cache", "x")
    for _ in read_in(study):
        pass
    return study


def _outcomes(run: RunVerdicts) -> list[str]:
    """The outcome of each question of the dataset."""
    rows = run.study.all(
        "SELECT ifnull(outcome, 0) FROM question LEFT JOIN (SELECT * FROM outcome "
        "WHERE run = ?) USING (row) ORDER BY row",
        run.number,
    )
    return [OUTCOMES[code] for (code,) in rows]


def _facet(reply: Any, name: str) -> dict[str, int]:
    found = next(
        facet for facet in reply["facets"] if facet["name"].startswith(name)
    )
    return {value["value"]: value["count"] for value in found["values"]}


def test_counts_follow_the_other_filters_and_not_their_own(
    client: TestClient, slug: str
) -> None:
    reply = client.get(f"/d/{slug}/facets?type=ranking").json()
    assert (reply["total"], reply["of"]) == (5, 70)
    assert _facet(reply, "type") == {"pairwise": 60, "ranking": 5, "scoring": 5}
    assert sum(_facet(reply, "task").values()) == 5


def test_values_of_one_facet_add_up_and_facets_narrow(
    client: TestClient, slug: str
) -> None:
    assert (
        client.get(f"/d/{slug}/facets?type=ranking&type=scoring").json()[
            "total"
        ]
        == 10
    )
    assert (
        client.get(f"/d/{slug}/facets?type=ranking&class=cat").json()["total"]
        == 0
    )
    assert client.get(f"/d/{slug}/facets?class=cat").json()["total"] == 5


def test_outcome_and_order_of_a_run(
    client: TestClient, slug: str, site: Site
) -> None:
    two = next(run.slug for run in site.places.runs if run.name == "two")
    reply = client.get(f"/d/{slug}/facets").json()
    assert _facet(reply, f"outcome.{two}") == {"not asked": 50, "mixed": 20}
    assert _facet(reply, f"order.{two}")["first place in both orders"] == 20
    cards = client.get(f"/d/{slug}/cards?outcome.{two}=mixed").json()["cards"]
    assert {card["verdicts"][-1]["said"] for card in cards} == {
        "mixed"
    }  # no letter as a verdict
    assert (
        client.get(
            f"/d/{slug}/facets?order.{two}=first+place+in+both+orders"
        ).json()["total"]
        == 20
    )


def test_words_are_found_in_prompts_and_replies_and_ids(
    client: TestClient, slug: str
) -> None:
    assert client.get(f"/d/{slug}/facets?q=zebra").json()["total"] == 60
    assert client.get(f"/d/{slug}/facets?q=q17").json()["total"] == 1
    assert client.get(f"/d/{slug}/facets?q=nowhere").json()["total"] == 0


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(max_size=30))
def test_no_query_is_an_error(site: Site, slug: str, words: str) -> None:
    assert len(site.shelf(slug).select(State(words=words.strip()))) <= 70


def test_cards_come_in_the_order_asked(client: TestClient, slug: str) -> None:
    margins = [
        c["margin"]
        for c in client.get(
            f"/d/{slug}/cards?sort=margin&type=pairwise&count=60"
        ).json()["cards"]
    ]
    assert margins == sorted(margins)
    assert margins[0] == 1.0
    page = client.get(
        f"/d/{slug}/cards?start=65&count=999999999999999999"
    ).json()
    assert len(page["cards"]) == 5
    assert (
        client.get(
            f"/d/{slug}/cards?start=-1&count=x&sort=none&q=%00"
        ).status_code
        == 200
    )


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_counts_agree_with_a_plain_count(
    site: Site, slug: str, data: st.DataObject
) -> None:
    shelf = site.shelf(slug)
    questions = [shelf.study.question(row) for row in range(70)]
    told = {f.name: f for f in shelf.facets()}
    codes = {
        name: [
            code for (code,) in shelf.rows(State(), facet.column, order="q.row")
        ]
        for name, facet in told.items()
    }
    held = {
        name: [told[name].values[code] for code in codes[name]] for name in told
    }
    assert held["class"] == [
        q.class_of_interest or ("(none)",) for q in questions
    ]
    assert held["answer"][0] == (questions[0].answer,)
    pairs = data.draw(
        st.lists(
            st.sampled_from(sorted(told)).flatmap(
                lambda name: st.tuples(
                    st.just(name),
                    st.sampled_from(
                        [v for vs in told[name].values for v in vs]
                    ),
                )
            ),
            max_size=4,
        )
    )
    state = State.from_query(pairs)

    def passes(row: int, but: str = "") -> bool:
        return all(
            name == but or set(values) & set(held[name][row])
            for name, values in state.chosen
        )

    assert list(shelf.select(state)) == [
        row for row in range(70) if passes(row)
    ]
    assert shelf.counts(state)[0] == len(shelf.select(state))
    for name, counts in shelf.counts(state)[1].items():
        rows = [row for row in range(70) if passes(row, name)]
        assert counts == Counter(
            value for row in rows for value in held[name][row]
        ), name


def test_changed_questions_are_read_anew_and_unchanged_ones_are_not(
    tmp_path: Path,
) -> None:
    root = write_dataset(tmp_path / "ds", [pair(0, (1.0, 2.0))])
    first = _study(root).path
    inode = first.stat().st_ino
    assert _study(root).path == first
    assert first.stat().st_ino == inode
    wire = json.loads((root / "questions.json").read_text())
    (root / "questions.json").write_text(
        json.dumps([*wire, {**wire[0], "id": "other"}])
    )
    again = _study(root)
    assert again.count == 2
    assert not first.exists()
    again.path.write_bytes(b"not a database")
    assert _study(root).count == 2


@pytest.mark.parametrize(
    "damage", ["DELETE FROM meta", "DROP TABLE vocabulary"]
)
def test_a_damaged_file_is_made_anew(tmp_path: Path, damage: str) -> None:
    root = write_dataset(tmp_path / "ds", [pair(0, (1.0, 2.0))])
    path = _study(root).path
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(damage)
    assert _study(root).count == 1


def test_a_file_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_dataset(tmp_path / "ds", [pair(0, (1.0, 2.0))])

    def full(*_: Any, **__: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(dataset_index, "_store", full)
    with pytest.raises(RunError, match=r"disk is full"):
        _study(root)
    assert not list((tmp_path / "cache").iterdir())


def test_two_questions_of_one_id_are_refused(tmp_path: Path) -> None:
    root = write_dataset(tmp_path / "ds", [pair(0, (1.0, 2.0))] * 2)
    with pytest.raises(DataError, match="id: must be unique"):
        _study(root)


def test_a_growing_journal_is_taken_in_line_by_line(tmp_path: Path) -> None:
    questions = [pair(i, (8.0, 1.0)) for i in range(4)]
    root = write_dataset(tmp_path / "ds", questions)
    run = write_run(tmp_path / "run", root, [said(questions[0], "A")])
    found = RunVerdicts(_study(root), run, "r")
    found.refresh()
    assert found.totals().verdicts == 1
    with (run / "verdicts.jsonl").open("a") as journal:
        line = {
            "id": "q1",
            "order": "AB",
            "value": "B",
            "status": "ok",
            "raw_response": "B",
        }
        journal.write(json.dumps(line) + "\n")
        journal.write('{"id": "q2", "or')
    found.refresh()
    assert _outcomes(found) == ["right", "wrong", "not asked", "not asked"]
    assert found.totals().verdicts == 2
    before = found.generation
    found.refresh()
    assert found.generation == before
    with (run / "verdicts.jsonl").open("a") as journal:
        journal.write(
            'der": "AB", "value": "A", "status": "ok", "raw_response": "A"}\n'
        )
    again = RunVerdicts(_study(root), run, "r")
    again.refresh()
    assert _outcomes(again) == ["right", "wrong", "right", "not asked"]
    assert again.totals().verdicts == 3
    write_run(tmp_path / "other", root, [said(questions[3], "B")])
    (tmp_path / "other/verdicts.jsonl").replace(
        run / "verdicts.jsonl"
    )  # a resumed run
    again.refresh()
    assert _outcomes(again) == ["not asked", "not asked", "not asked", "wrong"]


def test_a_verdict_asked_again_counts_once_and_failures_are_not_wrong(
    tmp_path: Path,
) -> None:
    questions = [
        pair(0, (8.0, 1.0)),
        scoring(1, 7.0),
        pair(2, (8.0, 1.0)),
        pair(3, (8.0, 1.0)),
    ]
    root = write_dataset(tmp_path / "ds", questions)
    verdicts = [
        said(questions[0], "B"),
        said(questions[0], "A"),
        said(questions[1], 6.2),
        said(questions[2], "A", status="refusal"),
        said(
            questions[3], "tie"
        ),  # an answer, also where the question does not offer it
    ]
    found = RunVerdicts(
        _study(root), write_run(tmp_path / "run", root, verdicts), "r"
    )
    found.refresh()
    assert _outcomes(found) == ["right", "right", "failed", "wrong"]
    totals = found.totals()
    assert (totals.verdicts, totals.failed) == (4, 1)


def test_a_question_refused_in_one_order_was_asked_in_both(
    tmp_path: Path,
) -> None:
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
    for question, (ab, ab_status, ba, ba_status) in zip(
        questions, replies, strict=True
    ):
        verdicts.append(said(question, ab, "AB", ab_status))
        if ba is not None:
            verdicts.append(said(question, ba, "BA", ba_status))
    write_run(tmp_path / "run", root, verdicts)
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
    reply = client.get(f"/d/{site.places.datasets[0].slug}/facets").json()
    assert _facet(reply, "order.") == {
        "same answer": 2,
        "first place in both orders": 1,
        "not answered in both orders": 1,
        "not asked in both orders": 1,
    }


def test_encodings_of_a_task_are_one_value_by_how_they_are_shown(
    tmp_path: Path,
) -> None:
    stems = ("pixel_s0_m0", "pixel_s1_m0", "text_xyxy", "pixel_s0_m0")
    questions = [
        pair(i, (1.0, 2.0), encoding=stem) for i, stem in enumerate(stems)
    ]
    site = Site(
        find_places([write_dataset(tmp_path / "ds", questions)]),
        tmp_path / "cache",
    )
    shelf = site.shelf(site.places.datasets[0].slug)
    facet = next(one for one in shelf.facets() if one.name == "form")
    assert {
        facet.label(v): n for v, n in shelf.counts(State())[1]["form"].items()
    } == {
        "drawn": 3,
        "text": 1,
    }
    chosen = shelf.select(State.from_query([("form", "text")]))
    assert list(chosen) == [2]


def test_only_a_pair_has_two_orders_and_a_ranking_says_which_difference_it_states(
    tmp_path: Path,
) -> None:
    questions = [ranking(1, (10.0, 0.0, 9.0, 4.0)), pair(3, (8.0, 2.0))]
    questions.append(scoring(5, 9.0))
    root = write_dataset(tmp_path / "ds", questions)
    verdicts = [said(q, q.answer) for q in questions]
    write_run(tmp_path / "runs/one", root, verdicts)
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
    slug = site.places.datasets[0].slug
    asked = "The order in which the options were asked"  # a ranking has one
    pages = [
        client.get(f"/d/{slug}/q/{name}").text for name in ("q3", "r1", "s5")
    ]
    assert [asked in page for page in pages] == [True, False, False]
    assert "between the best and the worst option" in pages[1]


def test_values_with_an_order_of_their_own_are_listed_in_it(
    tmp_path: Path,
) -> None:
    margins = (5.0, 5.0, 0.2, 1.5, 1.5, 1.5)
    questions = [pair(i, (1.0 + m, 1.0)) for i, m in enumerate(margins)]
    root = write_dataset(tmp_path / "ds", questions)
    site = Site(find_places([root]), tmp_path / "cache")
    client = TestClient(create_app(site), base_url="http://127.0.0.1:1")
    slug = site.places.datasets[0].slug
    reply = client.get(f"/d/{slug}/facets?margin=nonsense").json()
    listed = ["below 0.5", "1 to 2", "4 and more", "nonsense"]
    assert [*_facet(reply, "margin")] == listed
