"""Features of items: what does not depend on the order in which they are listed."""

from __future__ import annotations

import numpy as np
import pytest

from folding import each
from visualjudge.vision.boxes.features import box_features
from visualjudge.vision.boxes.record import Detection, Detections
from visualjudge.vision.masks.draw import inner_square
from visualjudge.vision.raster.masks import mask_from_array
from visualjudge.vision.view import Given

PIXELS = np.zeros((60, 90, 3), np.uint8)
PIXELS[10:30, 10:40] = (200, 30, 30)
PIXELS[35:55, 50:80] = np.arange(30, dtype=np.uint8)[:, None] * 8
FIRST = Detection("cup", (10, 10, 40, 30), 0.9)
SECOND = Detection("cup", (50, 35, 80, 55), 0.8)


def features(*items: Detection) -> dict[str, float]:
    return dict(box_features(Detections(items), Given(PIXELS)))


def test_two_boxes_have_the_same_features_in_any_order() -> None:
    assert features(FIRST, SECOND) == pytest.approx(features(SECOND, FIRST))


def test_a_box_outside_of_the_image_is_an_empty_region() -> None:
    outside = Detection("cup", (200, 200, 220, 230), 0.9)
    assert set(features(outside)) == set(features(FIRST))


@each("shape", [(30, 300), (300, 30), (97, 97), (5, 200)])
def test_the_inner_square_lies_in_the_mask(shape: tuple[int, int]) -> None:
    dense = np.zeros((320, 330), np.bool_)
    dense[11 : 11 + shape[0], 17 : 17 + shape[1]] = True
    x0, y0, x1, y1 = inner_square(mask_from_array(dense))
    assert x1 > x0
    assert dense[y0:y1, x0:x1].all()
    assert (y1 - y0, x1 - x0) == pytest.approx((min(shape),) * 2, abs=8)
