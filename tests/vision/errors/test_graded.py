"""Controlled errors: severity rises, the score falls, and each error is the one that it
is named for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import spearmanr

from error_truths import (
    CASES,
    DISCS,
    GRADIENT,
    LABELS,
    SCENE,
    SIZE,
    TRUTHS,
    content,
    standing,
    truth_of,
)
from folding import each
from visualjudge.core.errors import DataError, UsageError
from visualjudge.vision.error_types import error_types, perturbed
from visualjudge.vision.errors.groups import graded
from visualjudge.vision.errors.levels import ErrorScene
from visualjudge.vision.errors.random_fields import elsewhere
from visualjudge.vision.predictions import (
    TYPES,
    DepthMap,
    Detection,
    Detections,
    Instance,
    Masks,
    People,
    Person,
    read_prediction,
)
from visualjudge.vision.raster.masks import mask_from_array


@each(("task", "error_type"), CASES)
def test_score_falls_as_severity_rises(task: str, error_type: str) -> None:
    correlations = []
    for key in range(4):
        group = graded(task, error_type, truth_of(task), SCENE, seed=7, key=key)
        assert len(group) >= 2, "a group of one asks nothing"
        correlations.append(
            spearmanr(
                [g.severity for g in group], [g.final_score for g in group]
            ).statistic
        )
        assert all(0 <= g.final_score < 10 for g in group)
    assert np.mean(correlations) <= -0.9


@each(("task", "error_type"), CASES)
def test_same_seed_and_key_give_the_same_prediction(
    task: str, error_type: str
) -> None:
    runs = [
        [
            repr(content(p))
            for _, p in perturbed(
                task, error_type, truth_of(task), SCENE, seed=3, key="k"
            )
        ]
        for _ in "ab"
    ]
    assert runs[0] == runs[1]


@settings(max_examples=30)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["localization", "background", "duplicate"]),
)
def test_moved_and_added_boxes_stay_on_the_image(
    key: int, error_type: str
) -> None:
    for _, prediction in perturbed(
        "object_detection",
        error_type,
        TRUTHS["detection"],
        SCENE,
        seed=1,
        key=key,
    ):
        assert isinstance(prediction, Detections)
        for item in prediction.items:
            x1, y1, x2, y2 = item.xyxy
            assert 0 <= x1 <= x2 <= SIZE[1]
            assert 0 <= y1 <= y2 <= SIZE[0]


def test_wrong_class_is_one_of_the_data_set() -> None:
    *_, (_, worst) = perturbed(
        "object_detection",
        "classification",
        TRUTHS["detection"],
        SCENE,
        seed=1,
        key=0,
    )
    assert isinstance(worst, Detections)
    for item, real in zip(worst.items, LABELS, strict=True):
        assert item.label in set(LABELS) - {real}


def test_inversion_exchanges_left_and_right_of_one_part() -> None:
    (_, mildest), *_ = perturbed(
        "keypoint", "inversion", People((standing(40),)), SCENE, seed=1, key=0
    )
    assert isinstance(mildest, People)
    before, after = standing(40).keypoints, mildest.items[0].keypoints
    changed = np.flatnonzero((before != after).any(axis=1)).tolist()
    assert changed
    assert all(
        np.array_equal(after[k], before[k + 1 if k % 2 else k - 1])
        for k in changed
    )


def test_a_person_without_keypoints_and_box_stays_as_it_is() -> None:
    points = np.column_stack(
        [np.arange(17), np.arange(17), np.full(17, 2)]
    ).astype(float)
    truth = People((Person(np.zeros((17, 3))), Person(points)))
    (first, *_) = perturbed(
        "keypoint", "jitter", truth, ErrorScene((40, 40)), seed=0, key="k"
    )
    assert not first[1].items[0].present.any()
    assert (first[1].items[1].keypoints != points).any()


def test_a_mask_without_pixels_is_put_nowhere_else() -> None:
    size = 40, 60
    empty, full = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    full[5:15, 5:20] = True
    masks = [{"label": "dog", "segmentation": mask} for mask in (empty, full)]
    truth = read_prediction("instance_segmentation", {"instances": masks})
    found = graded(
        "instance_segmentation",
        "background",
        truth,
        ErrorScene(size, ("dog",), 3),
        seed=1,
        key="a",
    )
    assert found
    assert all(
        mask.area for one in found for mask in one.prediction.regions()[2:]
    )


def test_a_mask_put_elsewhere_keeps_a_height_and_a_width_of_one_pixel() -> None:
    size = 40, 60
    for rows, columns in (
        (slice(9, 10), slice(5, 30)),
        (slice(5, 30), slice(9, 10)),
    ):
        line = np.zeros(size, np.bool_)
        line[rows, columns] = True
        truth = Masks(size, (Instance("dog", mask_from_array(line)),))
        items = graded(
            "instance_segmentation",
            "background",
            truth,
            ErrorScene(size, ("dog",), 3),
            seed=1,
            key="a",
        )
        added = [mask for g in items for mask in g.prediction.regions()[1:]]
        assert added and all(min(mask.crop.shape) == 1 for mask in added)


def test_swap_needs_two_people() -> None:
    assert (
        graded(
            "keypoint", "swap", People((standing(40),)), SCENE, seed=1, key=0
        )
        == []
    )


def test_what_remains_of_a_degradation_needs_the_degraded_image() -> None:
    truth = TRUTHS["restoration"]
    assert (
        graded(
            "lowlevel-deblur",
            "residual",
            truth,
            ErrorScene(SIZE),
            seed=1,
            key=0,
        )
        == []
    )
    assert graded("lowlevel-deblur", "residual", truth, SCENE, seed=1, key=0)


def test_invalid_depth_stays_invalid() -> None:
    values = GRADIENT.copy()
    values[:10] = 0
    for error_type in error_types("depth_estimation"):
        for _, prediction in perturbed(
            "depth_estimation",
            error_type,
            DepthMap(values),
            SCENE,
            seed=1,
            key=0,
        ):
            assert isinstance(prediction, DepthMap)
            assert np.array_equal(prediction.valid, values != 0)


def test_unknown_error_type_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="jitter, inversion, swap, missed"):
        list(
            perturbed(
                "keypoint", "blur", TRUTHS["keypoint"], SCENE, seed=1, key=0
            )
        )


def test_every_severity_of_a_swap_lowers_the_score() -> None:
    """Exchanging all keypoints of two people would make both right again."""
    group = graded(
        "keypoint",
        "swap",
        People((standing(40), standing(160))),
        SCENE,
        seed=1,
        key=0,
    )
    assert group[-1].severity == 1


@pytest.mark.parametrize("error_type", error_types("semantic_segmentation"))
def test_the_order_of_segments_does_not_tell_the_truth_from_its_errors(
    error_type: str,
) -> None:
    truth = Masks(
        SIZE,
        (
            Instance("dog", mask_from_array(~DISCS[0])),
            Instance("cat", mask_from_array(DISCS[0])),
        ),
    )
    group = graded(
        "semantic_segmentation",
        error_type,
        truth,
        SCENE,
        seed=0,
        key="k",
        with_truth=True,
    )
    for item in group:
        assert isinstance(item.prediction, Masks)
        shown = [part.label for part in item.prediction.items]
        assert shown == sorted(shown), item.severity
    assert group[0].severity == 0
    assert group[0].final_score == 10


def test_an_error_function_that_returns_none_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind = TYPES["detection"]
    errors = tuple(
        replace(row, perturb=lambda *_: None) if row.name == "missed" else row
        for row in kind.errors
    )
    monkeypatch.setitem(TYPES._rows, "detection", replace(kind, errors=errors))
    truth = Detections((Detection("dog", (4, 5, 30, 40)),))
    with pytest.raises(
        DataError,
        match=r"error type missed of detection: must return a prediction, got NoneType",
    ):
        graded("object_detection", "missed", truth, SCENE, seed=1, key="a")


def test_a_box_elsewhere_keeps_its_shape_and_about_its_size() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        x1, y1, x2, y2 = elsewhere((10, 20, 90, 60), (300, 500), rng, [])
        assert 0.6 <= (x2 - x1) / 80 <= 1.1
        assert (x2 - x1) / (y2 - y1) == pytest.approx(2)
        assert 0 <= x1 <= x2 <= 500 and 0 <= y1 <= y2 <= 300
