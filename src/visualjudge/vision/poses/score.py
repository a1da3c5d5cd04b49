"""Pose estimation: mean F1 over OKS thresholds."""

from __future__ import annotations

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import FloatArray
from visualjudge.vision.poses.skeleton import OKS_SIGMAS
from visualjudge.vision.predictions import People, Person
from visualjudge.vision.scoring.matching import matched, mean_f1

BOX_TO_AREA = 0.53
"""Area of a person as a share of the box, where no segmentation is known (as MMPose and others take it)."""


def keypoint_f1(prediction: People, truth: People) -> float:
    """Mean over t = .50, .55, … .95 of F1(t) after one-to-one matching by falling OKS.

    A truth without a labelled keypoint, or a crowd, is not to be found, and a prediction is not wrong that lies in
    a crowd's box. 0..1; 1 where both are empty.
    """
    real = [person for person in truth.items if not person.iscrowd and person.present.any()]
    crowds = [person for person in truth.items if person.iscrowd]
    found = list(prediction.items)
    similarity = np.array([[oks(a, b) for b in real] for a in found], dtype=np.float64).reshape(len(found), len(real))
    shares = np.array([_share_in(person, crowds) for person in found], dtype=np.float64)
    return mean_f1(matched(similarity, np.ones_like(similarity)), shares, len(real))


def oks(prediction: Person, truth: Person) -> float:
    """Object keypoint similarity: mean over the truth's labelled keypoints of exp(−d² / (2·area·(2σ)²)), 0..1.

    A predicted keypoint that is absent counts as infinitely far. Source: COCO keypoint evaluation; σ as in pycocotools.
    """
    labelled = truth.present
    area = person_area(truth)
    if not labelled.any():
        return 0.0
    if area <= 0:
        raise DataError("persons: the truth must have an area, a bbox or keypoints that span an area, for OKS")
    gaps = prediction.keypoints[labelled, :2] - truth.keypoints[labelled, :2]
    variances = (2 * np.array(OKS_SIGMAS)[labelled]) ** 2
    exponent: FloatArray = (gaps**2).sum(axis=1) / variances / (area + np.spacing(1)) / 2
    return float(np.where(prediction.present[labelled], np.exp(-exponent), 0.0).mean())


def person_area(person: Person) -> float:
    """Area in pixels²: the segmentation's where known and above 0, else 0.53 × the box (or the keypoints' own box).

    0 where there is neither.
    """
    if person.area is not None and person.area > 0:
        return float(person.area)
    if person.bbox is not None:
        x1, y1, x2, y2 = person.bbox
    elif person.present.any():
        points = person.keypoints[person.present, :2]
        (x1, y1), (x2, y2) = points.min(axis=0), points.max(axis=0)
    else:
        return 0.0
    return float(BOX_TO_AREA * (x2 - x1) * (y2 - y1))


def _share_in(person: Person, crowds: list[Person]) -> float:
    """The largest share of a person's keypoints that lies in one crowd's box."""
    points = person.keypoints[person.present, :2]
    if not len(points):
        return 0.0
    shares = [0.0]
    for crowd in crowds:
        if crowd.bbox is not None:
            x1, y1, x2, y2 = crowd.bbox
            inside = (points[:, 0] >= x1) & (points[:, 0] <= x2) & (points[:, 1] >= y1) & (points[:, 1] <= y2)
            shares.append(float(inside.mean()))
    return max(shares)
