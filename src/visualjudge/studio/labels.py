"""What lies under the pointer: the labelled boxes, masks and keypoints of an option."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from visualjudge.vision.boxes.record import Detections
from visualjudge.vision.masks.record import Masks
from visualjudge.vision.poses.record import People
from visualjudge.vision.poses.skeleton import KEYPOINT_NAMES
from visualjudge.vision.predictions import Prediction

NEAR = 6.0
"""Pixels around a keypoint that count as on it."""
MOST = 2000


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled region: (left, top, right, bottom) in pixels of the image."""

    label: str
    box: tuple[float, float, float, float]


def marks_of(prediction: Prediction | None) -> list[Mark]:
    """The labelled regions of a prediction, at most ``MOST``; none where there is no prediction."""
    return list(itertools.islice(_READERS.get(type(prediction), _none)(prediction), MOST))


def _boxes(prediction: Detections) -> Iterator[Mark]:
    for item in prediction.items:
        yield Mark(_scored(item.label, item.score), item.xyxy)


def _masks(prediction: Masks) -> Iterator[Mark]:
    for item in prediction.items:
        yield Mark(_scored(item.label, item.score), item.mask.box)


def _points(prediction: People) -> Iterator[Mark]:
    for number, person in enumerate(prediction.items, 1):
        for name, (x, y, _), present in zip(KEYPOINT_NAMES, person.keypoints.tolist(), person.present, strict=True):
            if present:
                yield Mark(f"person {number}: {name.replace('_', ' ')}", (x - NEAR, y - NEAR, x + NEAR, y + NEAR))


def _none(_prediction: Any) -> Iterator[Mark]:
    return iter(())


def _scored(label: str, score: float | None) -> str:
    return label if score is None else f"{label} {score:.2f}"


_READERS: dict[type, Callable[[Any], Iterator[Mark]]] = {Detections: _boxes, Masks: _masks, People: _points}
