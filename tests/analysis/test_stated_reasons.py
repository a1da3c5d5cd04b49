"""Figures of reasons: habits reach no more than their own answers exchanged, and a
judge with the right reasons does.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import visualjudge as vj
from making import make_folder
from stored_figures import stored
from visualjudge.analysis.figures.reasons import (
    RightReason,
    reason_of,
    right_reason_of,
)
from visualjudge.analysis.stated_reasons import NOWHERE, exchanged, points_at
from visualjudge.core.records import BoolArray, IntArray

IMAGES, EACH = 30, 4
WORDS = np.array(["missed", "localization", "background"], dtype=object)


def table(said: np.ndarray, kinds: np.ndarray) -> pl.DataFrame:
    """A word for each question, and the kind that decides it."""
    image = np.repeat(np.arange(IMAGES), EACH)
    task = np.full(image.size, "t", dtype=object)

    def hits(row: int, others: IntArray) -> BoolArray:
        return np.asarray(said[others] == kinds[row], dtype=bool)

    asked = np.ones(image.size, dtype=bool)
    question = np.arange(image.size)
    own, gap, chance = exchanged(hits, asked, task, question, image)
    return pl.DataFrame(
        {"cluster": image, "names": own, "names_gap": gap, "chance": chance}
    )


def drawn(seed: int) -> tuple[np.random.Generator, np.ndarray]:
    rng = np.random.default_rng(seed)
    common = rng.choice(3, IMAGES, p=[0.6, 0.3, 0.1])
    kinds = np.repeat(common, EACH)
    other = rng.random(kinds.size) < 0.3
    return rng, WORDS[np.where(other, rng.integers(0, 3, kinds.size), kinds)]


def test_the_commonest_word_is_not_above_its_baseline() -> None:
    _, kinds = drawn(1)
    found = reason_of(
        "names", "all", table(np.full(kinds.size, "missed"), kinds)
    )
    assert found.right.value == pytest.approx((kinds == "missed").mean())
    assert found.gain.value == pytest.approx(0, abs=1e-12)
    assert found.gain.interval is None or found.gain.interval[0] <= 0


def test_a_habit_is_right_for_the_right_reason_as_often_as_by_chance() -> None:
    rng, kinds = drawn(2)
    right = pl.Series("right", rng.random(kinds.size) < 0.8)

    def found(words: np.ndarray) -> RightReason:
        rows = table(words, kinds).rename({"names": "reason"})
        return right_reason_of("names", rows.with_columns(right))

    habit = found(np.full(kinds.size, "missed"))
    assert habit.shuffled == pytest.approx(habit.both.value)
    skilled = found(kinds)
    assert skilled.both.value == right.mean()
    assert skilled.shuffled is not None and skilled.shuffled < 0.6


def test_words_without_skill_are_rarely_above_and_right_ones_always() -> None:
    above = 0
    for seed in range(60):
        rng, kinds = drawn(seed)
        guess = WORDS[rng.choice(3, kinds.size, p=[0.5, 0.3, 0.2])]
        gain = reason_of("names", "all", table(guess, kinds)).gain
        assert gain.interval is not None
        above += gain.interval[0] > 0
        gain = reason_of("names", "all", table(kinds, kinds)).gain
        assert gain.interval is not None
        assert gain.interval[0] > 0.2
    assert above <= 5


def test_a_place_points_by_its_centre_or_its_overlap() -> None:
    fault = np.array([[100.0, 100, 200, 200]])
    boxes = [
        [140, 140, 160, 160],  # inside
        [0, 0, 400, 400],  # around: the centre is a corner's
        [150, 100, 260, 200],  # IoU 0.31
        [210, 100, 300, 200],
        NOWHERE,
    ]
    found = points_at(np.array(boxes, dtype=float), fault)
    assert found.tolist() == [True, True, True, False, False]


def test_a_study_of_reasons_goes_from_files_to_figures(tmp_path: Path) -> None:
    make_folder(tmp_path / "data", tasks=["object_detection"], images=8)
    for path in (tmp_path / "data" / "annotations").iterdir():
        records = json.loads(path.read_text())
        for k, record in enumerate(records):
            box = [5.0, 5.0, 15.0 + k, 20.0]
            kind = ("missed", "localization")[k % 2]
            fault = {
                "kind": kind,
                "box": box,
                "weight": 1 - record["final_score"] / 11,
            }
            record["metadata"] = {"faults": [fault]}
        path.write_text(json.dumps(records))
    dataset = tmp_path / "dataset"
    vj.build(tmp_path / "data", dataset, workers=1)
    judge = vj.client("baseline", model="oracle:1,reason=1")
    vj.judge(
        dataset,
        judge,
        tmp_path / "run",
        rubric="reason",
        swap=True,
        progress=False,
    )
    judged = stored(vj.analyse(tmp_path / "run"))[0]
    assert "right reason" not in judged["answer"]["sentence"]
    shares = {row["reason"]: row["share"] for row in judged["reasons"]}
    assert shares == {"names": 1.0, "points": 1.0}
    assert judged["right_reason"][0]["right_reason"] == 1.0
    judge = vj.client("baseline", model="oracle:1,reason=0")
    run = vj.judge(
        dataset, judge, tmp_path / "lucky", rubric="reason", progress=False
    )
    answer = stored(vj.analyse([run]))[0]["answer"]["sentence"]
    assert re.search(r"right in 100 %, for the right reason in \d %", answer)


def test_people_who_answered_the_same_rubric_are_the_truth_of_a_criterion(
    tmp_path: Path,
) -> None:
    rows = [
        {
            "item": f"q{k}",
            "model_a": "x",
            "model_b": "y",
            "verdict": "A",
            "judge": judge,
            "criterion.edges": "B" if judge == "people" and k < 5 else "A",
        }
        for judge in ("j", "people")
        for k in range(20)
    ]
    runs = vj.adopt(rows, tmp_path / "study").runs
    about = runs[1] / "run.json"
    stated = json.loads(about.read_text())
    about.write_text(
        json.dumps(stated | {"backend": "people", "judge": "people"})
    )
    judges = {one["judge"]: one for one in stored(vj.analyse(runs))}
    row = judges["j"]["criteria"][0]
    assert (row["criterion"], row["truth"]) == ("edges", 0.75)
    alone = stored(vj.analyse(runs[:1]))[0]["criteria"][0]
    assert alone["truth"] is None
