"""What lies under the pointer: the labelled boxes, masks and keypoints of an option."""

from __future__ import annotations

import itertools

from visualjudge.vision.base import Mark, Prediction

MOST = 2000


def marks_of(prediction: Prediction | None) -> list[Mark]:
    """The labelled regions of a prediction, at most ``MOST``; none where there is no prediction."""
    return [] if prediction is None else list(itertools.islice(prediction.marks(), MOST))
