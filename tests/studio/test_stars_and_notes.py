"""Stars, tags, notes and views are kept beside the dataset, chosen by, taken back, and
given out as files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from visualjudge.core.errors import DataError
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.question_filter import read_ids
from visualjudge.options import Choice
from visualjudge.studio.selection import State
from visualjudge.studio.stars_and_notes import Change, Marked, WorkingSets
from visualjudge.studio.studio_data import Site


def _post(client: TestClient, address: str, **body: Any) -> Any:
    return client.post(address, json=body)


def test_marks_are_facets_and_stay(
    client: TestClient, slug: str, site: Site, folder: Path
) -> None:
    starred = _post(
        client, f"/d/{slug}/marks", ids=["q1", "r0"], star=True, add="hard"
    ).json()
    noted = _post(
        client, f"/d/{slug}/marks", ids=["q1"], note="why?", add="odd"
    ).json()
    assert (starred, noted) == ({"changed": 2}, {"changed": 1})
    assert (
        _post(client, f"/d/{slug}/marks", ids=["q1"], add="odd").json()[
            "changed"
        ]
        == 0
    )
    for query, total in (
        ("star=starred", 2),
        ("tag=hard", 2),
        ("tag=odd", 1),
        ("note=with+a+note", 1),
        ("tag=none", 0),
        ("tag=(no+tag)", 68),
    ):
        assert (
            client.get(f"/d/{slug}/facets?{query}").json()["total"] == total
        ), query
    card = client.get(f"/d/{slug}/cards?tag=odd").json()["cards"][0]
    assert (card["id"], card["star"], card["tags"]) == (
        "q1",
        True,
        ["hard", "odd"],
    )
    assert "why?" in client.get(f"/d/{slug}/q/q1").text
    stored = json.loads((folder / "ds.studio/marks.json").read_text())
    assert stored == {
        "q1": {"star": True, "tags": ["hard", "odd"], "note": "why?"},
        "r0": {"star": True, "tags": ["hard"]},
    }
    assert (
        site.shelf(slug).working.marks() == WorkingSets(folder / "ds").marks()
    )


def test_a_whole_selection_is_tagged_and_taken_back(
    client: TestClient, slug: str
) -> None:
    _post(client, f"/d/{slug}/marks", ids=["r1"], add="known")
    tagged = _post(
        client, f"/d/{slug}/marks", query="type=ranking", add="known"
    ).json()
    assert tagged == {"changed": 4}
    assert client.get(f"/d/{slug}/facets?tag=known").json()["total"] == 5
    taken = _post(
        client, f"/d/{slug}/marks", query="type=ranking", remove="known"
    ).json()
    assert taken == {"changed": 5}
    assert client.get(f"/d/{slug}/cards?tag=known").json()["cards"] == []


def test_a_tag_is_removed_where_it_is_and_the_others_stay(
    client: TestClient, slug: str
) -> None:
    for tag in ("hard", "odd"):
        _post(client, f"/d/{slug}/marks", ids=["q1", "r0"], add=tag)
    removed = _post(
        client, f"/d/{slug}/marks", ids=["q1", "r1"], remove="odd"
    ).json()
    assert removed == {"changed": 1}
    for tag, ids in (("odd", ["r0"]), ("hard", ["q1", "r0"])):
        shown = client.get(f"/d/{slug}/cards?tag={tag}").json()["cards"]
        assert sorted(card["id"] for card in shown) == ids


def test_one_tag_is_a_filter_and_so_is_none(
    client: TestClient, slug: str
) -> None:
    _post(client, f"/d/{slug}/marks", query="type=ranking", add="order flip")
    facets = client.get(f"/d/{slug}/facets").json()["facets"]
    found = next(facet for facet in facets if facet["name"] == "tag")
    assert {value["label"]: value["count"] for value in found["values"]} == {
        "order flip": 5,
        "(no tag)": 65,
    }


def test_a_selection_as_a_file_of_ids(
    client: TestClient, slug: str, tmp_path: Path, folder: Path
) -> None:
    (tmp_path / "questions.txt").write_bytes(
        client.get(f"/d/{slug}/selection.txt?type=scoring&sort=-length").content
    )
    chosen = load_dataset(folder / "ds").choose(
        Choice(ids=read_ids(tmp_path / "questions.txt"))
    )
    assert [question.id for question in chosen.questions] == [
        "s0",
        "s1",
        "s2",
        "s3",
        "s4",
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"ids": ["nobody"], "star": True},
        {"ids": "q1", "star": True},
        {"ids": ["q1"], "star": 1},
        {"ids": ["q1"], "add": ""},
        {"ids": ["q1"], "add": "x" * 41},
        {"ids": ["q1"], "add": "a\nb"},
        {"ids": ["q1"], "note": "x" * 4001},
        {"ids": ["q1"], "note": 5},
        {"star": True},  # neither ids nor query: not all questions
        {"query": 5, "star": True},
    ],
)
def test_what_is_not_a_change_is_refused(
    client: TestClient, slug: str, folder: Path, body: dict[str, Any]
) -> None:
    assert _post(client, f"/d/{slug}/marks", **body).status_code == 422
    assert not (folder / "ds.studio").exists()


@pytest.mark.parametrize(
    "foreign",
    [{"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}],
)
def test_other_sites_cannot_change_notes(
    client: TestClient, slug: str, foreign: dict[str, str]
) -> None:
    body = {"ids": ["q1"], "star": True}
    assert (
        client.post(f"/d/{slug}/marks", json=body, headers=foreign).status_code
        == 403
    )


def test_two_studios_keep_each_others_marks(tmp_path: Path) -> None:
    one, other = (
        WorkingSets(tmp_path / "x.studio"),
        WorkingSets(tmp_path / "x.studio"),
    )
    one.change(["a"], Change(star=True))
    other.change(["b"], Change(add="t"))
    one.change(["c"], Change(note="n"))
    assert dict(other.marks()) == {
        "a": Marked(star=True),
        "b": Marked(tags=("t",)),
        "c": Marked(note="n"),
    }
    before = other.generation
    other.marks()
    assert other.generation == before  # an untouched file is not read again


def test_a_file_edited_by_hand_is_read_and_a_bad_one_named(
    tmp_path: Path,
) -> None:
    sets = WorkingSets(tmp_path / "ds")
    sets.path.parent.mkdir()
    sets.path.write_text('{"a": {"tags": ["y", "x"]}}')
    assert sets.marks()["a"].tags == ("x", "y")
    for bad in (
        "[]",
        "{",
        '{"a": 1}',
        '{"a": {"tags": [1]}}',
        '{"a": {"star": "yes"}}',
    ):
        sets.path.write_text(bad)
        broken = WorkingSets(tmp_path / "ds")
        for act in (
            broken.marks,
            broken.marks,
            lambda broken=broken: broken.change(["b"], Change(star=True)),
        ):
            with pytest.raises(DataError, match=r"marks\.json"):
                act()
        assert sets.path.read_text() == bad


def test_marks_of_another_request_are_not_lost_while_they_are_read(
    site: Site, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf, starred = site.shelf(slug), State.from_query([("star", "starred")])
    read, name = shelf.working.marks, shelf.study.identities([3])[0]

    def overtaken() -> Any:
        before = read()
        monkeypatch.setattr(shelf.working, "marks", read)
        shelf.working.change([name], Change(star=True))
        read()
        return before

    assert list(shelf.select(starred)) == []
    monkeypatch.setattr(shelf.working, "marks", overtaken)
    shelf.facets()
    assert list(shelf.select(starred)) == [3]
