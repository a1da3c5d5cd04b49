"""IoU of oriented boxes, and mean F1 over COCO's IoU thresholds, boxes matched within a
label."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from visualjudge.vision.raster.overlaps import check_pairs
from visualjudge.vision.scoring.matching import labelled_f1
from visualjudge_oriented.record import OrientedBox, OrientedBoxes


def f1(
    prediction: OrientedBoxes,
    truth: OrientedBoxes,
    *,
    class_of_interest: Collection[str] | None = None,
) -> float:
    """Mean over t = .50, .55, … .95 of F1(t) after one-to-one matching by falling IoU
    within a label.
    """
    return labelled_f1(prediction, truth, similarity, class_of_interest)


def similarity(
    first: Sequence[OrientedBox], second: Sequence[OrientedBox]
) -> np.ndarray:
    """IoU of n and m boxes, n×m, 0 for boxes of no area; for a crowd region of
    ``second`` the intersection over the first's own area.
    """
    check_pairs(len(first) * len(second))
    found = np.zeros((len(first), len(second)))
    corners = [[item.corners for item in side] for side in (first, second)]
    reach = [
        np.array([np.hypot(item.w, item.h) / 2 for item in side])
        for side in (first, second)
    ]
    middle = [
        np.array([(item.cx, item.cy) for item in side]).reshape(-1, 2)
        for side in (first, second)
    ]
    apart = np.linalg.norm(middle[0][:, None] - middle[1][None], axis=2)
    for i, j in np.argwhere(apart < reach[0][:, None] + reach[1][None]):
        common = _common_area(corners[0][i], corners[1][j])
        own, other = first[i].w * first[i].h, second[j].w * second[j].h
        whole = own if second[j].iscrowd else own + other - common
        found[i, j] = min(1.0, common / whole) if whole > 0 else 0.0
    return found


def coco_annotation(box: OrientedBox) -> dict[str, Any]:
    """The box in COCO's form, for average precision."""
    return {"obb": [box.cx, box.cy, box.w, box.h, float(np.deg2rad(box.angle))]}


def _common_area(subject: np.ndarray, clip: np.ndarray) -> float:
    """Area that two convex polygons share, both in the same turning sense (Sutherland
    and Hodgman, CACM 1974).

    Not by OpenCV's functions, which compute in 32 bits and fail for polygons that share
    edges.
    """
    points = subject
    for start, end in zip(clip, np.roll(clip, -1, axis=0), strict=True):
        edge = end - start
        side = edge[0] * (points[:, 1] - start[1]) - edge[1] * (
            points[:, 0] - start[0]
        )
        kept = []
        for k in range(len(points)):
            here, after = side[k], side[(k + 1) % len(points)]
            if here >= 0:
                kept.append(points[k])
            if here * after < 0:
                kept.append(
                    points[k]
                    + (points[(k + 1) % len(points)] - points[k])
                    * here
                    / (here - after)
                )
        if len(kept) < 3:
            return 0.0
        points = np.array(kept)
    x, y = (points - points[0]).T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)
