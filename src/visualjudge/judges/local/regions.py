"""Features of boxes and masks: do they lie on edges, set apart what they hold, and neither repeat nor leave out?

Each item gets a few numbers; a set is described by their sums, means and minima, so that a wrong item lowers the sum
and a missing one too. Cues: edges along the boundary and contrast across it (Alexe et al., "Measuring the objectness
of image windows", TPAMI 2012), overlap within a label, plausible sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import cv2
import numpy as np

from visualjudge.judges.local.view import Plane, View
from visualjudge.predictions import Detection, Instance
from visualjudge.records import BoolArray

Features = dict[str, float]

RING = 0.25
"""Width of the ring around a box, as a share of its side."""
BAND = 3
"""Pixels of the view on either side of a boundary that are compared."""


def box_features(view: View, items: Sequence[Detection]) -> Features:
    """Features of the boxes of one image."""
    sums = cv2.integral(view.lab)
    boxes = [_on_view(view, item.xyxy) for item in items]
    rows = [_box(view, sums, box) for box in boxes]
    inside = _painted(view.edges.shape, boxes)
    labels = [item.label for item in items]
    looks = [_mean(sums, box) for box in boxes]
    return _set_features(rows) | _overlaps(labels, boxes) | _alike(labels, looks) | _coverage(view, inside)


def mask_features(view: View, items: Sequence[Instance]) -> Features:
    """Features of the masks of one image."""
    masks = [_mask_on_view(view, item) for item in items]
    rows = [_mask(view, mask) for mask in masks]
    inside = np.any(masks, axis=0) if masks else np.zeros(view.edges.shape, dtype=np.bool_)
    boxes = [_bounds(mask) for mask in masks]
    labels = [item.label for item in items]
    looks = [view.lab[mask].mean(axis=0) if mask.any() else np.zeros(3) for mask in masks]
    return (
        _set_features(rows)
        | _overlaps(labels, boxes)
        | _alike(labels, looks)
        | _coverage(view, inside)
        | _partition(view, masks)
    )


# ---------------------------------------------------------------- one item


def _box(view: View, sums: np.ndarray, box: np.ndarray) -> Features:
    x1, y1, x2, y2 = box
    width, height = x2 - x1, y2 - y1
    sides = [_line(view.dx, x1, y1, y2, 0), _line(view.dx, x2, y1, y2, 0)]
    sides += [_line(view.dy, y1, x1, x2, 1), _line(view.dy, y2, x1, x2, 1)]
    outer = box + np.array([-width, -height, width, height]) * RING
    inner = box + np.array([width, height, -width, -height]) * RING
    mean, ring = _mean(sums, box), _around(sums, box, outer)
    share = width * height / view.edges.size
    return {
        "edge": float(np.mean(sides)),
        "weakest_side": float(min(sides)),
        "contrast": float(np.linalg.norm(mean - ring)) / 20,
        "rim": float(np.linalg.norm(_around(sums, inner, box) - ring)) / 20,
        "log_area": float(np.log(max(share, 1e-4))),
        "slim": float(abs(np.log(max(width, 1) / max(height, 1)))),
    }


def _line(gradient: Plane, at: float, start: float, end: float, axis: int) -> float:
    """Strongest mean gradient within a pixel of a side; 0.5 on the image's border, where no edge can be seen."""
    along = gradient if axis == 0 else gradient.T
    length = along.shape[1]
    if at < 2 or at > length - 3:
        return 0.5
    first, last = round(start), max(round(start) + 1, round(end))
    near = along[first:last, max(0, round(at) - 2) : round(at) + 2]
    return float(near.mean(axis=0).max()) if near.size else 0.0


def _mask(view: View, mask: BoolArray) -> Features:
    area = int(mask.sum())
    if area < 4:
        return {"edge": 0.0, "step": 0.0, "contrast": 0.0, "rough": 0.0, "parts": 1.0, "log_area": -9.0, "even": 0.0}
    near, rows, columns = _cut_out(mask, view)
    small = near.astype(np.uint8)
    padded = cv2.copyMakeBorder(small, 1, 1, 1, 1, cv2.BORDER_REPLICATE)
    rim = (cv2.dilate(padded, None) - cv2.erode(padded, None))[1:-1, 1:-1] > 0
    kernel = np.ones((2 * BAND + 1,) * 2, np.uint8)
    inner, outer = near & (cv2.erode(small, kernel) == 0), ~near & (cv2.dilate(small, kernel) > 0)
    edges, lab = view.edges[rows, columns], view.lab[rows, columns]
    off = (inner | outer) & ~rim
    parts = cv2.connectedComponents(small)[0] - 1
    within = lab[near].reshape(-1, 3)
    return {
        "edge": float(_at(edges, rim)),
        "step": float(_at(edges, rim) - _at(edges, off)),
        "contrast": float(np.linalg.norm(_at(lab, inner) - _at(lab, outer))) / 20 if outer.any() else 0.5,
        "rough": float(np.log(max(rim.sum(), 1) / np.sqrt(area))),
        "parts": float(parts),
        "log_area": float(np.log(area / mask.size)),
        "even": float(within.std(axis=0).mean()) / 20,
    }


def _cut_out(mask: BoolArray, view: View) -> tuple[BoolArray, slice, slice]:
    x1, y1, x2, y2 = (int(v) for v in _bounds(mask))
    margin = BAND + 2
    rows = slice(max(0, y1 - margin), y2 + margin)
    columns = slice(max(0, x1 - margin), x2 + margin)
    return mask[rows, columns], rows, columns


# ---------------------------------------------------------------- a set of items


def _set_features(rows: Sequence[Features]) -> Features:
    found: Features = {"count": float(len(rows)), "log_count": float(np.log1p(len(rows)))}
    for name in rows[0] if rows else ():
        values = np.array([row[name] for row in rows])
        found |= {f"sum_{name}": float(values.sum()), f"mean_{name}": float(values.mean())}
        found[f"min_{name}"] = float(values.min())
    return found


def _overlaps(labels: Sequence[str], boxes: Sequence[np.ndarray]) -> Features:
    """How far items repeat each other, as intersection over union, with and without regard to labels."""
    same = any_label = 0.0
    for k, box in enumerate(boxes):
        ious = [(_iou(box, other), labels[k] == labels[j]) for j, other in enumerate(boxes[:k])]
        same += max((iou for iou, equal in ious if equal and iou > 0.3), default=0.0)
        any_label += max((iou for iou, _ in ious if iou > 0.5), default=0.0)
    most = max((labels.count(label) for label in set(labels)), default=0)
    return {
        "repeats": same,
        "stacked": any_label,
        "labels": float(len(set(labels))),
        "uneven": most / max(1, len(labels)),
    }


def _alike(labels: Sequence[str], looks: Sequence[np.ndarray]) -> Features:
    """How much closer in colour items of one label are than items of two, in units of the image's spread."""
    apart: dict[bool, list[float]] = {True: [], False: []}
    for k, look in enumerate(looks):
        for j in range(k):
            apart[labels[k] == labels[j]].append(float(np.linalg.norm(look - looks[j])) / 20)
    same, other = (float(np.mean(apart[equal])) if apart[equal] else 0.0 for equal in (True, False))
    return {"same_apart": same, "other_apart": other}


def _coverage(view: View, inside: BoolArray) -> Features:
    """Share of the image, and of its edges, that lies inside."""
    total = float(view.edges.sum())
    return {"covered": float(inside.mean()), "edges_in": float(view.edges[inside].sum()) / max(total, 1e-6)}


def _partition(view: View, masks: Sequence[BoolArray]) -> Features:
    """Share of the colour variance that the regions explain (and what no region holds, as one more)."""
    number = np.zeros(view.edges.shape, dtype=np.int64)
    for k, mask in enumerate(masks, 1):
        number[mask] = k
    counted = np.bincount(number.ravel())
    pixels = counted[counted > 0]
    between = total = 0.0
    for channel in cv2.split(view.lab):
        sums = np.bincount(number.ravel(), weights=channel.ravel())[counted > 0]
        middle = float(channel.mean())
        between += float((pixels * (sums / pixels - middle) ** 2).sum())
        total += float(((channel - middle) ** 2).sum())
    return {"explained": between / max(total, 1e-6)}


# ---------------------------------------------------------------- geometry


def _on_view(view: View, xyxy: Iterable[float]) -> np.ndarray:
    x, y = view.scale
    height, width = view.edges.shape
    box = np.asarray(list(xyxy), dtype=np.float64) * [x, y, x, y]
    return np.clip(box, 0, [width, height, width, height])


def _mask_on_view(view: View, item: Instance) -> BoolArray:
    height, width = view.edges.shape
    dense = item.mask.dense().view(np.uint8)
    return cv2.resize(dense, (width, height), interpolation=cv2.INTER_AREA) > 0 if dense.any() else _none(view)


def _none(view: View) -> BoolArray:
    return np.zeros(view.edges.shape, dtype=np.bool_)


def _bounds(mask: BoolArray) -> np.ndarray:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return np.zeros(4)
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], dtype=np.float64)


def _painted(shape: tuple[int, ...], boxes: Sequence[np.ndarray]) -> BoolArray:
    inside = np.zeros(shape, dtype=np.bool_)
    for x1, y1, x2, y2 in boxes:
        inside[round(y1) : round(y2), round(x1) : round(x2)] = True
    return inside


def _iou(one: np.ndarray, two: np.ndarray) -> float:
    low, high = np.maximum(one[:2], two[:2]), np.minimum(one[2:], two[2:])
    both = float(np.prod(np.clip(high - low, 0, None)))
    union = float(np.prod(one[2:] - one[:2]) + np.prod(two[2:] - two[:2])) - both
    return both / union if union > 0 else 0.0


def _total(sums: np.ndarray, box: np.ndarray) -> tuple[np.ndarray, float]:
    height, width = sums.shape[0] - 1, sums.shape[1] - 1
    x1, y1, x2, y2 = (int(v) for v in np.rint(np.clip(box, 0, [width, height, width, height])))
    return sums[y2, x2] - sums[y1, x2] - sums[y2, x1] + sums[y1, x1], float(max(0, x2 - x1) * max(0, y2 - y1))


def _mean(sums: np.ndarray, box: np.ndarray) -> np.ndarray:
    total, area = _total(sums, box)
    return total / max(area, 1.0)


def _around(sums: np.ndarray, inner: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """Mean colour of ``outer`` without ``inner``; of ``inner`` where nothing is left."""
    (big, area), (small, hole) = _total(sums, outer), _total(sums, inner)
    return (big - small) / (area - hole) if area > hole else _mean(sums, inner)


def _at(plane: Plane, where: BoolArray) -> np.ndarray:
    """Mean of a plane, or of each channel, over the pixels ``where``; 0 where there are none."""
    return np.asarray(plane[where].mean(axis=0) if where.any() else np.zeros(plane.shape[2:]))
