"""Metric of depth estimation: δ1 after alignment. Faults by region, on the
same aligned maps, are in ``faults.py``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import BoolArray, FloatArray
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.scoring.coverage import unpredicted

ALIGNMENTS = ("none", "median", "affine")
RATIO = 1.25
# Factors between predictions and truth in one unit.
SAME_UNIT = 0.5, 2.0


def delta1(
    prediction: DepthMap, truth: DepthMap, *, align: str = "median"
) -> float:
    """Return the share, 0..1, of valid truth pixels with max(d/d*, d*/d) < 1.25, where
    d is the aligned prediction and d* the truth.

    A pixel without a valid prediction counts as wrong. Source: Eigen et al. 2014 (δ1);
    MiDaS (Ranftl et al. 2020) for the affine fit.

    Parameters
    ----------
    align
        How the prediction is aligned with the truth: none, median or affine.

        "median" scales the prediction by the ratio of the medians; "affine" fits a
        scale of at least 0 and a shift by least squares, in disparity if the prediction
        is one.

    Raises
    ------
    DataError
        If the sizes differ, or no truth pixel is valid.
    """
    if align not in ALIGNMENTS:
        raise UsageError(
            f"align must be one of {', '.join(ALIGNMENTS)}, got {align!r}"
        )
    if prediction.values.shape != truth.values.shape:
        raise DataError(
            f"depth: must match the truth size {truth.values.shape} (height, width), "
            f"got {prediction.values.shape}"
        )
    judged = _positive(truth)
    total = int(np.count_nonzero(judged))
    if total == 0:
        raise DataError("depth: the truth has no valid pixel")
    both = judged & _positive(prediction)
    if not both.any():
        return 0.0
    real = _depth(truth, both)
    predicted = _aligned(prediction, both, real, align)
    near = (predicted < RATIO * real) & (real < RATIO * predicted)
    return int(np.count_nonzero(near)) / total


def note(
    pairs: Sequence[tuple[DepthMap, DepthMap]], options: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return how the score is made, the share of the truth without a prediction, and
    the factor that the alignment divides out if the two are not in one unit.
    """
    align = options.get("align") or "median"
    how = f"δ1 after align={align}"
    factors = []
    unit = ""
    judged = predicted = 0
    for prediction, real in pairs:
        known = _positive(real)
        both = known & _positive(prediction)
        judged += int(np.count_nonzero(known))
        predicted += int(np.count_nonzero(both))
        if both.any():
            factors.append(
                np.median(_depth(real, both))
                / np.median(_depth(prediction, both))
            )
    if align != "none" and factors:
        factor = float(np.median(factors))
        how += f", which scales each prediction: by {factor:.4g} in the middle"
        if not (SAME_UNIT[0] <= factor <= SAME_UNIT[1] or pairs[0][0].inverse):
            unit = (
                f"the predictions are not in the unit of the truth: {factor:.4g} times "
                f"they are; the default, align={align}, divides that out; align=none "
                "scores it"
            )
    return how, unpredicted("depth", predicted, judged), unit


def log_depths(
    prediction: DepthMap, truth: DepthMap
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Return the pixels that are valid on both sides, H×W bool, and the logarithms of
    the predicted depth, aligned by the median, and of the true depth, H×W; 0 elsewhere.
    """
    both = _positive(prediction) & _positive(truth)
    predicted = np.zeros(both.shape)
    real = np.zeros(both.shape)
    if both.any():
        depth = _depth(truth, both)
        real[both] = np.log(depth)
        predicted[both] = np.log(_aligned(prediction, both, depth, "median"))
    return both, predicted, real


def _positive(depth: DepthMap) -> BoolArray:
    return depth.valid & (depth.values > 0)


def _depth(depth: DepthMap, where: BoolArray) -> FloatArray:
    values = depth.values[where]
    return 1.0 / values if depth.inverse else values


def _aligned(
    prediction: DepthMap, both: BoolArray, real: FloatArray, align: str
) -> FloatArray:
    if align == "affine":
        stored = prediction.values[both]
        target = 1.0 / real if prediction.inverse else real
        design = np.stack([stored, np.ones_like(stored)], axis=1)
        # below 0 it would exchange near and far
        scale = max(np.linalg.lstsq(design, target, rcond=None)[0][0], 0.0)
        fitted = scale * stored + np.mean(target - scale * stored)
        return (
            np.where(fitted > 0, 1.0 / np.where(fitted > 0, fitted, 1), 0.0)
            if prediction.inverse
            else fitted
        )
    depth = _depth(prediction, both)
    return (
        depth * (np.median(real) / np.median(depth))
        if align == "median"
        else depth
    )
