"""Features of boxes: whether they follow edges, separate their content from its surroundings,
repeat each other or miss objects.

Each box has a few numbers, and a set is described by their sums, so that wrong and missing boxes
both lower the sum. Cues: edges along the boundary and contrast across it (Alexe et al., "Measuring
the objectness of image windows", TPAMI 2012), saliency (Achanta et al., CVPR 2009), overlap,
plausible sizes.
"""

from __future__ import annotations

import numpy as np

from visualjudge.core.records import FloatArray
from visualjudge.vision.boxes.record import Detections
from visualjudge.vision.raster.overlaps import box_ious
from visualjudge.vision.view import Features, Given, Plane, View
from visualjudge.vision.view_items import alike, covering, overlaps, set_features

# Width of the ring around a box, as a share of its side.
RING = 0.25


def box_features(found: Detections, given: Given) -> Features:
    """Return the features of the boxes of one image."""
    view, items = given.view, found.items
    boxes = _on_view(view, np.array([item.xyxy for item in items], dtype=np.float64).reshape(-1, 4))
    labels = [item.label for item in items]
    inside = np.zeros(view.edges.shape, dtype=np.bool_)
    for x1, y1, x2, y2 in np.rint(boxes).astype(int):
        inside[y1:y2, x1:x2] = True
    rows = _box_rows(view, boxes) if items else {}
    looks = _mean(view.sums, boxes)[:, :3] if items else np.zeros((0, 3))
    return (
        set_features(rows, len(items))
        | overlaps(labels, box_ious(boxes, boxes))
        | alike(labels, looks)
        | covering(view, inside)
    )


# Return the features of n boxes (n×4 corners on the view), each an array of shape (n,).
def _box_rows(view: View, boxes: FloatArray) -> dict[str, FloatArray]:
    size = np.stack([boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]], axis=1)
    reach = np.concatenate([-size, size], axis=1) * RING
    mean, ring = _mean(view.sums, boxes), _between(view.sums, boxes, boxes + reach)
    sides = np.array([_sides(view, box) for box in boxes])
    share = size.prod(axis=1) / view.edges.size
    return {
        "edge": sides.mean(axis=1),
        "weakest_side": sides.min(axis=1),
        "contrast": np.linalg.norm(mean[:, :3] - ring[:, :3], axis=1) / 20,
        "log_area": np.log(np.maximum(share, 1e-4)),
        "slim": np.abs(np.log(np.maximum(size[:, 0], 1) / np.maximum(size[:, 1], 1))),
    }


def _sides(view: View, box: FloatArray) -> list[float]:
    x1, y1, x2, y2 = box
    return [
        _line(view.dx, x1, y1, y2), _line(view.dx, x2, y1, y2),
        _line(view.dy.T, y1, x1, x2), _line(view.dy.T, y2, x1, x2),
    ]  # fmt: skip


# Return the strongest mean gradient within two pixels of a side; 0.5 at the image border, where no
# edge can be seen.
def _line(gradient: Plane, at: float, start: float, end: float) -> float:
    if at < 2 or at > gradient.shape[1] - 3:
        return 0.5
    first, place = round(start), round(at)
    near = gradient[first : max(first + 1, round(end)), max(0, place - 2) : place + 2]
    return float(near.mean(axis=0).max()) if near.size else 0.0


def _on_view(view: View, boxes: FloatArray) -> FloatArray:
    height, width = view.edges.shape
    return np.asarray(np.clip(boxes * (view.scale * 2), 0, [width, height, width, height]))


# Return the sums of each channel inside n boxes (n×C), and the areas of the boxes (n×1).
def _totals(sums: np.ndarray, boxes: FloatArray) -> tuple[FloatArray, FloatArray]:
    height, width = sums.shape[0] - 1, sums.shape[1] - 1
    x1, y1, x2, y2 = np.rint(np.clip(boxes, 0, [width, height, width, height])).astype(int).T
    found = sums[y2, x2] - sums[y1, x2] - sums[y2, x1] + sums[y1, x1]
    return found, (np.maximum(0, x2 - x1) * np.maximum(0, y2 - y1))[:, None].astype(np.float64)


def _mean(sums: np.ndarray, boxes: FloatArray) -> FloatArray:
    total, area = _totals(sums, boxes)
    return np.asarray(total / np.maximum(area, 1.0))


# Return the means over ``outer`` without ``inner``, or over ``inner`` if nothing is left.
def _between(sums: np.ndarray, inner: FloatArray, outer: FloatArray) -> FloatArray:
    (big, area), (small, hole) = _totals(sums, outer), _totals(sums, inner)
    left = area > hole
    return np.where(
        left, (big - small) / np.where(left, area - hole, 1.0), small / np.maximum(hole, 1.0)
    )
