"""Errors of poses that are made on purpose, named as in Ronchi and Perona (ICCV 2017).
What is wrong in a *given* prediction is measured in ``faults.py``.
"""

from dataclasses import replace
from typing import TypeVar

import numpy as np

from visualjudge.core.records import FloatArray
from visualjudge.vision.errors.levels import (
    ErrorScene,
    Perturbation,
    Rng,
    counted,
)
from visualjudge.vision.errors.matched import common_steps, inside, side
from visualjudge.vision.poses.record import People, Person, corners
from visualjudge.vision.poses.score import person_area
from visualjudge.vision.poses.skeleton import (
    KEYPOINT_NAMES,
    MIRRORED,
    OKS_SIGMAS,
)

LOWEST_OKS = 0.4
T = TypeVar("T")


def jitter(
    truth: People, severity: float, scene: ErrorScene, rng: Rng
) -> People:
    """Each keypoint is moved in a random direction until its similarity is 1 − 0.6 ×
    severity."""
    target = 1 - (1 - LOWEST_OKS) * severity
    people = []
    for person in truth.items:
        angles = rng.uniform(0, 2 * np.pi, len(KEYPOINT_NAMES))
        distance = (
            2
            * np.array(OKS_SIGMAS)
            * person_area(person) ** 0.5
            * np.sqrt(-2 * np.log(target))
        )
        points = person.keypoints.copy()
        points[:, 0] += distance * np.cos(angles)
        points[:, 1] += distance * np.sin(angles)
        people.append(
            replace(person, keypoints=_on_image(points, person, scene))
        )
    return People(tuple(people))


def inversion(
    truth: People, severity: float, _scene: ErrorScene, rng: Rng
) -> People:
    """Left and right are exchanged in some of the pairs with both keypoints present."""
    pairs = [
        (k, a, b)
        for k, p in enumerate(truth.items)
        for a, b in MIRRORED
        if p.present[a] and p.present[b]
    ]
    points = [person.keypoints.copy() for person in truth.items]
    for k, a, b in _some(pairs, severity, rng):
        points[k][[a, b]] = points[k][[b, a]]
    return _people(truth, points)


def swap(
    truth: People, severity: float, _scene: ErrorScene, rng: Rng
) -> People:
    """Some keypoints are exchanged with those of the same name of the nearest person.

    At severity 1, half of them are exchanged: exchanging all would only change the
    order of the two people.
    """
    pairs = []
    for k, person in enumerate(truth.items):
        other = _nearest(truth, k)
        if k < other or _nearest(truth, other) != k:
            names = np.flatnonzero(person.present & truth.items[other].present)
            pairs += [(k, other, name) for name in names.tolist()]
    points = [person.keypoints.copy() for person in truth.items]
    for k, other, name in _some(pairs, 0.5 * severity, rng):
        points[k][name], points[other][name] = (
            points[other][name].copy(),
            points[k][name].copy(),
        )
    return _people(truth, points)


def missed(
    truth: People, severity: float, _scene: ErrorScene, rng: Rng
) -> People:
    """Some keypoints are missing."""
    present = [
        (k, name)
        for k, person in enumerate(truth.items)
        for name in np.flatnonzero(person.present).tolist()
    ]
    points = [person.keypoints.copy() for person in truth.items]
    for k, name in _some(present, 0.9 * severity, rng):
        points[k][name] = 0
    return _people(truth, points)


def _some(choices: list[T], share: float, rng: Rng) -> list[T]:
    return [
        choices[k]
        for k in rng.permutation(len(choices))[: counted(share, len(choices))]
    ]


def _on_image(
    points: FloatArray, person: Person, scene: ErrorScene
) -> FloatArray:
    points[:, :2] = points[:, :2].clip(0.5, np.array(scene.size[::-1]) - 0.5)
    points[~person.present] = person.keypoints[~person.present]
    return points


def _nearest(truth: People, k: int) -> int:
    centres = [
        p.keypoints[p.present, :2].mean(axis=0)
        if p.present.any()
        else np.full(2, np.inf)
        for p in truth.items
    ]
    distances = [
        np.inf if j == k else float(np.linalg.norm(centres[k] - c))
        for j, c in enumerate(centres)
    ]
    return int(np.argmin(distances))


def _people(truth: People, points: list[FloatArray]) -> People:
    return People(
        tuple(
            replace(p, keypoints=kp)
            for p, kp in zip(truth.items, points, strict=True)
        )
    )


def a_mirrored_pair(truth: People, _scene: ErrorScene) -> bool:
    """Return whether a person has both keypoints of a left–right pair."""
    return any(
        person.present[a] and person.present[b]
        for person in truth.items
        for a, b in MIRRORED
    )


def two_people(truth: People, _scene: ErrorScene) -> bool:
    """Return whether at least two people have keypoints."""
    return sum(bool(person.present.any()) for person in truth.items) > 1


# ------ matched errors; see :mod:`visualjudge.vision.errors.matched`

# Severity of the error that all options of a pair share.
MILD = 0.25


def displaced(error: Perturbation) -> Perturbation:
    """Return an error that applies ``error`` at a fixed severity and moves all people
    together to one side, further with severity. People at the border are omitted: they
    cannot move.
    """

    def matched(
        truth: People, severity: float, scene: ErrorScene, rng: Rng
    ) -> People:
        labelled = People(
            tuple(person for person in truth.items if person.present.any())
        )
        boxes = [
            (x1, y1, x2, y2) for x1, y1, x2, y2 in corners(labelled).tolist()
        ]
        prediction: People = error(labelled, MILD, scene, rng)
        free = [k for k, box in enumerate(boxes) if inside(box, scene.size)]
        steps = common_steps(
            [boxes[k] for k in free],
            scene.size,
            rng,
        )
        if steps is None:
            return truth
        step = severity * steps[side(severity, scene.levels, rng)]
        return People(tuple(_moved(prediction.items[k], step) for k in free))

    return matched


def _moved(person: Person, step: np.ndarray) -> Person:
    points = person.keypoints.copy()
    points[person.present, :2] += step
    return replace(person, keypoints=points)
