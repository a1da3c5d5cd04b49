"""An audit finds each kind of planted fault, and nothing in a sound dataset."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from skimage import data as photographs

from runs.made_dataset import make_dataset
from visualjudge.apps.planning.dataset_audit import audit, near, thumbnail
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.folder import load_dataset
from visualjudge.vision.raster.images import read_rgb, write_png

Raw = list[dict[str, Any]]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(
        "COLUMNS", "400"
    )  # sentences of the terminal's table in one line each
    made = make_dataset(tmp_path / "set", pairwise=40, ranking=3, scoring=4)
    edit(made, _balanced)
    return made


def _balanced(questions: Raw) -> None:
    """One image name a question, so that no two share an original."""
    for question in questions:
        question["image_id"] = question["id"]


def edit(root: Path, change: Callable[[Raw], object]) -> None:
    path = root / "questions.json"
    questions = json.loads(path.read_text())
    change(questions)
    path.write_text(json.dumps(questions))


def kinds(root: Path) -> dict[str, int]:
    return {row.kind: row.count for row in audit(load_dataset(root)).findings}


def test_a_sound_dataset_has_no_findings(root: Path) -> None:
    assert kinds(root) == {}
    assert len(audit(load_dataset(root)).checked) == 5


def test_identical_options_are_seen_by_their_pixels(root: Path) -> None:
    first, second = (root / f"media/pairwise3_{k}.png" for k in (0, 1))
    second.write_bytes(first.read_bytes())
    assert kinds(root) == {"identical_options": 1}


def test_one_annotation_with_two_scores_is_a_contradiction(root: Path) -> None:
    def plant(questions: Raw) -> None:
        questions[1]["image_id"] = questions[0]["image_id"]
        questions[1]["images"][0] = questions[0]["images"][0]
        questions[1]["annotation_ids"][0] = questions[0]["annotation_ids"][0]

    edit(root, plant)
    assert kinds(root) == {"contradictory_labels": 1}


def test_an_original_under_two_names_is_found_through_noise_and_light(
    root: Path,
) -> None:
    smooth = np.kron(
        rng_for(0, "smooth").integers(0, 200, (4, 4, 3)), np.ones((12, 12, 1))
    ).astype(np.uint8)
    write_png(root / "media/original_pairwise0.png", smooth)
    noise = rng_for(0, "noise").integers(0, 9, smooth.shape)
    write_png(
        root / "media/original_pairwise1.png", (smooth + noise).astype(np.uint8)
    )
    assert kinds(root) == {"near_duplicates": 1}


def test_a_feature_that_gives_the_answer_away_is_a_leak(root: Path) -> None:
    def plant(questions: Raw) -> None:
        for question in questions:
            if question["question_type"] == "pairwise":
                chars = [10, 30] if question["answer"] == "A" else [30, 10]
                question["features"] = [{"text_chars": n} for n in chars]

    edit(root, plant)
    assert set(kinds(root)) == {"leak"}
    assert (
        "the longer text is wrong in 100.0 % of 40 pairs whose options differ in it"
        in str(audit(load_dataset(root)))
    )


def test_one_answer_for_all_is_an_imbalance(root: Path) -> None:
    def plant(questions: Raw) -> None:
        for question in questions:
            if question["question_type"] == "pairwise":
                question["answer"], question["final_scores"] = "A", [7.0, 3.0]

    edit(root, plant)
    assert "constant_answer" in kinds(root)


def test_flat_images_of_different_grey_are_not_the_same() -> None:
    grey = [
        thumbnail(np.full((40, 40, 3), level, np.uint8))
        for level in (20, 60, 61)
    ]
    assert list(near(grey)) == [(1, 2)]


def test_a_thumbnail_is_of_the_whole_image(root: Path) -> None:
    assert thumbnail(read_rgb(root / "media/original_pairwise0.png")).shape == (
        32,
        32,
        3,
    )


@pytest.mark.parametrize("gain", [0.87, 1.15])
def test_an_image_at_another_brightness_is_nearly_the_same(gain: float) -> None:
    photograph = np.ascontiguousarray(photographs.astronaut()[:200, :300])
    relit = np.clip(photograph * gain, 0, 255).astype(np.uint8)
    other = np.ascontiguousarray(photographs.coffee()[:200, :300])
    looks = [thumbnail(one) for one in (photograph, relit, other)]
    assert list(near(looks)) == [(0, 1)]
