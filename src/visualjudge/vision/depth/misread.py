"""Common mistakes in depth maps: another unit, or disparities instead of depths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.rows import Misreading


def _inverse(found: DepthMap, _truth: DepthMap) -> DepthMap:
    return replace(found, inverse=not found.inverse)


# Scale a map so that its median equals that of the truth.
def _in_unit_of_truth(found: DepthMap, truth: DepthMap) -> DepthMap:
    if found.inverse != truth.inverse or found.values.shape != truth.values.shape:
        raise DataError("depth: must have the type and size of the truth")
    both = found.valid & truth.valid
    median = float(np.median(found.values[both])) if both.any() else 0.0
    if median <= 0:
        raise DataError("depth: must have a median above 0")
    return replace(found, values=found.values * (float(np.median(truth.values[both])) / median))


MISREADINGS = (
    Misreading(
        "predictions are disparities, or depths that are read as such (--pred-inverse)", _inverse
    ),
    Misreading("predictions are in another unit (--pred-scale)", _in_unit_of_truth),
)
