"""Metrics of optical flow, 0..1, higher is better."""

from __future__ import annotations

import numpy as np

from visualjudge.core.errors import DataError, UsageError
from visualjudge_flow.vectors import Flow


def end_point(prediction: Flow, truth: Flow, *, limit: float = 10.0) -> float:
    """1 − mean over valid truth pixels of min(end-point error, ``limit``) / ``limit``; ``limit`` in
    pixels.

    A pixel without a prediction counts as ``limit``. End-point error: Otte and Nagel 1994; Baker et
    al. 2011.
    """
    if limit <= 0:
        raise UsageError(f"limit must be above 0, got {limit}")
    return float(1 - np.minimum(_errors(prediction, truth), limit).mean() / limit)


def inliers(prediction: Flow, truth: Flow) -> float:
    """1 − Fl: the share of valid truth pixels with an end-point error below 3 px or 5 % (KITTI
    2015).
    """
    lengths = truth.lengths[truth.valid]
    errors = _errors(prediction, truth)
    return float(((errors < 3) | (errors < 0.05 * lengths)).mean())


def _errors(prediction: Flow, truth: Flow) -> np.ndarray:
    if prediction.extent != truth.extent:
        raise DataError(
            f"flow: prediction is {prediction.extent}, the truth {truth.extent} (height, width)"
        )
    if not truth.valid.any():
        raise DataError("flow: the truth has no valid vector")
    gaps = np.linalg.norm(prediction.vectors - truth.vectors, axis=2)
    return np.where(prediction.valid, gaps, np.inf)[truth.valid]
