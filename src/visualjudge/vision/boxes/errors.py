"""Errors of boxes that are made on purpose, named as in TIDE (Bolya et al., ECCV 2020);
those shared with masks are in ``vision/errors/items.py``. What is wrong in a *given*
prediction is measured in ``faults.py``.
"""

from dataclasses import replace

import numpy as np

from visualjudge.core.records import Xyxy
from visualjudge.vision.boxes.record import Detection, Detections
from visualjudge.vision.errors.items import LOWEST_IOU
from visualjudge.vision.errors.levels import ErrorScene, Rng, counted
from visualjudge.vision.errors.random_fields import box_iou, elsewhere, reach


def localization(
    truth: Detections,
    severity: float,
    scene: ErrorScene,
    rng: Rng,
) -> Detections:
    """Every box is moved and resized within the image until its IoU with the truth is 1
    − 0.55 × severity.
    """
    return truth.with_items(
        [
            moved(item, 1 - (1 - LOWEST_IOU) * severity, scene, rng)
            for item in truth.items
        ]
    )


def duplicate(
    truth: Detections,
    severity: float,
    scene: ErrorScene,
    rng: Rng,
) -> Detections:
    """Some boxes are duplicated, with the copies slightly moved."""
    drawn = (
        truth.items[rng.integers(len(truth.items))] for _ in range(scene.levels)
    )
    extra = [moved(item, 0.8, scene, rng) for item in drawn]
    return truth.with_items(
        [*truth.items, *extra[: counted(severity, scene.levels)]]
    )


def background(
    truth: Detections,
    severity: float,
    scene: ErrorScene,
    rng: Rng,
) -> Detections:
    """Boxes are added where there is no object."""
    taken = [item.xyxy for item in truth.items]
    extra: list[Detection] = []
    for _ in range(scene.levels):
        like = truth.items[rng.integers(len(truth.items))]
        box = elsewhere(like.xyxy, scene.size, rng, taken)
        taken.append(box)
        extra.append(replace(like, xyxy=box))
    return truth.with_items(
        [*truth.items, *extra[: counted(severity, scene.levels)]]
    )


def moved(
    item: Detection,
    iou: float,
    scene: ErrorScene,
    rng: Rng,
) -> Detection:
    """Move an item towards a distant box until its IoU with the original is ``iou``."""
    goal = _astray(item.xyxy, scene, rng)
    share = reach(
        lambda t: box_iou(item.xyxy, _between(item.xyxy, goal, t)), iou
    )
    return replace(item, xyxy=_between(item.xyxy, goal, share))


def _astray(box: Xyxy, scene: ErrorScene, rng: Rng) -> Xyxy:
    """Return a distant box on the image: ``box`` shifted by up to its own size and
    resized by a factor of 0.5 to 1.2."""
    height, width = scene.size
    w = box[2] - box[0]
    h = box[3] - box[1]
    angle = rng.uniform(0, 2 * np.pi)
    cx = (box[0] + box[2]) / 2 + np.cos(angle) * w
    cy = (box[1] + box[3]) / 2 + np.sin(angle) * h
    new_w = w * rng.uniform(0.5, 1.2)
    new_h = h * rng.uniform(0.5, 1.2)
    x1 = max(0.0, cx - new_w / 2)
    y1 = max(0.0, cy - new_h / 2)
    x2 = min(float(width), cx + new_w / 2)
    y2 = min(float(height), cy + new_h / 2)
    if (
        box_iou(box, (x1, y1, x2, y2)) < LOWEST_IOU - 0.1
        and x2 > x1
        and y2 > y1
    ):
        return float(x1), float(y1), float(x2), float(y2)
    return (
        box[0] + 0.35 * w,
        box[1] + 0.35 * h,
        box[2] - 0.15 * w,
        box[3] - 0.15 * h,
    )


def _between(first: Xyxy, second: Xyxy, share: float) -> Xyxy:
    x1, y1, x2, y2 = (
        a + (b - a) * share for a, b in zip(first, second, strict=True)
    )
    return x1, y1, x2, y2
