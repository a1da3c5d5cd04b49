"""Metric of object detection: mean F1 over IoU thresholds, with boxes matched within a
label. Boxes are matched in ``vision/scoring/matching.py``; average precision is in
``vision/scoring/average_precision.py``.
"""

from collections.abc import Sequence
from typing import Any

from visualjudge.core.records import FloatArray
from visualjudge.vision.boxes.record import Detection, Detections, corners
from visualjudge.vision.raster.overlaps import box_ious
from visualjudge.vision.scoring.matching import (
    crowds,
    labelled_f1,
    labelled_f1_by_class,
)


def box_f1(prediction: Detections, truth: Detections) -> float:
    """Return the mean of F1(t) over t = .50, .55, … .95, with the boxes of a label
    matched one to one by decreasing IoU.

    Crowd regions (COCO's ``iscrowd``) neither count as truth nor make a prediction
    wrong. The result is in 0..1, and 1 if both are empty.
    """
    return labelled_f1(prediction, truth, box_similarity)


def box_f1_by_class(
    prediction: Detections, truth: Detections, labels: Sequence[str]
) -> list[float]:
    """Return :func:`box_f1` with each of ``labels`` as the class of interest."""
    return labelled_f1_by_class(prediction, truth, box_similarity, labels)


def box_similarity(
    predicted: tuple[Detection, ...], real: tuple[Detection, ...]
) -> FloatArray:
    """Return IoU, shape (len(found), len(real)), or the share of a box in a crowd
    region."""
    ours, theirs = (corners(Detections(side)) for side in (predicted, real))
    return box_ious(ours, theirs, crowds(real))


def coco_annotation(item: Detection) -> dict[str, Any]:
    """Return COCO's fields of a box, with the width and height stated in its file, if
    any."""
    x1, y1, x2, y2 = item.xyxy
    return {"bbox": [x1, y1, *(item.extent or (x2 - x1, y2 - y1))]}
