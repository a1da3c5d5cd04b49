"""Matched errors of depth maps; see :mod:`visualjudge.vision.errors.matched`."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np

from visualjudge.core.records import FloatArray
from visualjudge.vision.depth import errors
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.errors.levels import ErrorScene, Perturbation
from visualjudge.vision.errors.matched import aside, side
from visualjudge.vision.errors.random_fields import lowest_share, smooth_field

MILD = 0.2
"""Severity of the error that all options of a pair have."""
SOFT = 0.03
"""Width of the seams between regions, as a share of the longer side."""


def misplaced(error: Perturbation | None) -> Perturbation:
    """A dense map whose regions come, more and more of them, from the map moved to a side; and an
    error at one severity.

    The moved map is as smooth, and as far away at the same height, and has its objects in the
    wrong places.
    """

    def matched(
        truth: DepthMap, severity: float, scene: ErrorScene, rng: np.random.Generator
    ) -> DepthMap:
        logs = np.log(_dense(truth))
        everywhere = np.ones(truth.extent, dtype=np.bool_)
        part = lowest_share(
            everywhere, smooth_field(truth.extent, rng, grain=0.3), severity
        ).astype(np.float64)
        part = cv2.GaussianBlur(part, (0, 0), SOFT * max(truth.extent))
        moved = logs[:, aside(truth.extent[1], side(severity, scene.levels, rng))]
        mixed = replace(truth, values=np.exp(logs + part * (moved - logs)))
        found: DepthMap = mixed if error is None else error(mixed, MILD, scene, rng)
        return found

    return matched


scale, blur, noise, ordinal = (
    misplaced(error) for error in (errors.scale, errors.blur, errors.noise, None)
)


def _dense(truth: DepthMap) -> FloatArray:
    """The map with the nearest known value wherever there is none: where values lack shows where
    objects are.
    """
    valid = truth.valid & (truth.values > 0)
    _, nearest = cv2.distanceTransformWithLabels(
        (~valid).view(np.uint8), cv2.DIST_L2, 3, labelType=cv2.DIST_LABEL_PIXEL
    )
    known = np.zeros(int(nearest.max()) + 1)
    known[nearest[valid]] = truth.values[valid]
    return np.asarray(np.maximum(known[nearest], 1e-6))
