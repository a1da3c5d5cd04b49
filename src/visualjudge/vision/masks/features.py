"""Features of masks for the local judge, computed along their outlines. They resemble those of
boxes (:mod:`visualjudge.vision.boxes.features`).
"""

from __future__ import annotations

import cv2
import numpy as np

from visualjudge.core.records import BoolArray, FloatArray, Mask
from visualjudge.vision import view_places
from visualjudge.vision.masks.record import Masks
from visualjudge.vision.raster.overlaps import box_ious
from visualjudge.vision.view import Features, Given, Plane, View
from visualjudge.vision.view_items import (
    alike,
    covering,
    overlaps,
    partition,
    partition_places,
    set_features,
)

# Number of view pixels on either side of a boundary that are compared.
BAND = 3
FEWEST_PIXELS = 4


def mask_features(found: Masks, given: Given) -> Features:
    """Return the features of the masks of one image."""
    view, items = given.view, found.items
    masks = [mask_on_view(view, item.mask) for item in items]
    labels, rows_looks = [item.label for item in items], [_mask(view, mask) for mask in masks]
    rows = {
        name: np.array([row[name] for row, _ in rows_looks])
        for name in (rows_looks[0][0] if rows_looks else ())
    }
    looks = np.array([look for _, look in rows_looks]).reshape(-1, 3)
    boxes = np.array([item.mask.xyxy for item in items], dtype=np.float64).reshape(-1, 4)
    number = np.zeros(view.edges.shape, dtype=np.uint16)
    for k, mask in enumerate(masks, 1):
        number[mask] = k
    return (
        set_features(rows, len(items))
        | overlaps(labels, box_ious(boxes, boxes))
        | alike(labels, looks)
        | covering(view, number > 0)
        | partition(view, number)
        | partition_places(view, number)
    )


def mask_on_view(view: View, mask: Mask) -> BoolArray:
    """Return the mask at the resolution of the view, h×w bool; empty if it is too thin to contain
    any pixel.
    """
    found = np.zeros(view.edges.shape, dtype=np.bool_)
    if not mask.crop.size:
        return found
    (height, width), (tall, wide) = view.edges.shape, mask.crop.shape
    rows, inside_y = _met(height, view.size[0], mask.top, tall)
    columns, inside_x = _met(width, view.size[1], mask.left, wide)
    found[rows, columns] = mask.crop[np.ix_(inside_y, inside_x)]
    return found


# Return which of n positions along a side of ``full`` pixels lie in the crop from ``start``, and
# the crop's pixels at those positions.
def _met(n: int, full: int, start: int, length: int) -> tuple[slice, np.ndarray]:
    middles = ((np.arange(n) + 0.5) * full / n).astype(int)
    first, last = np.searchsorted(middles, [start, start + length])
    return slice(int(first), int(last)), middles[first:last] - start


# Return the features of a mask and its mean colour.
def _mask(view: View, mask: BoolArray) -> tuple[Features, FloatArray]:
    rows, columns = _window(mask)
    near = mask[rows, columns].view(np.uint8)
    area = int(cv2.countNonZero(near)) if near.size else 0
    if area < FEWEST_PIXELS:
        return dict.fromkeys(_MASK, 0.0) | view_places.NOWHERE | {
            "parts": 1.0,
            "log_area": -9.0,
        }, np.zeros(3)
    padded = cv2.copyMakeBorder(near, 1, 1, 1, 1, cv2.BORDER_REPLICATE)
    rim = (cv2.dilate(padded, None) - cv2.erode(padded, None))[1:-1, 1:-1]
    kernel = np.ones((2 * BAND + 1,) * 2, np.uint8)
    inner, outer = near - cv2.erode(near, kernel), cv2.dilate(near, kernel) - near
    edges, lab = view.edges[rows, columns], view.lab[rows, columns]
    off = (inner | outer) & (1 - rim)
    on_rim, ring = _at(edges, rim), _at(lab, outer)
    mean, spread = (np.ravel(part) for part in cv2.meanStdDev(lab, mask=near))
    full, at = bool(outer.any()), view_places.samples_of_mask(mask)
    return {
        "edge": on_rim[0],
        "step": on_rim[0] - _at(edges, off)[0],
        "contrast": float(np.linalg.norm(np.subtract(_at(lab, inner), ring)[:3])) / 20
        if full
        else 0.5,
        "apart": float(np.linalg.norm(mean - ring[:3])) / 20 if full else 0.5,
        "rough": float(np.log(max(cv2.countNonZero(rim), 1) / np.sqrt(area))),
        "parts": float(cv2.connectedComponents(near)[0] - 1),
        "log_area": float(np.log(area / mask.size)),
        "even": float(spread.mean()) / 20,
        **(view_places.NOWHERE if at is None else view_places.evidence(view, at)),
    }, mean


_MASK = ("edge", "step", "contrast", "apart", "rough", "parts", "log_area", "even")


# Return the rows and columns of a mask's neighbourhood.
def _window(mask: BoolArray) -> tuple[slice, slice]:
    x, y, width, height = cv2.boundingRect(mask.view(np.uint8))
    margin = BAND + 2
    return slice(max(0, y - margin), y + height + margin), slice(
        max(0, x - margin), x + width + margin
    )


# Return the mean of each channel of a plane over the nonzero pixels of a uint8 array; 0 if there
# are none.
def _at(plane: Plane, where: np.ndarray) -> tuple[float, ...]:
    return tuple(cv2.mean(plane, mask=where))
