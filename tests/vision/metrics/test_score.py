"""Scores on arrays small enough to work out by hand, and against pycocotools where it
defines the number.
"""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, strategies as st
from pycocotools import mask as coco_mask

from folding import each
from visualjudge import score
from visualjudge.core.errors import DataError, UsageError
from visualjudge.vision.images import faults
from visualjudge.vision.images.record import WholeImage
from visualjudge.vision.images.score import ssim
from visualjudge.vision.masks.record import masks_from_label_map
from visualjudge.vision.metrics import METRICS
from visualjudge.vision.raster.overlaps import box_ious
from visualjudge.vision.score import measured_by, notes
from visualjudge.vision.tasks import TASKS

BOX = {"label": "cat", "bbox": [0, 0, 10, 10]}


def boxes(*items: dict[str, Any]) -> dict[str, Any]:
    return {"detections": list(items)}


def dense(rows: list[str]) -> np.ndarray:
    return np.array([[char == "#" for char in row] for row in rows])


def person(
    points: dict[int, tuple[float, float]], **extra: Any
) -> dict[str, Any]:
    numbers = np.zeros((17, 3))
    for k, (x, y) in points.items():
        numbers[k] = x, y, 2
    return {"keypoints": numbers.ravel().tolist(), **extra}


def test_right_box_is_10_and_no_box_against_none_is_10() -> None:
    assert score("object_detection", boxes(BOX), boxes(BOX)) == 10
    assert score("object_detection", boxes(), boxes()) == 10
    assert score("object_detection", boxes(), boxes(BOX)) == 0


def test_iou_of_70_percent_passes_five_of_ten_thresholds() -> None:
    found = {"label": "cat", "bbox": [0, 0, 10, 7]}
    assert score("object_detection", boxes(found), boxes(BOX)) == 5.0


def test_duplicate_is_a_false_positive() -> None:
    assert score("object_detection", boxes(BOX, BOX), boxes(BOX)) == round(
        10 * 2 / 3, 4
    )


def test_a_person_too_many_is_wrong_as_a_box_is() -> None:
    """A person that is not there, with one that is found; a crowd elsewhere."""
    points = {k: (10.0 + 2 * k, 20.0 + k) for k in range(17)}
    moved = {k: (x + 200, y + 100) for k, (x, y) in points.items()}
    here = person(points, bbox=[10, 20, 42, 36], area=500)
    crowd = {**person({}), "bbox": [300, 300, 340, 340], "iscrowd": 1}
    for truths in ([here], [here, crowd]):
        assert score(
            "keypoint", {"persons": [here, person(moved)]}, {"persons": truths}
        ) == pytest.approx(10 * 2 / 3, abs=1e-4)
        # without a keypoint it lies in no crowd
        nowhere = person({}, bbox=[310, 310, 320, 320])
        assert score(
            "keypoint", {"persons": [here, nowhere]}, {"persons": truths}
        ) == pytest.approx(10 * 2 / 3, abs=1e-4)


def test_boxes_match_within_a_label_only() -> None:
    dog = {**BOX, "label": "dog"}
    assert score("object_detection", boxes(dog), boxes(BOX)) == 0
    assert (
        score(
            "object_detection",
            boxes(dog),
            boxes(BOX),
            class_of_interest=["dog"],
        )
        == 0
    )
    assert (
        score(
            "object_detection",
            boxes(dog, BOX),
            boxes(BOX),
            class_of_interest=["cat"],
        )
        == 10
    )


def test_crowd_neither_is_to_be_found_nor_makes_a_box_wrong() -> None:
    crowd = {"label": "cat", "bbox": [20, 0, 60, 40], "iscrowd": 1}
    inside = {"label": "cat", "bbox": [25, 5, 35, 15]}
    assert score("object_detection", boxes(BOX), boxes(BOX, crowd)) == 10
    assert (
        score("object_detection", boxes(BOX, inside), boxes(BOX, crowd)) == 10
    )
    assert (
        score(
            "object_detection",
            boxes(BOX, {**inside, "label": "dog"}),
            boxes(BOX, crowd),
        )
        < 10
    )


@given(st.lists(st.tuples(*[st.integers(0, 30)] * 4), min_size=1, max_size=6))
def test_box_iou_is_pycocotools(quads: list[tuple[int, int, int, int]]) -> None:
    xyxy = np.array(
        [(x, y, x + w + 1, y + h + 1) for x, y, w, h in quads], dtype=float
    )
    xywh = np.array([(x, y, w + 1, h + 1) for x, y, w, h in quads], dtype=float)
    for crowd in (0, 1):
        expected = coco_mask.iou(xywh, xywh, [crowd] * len(xywh))
        flags = np.full(len(xyxy), bool(crowd))
        assert np.array_equal(box_ious(xyxy, xyxy, flags), expected)


def test_mask_iou_is_of_pixels() -> None:
    real = dense(["####", "####"])
    half = dense(["####", "...."])
    payload = [
        {"instances": [{"label": "a", "segmentation": mask}]}
        for mask in (half, real)
    ]
    assert score("instance_segmentation", *payload) == round(10 * 1 / 10, 4)


def test_semantic_leaves_unlabelled_truth_out() -> None:
    truth = {
        "label_map": np.array([[1, 1, 0, 255]], np.uint8),
        "classes": {"1": "road"},
    }
    found = {
        "label_map": np.array([[1, 2, 2, 2]], np.uint8),
        "classes": {"1": "road", "2": "sky"},
    }
    # road: 1 of 2; sky: 0 of 1
    assert score("semantic_segmentation", found, truth) == 2.5


def test_labels_are_matched_by_name_not_by_number() -> None:
    truth = {
        "label_map": np.array([[1, 2]], np.uint8),
        "classes": {"1": "road", "2": "sky"},
    }
    found = {
        "label_map": np.array([[7, 5]], np.uint8),
        "classes": {"7": "road", "5": "sky"},
    }
    assert score("semantic_segmentation", found, truth) == 10


def test_referring_is_iou() -> None:
    pair = [{"segmentation": dense(rows)} for rows in (["##.."], [".###"])]
    assert score("referring_segmentation", *pair) == 2.5


def test_absent_keypoint_is_infinitely_far() -> None:
    truth = {"persons": [person({0: (10, 10), 5: (20, 20)}, area=400.0)]}
    found = {"persons": [person({0: (10, 10)})]}
    # OKS 0.5: passes the first threshold alone
    assert score("keypoint", found, truth) == 1.0


def test_person_without_labelled_keypoints_is_not_to_be_found() -> None:
    assert score("keypoint", {"persons": []}, {"persons": [person({})]}) == 10


@pytest.mark.parametrize(
    ("align", "expected"), [("none", 0.0), ("median", 10.0), ("affine", 10.0)]
)
def test_depth_alignment_takes_the_scale_out(
    align: str, expected: float
) -> None:
    depth = np.array([[1.0, 2.0], [4.0, 8.0]])
    assert (
        score(
            "depth_estimation",
            {"depth": 3 * depth},
            {"depth": depth},
            align=align,
        )
        == expected
    )


def test_disparity_is_turned_into_depth() -> None:
    depth = np.array([[1.0, 2.0], [4.0, 8.0]])
    assert (
        score(
            "depth_estimation",
            {"depth": 5 / depth, "inverse": True},
            {"depth": depth},
        )
        == 10
    )


def test_pixel_without_a_prediction_is_wrong_and_one_without_truth_is_left_out() -> (
    None
):
    truth = np.array([[1.0, 2.0, 0.0, np.nan]])
    found = np.array([[1.0, np.nan, 5.0, 5.0]])
    assert (
        score(
            "depth_estimation", {"depth": found}, {"depth": truth}, align="none"
        )
        == 5.0
    )


def test_restoration_is_ssim_or_psnr() -> None:
    clean = np.random.default_rng(0).integers(
        0, 255, (40, 40, 3), dtype=np.uint8
    )
    worse = np.clip(clean.astype(int) + 20, 0, 255).astype(np.uint8)
    assert score("lowlevel-derain", {"image": clean}, {"image": clean}) == 10
    error = float(np.mean((clean.astype(float) - worse) ** 2))
    psnr = 10 * np.log10(255**2 / error)
    assert score(
        "lowlevel-derain", {"image": worse}, {"image": clean}, metric="psnr"
    ) == pytest.approx(10 * (psnr - 15) / 25, abs=1e-3)


def test_generation_has_no_metric() -> None:
    with pytest.raises(UsageError, match="given, not computed"):
        score("generation_t2i", {"image": "a.png"}, {"image": "b.png"})


@pytest.mark.parametrize("options", [{"algin": "none"}, {"align": "mean"}])
def test_unknown_option_is_wrong_usage(options: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"align|algin"):
        score(
            "depth_estimation",
            {"depth": np.ones((2, 2))},
            {"depth": np.ones((2, 2))},
            **options,
        )


def test_sizes_that_differ_are_named() -> None:
    with pytest.raises(DataError, match="depth"):
        score(
            "depth_estimation",
            {"depth": np.ones((2, 3))},
            {"depth": np.ones((2, 2))},
        )


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -0.01, 1.7, None, "much"]
)
def test_a_metric_that_gives_no_share_is_named(
    monkeypatch: pytest.MonkeyPatch, value: Any
) -> None:
    own = METRICS["detection", "f1"]
    monkeypatch.setitem(
        METRICS._rows,
        ("detection", "f1"),
        replace(own, measure=lambda *_, **__: value),
    )
    with pytest.raises(
        DataError,
        match=r"metric f1 of detection: must give a number from 0 to 1, got",
    ):
        score("object_detection", boxes(BOX), boxes(BOX))


@each(("kind", "name"), METRICS)
def test_records_state_whatever_changes_the_score_of_a_metric(
    kind: str, name: str
) -> None:
    task = next(task.name for task in TASKS.values() if task.type == kind)
    measured = measured_by(task, {"metric": name})
    metric = METRICS[kind, name]
    options = metric.options - {"class_of_interest"}
    assert measured.keys() >= options | metric.defaults.keys()
    (line, *_) = notes(task, [], {"metric": name})
    assert line


@pytest.mark.parametrize(("rows", "told"), [(0, 1), (1, 1), (4, 2)])
def test_predictions_where_the_truth_has_no_label_are_told_from_one_per_cent(
    rows: int, told: int
) -> None:
    values = np.ones((200, 10), np.uint8)
    prediction = masks_from_label_map(values, {1: "road"}, unlabelled=(0,))
    values[:rows] = 0
    truth = masks_from_label_map(values, {1: "road"}, unlabelled=(0,))
    lines = notes("semantic_segmentation", [(prediction, truth)], {})
    assert len(lines) == told
    assert "2 % of the pixels" in lines[-1] or told == 1


def test_a_large_restored_image_needs_little_memory_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SSIM is made band by band, and the changes of faults one at a time: 4.4 GB for 12
    megapixels before."""
    monkeypatch.setattr(faults, "MOST_KEPT", 0)
    rng = np.random.default_rng(0)
    real = rng.integers(0, 256, (1000, 2000, 3), dtype=np.uint8)
    predicted = WholeImage(cv2.GaussianBlur(real, (0, 0), 2.0))
    tracemalloc.start()
    try:
        for measure in (
            lambda: ssim(predicted, WholeImage(real)),
            lambda: list(
                faults.image_faults(predicted, WholeImage(real), None, real)
            ),
        ):
            tracemalloc.reset_peak()
            measure()
            assert tracemalloc.get_traced_memory()[1] < 18 * real.nbytes
    finally:
        tracemalloc.stop()
