"""An import that scores low names the likely mistake; one that is merely bad, or right,
names none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from folding import each
from visualjudge.core.errors import PluginError
from visualjudge.data import import_mistakes
from visualjudge.data.import_mistakes import Sides, likely_mistake
from visualjudge.vision.boxes.record import Detection, Detections
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.images.record import WholeImage
from visualjudge.vision.masks.record import Masks, masks_from_label_map
from visualjudge.vision.poses.record import People, Person
from visualjudge.vision.predictions import Prediction
from visualjudge.vision.rows import Misreading

IMAGES = 8
SIZE = 60, 100
Side = tuple[Prediction, Prediction]


def _boxes(rng: np.random.Generator) -> Detections:
    """Six boxes of three labels on an image of 640 × 480."""
    items = []
    for k in range(6):
        x, y = rng.uniform(40, 420), rng.uniform(20, 300)
        width, height = rng.uniform(40, 200), rng.uniform(30, 150)
        items.append(
            Detection(
                ["cat", "dog", "cow"][k % 3], (x, y, x + width, y + height)
            )
        )
    return Detections(tuple(items))


def _segments(rng: np.random.Generator) -> Masks:
    edges = np.sort(rng.choice(np.arange(10, 90), 3, replace=False))
    values = np.searchsorted(edges, np.arange(SIZE[1])) + 1
    return masks_from_label_map(
        np.tile(values, (SIZE[0], 1)),
        dict(enumerate("abcd", 1)),
        unlabelled=(0,),
    )


def _depth(rng: np.random.Generator) -> DepthMap:
    ramp = np.linspace(1, rng.uniform(5, 20), SIZE[0])[:, None] * np.ones(
        SIZE[1]
    )
    return DepthMap(ramp + rng.uniform(0, 0.2, SIZE))


def _pose(rng: np.random.Generator) -> People:
    points = np.column_stack(
        [rng.uniform(50, 250, 17), rng.uniform(300, 600, 17), np.full(17, 2.0)]
    )
    return People((Person(points, (50, 300, 250, 600), 60_000.0),))


def _restored(rng: np.random.Generator) -> WholeImage:
    small = rng.integers(0, 255, (6, 10, 3), dtype=np.uint8)
    return WholeImage(small.repeat(10, axis=0).repeat(10, axis=1))


def _tried(
    make: Callable[[np.random.Generator], Any], spoil: Callable[[Any], Any]
) -> list[Sides]:
    truths = [make(np.random.default_rng(seed)) for seed in range(IMAGES)]
    return [(spoil(truth), truth) for truth in truths]


def _boxes_as(change: Callable[..., Any]) -> Callable[[Detections], Detections]:
    return lambda found: found.with_items(
        replace(item, xyxy=change(*item.xyxy)) for item in found.items
    )


MISTAKES = {
    "y before x": (
        "object_detection",
        _boxes,
        _boxes_as(lambda a, b, c, d: (b, a, d, c)),
    ),
    "read as [x, y, width, height]": (
        "object_detection",
        _boxes,
        _boxes_as(lambda a, b, c, d: (a, b, a + c, b + d)),
    ),
    "boxes are [centre x": (
        "object_detection",
        _boxes,
        _boxes_as(
            lambda a, b, c, d: (
                (a + c) / 2,
                (b + d) / 2,
                (a + c) / 2 + c - a,
                (b + d) / 2 + d - b,
            )
        ),
    ),
    "read as [centre x": (
        "object_detection",
        _boxes,
        _boxes_as(
            lambda a, b, c, d: (a - c / 2, b - d / 2, a + c / 2, b + d / 2)
        ),
    ),
    "another size": (
        "object_detection",
        _boxes,
        _boxes_as(lambda *box: tuple(v * 0.6 for v in box)),
    ),
    "disparities": (
        "depth_estimation",
        _depth,
        lambda found: DepthMap(1 / found.values),
    ),
    "keypoints are exchanged": (
        "keypoint",
        _pose,
        lambda found: People(
            tuple(
                replace(
                    p,
                    keypoints=p.keypoints[
                        [0, *(k + (1 if k % 2 else -1) for k in range(1, 17))]
                    ],
                )
                for p in found.items
            )
        ),
    ),
    "blue, green, red": (
        "lowlevel-deblur",
        _restored,
        lambda found: WholeImage(found.pixels[:, :, ::-1]),
    ),
}


@each("told", MISTAKES)
def test_a_mistake_is_named(told: str) -> None:
    task, make, spoil = MISTAKES[told]
    found = likely_mistake(task, _tried(make, spoil), {})
    assert found is not None and told in found


@each("told", MISTAKES)
def test_predictions_that_are_right_or_only_bad_are_not_accused(
    told: str,
) -> None:
    task, make, _ = MISTAKES[told]
    assert likely_mistake(task, _tried(make, lambda truth: truth), {}) is None
    others = [
        (make(np.random.default_rng(100 + k)), make(np.random.default_rng(k)))
        for k in range(IMAGES)
    ]
    assert likely_mistake(task, others, {}) is None


def test_predictions_that_belong_to_the_next_image_are_named() -> None:
    truths = [_boxes(np.random.default_rng(seed)) for seed in range(IMAGES)]
    shifted = list(zip(truths[1:], truths[:-1], strict=True))
    found = likely_mistake("object_detection", shifted, {})
    assert found is not None and "belongs to the image after" in found


def test_a_mistake_that_cannot_be_tried_stops_no_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: Any) -> Any:
        raise PluginError("plug-in x, type detection: KeyError: 'a'")

    row = import_mistakes.type_of("object_detection")
    spoilt = replace(row, misreadings=(Misreading("boxes are wrong", fails),))
    monkeypatch.setattr(import_mistakes, "type_of", lambda _task: spoilt)
    _, make, spoil = MISTAKES["y before x"]
    assert likely_mistake("object_detection", _tried(make, spoil), {}) is None


@pytest.mark.parametrize("seed", range(4))
def test_a_poor_detector_is_no_mistake_of_size(seed: int) -> None:
    rng, tried = np.random.default_rng(seed), list[Sides]()
    for _ in range(IMAGES):
        truth = _boxes(rng)
        shown = []
        for item in truth.items[: rng.integers(2, 6)]:
            x1, y1, x2, y2 = item.xyxy
            (right, down), size = rng.uniform(0, 0.3, 2), rng.uniform(1, 1.4)
            x1, y1, x2, y2 = (
                x1 + right * (x2 - x1),
                y1 + down * (y2 - y1),
                x1 + (right + size) * (x2 - x1),
                y1 + (down + size) * (y2 - y1),
            )
            shown.append(replace(item, xyxy=(x1, y1, x2, y2)))
        tried.append((Detections(tuple(shown)), truth))
    assert likely_mistake("object_detection", tried, {}) is None
