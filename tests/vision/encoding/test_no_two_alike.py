"""Different predictions never look alike: no encoding has a mark for "nothing" that is
also the mark of a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from visualjudge import encode, encodings
from visualjudge.core.records import BoolArray
from visualjudge.vision.rows import Encoding
from visualjudge.vision.tasks import TASKS

SIZE = (96, 128)
Rng = np.random.Generator
Payload = dict[str, Any]


def detections(rng: Rng) -> Iterator[Payload]:
    boxes = [[8, 8, 50, 40], [60, 30, 110, 80]]
    boxes = (np.array(boxes) + rng.integers(-6, 7, (2, 4))).tolist()
    for labels, shown in (("ab", boxes), ("aa", boxes), ("ba", boxes)):
        yield {
            "detections": [
                {"label": label, "bbox": box}
                for label, box in zip(labels, shown, strict=True)
            ]
        }
    yield {"detections": [{"label": "a", "bbox": boxes[0]}]}
    yield {"detections": [{"label": "a", "bbox": [v + 3 for v in boxes[0]]}]}
    yield {"detections": []}


def regions(rng: Rng) -> tuple[BoolArray, BoolArray, BoolArray]:
    left, right = np.zeros((2, *SIZE), bool)
    top, side = rng.integers(8, 24, 2)
    left[top : top + 40, side : side + 30] = True
    right[top + 10 : top + 50, side + 50 : side + 80] = True
    return left, np.roll(left, 9, axis=1), right


def instances(rng: Rng, items: str = "instances") -> Iterator[Payload]:
    left, moved, right = regions(rng)
    for labels, masks in (
        ("ab", (left, right)),
        ("ba", (left, right)),
        ("ab", (moved, right)),
        ("a", (left,)),
        ("b", (left,)),
        ("", ()),
    ):
        yield {
            items: [
                {"label": label, "segmentation": mask}
                for label, mask in zip(labels, masks, strict=True)
            ]
        }


def segments(rng: Rng) -> Iterator[Payload]:
    return instances(rng, "segments")


def referred(rng: Rng) -> Iterator[Payload]:
    yield from ({"segmentation": mask} for mask in regions(rng))
    yield {"segmentation": np.zeros(SIZE, bool)}


def persons(rng: Rng) -> Iterator[Payload]:
    # 18 pixels apart, so that no point is hidden by another
    places = np.column_stack(np.divmod(rng.permutation(20)[:17], 4))
    points = np.column_stack([20.0 + 18 * places, np.full(17, 2.0)])[None]
    nowhere = points.copy()
    nowhere[0, 0] = 0
    beside = points.copy()  # so near to the corner that it is rounded to it
    beside[0, 0] = (*rng.uniform(0.001, 0.049, 2), 2)
    moved = points.copy()
    moved[0, 0, 0] += 9
    # a second person who is not hidden behind the first
    both = np.vstack([points, points + np.array([9, 0, 0])])
    for people in (points, nowhere, beside, moved, both):
        yield {
            "persons": [{"keypoints": one.ravel().tolist()} for one in people]
        }


def depths(rng: Rng) -> Iterator[Payload]:
    # few depths, so that the scale is that of all others where a pixel has none
    depth = rng.integers(1, 6, SIZE).astype(float)
    yield {"depth": depth}
    yield {"depth": depth, "inverse": True}
    by_depth = np.argsort(depth, axis=None)
    for rank in (
        0,
        depth.size // 2,
        -1,
    ):  # the nearest, one between, the farthest
        without = depth.copy()
        without.flat[by_depth[rank]] = 0
        yield {"depth": without}


def pictures(rng: Rng) -> Iterator[Payload]:
    image = rng.integers(0, 255, (*SIZE, 3), dtype=np.uint8)
    yield {"image": image}
    other = image.copy()
    other[tuple(rng.integers(0, SIZE))] += 1
    yield {"image": other}


PREDICTIONS: dict[str, Callable[[Rng], Iterator[Payload]]] = {
    "detection": detections,
    "instance": instances,
    "semantic": segments,
    "referring": referred,
    "keypoint": persons,
    "depth": depths,
    "restoration": pictures,
    "generation": pictures,
}
ROWS = [row for row in encodings() if row.is_final]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.task}-{row.stem}")
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_different_predictions_are_drawn_or_written_differently(
    row: Encoding, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (*SIZE, 3), dtype=np.uint8)
    shown = [
        encode(row.task, row.stem, payload, image, expression="it")
        for payload in PREDICTIONS[TASKS[row.task].type](rng)
    ]
    looks = {
        (
            b"" if one.image is None else one.image.tobytes(),
            one.text,
            one.legend,
        )
        for one in shown
    }
    assert len(looks) == len(shown)
