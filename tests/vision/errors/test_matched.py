"""Matched errors: the same look at all severities, symmetric about one half, and the
score falls.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from error_truths import (
    CASES,
    DISCS,
    SCENE,
    SIZE,
    TRUTHS,
    content,
    standing,
    truth_of,
)
from folding import each
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.error_types import error_type_named, perturbed
from visualjudge.vision.errors.groups import Graded, graded
from visualjudge.vision.errors.matched import (
    aside,
    common_steps,
    exchanged,
    inside,
    middles,
    side,
    two_sides,
)
from visualjudge.vision.errors.random_fields import box_iou
from visualjudge.vision.predictions import (
    Detection,
    Detections,
    Instance,
    Masks,
    People,
)
from visualjudge.vision.raster.masks import mask_from_array

SPREAD = Detections(
    (
        Detection("dog", (15.0, 20, 45, 50)),
        Detection("cat", (60.0, 70, 92, 98)),
        Detection("bird", (20.0, 80, 48, 112)),
    )
)


def group(task: str, error_type: str, key: int = 0) -> list[Graded]:
    truth = SPREAD if task == "object_detection" else truth_of(task)
    return graded(
        task, error_type, truth, SCENE, seed=7, key=key, pairing="matched"
    )


@each(
    ("task", "error_type"),
    [case for case in CASES if error_type_named(*case).matched],
)
def test_the_score_falls_and_no_prediction_is_the_truth(
    task: str, error_type: str
) -> None:
    found = [group(task, error_type, key) for key in range(2)]
    assert any(found)
    for items in filter(None, found):
        assert (
            spearmanr(
                [g.severity for g in items], [g.final_score for g in items]
            ).statistic
            <= -0.9
        )
        severities = np.array([item.severity for item in items])
        assert severities.min() > 0 and severities.max() < 1
        assert (severities < 0.5).sum() == (severities > 0.5).sum()
        assert repr(content(items[0].prediction)) != repr(
            content(truth_of(task))
        )


def test_severities_and_counts_are_symmetric() -> None:
    assert middles(4) == (0.125, 0.375, 0.625, 0.875)
    for total in range(6):
        assert all(
            exchanged(s, total) + exchanged(1 - s, total) == total
            for s in middles(4)
        )


@each("levels", [4, 5, 8])
@each("seed", range(4))
def test_a_rule_that_prefers_one_side_is_right_in_half_of_the_pairs(
    levels: int, seed: int
) -> None:
    sides = [
        side(s, levels, np.random.default_rng(seed)) for s in middles(levels)
    ]
    where = [
        (2 * to - 1) * s for to, s in zip(sides, middles(levels), strict=True)
    ]
    right = [where[i] > where[j] for j in range(levels) for i in range(j)]
    assert sum(right) == len(right) / 2


def test_the_sides_are_exchanged_in_half_of_the_groups() -> None:
    first = [side(0.875, 4, np.random.default_rng(seed)) for seed in range(400)]
    assert 160 < sum(first) < 240


def test_two_moves_lead_to_opposite_sides_of_the_truth() -> None:
    box = np.array([[20.0, 30.0, 60.0, 60.0]])
    angles = np.arange(16) * np.pi / 8
    moves = 15 * np.stack([np.cos(angles), np.sin(angles)], axis=1)[:, None]
    found = two_sides(box, moves, (100, 160))
    assert found is not None
    one, two = (moves[k, 0] for k in found)
    assert one @ two < -0.8 * 15**2
    assert (
        two_sides(np.array([[60.0, 35.0, 100.0, 65.0]]), moves, (100, 160))
        is None
    ), "centred"
    assert two_sides(box, moves[:1], (100, 160)) is None


def test_a_map_that_is_moved_shows_nothing_made_up() -> None:
    plane = np.arange(100)[None].repeat(3, axis=0)
    left, right = (aside(plane, 0.4, to, -1) for to in (0, 1))
    assert (left[:, [*range(15), *range(85, 100)]] == -1).all()
    assert (left[:, 15:85] == plane[:, 15:85] + 6).all()
    assert (right[:, 15:85] == plane[:, 15:85] - 6).all()


@pytest.mark.parametrize("error_type", ["duplicate", "background", "missed"])
def test_boxes_of_a_group_are_equally_many_and_as_large(
    error_type: str,
) -> None:
    sizes = []
    for item in group("object_detection", error_type):
        assert isinstance(item.prediction, Detections)
        boxes = np.array([box.xyxy for box in item.prediction.items])
        sizes.append(sorted(np.log((boxes[:, 2:] - boxes[:, :2]).prod(axis=1))))
    assert len(sizes) > 1 and np.ptp([len(row) for row in sizes]) == 0
    assert np.ptp(np.array(sizes), axis=0).max() < 1e-6


def test_displaced_boxes_keep_their_own_errors_and_stay_on_the_image() -> None:
    items = group("object_detection", "localization")
    shapes = [
        [
            (x2 - x1, y2 - y1)
            for x1, y1, x2, y2 in (box.xyxy for box in g.prediction.items)
        ]
        for g in items
    ]  # type: ignore[attr-defined]
    assert all(np.allclose(shapes[0], one) for one in shapes)
    assert all(
        inside(box.xyxy, (SIZE[0] + 8, SIZE[1] + 8))
        for g in items
        for box in g.prediction.items
    )  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "corner", [(20.0, 15.0), (20, 65), (100, 15), (100, 65)]
)
def test_a_box_is_displaced_within_the_image_wherever_it_is(
    corner: tuple[float, float],
) -> None:
    x, y = corner
    truth = Detections((Detection("dog", (x, y, x + 40, y + 40)),))
    groups = [
        graded(
            "object_detection",
            "localization",
            truth,
            SCENE,
            seed=1,
            key=key,
            pairing="matched",
        )
        for key in range(4)
    ]
    boxes = [item.prediction.items[0].xyxy for g in groups for item in g]  # type: ignore[attr-defined]
    assert boxes and all(inside(box, SIZE) for box in boxes)


def test_exchanged_labels_are_those_of_the_truth() -> None:
    for item in group("object_detection", "classification"):
        assert sorted(box.label for box in item.prediction.items) == [
            "bird",
            "cat",
            "dog",
        ]  # type: ignore[attr-defined]


def test_masks_of_a_group_are_equally_rough() -> None:
    truth = Masks(SIZE, (Instance("cat", mask_from_array(DISCS[1])),))
    lengths = []
    for item in graded(
        "instance_segmentation",
        "localization",
        truth,
        SCENE,
        seed=1,
        key=0,
        pairing="matched",
    ):
        dense = item.prediction.items[0].mask.dense()  # type: ignore[attr-defined]
        lengths.append(
            (np.diff(dense, axis=0).sum() + np.diff(dense, axis=1).sum())
            / dense.sum() ** 0.5
        )
    assert len(lengths) == SCENE.levels and np.ptp(lengths) < 0.05 * np.mean(
        lengths
    )


def test_people_are_moved_as_they_are() -> None:
    truth = People((standing(60),))
    items = graded(
        "keypoint", "jitter", truth, SCENE, seed=1, key=0, pairing="matched"
    )
    poses = [item.prediction.items[0].keypoints for item in items]  # type: ignore[attr-defined]
    centred = [pose[1:, :2] - pose[1:, :2].mean(axis=0) for pose in poses]
    assert len(centred) > 1 and all(
        np.allclose(centred[0], one) for one in centred
    )


def test_depth_maps_have_the_same_holes_that_do_not_show_where_objects_are() -> (
    None
):
    values = TRUTHS["depth"].values.copy()  # type: ignore[attr-defined]
    values[:30, 40:90] = 0
    items = graded(
        "depth_estimation",
        "ordinal",
        DepthMap(values),
        SCENE,
        seed=1,
        key=0,
        pairing="matched",
    )
    assert items
    for item in items:
        assert isinstance(item.prediction, DepthMap)
        margin = round(0.15 * SIZE[1])
        assert item.prediction.valid[:, margin:-margin].all()
        assert not item.prediction.valid[:, :margin].any()


def test_items_that_touch_the_border_are_left_out() -> None:
    at_border = Detection("dog", (0.0, 10, 40, 60))
    truth = Detections((at_border, Detection("cat", (60.0, 40, 90, 80))))
    items = graded(
        "object_detection",
        "localization",
        truth,
        SCENE,
        seed=1,
        key=0,
        pairing="matched",
    )
    assert all(
        [box.label for box in item.prediction.items] == ["cat"]
        for item in items
    )  # type: ignore[attr-defined]
    assert (
        len({item.prediction.items[0].xyxy for item in items}) == len(items) > 1
    )  # type: ignore[attr-defined]


def test_without_room_to_move_there_is_no_group() -> None:
    whole = Detections(
        (Detection("dog", (0.0, 0, float(SIZE[1]), float(SIZE[0]))),)
    )
    for name in ("localization", "background", "duplicate", "missed"):
        assert (
            graded(
                "object_detection",
                name,
                whole,
                SCENE,
                seed=1,
                key=0,
                pairing="matched",
            )
            == []
        )
    assert (
        common_steps([(4.0, 4.0, 156.0, 116.0)], SIZE, np.random.default_rng(0))
        is None
    )


def test_with_less_room_a_move_changes_less() -> None:
    for width, height, iou in ((60, 60, 0.5), (80, 70, 0.6), (90, 80, 0.7)):
        box = np.array([20.0, 4, 20 + width, 4 + height])
        steps = common_steps([tuple(box)], SIZE, np.random.default_rng(0))
        assert steps is not None
        for step in steps:
            moved = tuple(box + np.tile(step, 2))
            assert box_iou(tuple(box), moved) == pytest.approx(iou, abs=1e-3)


def test_same_seed_and_key_give_the_same_matched_predictions() -> None:
    runs = [
        [
            repr(content(p))
            for _, p in perturbed(
                "object_detection",
                "missed",
                SPREAD,
                SCENE,
                seed=3,
                key="k",
                pairing="matched",
            )
        ]
        for _ in "ab"
    ]
    assert runs[0] == runs[1]


def test_an_error_without_a_matched_form_makes_a_ladder() -> None:
    task, error_type = "semantic_segmentation", "classification"
    ladder = graded(task, error_type, truth_of(task), SCENE, seed=7, key=0)
    matched = group(task, error_type)
    assert [(g.severity, g.final_score) for g in matched] == [
        (g.severity, g.final_score) for g in ladder
    ]
