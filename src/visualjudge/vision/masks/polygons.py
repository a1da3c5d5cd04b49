"""Outer contours of a mask as polygons of few vertices."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core.records import Mask

Polygon = list[list[int]]
LEAST_IOU = 0.95
_STEPS = (0.14, 0.1, 0.07, 0.05, 0.035, 0.025, 0.017, 0.012, 0.008, 0.005)
"""Tolerances of Douglas and Peucker's simplification, as shares of the square root of a part's area, coarse first."""
_FINEST = 0.3
_SMALL = 256


def polygons_of(mask: Mask) -> list[Polygon]:
    """One polygon ``[[x, y], …]`` for each 8-connected part of ``mask``, holes filled, largest tolerance that serves.

    Vertices are pixel centres: ``cv2.fillPoly`` gives the part back with IoU ≥ 0.95; parts of less than 256 pixels
    keep all their corners. Contours by Suzuki & Abe 1985 (``cv2.findContours``), simplified by Douglas & Peucker 1973.
    """
    if mask.crop.size == 0:
        return []
    corner = np.array([mask.left, mask.top])
    contours, _ = cv2.findContours(mask.crop.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return [_at_least_three((_simplified(contour) + corner).tolist()) for contour in contours]


def _at_least_three(polygon: Polygon) -> Polygon:
    """A part of one pixel or one line has one or two corners: the last is repeated, which fills back to the same."""
    return polygon + [polygon[-1]] * max(0, 3 - len(polygon))


def _simplified(contour: NDArray[np.int32]) -> NDArray[np.int32]:
    """The fewest vertices, (n, 2) int, of any step whose fill has IoU ≥ 0.95 with the contour's."""
    x, y, width, height = cv2.boundingRect(contour)
    local = contour - (x, y)
    part = _filled(local, height, width)
    area = cv2.countNonZero(part)
    exact: NDArray[np.int32] = cv2.approxPolyDP(contour, _FINEST, True)
    if area < _SMALL:
        return exact.reshape(-1, 2)
    low, high = 0, len(_STEPS)  # the first step that serves, by halving: IoU falls with the tolerance, nearly always
    best = exact
    while low < high:
        middle = (low + high) // 2
        tried = cv2.approxPolyDP(local, max(_FINEST, _STEPS[middle] * area**0.5), True)
        if _iou(_filled(tried, height, width), part, area) >= LEAST_IOU:
            best, high = tried + np.array([x, y]), middle
        else:
            low = middle + 1
    return (best if len(best) < len(exact) else exact).reshape(-1, 2)


def _filled(polygon: NDArray[np.int32], height: int, width: int) -> NDArray[np.uint8]:
    canvas = np.zeros((height, width), dtype=np.uint8)
    cv2.fillPoly(canvas, [polygon], (1,))
    return canvas


def _iou(found: NDArray[np.uint8], part: NDArray[np.uint8], area: int) -> float:
    shared = cv2.countNonZero(cv2.bitwise_and(found, part))
    return shared / (cv2.countNonZero(found) + area - shared)
