"""Features of a depth map: do its edges lie on the image's, is it smooth between them, does the ground come nearer?"""

from __future__ import annotations

import cv2
import numpy as np

from visualjudge.vision.view import Plane, View, correlation

WINDOW = (15, 15)


def depth_features(view: View, nearness: np.ndarray) -> dict[str, float]:
    """Features of an H×W map of nearness (0 far .. 1 near; NaN where unknown)."""
    known = np.isfinite(nearness)
    fine = np.where(known, nearness, 0).astype(np.float32)
    height, width = view.edges.shape
    small = cv2.resize(fine, (width, height), interpolation=cv2.INTER_AREA)
    seen = cv2.resize(known.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA) > 0.99
    steps = cv2.magnitude(cv2.Sobel(small, cv2.CV_32F, 1, 0), cv2.Sobel(small, cv2.CV_32F, 0, 1))
    steps = np.where(cv2.erode(seen.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0, steps, 0)
    around = cv2.dilate(view.edges, np.ones((3, 3), np.uint8))
    total = float(steps.sum())
    return {
        "on_edges": float((steps * around).sum()) / max(total, 1e-6),
        "agreement": correlation(steps, view.edges),
        "noise": _noise(fine, known),
        "activity": float(np.log(steps.mean() + 1e-4)),
        "sharp": float(np.log((np.percentile(steps, 99) + 1e-4) / (steps.mean() + 1e-4))),
        "ground": _trend(small, seen),
        "explained": _explained(small, seen, view),
    }


def _noise(fine: Plane, known: np.ndarray) -> float:
    """Log of the median absolute Laplacian where the map is known."""
    response = np.abs(cv2.Laplacian(fine, cv2.CV_32F))[known]
    return float(np.log(np.mean(np.minimum(response, 0.1)) + 1e-4)) if response.size else 0.0


def _trend(small: Plane, seen: np.ndarray) -> float:
    """Correlation of nearness with the row: positive where the bottom of the image is near."""
    rows = np.broadcast_to(np.arange(small.shape[0], dtype=np.float32)[:, None], small.shape)[seen]
    values = small[seen]
    if values.size < 2 or values.std() < 1e-6:
        return 0.0
    return float(np.corrcoef(rows, values)[0, 1])


def _explained(small: Plane, seen: np.ndarray, view: View) -> float:
    """Mean share of the map's local variance that the image's lightness explains: one colour at one depth."""
    guide = view.lab[..., 0]
    mean, light, both, squared, own = (
        np.asarray(cv2.blur(plane, WINDOW)) for plane in (small, guide, small * guide, guide * guide, small * small)
    )
    covariance, variance, local = both - mean * light, squared - light * light, own - mean * mean
    share = covariance**2 / np.maximum(variance * local, 1e-4)
    return float(np.clip(share, 0, 1)[seen].mean()) if seen.any() else 0.0
