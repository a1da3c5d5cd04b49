"""Features of a prediction for the local judge. ``vision/<type>/features.py`` defines those of each
type.
"""

from __future__ import annotations

from typing import Any

from visualjudge.core.records import BoolArray, Pixels
from visualjudge.vision.predictions import type_of
from visualjudge.vision.tasks import task_named
from visualjudge.vision.view import NOTHING, Features, Given

DIGITS = 9
"""Decimals of features, so that they do not depend on the order of summation."""


def given_of(
    task: str, image: Pixels | None, control: Pixels | None, hole: BoolArray | None
) -> Given:
    """Return the images that a question of ``task`` provides. For a generator without input images,
    its only image is stored as the control.
    """
    alone = type_of(task).is_image and not (task_named(task).edits or task_named(task).restored)
    if alone and control is None:
        return Given(control=image)
    return Given(image, control, hole)


def features_of(task: str, prediction: Any, given: Given) -> Features:
    """Return the features of a typed prediction; empty if this judge cannot assess it."""
    kind = type_of(task)
    if kind.look is None or (given.image is None and not kind.is_image):
        return NOTHING
    return {name: round(value, DIGITS) for name, value in kind.look(prediction, given).items()}
