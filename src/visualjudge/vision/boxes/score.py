"""Metric of object detection: mean F1 over IoU thresholds, with boxes matched within a label."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from visualjudge.core.records import FloatArray
from visualjudge.vision.boxes.record import Detection, Detections
from visualjudge.vision.scoring.close_boxes import IntArray, Pairs, close_pairs
from visualjudge.vision.scoring.matching import (
    LEAST,
    by_crowd,
    labelled_f1,
    labelled_f1_by_class,
    rows_at_once,
)


def box_f1(
    prediction: Detections, truth: Detections, *, class_of_interest: Collection[str] | None = None
) -> float:
    """Return the mean of F1(t) over t = .50, .55, … .95, with the boxes of a label matched one to
    one by decreasing IoU.

    Only labels of the class of interest count, if one is given. Crowd regions (COCO's ``iscrowd``)
    neither count as truth nor make a prediction wrong. The result is in 0..1, and 1 if both are
    empty.
    """
    return labelled_f1(prediction, truth, _alike, _crowd_shares, class_of_interest)


def box_f1_by_class(
    prediction: Detections, truth: Detections, labels: Sequence[str]
) -> list[float]:
    """Return :func:`box_f1` with each of ``labels`` as the class of interest."""
    return labelled_f1_by_class(prediction, truth, _alike, _crowd_shares, labels)


def _alike(
    found: list[Detection], real: list[Detection], counted: Pairs
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs with an IoU of at least :data:`~visualjudge.vision.scoring.matching.LEAST`:
    indices of both boxes, and IoU.
    """
    first, second = corners(found), corners(real)
    parts = []
    for i, j in close_pairs(first, second, LEAST, counted):
        value = iou_of_pairs(first[i], second[j])
        reached = value >= LEAST
        parts.append((i[reached], j[reached], value[reached]))
    if not parts:
        return np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0)
    i, j, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(i * len(real) + j, kind="stable")
    return i[order], j[order], value[order]


def _crowd_shares(found: list[Detection], crowds: list[Detection], counted: Pairs) -> FloatArray:
    first, second = corners(found), corners(crowds)
    slices = rows_at_once(len(found), len(crowds), counted)
    shares = [iou(first[rows], second, crowd=True).max(axis=1) for rows in slices]
    return np.concatenate([np.zeros(0), *shares])


def corners(items: list[Detection]) -> FloatArray:
    """Return the boxes as an (n, 4) float array of x1, y1, x2, y2."""
    return np.array([item.xyxy for item in items], dtype=np.float64).reshape(-1, 4)


def box_areas(items: list[Detection]) -> FloatArray:
    """Return the areas in pixels², shape (n,), as in pycocotools: the stated width × height, if
    any.
    """
    sides = [
        item.extent or (item.xyxy[2] - item.xyxy[0], item.xyxy[3] - item.xyxy[1]) for item in items
    ]
    return np.array([width * height for width, height in sides], dtype=np.float64)


def iou(
    first: FloatArray,
    second: FloatArray,
    *,
    crowd: bool = False,
    areas: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """Return the intersection over union of (n, 4) and (m, 4) xyxy boxes, shape (n, m); 0 for boxes
    without area.

    With ``crowd``, divide the intersection by the first box's own area, as pycocotools does for
    crowd regions. ``areas`` are the results of :func:`box_areas`, (n,) and (m,); by default areas
    are computed from the corners. Operations have the same order as in pycocotools' ``bbIou``, so
    that a tie at a threshold has the same outcome.
    """
    one, other_area = areas or (_area(first), _area(second))
    inter = _intersection(first[:, None], second[None])
    return shares_of(inter, one, other_area, crowd)


def iou_of_pairs(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the IoU of boxes with the same index in two (n, 4) arrays, shape (n,), with the values
    of :func:`iou`.
    """
    inter = _intersection(first, second)
    union = _area(first) + _area(second) - inter
    ratio: FloatArray = np.divide(
        inter, union, out=np.zeros_like(inter), where=(union > 0) & (inter > 0)
    )
    return ratio


def _intersection(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the intersection areas of boxes (…, 4) and (…, 4), with broadcasting."""
    width, height = (
        np.clip(
            np.minimum(first[..., k + 2], second[..., k + 2])
            - np.maximum(first[..., k], second[..., k]),
            0,
            None,
        )
        for k in (0, 1)
    )
    common: FloatArray = width * height
    return common


def shares_of(inter: FloatArray, first: FloatArray, second: FloatArray, crowd: bool) -> FloatArray:
    """Divide intersections (n, m) by the unions computed from the areas (n,) and (m,), or with
    ``crowd`` by the first areas.
    """
    own = first[:, None]
    union = np.broadcast_to(own, inter.shape) if crowd else own + second[None, :] - inter
    ratio: FloatArray = np.divide(
        inter, union, out=np.zeros_like(inter), where=(union > 0) & (inter > 0)
    )
    return ratio


def _area(boxes: FloatArray) -> FloatArray:
    return np.asarray((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]), dtype=np.float64)


def box_similarity(found: list[Detection], real: list[Detection]) -> FloatArray:
    """Return the IoU as in COCOeval, with the areas stated in the file."""
    areas = box_areas(found), box_areas(real)
    return by_crowd(
        lambda a, b, crowd=False: iou(corners(a), corners(b), crowd=crowd, areas=areas), found, real
    )
