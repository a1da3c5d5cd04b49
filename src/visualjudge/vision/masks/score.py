"""Segmentation scores: mask F1 for instances, mean IoU for semantic, IoU for a referred region."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import BoolArray, FloatArray, Mask
from visualjudge.vision.boxes.score import shares_of
from visualjudge.vision.masks.record import Instance, Masks
from visualjudge.vision.scoring.close_boxes import IntArray, Pairs
from visualjudge.vision.scoring.matching import (
    LEAST,
    by_crowd,
    labelled_f1,
    labelled_f1_by_class,
    rows_at_once,
)


def mask_f1(
    prediction: Masks, truth: Masks, *, class_of_interest: Collection[str] | None = None
) -> float:
    """Return the mean of F1(t) over t = .50, .55, … .95 after one-to-one matching by decreasing
    mask IoU within a label.

    This is :func:`visualjudge.vision.boxes.score.box_f1` for masks. 0..1; 1 if both are empty.
    """
    _same_size(prediction, truth)
    return labelled_f1(prediction, truth, _alike, _crowd_shares, class_of_interest)


def mask_f1_by_class(prediction: Masks, truth: Masks, labels: Sequence[str]) -> list[float]:
    """Return :func:`mask_f1` with each of ``labels`` as the class of interest."""
    _same_size(prediction, truth)
    return labelled_f1_by_class(prediction, truth, _alike, _crowd_shares, labels)


def _alike(
    found: list[Instance], real: list[Instance], counted: Pairs
) -> tuple[IntArray, IntArray, FloatArray]:
    parts = [np.zeros((3, 0))]
    for rows in rows_at_once(len(found), len(real), counted):
        counted.add(near=int(np.count_nonzero(_touching(found[rows], real))))
        values = mask_ious(found[rows], real)
        i, j = np.nonzero(values >= LEAST)
        parts.append(np.stack([i + rows.start, j, values[i, j]]))
    first, second, value = np.concatenate(parts, axis=1)
    return first.astype(np.intp), second.astype(np.intp), value


def _crowd_shares(found: list[Instance], crowds: list[Instance], counted: Pairs) -> FloatArray:
    slices = rows_at_once(len(found), len(crowds), counted)
    shares = [mask_ious(found[rows], crowds, crowd=True).max(axis=1) for rows in slices]
    return np.concatenate([np.zeros(0), *shares])


def mean_iou(prediction: Masks, truth: Masks) -> float:
    """Return the mean IoU over the labels in the ground truth or prediction. Pixels without a label
    in the ground truth are ignored.

    A label predicted only on unlabelled pixels is not counted. 0..1; 1 if neither side has a label.
    """
    _same_size(prediction, truth)
    if not any(item.mask.area for item in truth.items):
        return 1.0 if not any(item.mask.area for item in prediction.items) else 0.0
    real, found = truth.union_by_label(), prediction.union_by_label()
    labelled = np.logical_or.reduce(list(real.values()))
    values = []
    for label in sorted(real.keys() | found.keys()):
        first = found.get(label, np.zeros(truth.size, dtype=np.bool_)) & labelled
        second = real.get(label, np.zeros(truth.size, dtype=np.bool_))
        union = int(np.count_nonzero(first | second))
        if union:
            values.append(int(np.count_nonzero(first & second)) / union)
    return float(np.mean(values)) if values else 1.0


def region_iou(prediction: Masks, truth: Masks) -> float:
    """Return the IoU of a referred region, 0..1; 1 if both are empty."""
    _same_size(prediction, truth)
    (found,), (real,) = prediction.items, truth.items
    inter = _intersection(found.mask, real.mask)
    union = found.mask.area + real.mask.area - inter
    return inter / union if union else 1.0


def mask_ious(
    first: Sequence[Instance], second: Sequence[Instance], *, crowd: bool = False
) -> FloatArray:
    """Return mask IoU, shape (len(first), len(second)), or, with ``crowd``, the intersection
    divided by the area of the first mask.

    The results equal pycocotools' ``iou``, but only the overlap of the bounding boxes is computed.
    """
    areas_first = np.array([item.mask.area for item in first], dtype=np.float64)
    areas_second = np.array([item.mask.area for item in second], dtype=np.float64)
    inter = np.zeros((len(first), len(second)))
    for i, j in np.argwhere(_touching(first, second)).tolist():
        inter[i, j] = _intersection(first[i].mask, second[j].mask)
    return shares_of(inter, areas_first, areas_second, crowd)


def _touching(first: Sequence[Instance], second: Sequence[Instance]) -> BoolArray:
    """Return whether the bounding boxes of masks share pixels, shape (len(first), len(second))."""
    one, other = (
        np.array([item.mask.xyxy for item in side]).reshape(-1, 4) for side in (first, second)
    )
    low = np.maximum(one[:, None, :2], other[None, :, :2])
    high = np.minimum(one[:, None, 2:], other[None, :, 2:])
    common: BoolArray = (low < high).all(axis=2)
    return common


def _intersection(first: Mask, second: Mask) -> int:
    a, b = first.xyxy, second.xyxy
    x1, y1, x2, y2 = max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])
    if x1 >= x2 or y1 >= y2:
        return 0
    return int(np.count_nonzero(_part(first, x1, y1, x2, y2) & _part(second, x1, y1, x2, y2)))


def _part(mask: Mask, x1: int, y1: int, x2: int, y2: int) -> BoolArray:
    return mask.crop[y1 - mask.top : y2 - mask.top, x1 - mask.left : x2 - mask.left]


def _same_size(prediction: Masks, truth: Masks) -> None:
    if prediction.items and truth.items and prediction.size != truth.size:
        raise DataError(
            f"segmentation: masks must match the truth, {truth.size[0]}×{truth.size[1]} "
            f"(height×width), got {prediction.size[0]}×{prediction.size[1]}"
        )


def mask_similarity(found: list[Instance], real: list[Instance]) -> FloatArray:
    """Return IoU as defined by COCOeval."""
    return by_crowd(mask_ious, found, real)
