"""What the local judge looks at: the features that each type of prediction has."""

from __future__ import annotations

from typing import Any

from visualjudge.core.records import BoolArray, Pixels
from visualjudge.vision.predictions import type_of
from visualjudge.vision.tasks import task_named
from visualjudge.vision.view import NOTHING, Features, Given


def given_of(task: str, image: Pixels | None, control: Pixels | None, hole: BoolArray | None) -> Given:
    """What a question of ``task`` gives; a generator that edits nothing was given its only image as the control."""
    alone = type_of(task).is_image and not (task_named(task).edits or task_named(task).restored)
    if alone and control is None:
        return Given(control=image)
    return Given(image, control, hole)


def features_of(task: str, prediction: Any, given: Given) -> Features:
    """Features of a typed prediction; empty where this judge has nothing to look at."""
    kind = type_of(task)
    if kind.look is None or (given.image is None and not kind.is_image):
        return NOTHING
    return kind.look(prediction, given)
