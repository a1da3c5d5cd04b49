"""Features of items: what does not depend on the order in which they are listed."""

from __future__ import annotations

import numpy as np
import pytest

from folding import each
from visualjudge.vision.boxes.features import box_features
from visualjudge.vision.boxes.record import Detection, Detections
from visualjudge.vision.masks.draw import inner_square
from visualjudge.vision.raster.masks import mask_from_array
from visualjudge.vision.view import Given, View
from visualjudge.vision.view_items import partition_places

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


def _between(planes: np.ndarray, number: np.ndarray) -> float:
    """Sum of squares between regions."""
    return sum(
        float((planes[:, number == k].sum(axis=1) ** 2).sum())
        / np.count_nonzero(number == k)
        for k in np.unique(number)
    )


@each("size", [(40, 80), (80, 40), (8, 16)])
def test_a_partition_is_held_against_itself_a_little_and_far_away(
    size: tuple[int, int],
) -> None:
    rng = np.random.default_rng(2)
    lab, edges = rng.random((*size, 3)), rng.random(size)
    view = View(*(size, lab, edges, edges, edges))
    number = np.zeros(size, np.uint16)
    number[size[0] // 4 : size[0] // 2, 3 : size[1] // 2] = 1
    number[-3:, -5:] = 2
    rim = np.zeros(size, bool)
    rim[:, 1:] |= number[:, 1:] != number[:, :-1]
    rim[1:] |= number[1:] != number[:-1]
    colours = (lab - lab.mean(axis=(0, 1))).transpose(2, 0, 1)[:, ::2, ::2]
    expected = {}
    for name, share in (("near", 0.02), ("far", 0.15)):
        step = max(1, round(share * max(size) / 2))
        ways = [(step, 0), (-step, 0), (0, step), (0, -step)]
        own = _between(colours, number[::2, ::2])
        moved = [
            _between(colours, np.roll(number[::2, ::2], way, axis=(0, 1)))
            for way in ways
        ]
        expected[f"explained_{name}"] = (own - np.mean(moved)) / (
            colours**2
        ).sum()
        away = [
            edges[np.roll(rim, (2 * down, 2 * right), axis=(0, 1))].mean()
            for down, right in ways
        ]
        expected[f"boundaries_{name}"] = edges[rim].mean() - np.mean(away)
    assert partition_places(view, number) == pytest.approx(expected)
