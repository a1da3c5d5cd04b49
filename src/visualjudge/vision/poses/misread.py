"""Misread poses: coordinates or keypoints in another order than COCO's."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import FloatArray
from visualjudge.vision.poses.record import People
from visualjudge.vision.poses.skeleton import MIRRORED
from visualjudge.vision.rows import Misreading, letterboxes

_OTHER_SIDE = [0, *(k for left, right in MIRRORED for k in (right, left))]


# The place of each of COCO's keypoints in OpenPose's order, without the neck.
_OPENPOSE = [0, 14, 13, 16, 15, 4, 1, 5, 2, 6, 3, 10, 7, 11, 8, 12, 9]


def _changed(
    prediction: People, change: Callable[[FloatArray], FloatArray]
) -> People:
    return People(
        tuple(
            replace(item, keypoints=change(item.keypoints))
            for item in prediction.items
        )
    )


def _moved(
    prediction: People, factor: float, right: float, down: float
) -> People:
    shift = np.array([right, down, 0])
    return _changed(
        prediction, lambda points: (points - shift) / [factor, factor, 1]
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
    Misreading(
        "coordinates are y before x",
        lambda prediction, _: _changed(
            prediction, lambda points: points[:, [1, 0, 2]]
        ),
    ),
    Misreading(
        "left and right keypoints are exchanged",
        lambda prediction, _: _changed(
            prediction, lambda points: points[_OTHER_SIDE]
        ),
    ),
    Misreading(
        "keypoints are in the order of OpenPose",
        lambda prediction, _: _changed(
            prediction, lambda points: points[_OPENPOSE]
        ),
    ),
    Misreading(
        "all x stand before all y",
        lambda prediction, _: _changed(
            prediction, lambda points: points.reshape(3, -1).T
        ),
    ),
    Misreading(
        "the image was mirrored",
        lambda prediction, size: _changed(
            prediction,
            lambda points: np.abs(points - [size[1], 0, 0]),
        ),
        of_size=True,
    ),
    Misreading(
        "keypoints are relative to the box of their person", _in_the_image
    ),
    *letterboxes(_moved),
)
