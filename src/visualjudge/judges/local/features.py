"""Features of a prediction for the local judge. ``vision/<type>/features.py`` defines those of each
type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from visualjudge.core.records import BoolArray, Pixels
from visualjudge.judges.local.layout import layout
from visualjudge.vision.predictions import type_of
from visualjudge.vision.tasks import task_named
from visualjudge.vision.view import NOTHING, Features, Given, reduced

GREY = 128
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


def over_grey(given: Given) -> Given:
    """Return the same images with uniform grey instead of the photograph and the control image."""
    image, control = (
        None if one is None else np.full_like(one, GREY) for one in (given.image, given.control)
    )
    return Given(image, control, given.hole)


def over_other(given: Given, other: Given) -> Given:
    """Return the same images with another question's photograph and control image, resized."""
    image, control = (
        None if one is None or two is None else reduced(two, (one.shape[1], one.shape[0]))
        for one, two in ((given.image, other.image), (given.control, other.control))
    )
    return Given(image, control, given.hole)


def blind_features_of(task: str, prediction: Any, grey: Given) -> Features:
    """Return the features available without the photograph: those over ``grey``, and the layout of
    the items.
    """
    found, places = features_of(task, prediction, grey), type_of(task).places
    if places is None or grey.image is None:
        return found
    laid = layout(places(prediction), (grey.image.shape[0], grey.image.shape[1]))
    return {**found, **{name: round(value, DIGITS) for name, value in laid.items()}}
