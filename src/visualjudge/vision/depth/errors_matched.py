"""Matched errors of depth maps; see :mod:`visualjudge.vision.errors.matched`."""

from dataclasses import replace

import cv2
import numpy as np

from visualjudge.core.records import FloatArray
from visualjudge.vision.depth import errors
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.errors.levels import ErrorScene, Perturbation, Rng
from visualjudge.vision.errors.matched import aside, side

# Severity of the error that all options of a pair share.
MILD = 0.2


def misplaced(error: Perturbation | None) -> Perturbation:
    """Return an error that shifts a dense map sideways without its margins, and then
    applies ``error`` at a fixed severity.

    The shifted map is as smooth as the truth and has the same depths at each height,
    but its objects are in the wrong places.
    """

    def matched(
        truth: DepthMap, severity: float, scene: ErrorScene, rng: Rng
    ) -> DepthMap:
        to = side(severity, scene.levels, rng)
        moved = replace(
            truth, values=aside(_dense(truth), severity, to, np.nan)
        )
        prediction: DepthMap = (
            moved if error is None else error(moved, MILD, scene, rng)
        )
        return prediction

    return matched


scale, blur, noise, ordinal = (
    misplaced(error)
    for error in (errors.scale, errors.blur, errors.noise, None)
)


def _dense(truth: DepthMap) -> FloatArray:
    """Fill gaps with the nearest known value, because gaps would reveal where objects
    are."""
    valid = truth.valid & (truth.values > 0)
    _, nearest = cv2.distanceTransformWithLabels(
        (~valid).view(np.uint8), cv2.DIST_L2, 3, labelType=cv2.DIST_LABEL_PIXEL
    )
    known = np.zeros(int(nearest.max()) + 1)
    known[nearest[valid]] = truth.values[valid]
    return np.asarray(np.maximum(known[nearest], 1e-6))
