"""Many boxes of an image are scored in parts, and too many are refused."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

from visualjudge import score
from visualjudge.core.errors import DataError, RunError
from visualjudge.vision.predictions import Detection, Detections
from visualjudge.vision.raster import overlaps
from visualjudge.vision.raster.limits import MOST_ITEMS
from visualjudge.vision.raster.overlaps import box_ious
from visualjudge.vision.scoring.average_precision import average_precision


def boxes(count: int, label: str = "dog") -> Detections:
    corners = np.random.default_rng(0).uniform(0, 300, (count, 2)).tolist()
    return Detections(
        tuple(Detection(label, (x, y, x + 20, y + 30), 0.5) for x, y in corners)
    )


def test_boxes_compared_in_parts_have_the_same_iou(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some = np.array([item.xyxy for item in boxes(70).items])
    crowd = np.arange(70) % 3 == 0
    whole = box_ious(some, some, crowd)
    monkeypatch.setattr(overlaps, "_PAIRS_OF_A_CALL", 10**9)
    assert np.array_equal(box_ious(some, some, crowd), whole)
    assert whole.max() == 1


def test_a_box_that_is_no_number_overlaps_nothing() -> None:
    odd = np.array([[0, 0, np.nan, 5], [0, 0, np.inf, 5], [3, 3, 3, 3]])
    assert not box_ious(odd, np.array([[0.0, 0, 5, 5]])).any()


def test_too_many_boxes_are_refused_in_one_line() -> None:
    many = boxes(7100)
    with pytest.raises(
        DataError,
        match=r"^prediction: pairs .*: must be at most 50,000,000, got 50,410,000$",
    ):
        score("object_detection", many, many)
    payload = {
        "detections": [{"label": "dog", "bbox": [0, 0, 9, 9]}]
        * (MOST_ITEMS + 1)
    }
    with pytest.raises(
        DataError, match=r"^detections: must be at most 100,000, got 100,001$"
    ):
        score("object_detection", payload, payload)


def _in_a_fork(count: int) -> str:
    many = boxes(count)
    assert score("object_detection", many, many) == 10
    try:
        average_precision("object_detection", [(many, many)])
    except RunError as error:
        return str(error)
    return "computed"


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(),
    reason="the system cannot fork",
)
def test_a_forked_process_scores_and_refuses_ap_instead_of_waiting_for_ever() -> (
    None
):
    average_precision("object_detection", [(boxes(50), boxes(50))])
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert "'spawn'" in pool.apply_async(_in_a_fork, (50,)).get(timeout=30)
