"""Features of a set of labelled regions: sums over its items, overlaps, colour differences,
coverage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import cv2
import numpy as np

from visualjudge.core.records import BoolArray, FloatArray
from visualjudge.vision.view import View

Features = dict[str, float]
PARTITION_SHIFTS = {"near": 0.02, "far": 0.15}
"""Lengths of shifts, as shares of the longer side."""
SAME, STACKED = 0.3, 0.5
"""IoU above which items with the same label, or with any labels, count as repeated."""


def set_features(rows: Mapping[str, FloatArray], count: int) -> Features:
    """Return the number of items and the sum of each of their features.

    With a weight for each feature and for the number, each item contributes a positive or negative
    amount. Means and minima depend on the number of items, and weights learned from them did not
    transfer to photographs.
    """
    sums = {f"sum_{name}": float(values.sum()) for name, values in rows.items()}
    return {"count": float(count), "log_count": float(np.log1p(count)), **sums}


def overlaps(labels: Sequence[str], iou: FloatArray) -> Features:
    """Measure how far items repeat others, of the same label and of any label. Of two items, the
    one that overlaps more in total counts as the repeat.
    """
    less = iou.sum(axis=1)[:, None] > iou.sum(axis=1)
    earlier = np.where(less | (np.tri(len(iou), k=-1) > 0) & ~less.T, iou, 0)
    names, number = (
        np.unique(labels, return_inverse=True)
        if labels
        else (np.array([]), np.array([], dtype=int))
    )
    equal = number[:, None] == number[None, :]
    same = np.where(equal & (earlier > SAME), earlier, 0).max(axis=1, initial=0)
    stacked = np.where(earlier > STACKED, earlier, 0).max(axis=1, initial=0)
    most = int(np.bincount(number).max()) if labels else 0
    return {
        "repeats": float(same.sum()),
        "stacked": float(stacked.sum()),
        "labels": float(len(names)),
        "uneven": most / max(1, len(labels)),
    }


def alike(labels: Sequence[str], looks: FloatArray) -> Features:
    """Return the mean colour distance (n×3 CIELAB) between items of the same label and of different
    labels, in units of 20.
    """
    apart = np.linalg.norm(looks[:, None] - looks[None, :], axis=2) / 20
    equal = np.array([[one == two for two in labels] for one in labels], dtype=bool).reshape(
        apart.shape
    )
    lower = np.tril(np.ones_like(equal), -1)
    same, other = (
        float(apart[where].mean()) if where.any() else 0.0
        for where in (equal & lower, ~equal & lower)
    )
    return {"same_apart": same, "other_apart": other}


def covering(view: View, inside: BoolArray) -> Features:
    """Return the covered share of the image, and by how much the covered share of salience exceeds
    it.
    """
    where = inside.view(np.uint8)
    covered = float(cv2.countNonZero(where)) / inside.size
    return {
        "covered": covered,
        "salient_in": cv2.mean(view.salient, mask=where)[0] * covered - covered,
    }


def partition(view: View, number: np.ndarray) -> Features:
    """Return the share of the colour variance that the regions explain (h×w region numbers; the
    rest of the image is another region).
    """
    flat = number.ravel().astype(np.intp)
    counted = np.bincount(flat)
    present = counted > 0
    pixels = counted[present]
    sums = np.array([np.bincount(flat, weights=plane)[present] for plane in view.centred])
    return {"explained": float((sums**2 / pixels).sum()) / max(view.variance, 1e-6)}


def partition_places(view: View, number: np.ndarray) -> Features:
    """Return how much more of the colour variance the regions explain, and how much stronger the
    edges on their boundaries are, than after small and large shifts that wrap around the image.
    """
    height, width = number.shape
    colours = np.ascontiguousarray(view.centred.reshape(3, height, width)[:, ::2, ::2])
    total = max(float((colours**2).sum()), 1e-6)
    half = np.ascontiguousarray(number[::2, ::2])
    rim = np.zeros(number.shape, dtype=np.uint8)
    rim[:, 1:] |= number[:, 1:] != number[:, :-1]
    rim[1:] |= number[1:] != number[:-1]
    own = _explained(colours, half) / total, cv2.mean(view.edges, mask=rim)[0]
    found = {}
    for name, share in PARTITION_SHIFTS.items():
        step = max(1, round(share * max(half.shape)))
        ways = [(step, 0), (-step, 0), (0, step), (0, -step)]
        explained = [_explained(colours, np.roll(half, way, axis=(0, 1))) for way in ways]
        edges = [
            cv2.mean(view.edges, mask=np.roll(rim, (2 * down, 2 * right), axis=(0, 1)))[0]
            for down, right in ways
        ]
        found[f"explained_{name}"] = own[0] - float(np.mean(explained)) / total
        found[f"boundaries_{name}"] = own[1] - float(np.mean(edges))
    return found


def _explained(colours: FloatArray, number: np.ndarray) -> float:
    """Return the sum of squares of C×h×w ``colours`` (mean 0) between the regions."""
    flat = number.ravel().astype(np.intp)
    counted = np.maximum(np.bincount(flat), 1)
    sums = np.array([np.bincount(flat, weights=plane.ravel()) for plane in colours])
    return float((sums**2 / counted).sum())
