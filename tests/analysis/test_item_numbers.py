"""Numbers of items as places: asked for where the encoding shows them, and right if the
numbered item is a faulty one.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import visualjudge as vj
from judges.made_question import question
from scripted_client import ScriptedClient
from visualjudge.analysis.stated_reasons import exchanged, pointed
from visualjudge.core.records import BoolArray, Fault, Question, Verdict
from visualjudge.dataset.fault_truth import Deciding, deciding
from visualjudge.options import Choice
from visualjudge.prompts.rubric import rubric_of
from visualjudge.studio.question_views import Reply, places

NUMBERED = "text_polygon", "text_matrix", "pixel_ss0_m0", "1742"
PLAIN = "pixel_ss1_m0_o0_l1_c0_b1"


def disc(x: int, y: int) -> BoolArray:
    rows, columns = np.mgrid[:80, :120]
    return np.asarray((rows - y) ** 2 + (columns - x) ** 2 < 144)


def studied(tmp_path: Path) -> Path:
    """A dataset of pairs on 6 images: a right prediction, and one whose second cat lies
    where there is none."""
    truth = {"masks": [disc(20, 20), disc(60, 60)], "labels": ["cat"] * 2}
    right = truth | {"masks": [disc(60, 60), disc(20, 20)]}
    wrong = truth | {"masks": [disc(20, 20), disc(100, 20)]}
    for name, prediction in (("right", right), ("wrong", wrong)):
        rows = []
        for k in range(6):
            image = tmp_path / f"{k}.png"
            Image.new("RGB", (120, 80), (40 * k, 90, 90)).save(image)
            sample = {"image": image, "prediction": prediction, "truth": truth}
            rows.append(sample)
        vj.import_samples(
            "instance_segmentation", rows, tmp_path / "data", source=name
        )
    vj.build(tmp_path / "data", tmp_path / "set", workers=1)
    return tmp_path / "set"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return studied(tmp_path_factory.mktemp("numbers"))


def pairs(dataset: Path, *encodings: str) -> list[Question]:
    return [
        question
        for question in vj.load_dataset(dataset)
        if question.question_type == "pairwise"
        and question.encoding in encodings
    ]


def test_a_number_is_asked_for_where_the_encoding_shows_it(
    dataset: Path,
) -> None:
    rubric = rubric_of("reason")
    for numbered in pairs(dataset, *NUMBERED):
        assert "number of a marked object" in rubric.text(numbered)
        assert '"minimum":1' in json.dumps(
            rubric.schema(numbered), separators=(",", ":")
        )
        facts = deciding(numbered, (80, 120))
        assert facts is not None
        assert facts.items == (2,)
    (plain, *_) = pairs(dataset, PLAIN)
    assert "number of a marked object" not in rubric.text(plain)
    facts = deciding(plain, (80, 120))
    assert facts is not None
    assert facts.items is None


def test_the_number_is_that_of_the_text(dataset: Path) -> None:
    (asked, *_) = pairs(dataset, "text_polygon")
    worse = 1 - "AB".index(str(asked.answer))
    assert asked.faults is not None
    assert asked.spans is not None
    start, stop = asked.spans.options[worse]
    option = asked.prompt[start:stop]
    objects = json.loads(option[option.index("[") : option.rindex("]") + 1])
    (faulty,) = (fault for fault in asked.faults[worse] if fault.item)
    (polygon,) = (
        item["polygon"]
        for item in objects
        if item["instance_id"] == faulty.item
    )
    low, high = np.min(polygon, axis=0), np.max(polygon, axis=0)
    assert [*low, *high] == pytest.approx(faulty.box, abs=1.5)


@pytest.mark.parametrize(
    ("encoding", "said", "value", "share"),
    [
        ("text_polygon", 2, 2, 1.0),
        ("pixel_ss0_m0", "2", 2, 1.0),
        ("text_polygon", 1, 1, 0.0),
        ("text_polygon", 0, "Failed", 0.0),
        ("text_polygon", 1.5, "Failed", 0.0),
        (PLAIN, 2, "Failed", 0.0),
    ],
)
def test_a_number_points_at_a_faulty_item(
    dataset: Path,
    tmp_path: Path,
    encoding: str,
    said: Any,
    value: Any,
    share: float,
) -> None:
    reply = {"criteria": {"error": "background", "place": said}, "answer": "A"}
    run = vj.judge(
        dataset,
        ScriptedClient(lambda *_: json.dumps(reply)),
        tmp_path / "run",
        rubric="reason",
        choice=Choice(encodings=(encoding,), types=("pairwise",)),
        progress=False,
    )
    values = [own.criteria["place"] for own in run.verdicts.values()]  # type: ignore[index]
    assert values == [value] * 6
    rows = vj.analyse(run).metrics["judges"][0]["reasons"]
    assert {row["reason"]: row["share"] for row in rows}["points"] == share


def test_numbers_and_boxes_are_not_exchanged_for_each_other() -> None:
    """A habit, the first item where there are numbers, else the middle, gains
    nothing."""
    rng = np.random.default_rng(3)
    middle = [400, 400, 600, 600]
    values: list[Any] = []
    known = []
    for k in range(120):
        numbered = k % 2 == 0
        faulty = bool(rng.random() < 0.5)
        place = (450, 450, 550, 550) if faulty else (0, 0, 90, 90)
        items = ((1,) if faulty else (2,)) if numbered else None
        where = (0.0, 900.0, 90.0, 990.0) if numbered else place
        known.append(Deciding(("missed",), (where,), 1.0, items))
        values.append(1 if numbered else middle)
    test = pointed(
        values,
        known,
        np.ones(120, dtype=bool),
        np.full(120, "t", dtype=object),
    )
    hit, gap, _ = exchanged(*test, np.arange(120), np.arange(120) // 2)
    assert hit.mean() == pytest.approx(0.5, abs=0.1)
    assert np.nanmean(gap) == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize(("answer", "letters"), [("A", "B"), ("B", "A")])
def test_the_studio_draws_the_item_of_the_option_that_the_judge_calls_worse(
    answer: str, letters: str
) -> None:
    faults = (
        (Fault("background", (1, 1, 9, 9), 1.0, 2),),
        (Fault("background", (20, 1, 29, 9), 1.0, 2),),
    )
    asked = replace(question(), faults=faults)
    verdict = Verdict(
        "q", "AB", answer, "ok", "", criteria={"place": 2, "level": 2.0}
    )
    reply = Reply(
        *("j", "pairwise", verdict, "", "", "", "", ""),
        size=None,
        prose=False,
        differs=False,
        tokens="",
    )
    drawn = [box["box"] for box in places(asked, [reply])[2:]]
    assert drawn == [faults["AB".index(letters)][0].box]
