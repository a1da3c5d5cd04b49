"""Pose estimation: mean F1 over OKS thresholds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import BoolArray, FloatArray
from visualjudge.vision.poses.record import People, Person
from visualjudge.vision.poses.skeleton import OKS_SIGMAS
from visualjudge.vision.scoring.close_boxes import check_pairs
from visualjudge.vision.scoring.matching import matched, mean_f1

BOX_TO_AREA = 0.53
"""Area of a person as a fraction of the box, used if there is no segmentation (as in MMPose and
others).
"""


def keypoint_f1(prediction: People, truth: People) -> float:
    """Return the mean of F1(t) over t = .50, .55, … .95 after one-to-one matching by decreasing
    OKS.

    Crowds and people without a labelled keypoint need not be found, and predictions inside a
    crowd's box are not wrong. 0..1; 1 if both are empty.
    """
    real = [person for person in truth.items if not person.iscrowd and person.present.any()]
    crowds = [person for person in truth.items if person.iscrowd]
    found = list(prediction.items)
    check_pairs(len(found) * len(truth.items))
    points, present = (
        keypoints_of(found),
        np.array([person.present for person in found]).reshape(-1, 17),
    )
    similarity = np.array([_oks(points, present, b) for b in real]).reshape(len(real), len(found)).T
    shares = np.array([_share_in(person, crowds) for person in found], dtype=np.float64)
    first, second = np.nonzero(similarity)
    return mean_f1(matched(first, second, similarity[first, second]), shares, len(real))


def keypoints_of(people: Sequence[Person]) -> FloatArray:
    """Return the positions of the keypoints, shape (n, 17, 2): x, y."""
    return np.array([person.keypoints[:, :2] for person in people], dtype=np.float64).reshape(
        -1, 17, 2
    )


def oks(prediction: Person, truth: Person) -> float:
    """Return object keypoint similarity: the mean over the ground truth's labelled keypoints of
    exp(−d² / (2·area·(2σ)²)), 0..1.

    An absent predicted keypoint counts as infinitely far. Source: COCO keypoint evaluation; σ as in
    pycocotools.
    """
    return float(_oks(keypoints_of([prediction]), prediction.present[None], truth)[0])


def _oks(points: FloatArray, present: BoolArray, truth: Person) -> FloatArray:
    """Return :func:`oks` between n predictions, (n, 17, 2) and (n, 17), and one ground truth; shape
    (n,).
    """
    labelled = truth.present
    area = person_area(truth)
    if not labelled.any():
        return np.zeros(len(points))
    if area <= 0:
        raise DataError(
            "persons: the truth must have an area, a bbox or keypoints that span an area, for OKS"
        )
    gaps = points[:, labelled] - truth.keypoints[labelled, :2]
    variances = (2 * np.array(OKS_SIGMAS)[labelled]) ** 2
    exponent: FloatArray = (gaps**2).sum(axis=2) / variances / (area + np.spacing(1)) / 2
    shares: FloatArray = np.where(present[:, labelled], np.exp(-exponent), 0.0).mean(axis=1)
    return shares


def person_area(person: Person) -> float:
    """Return the area in pixels²: the segmentation's if known and above 0, otherwise 0.53 × the
    area of the box (or of the box around the keypoints).

    0 if there is neither.
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
    """Return the largest fraction of a person's keypoints that lies in one crowd's box."""
    points = person.keypoints[person.present, :2]
    if not len(points):
        return 0.0
    boxes = np.array([crowd.bbox for crowd in crowds if crowd.bbox is not None]).reshape(-1, 4)
    inside = ((points[:, None] >= boxes[:, :2]) & (points[:, None] <= boxes[:, 2:])).all(axis=2)
    return float(inside.mean(axis=0).max(initial=0.0))


def pose_similarity(found: list[Person], real: list[Person]) -> FloatArray:
    """Return OKS as in COCOeval.computeOks: a person without labelled keypoints is matched by its
    doubled box.
    """
    points = keypoints_of(found)
    return np.array([_pose(points, person) for person in real]).reshape(len(real), len(found)).T


def _pose(points: FloatArray, real: Person) -> FloatArray:
    """Return the OKS of n people, (n, 17, 2), with one ground truth; shape (n,)."""
    variances = (2 * np.array(OKS_SIGMAS)) ** 2
    labelled = real.keypoints[:, 2] > 0
    if labelled.any():
        gaps = points - real.keypoints[:, :2]
    else:
        x1, y1, x2, y2 = real.bbox or (0.0, 0.0, 0.0, 0.0)
        low = np.array([2 * x1 - x2, 2 * y1 - y2])
        high = np.array([2 * x2 - x1, 2 * y2 - y1])
        gaps = np.clip(low - points, 0, None) + np.clip(points - high, 0, None)
        labelled = np.ones(points.shape[1], dtype=bool)
    exponent: FloatArray = (
        (gaps**2).sum(axis=2) / variances / (person_area(real) + np.spacing(1)) / 2
    )
    shares: FloatArray = np.exp(-exponent[:, labelled]).mean(axis=1)
    return shares


def crowd_or_unlabelled(person: Person) -> bool:
    """Return whether a person of the ground truth need not be found."""
    return person.iscrowd or not person.present.any()
