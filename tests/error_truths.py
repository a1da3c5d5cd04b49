"""A truth of each type, for tests of controlled errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from visualjudge.vision.error_types import error_types
from visualjudge.vision.errors.levels import ErrorScene
from visualjudge.vision.predictions import (
    DepthMap,
    Detection,
    Detections,
    Instance,
    Masks,
    People,
    Person,
    Prediction,
    WholeImage,
)
from visualjudge.vision.raster.masks import mask_from_array
from visualjudge.vision.tasks import TASKS

SIZE = (120, 160)
LABELS = ("bird", "cat", "dog")


def disc(x: float, y: float, radius: float) -> np.ndarray:
    """A disc, bool of SIZE."""
    rows, cols = np.mgrid[: SIZE[0], : SIZE[1]]
    return (rows - y) ** 2 + (cols - x) ** 2 <= radius**2


def standing(x: float) -> Person:
    """A person upright at ``x``."""
    points = np.zeros((17, 3))
    for k in range(17):
        points[k] = x + (12 if k % 2 else -12) * (k > 0), 15 + 5.5 * k, 2
    return Person(points, bbox=(x - 20, 5, x + 20, 115), area=2500.0)


DISCS = (disc(40, 40, 25), disc(110, 50, 20), disc(70, 95, 18))
IMAGE = (np.indices((*SIZE, 3)).sum(axis=0) * 3 % 256).astype(np.uint8)
DEGRADED = np.ascontiguousarray(IMAGE[:, ::-1]) // 2
SCENE = ErrorScene(
    SIZE, LABELS, 5, DEGRADED, tuple(mask_from_array(d) for d in DISCS)
)
GRADIENT = np.linspace(1, 10, SIZE[0] * SIZE[1]).reshape(SIZE) / (
    1.0 + 3 * (DISCS[0] | DISCS[1])
)

TRUTHS: dict[str, Prediction] = {
    "detection": Detections(
        tuple(
            Detection(label, (10.0 + 50 * k, 20, 50.0 + 50 * k, 80))
            for k, label in enumerate(LABELS)
        )
    ),
    "instance": Masks(
        SIZE,
        tuple(
            Instance(label, mask_from_array(d))
            for label, d in zip(LABELS, DISCS, strict=True)
        ),
    ),
    "semantic": Masks(
        SIZE,
        (
            Instance("cat", mask_from_array(DISCS[0])),
            Instance("dog", mask_from_array(~DISCS[0])),
        ),
    ),
    "referring": Masks(
        SIZE, (Instance("the left disc", mask_from_array(DISCS[0])),)
    ),
    "keypoint": People((standing(40), standing(110))),
    "depth": DepthMap(GRADIENT),
    "restoration": WholeImage(IMAGE),
}
CASES = [
    (task.name, name)
    for task in TASKS.values()
    if task.name == next(t.name for t in TASKS.values() if t.type == task.type)
    for name in error_types(task.name)
]


def truth_of(task: str) -> Prediction:
    """The truth of a task."""
    return TRUTHS[TASKS[task].type]


def content(prediction: Prediction) -> Any:
    """What two equal predictions have in common."""
    match prediction:
        case Masks():
            return [
                (item.label, item.mask.crop.tobytes(), item.mask.top)
                for item in prediction.items
            ]
        case People():
            return [person.keypoints.tobytes() for person in prediction.items]
        case DepthMap():
            return prediction.values.tobytes()
        case WholeImage():
            return prediction.pixels.tobytes()
        case _:
            return prediction
