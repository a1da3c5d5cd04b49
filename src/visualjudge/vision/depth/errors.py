"""Errors of depth maps that are made on purpose, at rising severity. What is wrong in a
*given* map is measured in ``faults.py``.
"""

from dataclasses import replace

import cv2
import numpy as np

from visualjudge.core.records import FloatArray
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.errors.levels import ErrorScene, Perturbation, Rng
from visualjudge.vision.errors.matched import aside, side
from visualjudge.vision.errors.random_fields import lowest_share, smooth_field


def scale(
    truth: DepthMap,
    severity: float,
    _scene: ErrorScene,
    rng: Rng,
) -> DepthMap:
    """Regions are too near or too far, by a factor of up to about 5 at severity 1."""
    return _times(
        truth,
        np.exp(1.6 * severity * smooth_field(truth.extent, rng, grain=0.25)),
    )


def noise(
    truth: DepthMap,
    severity: float,
    _scene: ErrorScene,
    rng: Rng,
) -> DepthMap:
    """Fine-grained multiplicative noise."""
    height, width = truth.extent
    grain = cv2.resize(
        rng.standard_normal(((height + 2) // 3, (width + 2) // 3)),
        (width, height),
        interpolation=cv2.INTER_LINEAR,
    )
    return _times(truth, np.exp(0.6 * severity * grain))


def blur(
    truth: DepthMap,
    severity: float,
    _scene: ErrorScene,
    _rng: Rng,
) -> DepthMap:
    """Edges are blurred; invalid pixels stay invalid and do not affect their
    neighbours."""
    sigma = 0.12 * max(truth.values.shape) * severity
    valid = truth.valid.astype(np.float64)
    known = np.where(truth.valid, truth.values, 0.0)
    smooth = cv2.GaussianBlur(known, (0, 0), sigma) / np.maximum(
        cv2.GaussianBlur(valid, (0, 0), sigma), 1e-9
    )
    return replace(truth, values=np.where(truth.valid, smooth, truth.values))


def ordinal(
    truth: DepthMap,
    severity: float,
    _scene: ErrorScene,
    rng: Rng,
) -> DepthMap:
    """Near and far are swapped in growing regions: values are mirrored at the median,
    on a logarithmic scale.

    Equally many near and far pixels are affected, so that median alignment does not
    undo the error.
    """
    low, middle, high = np.percentile(truth.values[truth.valid], [2, 50, 98])
    field = smooth_field(truth.extent, rng, grain=0.2)
    near = truth.valid & (truth.values <= middle)
    far = truth.valid & (truth.values > middle)
    part = lowest_share(near, field, 0.8 * severity) | lowest_share(
        far, field, 0.8 * severity
    )
    values = truth.values.copy()
    values[part] = np.clip(
        middle**2 / truth.values[part],
        low,
        high,
    )
    return replace(truth, values=values)


def _times(truth: DepthMap, factor: FloatArray) -> DepthMap:
    return replace(
        truth,
        values=np.where(
            truth.valid,
            truth.values * factor,
            truth.values,
        ),
    )


# ------ matched errors; see :mod:`visualjudge.vision.errors.matched`

# Severity of the error that all options of a pair share.
MILD = 0.2


def misplaced(error: Perturbation | None) -> Perturbation:
    """Return an error that shifts a dense map sideways without its margins, and then
    applies ``error`` at a fixed severity.

    The shifted map is as smooth as the truth and has the same depths at each height,
    but its objects are in the wrong places.
    """

    def matched(
        truth: DepthMap,
        severity: float,
        scene: ErrorScene,
        rng: Rng,
    ) -> DepthMap:
        to = side(severity, scene.levels, rng)
        moved = replace(
            truth,
            values=aside(
                _dense(truth),
                severity,
                to,
                np.nan,
            ),
        )
        prediction: DepthMap = (
            moved if error is None else error(moved, MILD, scene, rng)
        )
        return prediction

    return matched


def _dense(truth: DepthMap) -> FloatArray:
    """Fill gaps with the nearest known value, because gaps would reveal where objects
    are."""
    valid = truth.valid & (truth.values > 0)
    _, nearest = cv2.distanceTransformWithLabels(
        (~valid).view(np.uint8),
        cv2.DIST_L2,
        3,
        labelType=cv2.DIST_LABEL_PIXEL,
    )
    known = np.zeros(int(nearest.max()) + 1)
    known[nearest[valid]] = truth.values[valid]
    return np.asarray(np.maximum(known[nearest], 1e-6))
