"""Pose estimation: mean F1 over OKS thresholds. Matching is in ``vision/scoring``;
faults, in ``faults.py``.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import BoolArray, FloatArray, IntArray
from visualjudge.vision.poses.record import People, Person
from visualjudge.vision.poses.skeleton import OKS_SIGMAS
from visualjudge.vision.raster.overlaps import check_pairs
from visualjudge.vision.scoring.matching import mean_f1

# Area of a person as a fraction of the box, used if there is no segmentation (as in
# MMPose and others).
BOX_TO_AREA = 0.53


def keypoint_f1(prediction: People, truth: People) -> float:
    """Return the mean of F1(t) over t = .50, .55, … .95 after one-to-one matching by
    decreasing OKS.

    Crowds and people without a labelled keypoint need not be found, and predictions
    inside a crowd's box are not wrong. 0..1; 1 if both are empty.
    """
    values, shares = similarities(prediction, truth)
    columns = np.concatenate([values, shares], axis=1)
    return mean_f1(
        columns,
        np.arange(columns.shape[1]) >= values.shape[1],
    )


def similarities(
    prediction: People, truth: People
) -> tuple[FloatArray, FloatArray]:
    """Return the OKS of n predicted people with the m to be found, shape (n, m), and
    the share of their keypoints in each of k crowds, shape (n, k).
    """
    real = truth.without_crowds().items
    crowds = [person for person in truth.items if person.iscrowd]
    predicted = list(prediction.items)
    check_pairs(len(predicted) * len(truth.items))
    points = np.array(
        [person.keypoints[:, :2] for person in predicted]
    ).reshape(-1, 17, 2)
    present = np.array(
        [person.present for person in predicted], np.bool_
    ).reshape(-1, 17)
    columns = [
        _similarity(points, present, person)[:, person.present].mean(axis=1)
        for person in real
    ]
    shares = [_shares_in(predicted, person) for person in crowds]
    return (
        np.array(columns).reshape(len(real), len(predicted)).T,
        np.array(shares).reshape(len(crowds), len(predicted)).T,
    )


def keypoint_similarity(
    person: Person, truth: Person, order: IntArray
) -> FloatArray:
    """Return the similarity of each predicted keypoint with keypoint ``order``, shape
    (17,), of a ground truth, shape (17,); 0 where either is absent.
    """
    real = replace(truth, keypoints=truth.keypoints[order])
    return np.asarray(
        _similarity(person.keypoints[None, :, :2], person.present[None], real)[
            0
        ]
    )


def _similarity(
    points: FloatArray, present: BoolArray, truth: Person
) -> FloatArray:
    """Return the similarity of n predictions' keypoints, (n, 17, 2) and (n, 17), with
    those of one ground truth, shape (n, 17): exp(−d² / (2·area·(2σ)²)), 0..1; 0 for a
    keypoint that either side lacks. Object keypoint similarity is its mean over the
    truth's labelled keypoints. Source: COCO keypoint evaluation; σ as in pycocotools.
    """
    area = person_area(truth)
    if area <= 0:
        raise DataError(
            "persons: the truth must have an area, a bbox or keypoints that span an "
            "area, for OKS"
        )
    gaps = points - truth.keypoints[:, :2]
    variances = (2 * np.array(OKS_SIGMAS)) ** 2
    exponent = (gaps**2).sum(axis=2) / variances / (area + np.spacing(1)) / 2
    return np.asarray(
        np.where(
            present & truth.present,
            np.exp(-exponent),
            0.0,
        )
    )


def person_area(person: Person) -> float:
    """Return the area in pixels²: the segmentation's if known and above 0, otherwise
    0.53 × the area of the box (or of the box around the keypoints).

    0 if there is neither.
    """
    if person.area is not None and person.area > 0:
        return float(person.area)
    if person.bbox is not None:
        x1, y1, x2, y2 = person.bbox
    elif person.present.any():
        points = person.keypoints[person.present, :2]
        x1, y1 = points.min(axis=0)
        x2, y2 = points.max(axis=0)
    else:
        return 0.0
    return float(BOX_TO_AREA * (x2 - x1) * (y2 - y1))


def _shares_in(
    people: list[Person],
    crowd: Person,
) -> list[float]:
    """Return the fraction of each person's keypoints that lies in a crowd's box."""
    x1, y1, x2, y2 = crowd.bbox or (np.inf,) * 4
    shares = []
    for person in people:
        x, y = person.keypoints[person.present, :2].T
        inside = (x >= x1) & (x <= x2) & (y >= y1) & (y <= y2)
        shares.append(float(inside.mean()) if inside.size else 0.0)
    return shares


def note(
    pairs: Sequence[tuple[People, People]], _options: object
) -> tuple[str]:
    """Return how the score is made, and for how many people an area is assumed."""
    people = [person for _, truth in pairs for person in truth.items]
    bare = sum(not person.area for person in people)
    assumed = f"; {bare} of {len(people)} people have no area: {BOX_TO_AREA} × the box"
    return (f"mean F1 over OKS .50 to .95 (COCO's σ){assumed if bare else ''}",)


def coco_annotation(person: Person) -> dict[str, Any]:
    """Return COCO's fields of a person."""
    x1, y1, x2, y2 = person.bbox or (0.0, 0.0, 0.0, 0.0)
    return {
        "keypoints": person.keypoints.ravel().tolist(),
        "num_keypoints": int(person.present.sum()),
        "bbox": [x1, y1, x2 - x1, y2 - y1],
        "area": person_area(person),
    }
