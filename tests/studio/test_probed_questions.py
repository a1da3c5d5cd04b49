"""Questions of probes: what they are chosen by, what is right, and the unchanged
question beside the changed one.
"""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from fastapi.testclient import TestClient

from judged_records import pair, said, scoring, write_dataset, write_run
from visualjudge.core.records import Probe, ProbeDesign, Question
from visualjudge.studio.app import create_app
from visualjudge.studio.places import find_places
from visualjudge.studio.studio_data import EXPECTED, Site

PROMPT = "<image>\n\nOptions:\n\nA. <image>\n\nB. <image>\n\nWhich is better?"


def _pair(i: int, **changes: object) -> Question:
    names = tuple(f"media/{name}.png" for name in "oab")
    return pair(i, (9.0, 1.0), prompt=PROMPT, images=names, **changes)


@pytest.fixture
def probed(tmp_path: Path) -> TestClient:
    """Two controls, of one a change and a pair of one option, and two steps of a
    staircase."""
    painted = tuple(f"media/{name}_warm.png" for name in "oab")
    questions = [
        _pair(0, probe=Probe("control", "control", "g0", "nothing", "answer")),
        _pair(1, probe=Probe("control", "control", "g1", "nothing", "answer")),
        _pair(
            2,
            probe=Probe(
                "recoloured", "change", "g0", "all images warmer", "answer"
            ),
        ),
        _pair(
            3,
            probe=Probe(
                "same_option", "same", "g0", "both options are the same", "any"
            ),
        ),
        *(
            replace(
                scoring(k, 9.0 - k),
                probe=Probe(
                    "severity", "staircase", "g2", f"step {k}", "order"
                ),
            )
            for k in (4, 5)
        ),
    ]
    questions[2] = replace(questions[2], images=painted)
    root = write_dataset(tmp_path / "ds", questions)
    verdicts = [
        said(q, "A" if k != 2 else "B") for k, q in enumerate(questions[:4])
    ]
    verdicts += [said(q, 2.0) for q in questions[4:]]
    write_run(tmp_path / "run", root, verdicts, judge="judge")
    site = Site(find_places([tmp_path]), tmp_path / "cache")
    return TestClient(create_app(site), base_url="http://127.0.0.1:1")


def _slug(client: TestClient) -> str:
    return str(client.get("/").text.split('href="/d/')[1].split('"')[0])


def _facet(client: TestClient, name: str, query: str = "") -> dict[str, int]:
    facets = client.get(f"/d/{_slug(client)}/facets?{query}").json()["facets"]
    found = next(
        facet for facet in facets if facet["name"].split(".")[0] == name
    )
    return {value["value"]: value["count"] for value in found["values"]}


def test_probes_are_a_facet(probed: TestClient) -> None:
    assert _facet(probed, "probe") == {
        "control": 2,
        "recoloured": 1,
        "same_option": 1,
        "severity": 2,
    }


def test_a_question_without_a_right_answer_is_never_right_or_wrong(
    probed: TestClient,
) -> None:
    assert (
        _facet(probed, "outcome", "probe=same_option&probe=severity")[
            "no right answer"
        ]
        == 3
    )
    assert _facet(probed, "answer", "probe=same_option") == {"(none)": 1}
    slug = _slug(probed)
    card = probed.get(f"/d/{slug}/cards?probe=same_option").json()["cards"][0]
    assert card["verdicts"][0]["outcome"] == "no right answer"
    assert not any(option["best"] for option in card["options"])
    for name in ("q3", "s4"):
        page = probed.get(f"/d/{slug}/q/{name}").text
        assert "no right answer" in page
        assert "no answer is right" in page
        assert "Best score" not in page
        assert not re.search(r'class="(right|wrong)"><i class="mark', page)


def test_the_changed_question_has_the_unchanged_one_beside_it(
    probed: TestClient,
) -> None:
    slug = _slug(probed)
    page = html.unescape(probed.get(f"/d/{slug}/q/q2").text)
    assert "all images warmer" in page
    assert re.search(rf'href="/d/{slug}/q/q0">[^<:]*</a>', page)
    layers = re.search(r'data-layers="(\[.*?\])"', page)
    assert layers is not None
    assert re.findall(r'"title":"([^"]*)"', layers[1]) == [
        "Original",
        "Option A",
        "Option B",
        "Original, unchanged",
        "Option A, unchanged",
        "Option B, unchanged",
    ]
    assert "q3" not in page.split("Probe: recoloured")[1].split("</section>")[0]
    unchanged = html.unescape(probed.get(f"/d/{slug}/q/q0").text)
    assert (
        "unchanged" not in re.search(r'data-layers="(\[.*?\])"', unchanged)[1]
    )  # type: ignore[index]


def test_each_question_says_what_its_probe_expects(probed: TestClient) -> None:
    assert get_args(ProbeDesign) == ("control", *EXPECTED)
    slug = _slug(probed)
    for name, design in {
        "q2": "change",
        "q3": "same",
        "s4": "staircase",
    }.items():
        assert EXPECTED[design] in html.unescape(
            probed.get(f"/d/{slug}/q/{name}").text
        )


def test_a_run_without_failing_probes_has_no_line_of_them(
    probed: TestClient,
) -> None:
    address = (
        probed.get("/").text.split('<vj-answer data-from="')[1].split('"')[0]
    )
    assert probed.get(address).json()["failing"] == []
