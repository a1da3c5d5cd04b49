"""Questions whose options an encoding shows alike are not asked, are counted, and are
found again by validate.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from making import detection, photograph, write_records
from visualjudge.dataset.build import build
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.validate import validate
from visualjudge.options import BuildOptions, Caps
from visualjudge.vision.raster.images import write_png

Json = dict[str, Any]
LEFT, RIGHT = 5, 6


def _person(shift: float = 0.0, *, mirrored: bool = False) -> Json:
    points = [[10.0 + 2 * k + shift, 8.0 + (k % 6) * 6, 2] for k in range(17)]
    if mirrored:
        for k in range(1, 17, 2):
            points[k], points[k + 1] = points[k + 1], points[k]
    return {"persons": [{"keypoints": [v for point in points for v in point]}]}


def _poses(root: Path, images: int = 4) -> Path:
    """Groups of an error that swaps left and right, which no encoding without limbs or
    parts can show.
    """
    records: list[Json] = []
    for k in range(images):
        write_png(root / f"photo{k}.png", photograph(k, (64, 64)))
        for name, prediction, score in (
            ("right", _person(), 9.0),
            ("mirrored", _person(mirrored=True), 4.0),
        ):
            records.append(
                {
                    "annotation_id": f"{name}{k}",
                    "image_id": f"photo{k}",
                    "task": "keypoint",
                    "error_type": "inversion",
                    "prediction": prediction,
                    "final_score": score,
                }
            )
        records.append(
            {
                **records[-1],
                "annotation_id": f"moved{k}",
                "error_type": "jitter",
            }
        )
        records.append(
            {
                **records[-3],
                "annotation_id": f"still{k}",
                "error_type": "jitter",
            }
        )
    write_records(root, "keypoint", records)
    (root / "images").mkdir()
    index = {f"photo{k}": {"file": f"photo{k}.png"} for k in range(images)}
    (root / "images/keypoint.json").write_text(json.dumps(index))
    return root


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    build(_poses(tmp_path / "data"), tmp_path / "out")
    return tmp_path / "out"


def test_points_without_limbs_are_not_asked_about_swapped_sides(
    dataset: Path,
) -> None:
    read = load_dataset(dataset)
    asked = Counter(
        q.encoding for q in read.questions if q.question_type == "pairwise"
    )
    assert asked["pixel_s0_c1_m0"] == 0
    assert asked["pixel_s1_c2_m0"] == asked["text_flat_list"] == 8
    assert read.meta["undecidable"]["keypoint"]["pixel_s0_c1_m0"] == {
        "pairwise": 8,
        "ranking": 0,
    }
    assert read.meta["unseen_error_types"]["keypoint"]["pixel_s0_c1_m0"] == [
        "inversion",
        "jitter",
    ]
    assert read.meta["counts"]["questions"] == len(read.questions)
    assert validate(dataset)[1] == []


def test_every_image_of_the_dataset_is_shown(dataset: Path) -> None:
    shown = {
        path
        for question in load_dataset(dataset).questions
        for path in question.images
    }
    assert shown == {
        f"media/{path.name}" for path in (dataset / "media").iterdir()
    }


def test_a_is_right_in_half_of_what_is_left(tmp_path: Path) -> None:
    build(_poses(tmp_path / "data", images=9), tmp_path / "out")
    for stem in ("pixel_s1_c2_m0", "text_flat_list"):
        answers = [
            q.answer
            for q in load_dataset(tmp_path / "out").questions
            if q.encoding == stem
        ]
        answers = [answer for answer in answers if answer in ("A", "B")]
        assert abs(answers.count("A") - len(answers) / 2) <= 1


def _boxes(root: Path, shifts: tuple[float, ...]) -> Path:
    records = [detection(k, 10.0 - k) for k in range(len(shifts))]
    for record, shift in zip(records, shifts, strict=True):
        record["prediction"]["detections"][0]["bbox"] = [
            5.0 + shift,
            6.0,
            30.0 + shift,
            40.0,
        ]
    write_png(root / "photo.png", photograph(0, (48, 64)))
    write_records(root, "object_detection", records)
    (root / "images").mkdir()
    (root / "images/object_detection.json").write_text(
        '{"photo": {"file": "photo.png"}}'
    )
    return root


def test_boxes_that_round_to_the_same_pixels_are_no_question_and_no_ranking(
    tmp_path: Path,
) -> None:
    build(_boxes(tmp_path / "data", (0.0, 0.2, 9.0)), tmp_path / "out")
    read = load_dataset(tmp_path / "out")
    assert {len(q.annotation_ids) for q in read.questions} == {1, 2}
    stated = read.meta["undecidable"]["object_detection"]
    assert stated == {stem: {"pairwise": 1, "ranking": 1} for stem in stated}
    assert len(stated) == 6
    assert validate(tmp_path / "out")[1] == []


def test_least_margin_of_a_pair(tmp_path: Path) -> None:
    build(
        _boxes(tmp_path / "data", (0.0, 5.0, 9.0)),
        tmp_path / "out",
        BuildOptions(caps=Caps(min_margin=2.0)),
    )
    pairs = [
        q
        for q in load_dataset(tmp_path / "out").questions
        if q.question_type == "pairwise"
    ]
    assert {abs(q.final_scores[0] - q.final_scores[1]) for q in pairs} == {2.0}
