"""Features of a depth map: whether its edges lie on image edges, whether it is smooth
between them, and whether the ground comes nearer towards the bottom. The local
judge weighs them in ``judges/local/judge.py``.
"""

import cv2
import numpy as np

from visualjudge.core.records import FloatArray, Pixels
from visualjudge.vision.depth.colormaps import decoded
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.view import (
    NOTHING,
    Features,
    Given,
    Plane,
    View,
    correlation,
    strided,
)

WINDOW = (15, 15)


def nearness_features(view: View, nearness: np.ndarray) -> dict[str, float]:
    """Return the features of an H×W map of nearness (0 far .. 1 near; NaN where
    unknown)."""
    known = np.isfinite(nearness)
    fine = np.where(known, nearness, 0).astype(np.float32)
    height, width = view.edges.shape
    small = cv2.resize(
        fine,
        (width, height),
        interpolation=cv2.INTER_AREA,
    )
    seen = (
        cv2.resize(
            known.astype(np.float32),
            (width, height),
            interpolation=cv2.INTER_AREA,
        )
        > 0.99
    )
    steps = cv2.magnitude(
        cv2.Sobel(small, cv2.CV_32F, 1, 0), cv2.Sobel(small, cv2.CV_32F, 0, 1)
    )
    steps = np.where(
        cv2.erode(seen.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0,
        steps,
        0,
    )
    around = cv2.dilate(view.edges, np.ones((3, 3), np.uint8))
    total = float(steps.sum())
    return {
        "on_edges": float((steps * around).sum()) / max(total, 1e-6),
        "agreement": correlation(steps, view.edges),
        "noise": _noise(fine, known),
        "activity": float(np.log(steps.mean() + 1e-4)),
        "sharp": float(
            np.log((np.percentile(steps, 99) + 1e-4) / (steps.mean() + 1e-4))
        ),
        "ground": _trend(small, seen),
        "explained": _explained(small, seen, view),
    }


def _noise(fine: Plane, known: np.ndarray) -> float:
    """Return the log of the mean absolute Laplacian, clipped at 0.1, where the map is
    known."""
    response = np.abs(cv2.Laplacian(fine, cv2.CV_32F))[known]
    return (
        float(np.log(np.mean(np.minimum(response, 0.1)) + 1e-4))
        if response.size
        else 0.0
    )


def _trend(small: Plane, seen: np.ndarray) -> float:
    """Return the correlation of nearness with the row; positive if the bottom of the
    image is near."""
    rows = np.broadcast_to(
        np.arange(small.shape[0], dtype=np.float32)[:, None], small.shape
    )[seen]
    values = small[seen]
    return (
        0.0
        if values.size < 2 or values.std() < 1e-06
        else float(np.corrcoef(rows, values)[0, 1])
    )


def _explained(
    small: Plane,
    seen: np.ndarray,
    view: View,
) -> float:
    """Return the mean share of the map's local variance that the image's lightness
    explains."""
    guide = view.lab[..., 0]
    mean, light, both, squared, own = (
        np.asarray(cv2.blur(plane, WINDOW))
        for plane in (
            small,
            guide,
            small * guide,
            guide * guide,
            small * small,
        )
    )
    covariance = both - mean * light
    variance = squared - light * light
    local = own - mean * mean
    share = covariance**2 / np.maximum(variance * local, 1e-4)
    return float(np.clip(share, 0, 1)[seen].mean()) if seen.any() else 0.0


def depth_features(prediction: DepthMap, inputs: Given) -> Features:
    """Return the features of a depth map."""
    return nearness_features(inputs.view, nearness_of(prediction))


def drawn_features(pixels: Pixels, stem: str, inputs: Given) -> Features:
    """Return the features of a depth map decoded from its image in the colour map
    ``stem``."""
    return (
        NOTHING
        if inputs.image is None
        else nearness_features(inputs.view, decoded(strided(pixels), stem))
    )


def nearness_of(depth: DepthMap) -> FloatArray:
    """Return the nearness, 0 (far) .. 1 (near), of every k-th pixel, as shown by the
    encodings; NaN where the map is invalid.
    """
    values = strided(depth.values)
    valid = strided(depth.valid)
    if not valid.any():
        return np.full(values.shape, np.nan)
    low, high = np.percentile(values[valid], [2, 98])
    share = (
        np.clip(
            (values - low) / (high - low),
            0,
            1,
        )
        if high > low
        else np.full(values.shape, 0.5)
    )
    return np.where(
        valid,
        share if depth.inverse else 1 - share,
        np.nan,
    )
