"""Features of a prediction for the local judge. ``vision/<type>/features.py`` defines
those of each type. Those of a question's options are in ``question_features.py``.
"""

from typing import Any

from visualjudge.vision.predictions import type_of
from visualjudge.vision.view import NOTHING, Features, Given

DIGITS = 9
"""Decimals of features, so that they do not depend on the order of summation."""


def features_of(task: str, prediction: Any, inputs: Given) -> Features:
    """Return the features of a typed prediction; empty if this judge cannot assess
    it."""
    kind = type_of(task)
    if kind.look is None or (inputs.image is None and not kind.is_image):
        return NOTHING
    return {
        name: round(value, DIGITS)
        for name, value in kind.look(prediction, inputs).items()
    }
