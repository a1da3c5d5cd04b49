"""Features of boxes and masks: do they lie on edges, set apart what they hold, and neither repeat nor leave out?

Each item gets a few numbers; a set is described by their sums, so that a wrong item lowers the sum and a missing one
too. Cues: edges along the boundary and contrast across it (Alexe et al., "Measuring the objectness
of image windows", TPAMI 2012), what stands out of the image (Achanta et al., CVPR 2009), overlap, plausible sizes.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from visualjudge.core.records import BoolArray, FloatArray, Mask
from visualjudge.judges.local.sets import alike, covering, overlaps, partition, set_features
from visualjudge.vision.boxes.score import iou
from visualjudge.vision.predictions import Detection, Instance
from visualjudge.vision.view import Plane, View

Features = dict[str, float]

RING = 0.25
"""Width of the ring around a box, as a share of its side."""
BAND = 3
"""Pixels of the view on either side of a boundary that are compared."""
FEWEST_PIXELS = 4


def box_features(view: View, items: Sequence[Detection]) -> Features:
    """Features of the boxes of one image."""
    boxes = _on_view(view, np.array([item.xyxy for item in items], dtype=np.float64).reshape(-1, 4))
    labels = [item.label for item in items]
    inside = np.zeros(view.edges.shape, dtype=np.bool_)
    for x1, y1, x2, y2 in np.rint(boxes).astype(int):
        inside[y1:y2, x1:x2] = True
    rows = _box_rows(view, boxes) if items else {}
    looks = _mean(view.sums, boxes)[:, :3] if items else np.zeros((0, 3))
    return (
        set_features(rows, len(items))
        | overlaps(labels, iou(boxes, boxes))
        | alike(labels, looks)
        | covering(view, inside)
    )


def mask_features(view: View, items: Sequence[Instance]) -> Features:
    """Features of the masks of one image."""
    masks = [mask_on_view(view, item.mask) for item in items]
    labels, found = [item.label for item in items], [_mask(view, mask) for mask in masks]
    rows = {name: np.array([row[name] for row, _ in found]) for name in (found[0][0] if found else ())}
    looks = np.array([look for _, look in found]).reshape(-1, 3)
    boxes = np.array([item.mask.xyxy for item in items], dtype=np.float64).reshape(-1, 4)
    number = np.zeros(view.edges.shape, dtype=np.uint16)
    for k, mask in enumerate(masks, 1):
        number[mask] = k
    return (
        set_features(rows, len(items))
        | overlaps(labels, iou(boxes, boxes))
        | alike(labels, looks)
        | covering(view, number > 0)
        | partition(view, number)
    )


# ---------------------------------------------------------------- boxes


def _box_rows(view: View, boxes: FloatArray) -> dict[str, FloatArray]:
    """Features of n boxes (n×4 corners on the view), an array (n,) each."""
    size = np.stack([boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]], axis=1)
    reach = np.concatenate([-size, size], axis=1) * RING
    outer, inner = boxes + reach, boxes - reach
    mean, ring, rim = _mean(view.sums, boxes), _between(view.sums, boxes, outer), _between(view.sums, inner, boxes)
    sides = np.array([_sides(view, box) for box in boxes])
    share = size.prod(axis=1) / view.edges.size
    return {
        "edge": sides.mean(axis=1),
        "weakest_side": sides.min(axis=1),
        "contrast": np.linalg.norm(mean[:, :3] - ring[:, :3], axis=1) / 20,
        "rim": np.linalg.norm(rim[:, :3] - ring[:, :3], axis=1) / 20,
        "salient": mean[:, 3] - ring[:, 3],
        "dense": mean[:, 4] - ring[:, 4],
        "log_area": np.log(np.maximum(share, 1e-4)),
        "slim": np.abs(np.log(np.maximum(size[:, 0], 1) / np.maximum(size[:, 1], 1))),
    }


def _sides(view: View, box: FloatArray) -> list[float]:
    x1, y1, x2, y2 = box
    return [
        _line(view.dx, x1, y1, y2), _line(view.dx, x2, y1, y2),
        _line(view.dy.T, y1, x1, x2), _line(view.dy.T, y2, x1, x2),
    ]  # fmt: skip


def _line(gradient: Plane, at: float, start: float, end: float) -> float:
    """Strongest mean gradient within a pixel of a side; 0.5 on the image's border, where no edge can be seen."""
    if at < 2 or at > gradient.shape[1] - 3:
        return 0.5
    first, place = round(start), round(at)
    near = gradient[first : max(first + 1, round(end)), max(0, place - 2) : place + 2]
    return float(near.mean(axis=0).max()) if near.size else 0.0


def _on_view(view: View, boxes: FloatArray) -> FloatArray:
    height, width = view.edges.shape
    return np.asarray(np.clip(boxes * (view.scale * 2), 0, [width, height, width, height]))


def _totals(sums: np.ndarray, boxes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sums of each channel inside n boxes (n×C), and their areas (n×1)."""
    height, width = sums.shape[0] - 1, sums.shape[1] - 1
    x1, y1, x2, y2 = np.rint(np.clip(boxes, 0, [width, height, width, height])).astype(int).T
    found = sums[y2, x2] - sums[y1, x2] - sums[y2, x1] + sums[y1, x1]
    return found, (np.maximum(0, x2 - x1) * np.maximum(0, y2 - y1))[:, None].astype(np.float64)


def _mean(sums: np.ndarray, boxes: FloatArray) -> FloatArray:
    total, area = _totals(sums, boxes)
    return np.asarray(total / np.maximum(area, 1.0))


def _between(sums: np.ndarray, inner: FloatArray, outer: FloatArray) -> FloatArray:
    """Means of ``outer`` without ``inner``; of ``inner`` where nothing is left."""
    (big, area), (small, hole) = _totals(sums, outer), _totals(sums, inner)
    left = area > hole
    return np.where(left, (big - small) / np.where(left, area - hole, 1.0), small / np.maximum(hole, 1.0))


# ---------------------------------------------------------------- masks


def mask_on_view(view: View, mask: Mask) -> BoolArray:
    """The mask at the pixels of the view, h×w bool; empty where it is too thin to be met by any."""
    found = np.zeros(view.edges.shape, dtype=np.bool_)
    if not mask.crop.size:
        return found
    (height, width), (tall, wide) = view.edges.shape, mask.crop.shape
    rows, inside_y = _met(height, view.size[0], mask.top, tall)
    columns, inside_x = _met(width, view.size[1], mask.left, wide)
    found[rows, columns] = mask.crop[np.ix_(inside_y, inside_x)]
    return found


def _met(n: int, full: int, start: int, length: int) -> tuple[slice, np.ndarray]:
    """Which of n places along a side of ``full`` pixels lie in the crop from ``start``, and the crop's pixels there."""
    middles = ((np.arange(n) + 0.5) * full / n).astype(int)
    first, last = np.searchsorted(middles, [start, start + length])
    return slice(int(first), int(last)), middles[first:last] - start


def _mask(view: View, mask: BoolArray) -> tuple[Features, FloatArray]:
    """The features of a mask, and its mean colour."""
    rows, columns = _window(mask)
    near = mask[rows, columns].view(np.uint8)
    area = int(cv2.countNonZero(near)) if near.size else 0
    if area < FEWEST_PIXELS:
        return dict.fromkeys(_MASK, 0.0) | {"parts": 1.0, "log_area": -9.0}, np.zeros(3)
    padded = cv2.copyMakeBorder(near, 1, 1, 1, 1, cv2.BORDER_REPLICATE)
    rim = (cv2.dilate(padded, None) - cv2.erode(padded, None))[1:-1, 1:-1]
    kernel = np.ones((2 * BAND + 1,) * 2, np.uint8)
    inner, outer = near - cv2.erode(near, kernel), cv2.dilate(near, kernel) - near
    edges, lab, salient = view.edges[rows, columns], view.lab[rows, columns], view.salient[rows, columns]
    off = (inner | outer) & (1 - rim)
    on_rim, ring = _at(edges, rim), _at(lab, outer)
    mean, spread = (np.ravel(part) for part in cv2.meanStdDev(lab, mask=near))
    full = bool(outer.any())
    return {
        "edge": on_rim[0],
        "step": on_rim[0] - _at(edges, off)[0],
        "contrast": float(np.linalg.norm(np.subtract(_at(lab, inner), ring)[:3])) / 20 if full else 0.5,
        "apart": float(np.linalg.norm(mean - ring[:3])) / 20 if full else 0.5,
        "salient": _at(salient, near)[0] - (_at(salient, outer)[0] if full else 0.0),
        "rough": float(np.log(max(cv2.countNonZero(rim), 1) / np.sqrt(area))),
        "parts": float(cv2.connectedComponents(near)[0] - 1),
        "log_area": float(np.log(area / mask.size)),
        "even": float(spread.mean()) / 20,
    }, mean  # fmt: skip


_MASK = ("edge", "step", "contrast", "apart", "salient", "rough", "parts", "log_area", "even")


def _window(mask: BoolArray) -> tuple[slice, slice]:
    """Rows and columns of what is near a mask."""
    x, y, width, height = cv2.boundingRect(mask.view(np.uint8))
    margin = BAND + 2
    return slice(max(0, y - margin), y + height + margin), slice(max(0, x - margin), x + width + margin)


def _at(plane: Plane, where: np.ndarray) -> tuple[float, ...]:
    """Mean of each channel of a plane over the pixels where a uint8 array is not 0; 0 where it is 0 everywhere."""
    return tuple(cv2.mean(plane, mask=where))
