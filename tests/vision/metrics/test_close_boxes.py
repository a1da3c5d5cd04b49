"""Many boxes: the pairs that overlap by half are found without all the others, and too many are
refused.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import visualjudge as vj
from visualjudge import score
from visualjudge.core.errors import DataError
from visualjudge.core.records import FloatArray
from visualjudge.vision.boxes.score import iou, iou_of_pairs
from visualjudge.vision.predictions import Detection, Detections
from visualjudge.vision.raster.limits import MOST_ITEMS
from visualjudge.vision.scoring import close_boxes
from visualjudge.vision.scoring.close_boxes import Pairs, close_pairs

SIDES = {"usual": (4, 60), "tiny": (1e-9, 1e-6), "all": (1e-12, 1e12), "equal": (8, 8.0001)}


def boxes(
    rng: np.random.Generator, count: int, low: float, high: float, *, offset: float = 0
) -> FloatArray:
    """Boxes of sides from ``low`` to ``high``, some of them without an area, on a plane that they
    fill.
    """
    sides = np.exp(rng.uniform(np.log(low), np.log(high), (count, 2)))
    corner = rng.uniform(0, high * 12, (count, 2)) + offset
    sides[:5] = 0
    return np.concatenate([corner, corner + sides], axis=1)


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("few", [0, 10**9])
def test_no_pair_that_overlaps_by_half_is_missed(
    monkeypatch: pytest.MonkeyPatch, sides: str, offset: float, few: int
) -> None:
    monkeypatch.setattr(close_boxes, "TOGETHER", 2000)
    monkeypatch.setattr(close_boxes, "FEW", few)
    rng = np.random.default_rng(7)
    first = boxes(rng, 400, *SIDES[sides], offset=offset)
    moved = first + np.tile(rng.normal(0, 0.1, (400, 2)) * (first[:, 2:] - first[:, :2]), 2)
    halves = first * 1.0
    halves[:, 2] = (
        first[:, 0] + (first[:, 2] - first[:, 0]) / 2
    )  # IoU of a half, to within rounding
    second = np.concatenate([moved, halves, boxes(rng, 300, *SIDES[sides], offset=offset)])
    found = [
        pair
        for i, j in close_pairs(first, second, 0.5, Pairs())
        for pair in zip(i.tolist(), j.tolist(), strict=True)
    ]
    values = iou(first, second)
    assert len(found) == len(set(found))
    assert {tuple(pair) for pair in np.argwhere(values >= 0.5).tolist()} <= set(found)
    places = np.array(found)
    assert (
        iou_of_pairs(first[places[:, 0]], second[places[:, 1]])
        == values[places[:, 0], places[:, 1]]
    ).all()


def test_the_score_of_many_boxes_is_that_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    truth = boxes(rng, 700, 4, 60)
    found = np.concatenate([truth + rng.integers(-2, 3, (700, 1)), boxes(rng, 200, 4, 60)])
    sides = [
        Detections(tuple(Detection("dog", tuple(box)) for box in side.tolist()))
        for side in (found, truth)
    ]
    dense = score("object_detection", *sides)
    monkeypatch.setattr(close_boxes, "TOGETHER", 1000)
    monkeypatch.setattr(close_boxes, "FEW", 0)
    assert score("object_detection", *sides) == dense
    assert 1 < dense < 9


def test_few_of_the_pairs_are_looked_at() -> None:
    rng = np.random.default_rng(1)
    corner = rng.uniform(0, 8000, (20_000, 2))
    many = np.concatenate([corner, corner + 20], axis=1)
    assert sum(len(i) for i, _ in close_pairs(many, many, 0.5, Pairs())) < 10 * len(many)


def test_too_many_boxes_at_one_place_are_refused_in_one_line() -> None:
    same = Detections(tuple(Detection("dog", (0, 0, 9, 9)) for _ in range(2300)))
    with pytest.raises(
        DataError, match=r"^prediction: must have at most 5,000,000 pairs .* got 5,290,000$"
    ):
        score("object_detection", same, same)
    spread = Detections(tuple(Detection(f"class{k % 80}", (0, 0, 9, 9)) for k in range(60_000)))
    begun = time.process_time()
    with pytest.raises(
        DataError, match=r"^prediction: must have at most 5,000,000 .* classes, got 5,\d{3},\d{3}$"
    ):
        score("object_detection", spread, spread)
    assert time.process_time() - begun < 10
    payload = {"detections": [{"label": "dog", "bbox": [0, 0, 9, 9]}] * (MOST_ITEMS + 1)}
    with pytest.raises(DataError, match=r"^detections: must be at most 100,000, got 100,001$"):
        score("object_detection", payload, payload)


def test_one_image_with_too_many_boxes_costs_that_image(tmp_path: Path) -> None:
    Image.new("RGB", (64, 48)).save(tmp_path / "x.png")
    one, many = (
        Detections(tuple(Detection(f"class{k}", (k, 0, k + 1, 9)) for k in range(count)))
        for count in (1, 4500)
    )
    samples = [
        vj.Sample(f"{len(side.items)}", tmp_path / "x.png", side, side, side.labels)
        for side in (many, one)
    ]
    with pytest.warns(UserWarning, match=r"4500: labels: labels × predictions of an image must be"):
        data = vj.import_samples("object_detection", samples, tmp_path / "data", source="me")
    assert [note.image_id for note in data.annotations("object_detection")] == ["1"]
