"""Matched errors of poses; see :mod:`visualjudge.vision.errors.matched`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from visualjudge.vision.errors.levels import ErrorScene, Perturbation
from visualjudge.vision.errors.matched import ANGLES, exchanged
from visualjudge.vision.errors.random_fields import reach
from visualjudge.vision.poses import errors
from visualjudge.vision.poses.record import People, Person
from visualjudge.vision.poses.score import oks, person_area

MILD = 0.25
"""Severity of the error that all options of a pair have."""
LEAST_OKS = 0.35
LIMBS = ((5, 7, 9), (6, 8, 10), (11, 13, 15), (12, 14, 16))
"""Keypoints of the arms and legs, from the trunk outwards."""


def displaced(error: Perturbation) -> Perturbation:
    """An error of poses at one severity, with all people moved further in one direction."""

    def matched(
        truth: People, severity: float, scene: ErrorScene, rng: np.random.Generator
    ) -> People:
        found: People = error(truth, MILD, scene, rng)
        steps = _steps(truth, scene, rng)
        if steps is None:
            return truth
        return People(
            tuple(
                _moved(person, severity * step)
                for person, step in zip(found.items, steps, strict=True)
            )
        )

    return matched


jitter, swap, missed = (displaced(error) for error in (errors.jitter, errors.swap, errors.missed))


def inversion(
    truth: People, severity: float, scene: ErrorScene, rng: np.random.Generator
) -> People:
    """More arms and legs point to the other side with severity, mirrored at their upper joint."""
    limbs = [
        (k, limb)
        for k, p in enumerate(truth.items)
        for limb in LIMBS
        if p.present[list(limb[:2])].all()
    ]
    found = errors.jitter(truth, MILD, scene, rng)
    points = [person.keypoints.copy() for person in found.items]
    for index in rng.permutation(len(limbs))[: exchanged(severity, len(limbs))]:
        k, (joint, *rest) = limbs[index]
        outer = [name for name in rest if truth.items[k].present[name]]
        points[k][outer, 0] = 2 * points[k][joint, 0] - points[k][outer, 0]
    return People(
        tuple(replace(p, keypoints=kp) for p, kp in zip(found.items, points, strict=True))
    )


def _steps(truth: People, scene: ErrorScene, rng: np.random.Generator) -> list[np.ndarray] | None:
    """(x, y) of each person that bring the OKS with the truth down to 0.35; in a direction that has
    room for all.
    """
    start = rng.uniform(0, 2 * np.pi)
    for angle in start + np.arange(ANGLES) * 2 * np.pi / ANGLES * 7:
        way = np.array([np.cos(angle), np.sin(angle)])
        steps = [way * _far(person, way) for person in truth.items]
        if all(_fits(person, step, scene) for person, step in zip(truth.items, steps, strict=True)):
            return steps
    return None


def _far(person: Person, way: np.ndarray) -> float:
    if not person.present.any():
        return 0.0
    most = 2 * person_area(person) ** 0.5
    return float(
        most * reach(lambda share: oks(_moved(person, share * most * way), person), LEAST_OKS)
    )


def _moved(person: Person, step: np.ndarray) -> Person:
    points = person.keypoints.copy()
    points[person.present, :2] += step
    return replace(person, keypoints=points)


def _fits(person: Person, step: np.ndarray, scene: ErrorScene) -> bool:
    """Whether all keypoints that were on the image stay on it."""
    points = person.keypoints[person.present, :2]
    return bool(((points + step > 0) & (points + step < scene.size[::-1])).all())
