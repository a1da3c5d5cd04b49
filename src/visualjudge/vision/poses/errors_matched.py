"""Matched errors of poses; see :mod:`visualjudge.vision.errors.matched`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from visualjudge.vision.errors.levels import ErrorScene, Perturbation
from visualjudge.vision.errors.matched import ANGLES, side, two_sides
from visualjudge.vision.errors.random_fields import reach
from visualjudge.vision.poses import errors
from visualjudge.vision.poses.record import People, Person, corners
from visualjudge.vision.poses.score import oks, person_area

MILD = 0.25
"""Severity of the error that all options of a pair share."""
LEAST_OKS = 0.35


def displaced(error: Perturbation) -> Perturbation:
    """Return an error that applies ``error`` at a fixed severity and moves all people to one side,
    further with severity.
    """

    def matched(
        truth: People, severity: float, scene: ErrorScene, rng: np.random.Generator
    ) -> People:
        found: People = error(truth, MILD, scene, rng)
        steps = _steps(truth, scene, rng)
        if steps is None:
            return truth
        chosen = severity * steps[side(severity, scene.levels, rng)]
        return People(
            tuple(_moved(person, step) for person, step in zip(found.items, chosen, strict=True))
        )

    return matched


jitter, inversion, swap, missed = (
    displaced(error) for error in (errors.jitter, errors.inversion, errors.swap, errors.missed)
)


def _steps(truth: People, scene: ErrorScene, rng: np.random.Generator) -> list[np.ndarray] | None:
    """Return two arrays of steps (x, y) per person, in different directions, that lower the OKS
    with the ground truth to 0.35; None if there is not enough room.
    """
    seen = [bool(person.present.any()) for person in truth.items]
    angles = rng.uniform(0, 2 * np.pi) + np.arange(ANGLES) * 2 * np.pi / ANGLES
    moves = [
        steps
        for way in np.stack([np.cos(angles), np.sin(angles)], axis=1)
        for steps in [np.array([way * _far(person, way) for person in truth.items])]
        if all(_fits(person, step, scene) for person, step in zip(truth.items, steps, strict=True))
    ]
    every = np.array(moves).reshape(-1, len(seen), 2)
    sides = two_sides(corners(truth), every[:, seen], scene.size)
    return None if sides is None else [moves[k] for k in sides]


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
    """Return whether all keypoints that were on the image stay on it."""
    points = person.keypoints[person.present, :2]
    return bool(((points + step > 0) & (points + step < scene.size[::-1])).all())
