"""Misread poses: coordinates or keypoints in another order than COCO's."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.vision.poses.record import People
from visualjudge.vision.poses.skeleton import MIRRORED
from visualjudge.vision.rows import Misreading, letterboxes

_OTHER_SIDE = [0, *(k for left, right in MIRRORED for k in (right, left))]


def _rows(prediction: People, order: Sequence[int]) -> People:
    return People(
        tuple(
            replace(item, keypoints=item.keypoints[list(order)])
            for item in prediction.items
        )
    )


def _y_before_x(prediction: People, _truth: People) -> People:
    return People(
        tuple(
            replace(item, keypoints=item.keypoints[:, [1, 0, 2]])
            for item in prediction.items
        )
    )


def _moved(
    prediction: People, factor: float, right: float, down: float
) -> People:
    shift = np.array([right, down, 0])
    return People(
        tuple(
            replace(
                item, keypoints=(item.keypoints - shift) / [factor, factor, 1]
            )
            for item in prediction.items
        )
    )


def _in_the_image(prediction: People, truth: People) -> People:
    people = []
    for item, real in zip(prediction.items, truth.items, strict=True):
        box = item.bbox or real.bbox
        if box is None:
            raise DataError("bbox: is not known")
        corner = np.array([box[0], box[1], 0.0])
        people.append(replace(item, keypoints=item.keypoints + corner))
    return People(tuple(people))


MISREADINGS = (
    Misreading("coordinates are y before x", _y_before_x),
    Misreading(
        "left and right keypoints are exchanged",
        lambda prediction, _truth: _rows(prediction, _OTHER_SIDE),
    ),
    Misreading(
        "keypoints are relative to the box of their person", _in_the_image
    ),
    *letterboxes(_moved),
)
