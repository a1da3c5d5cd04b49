"""Matched errors: the same look at all severities, symmetric about one half, and the score
falls.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from error_truths import CASES, DISCS, SCENE, SIZE, TRUTHS, content, standing, truth_of
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.error_types import ERROR_TYPES, perturbed
from visualjudge.vision.errors.groups import Graded, graded
from visualjudge.vision.errors.levels import ErrorScene
from visualjudge.vision.errors.matched import common_step, exchanged, inside, middles
from visualjudge.vision.predictions import Detection, Detections, Instance, Masks, People
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
    return graded(task, error_type, truth, SCENE, seed=7, key=key, pairing="matched")


@pytest.mark.parametrize(("task", "error_type"), CASES)
def test_the_score_falls_and_no_prediction_is_the_truth(task: str, error_type: str) -> None:
    found = [group(task, error_type, key) for key in range(3)]
    assert any(found)
    for items in filter(None, found):
        assert (
            spearmanr([g.severity for g in items], [g.final_score for g in items]).statistic <= -0.9
        )
        assert items[0].severity > 0 and items[-1].severity < 1
        assert repr(content(items[0].prediction)) != repr(content(truth_of(task)))


@pytest.mark.parametrize(("task", "error_type"), CASES)
def test_as_many_severities_lie_below_one_half_as_above(task: str, error_type: str) -> None:
    severities = np.array([item.severity for item in group(task, error_type)])
    assert (severities < 0.5).sum() == (severities > 0.5).sum()


def test_severities_and_counts_are_symmetric() -> None:
    assert middles(4) == (0.125, 0.375, 0.625, 0.875)
    for total in range(6):
        assert all(exchanged(s, total) + exchanged(1 - s, total) == total for s in middles(4))


@pytest.mark.parametrize("error_type", ["duplicate", "background", "missed"])
def test_boxes_of_a_group_are_equally_many_and_as_large(error_type: str) -> None:
    sizes = []
    for item in group("object_detection", error_type):
        assert isinstance(item.prediction, Detections)
        boxes = np.array([box.xyxy for box in item.prediction.items])
        sizes.append(sorted(np.log((boxes[:, 2:] - boxes[:, :2]).prod(axis=1))))
    assert len(sizes) > 1 and np.ptp([len(row) for row in sizes]) == 0
    assert np.ptp(np.array(sizes), axis=0).max() < 0.5


def test_displaced_boxes_keep_their_own_errors_and_stay_on_the_image() -> None:
    items = group("object_detection", "localization")
    shapes = [
        [(x2 - x1, y2 - y1) for x1, y1, x2, y2 in (box.xyxy for box in g.prediction.items)]
        for g in items
    ]  # type: ignore[attr-defined]
    assert all(np.allclose(shapes[0], one) for one in shapes)
    assert all(
        inside(box.xyxy, (SIZE[0] + 8, SIZE[1] + 8)) for g in items for box in g.prediction.items
    )  # type: ignore[attr-defined]


def test_exchanged_labels_are_those_of_the_truth() -> None:
    for item in group("object_detection", "classification"):
        assert sorted(box.label for box in item.prediction.items) == ["bird", "cat", "dog"]  # type: ignore[attr-defined]


def test_masks_of_a_group_are_equally_rough() -> None:
    truth = Masks(SIZE, (Instance("cat", mask_from_array(DISCS[1])),))
    lengths = []
    for item in graded(
        "instance_segmentation", "localization", truth, SCENE, seed=1, key=0, pairing="matched"
    ):
        dense = item.prediction.items[0].mask.dense()  # type: ignore[attr-defined]
        lengths.append(
            (np.diff(dense, axis=0).sum() + np.diff(dense, axis=1).sum()) / dense.sum() ** 0.5
        )
    assert len(lengths) == SCENE.levels and np.ptp(lengths) < 0.05 * np.mean(lengths)


def test_people_are_moved_as_they_are() -> None:
    truth = People((standing(60),))
    items = graded("keypoint", "jitter", truth, SCENE, seed=1, key=0, pairing="matched")
    poses = [item.prediction.items[0].keypoints for item in items]  # type: ignore[attr-defined]
    centred = [pose[1:, :2] - pose[1:, :2].mean(axis=0) for pose in poses]
    assert len(centred) > 1 and all(np.allclose(centred[0], one) for one in centred)


def test_depth_maps_have_no_holes_that_would_show_where_objects_are() -> None:
    values = TRUTHS["depth"].values.copy()  # type: ignore[attr-defined]
    values[:30, 40:90] = 0
    for item in graded(
        "depth_estimation", "ordinal", DepthMap(values), SCENE, seed=1, key=0, pairing="matched"
    ):
        assert isinstance(item.prediction, DepthMap) and item.prediction.valid.all()


def test_a_truth_and_its_mirror_image_give_maps_that_are_mirrored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a symmetric field, the far half of the way is the near half of the mirrored truth."""
    from visualjudge.vision.depth import errors_matched

    ramp = np.broadcast_to(np.abs(np.linspace(-1, 1, SIZE[1])), SIZE)
    monkeypatch.setattr(errors_matched, "smooth_field", lambda *_, **__: ramp + 0.0)
    truth = DepthMap(np.linspace(1, 9, SIZE[1])[None, :].repeat(SIZE[0], axis=0))
    mirrored = DepthMap(truth.values[:, ::-1])
    rng = np.random.default_rng(0)
    near, far = (
        errors_matched.ordinal(t, s, SCENE, rng).values
        for t, s in ((truth, 0.25), (mirrored, 0.25))
    )
    assert np.allclose(near, far[:, ::-1])


def test_items_that_touch_the_border_are_left_out() -> None:
    at_border = Detection("dog", (0.0, 10, 40, 60))
    truth = Detections((at_border, Detection("cat", (60.0, 40, 90, 80))))
    items = graded(
        "object_detection", "localization", truth, SCENE, seed=1, key=0, pairing="matched"
    )
    assert all([box.label for box in item.prediction.items] == ["cat"] for item in items)  # type: ignore[attr-defined]
    assert len({item.prediction.items[0].xyxy for item in items}) == len(items) > 1  # type: ignore[attr-defined]


def test_without_room_to_move_there_is_no_group() -> None:
    whole = Detections((Detection("dog", (0.0, 0, float(SIZE[1]), float(SIZE[0]))),))
    for name in ("localization", "background", "duplicate", "missed"):
        assert (
            graded("object_detection", name, whole, SCENE, seed=1, key=0, pairing="matched") == []
        )
    assert common_step([(3.0, 3.0, 157.0, 117.0)], SIZE, np.random.default_rng(0)) is None


def test_same_seed_and_key_give_the_same_matched_predictions() -> None:
    runs = [
        [
            repr(content(p))
            for _, p in perturbed(
                "object_detection", "missed", SPREAD, SCENE, seed=3, key="k", pairing="matched"
            )
        ]
        for _ in "ab"
    ]
    assert runs[0] == runs[1]


def test_a_type_without_a_matched_form_makes_a_ladder(monkeypatch: pytest.MonkeyPatch) -> None:
    row = replace(ERROR_TYPES["detection", "missed"], matched=None)
    monkeypatch.setitem(ERROR_TYPES._rows, ("detection", "missed"), row)
    ladder = graded("object_detection", "missed", SPREAD, SCENE, seed=1, key=0)
    matched = graded("object_detection", "missed", SPREAD, SCENE, seed=1, key=0, pairing="matched")
    assert [(g.severity, g.final_score) for g in matched] == [
        (g.severity, g.final_score) for g in ladder
    ]


def test_another_object_of_another_size_is_not_mistaken() -> None:
    small = mask_from_array(DISCS[0] & (np.indices(SIZE)[0] < 20))
    truth = Masks(SIZE, (Instance("x", mask_from_array(DISCS[1])),))
    scene = ErrorScene(SIZE, (), 4, None, (truth.items[0].mask, small))
    assert (
        graded(
            "referring_segmentation",
            "wrong_instance",
            truth,
            scene,
            seed=1,
            key=0,
            pairing="matched",
        )
        == []
    )
