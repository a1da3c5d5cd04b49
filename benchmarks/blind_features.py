"""Features of predictions that need no photograph: those of the local judge on uniform
grey, and the layout of the items.
"""

from __future__ import annotations

import numpy as np

from visualjudge.core.records import FloatArray, Size
from visualjudge.judges.local.features import DIGITS, features_of
from visualjudge.vision.predictions import Prediction, type_of
from visualjudge.vision.view import Features, Given

GREY = 128
MOST_ITEMS = 200
NEAR = 2.0
"""Distance in pixels within which an item touches the border."""


def over_grey(given: Given) -> Given:
    """Return uniform grey instead of the photograph or the control image."""
    return Given(
        None if given.image is None else np.full_like(given.image, GREY)
    )


def blind_features_of(
    task: str, prediction: Prediction, grey: Given
) -> Features:
    """Return the features available without the photograph: those over ``grey``, and
    the layout of the items.
    """
    looks, places = features_of(task, prediction, grey), type_of(task).places
    if places is None or grey.image is None:
        return looks
    laid = layout(
        places(prediction), (grey.image.shape[0], grey.image.shape[1])
    )
    return {
        **looks,
        **{name: round(value, DIGITS) for name, value in laid.items()},
    }


def layout(boxes: FloatArray, size: Size) -> Features:
    """Return layout features of n boxes (n×4 corners in pixels) on an image of (height,
    width) ``size``; only the first 200 boxes are used.
    """
    height, width = size
    if not len(boxes):
        return {"items": 0.0}
    x1, y1, x2, y2 = boxes[:MOST_ITEMS].T
    w, h = np.maximum(x2 - x1, 1.0), np.maximum(y2 - y1, 1.0)
    x, y = (x1 + x2) / 2 / width, (y1 + y2) / 2 / height
    near = [x1 < NEAR, y1 < NEAR, x2 > width - NEAR, y2 > height - NEAR]
    beyond = [x1 < -NEAR, y1 < -NEAR, x2 > width + NEAR, y2 > height + NEAR]
    area = np.log(w * h / (width * height))
    overlap = _overlaps(x1, y1, x2, y2)
    return {
        "items": float(len(boxes)),
        "x": float(x.mean()),
        "y": float(y.mean()),
        "off_centre": float(np.abs(x - 0.5).mean()),
        "off_middle": float(np.abs(y - 0.5).mean()),
        "lowest": float(y2.max() / height),
        "highest": float(y1.min() / height),
        "apart_x": float(x.std()),
        "apart_y": float(y.std()),
        "log_item": float(area.mean()),
        "log_item_sd": float(area.std()),
        "log_aspect": float(np.log(w / h).mean()),
        "larger_below": float((y2 * area).mean() - y2.mean() * area.mean())
        / height,
        "on_border": float(np.mean(near)),
        "beyond": float(np.mean(beyond)),
        "overlap": float(overlap.mean()),
        "most_overlap": float(overlap.max()),
    }


def _overlaps(
    x1: FloatArray, y1: FloatArray, x2: FloatArray, y2: FloatArray
) -> FloatArray:
    """Return the largest IoU of each box with another one."""
    w = np.minimum(x2[:, None], x2) - np.maximum(x1[:, None], x1)
    h = np.minimum(y2[:, None], y2) - np.maximum(y1[:, None], y1)
    both, area = (
        np.clip(w, 0, None) * np.clip(h, 0, None),
        (x2 - x1) * (y2 - y1),
    )
    found = both / np.maximum(area[:, None] + area - both, 1e-9)
    np.fill_diagonal(found, 0)
    return np.asarray(found.max(axis=1))
