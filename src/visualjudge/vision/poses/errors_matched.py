"""Matched errors of poses; see :mod:`visualjudge.vision.errors.matched`."""

from dataclasses import replace

import numpy as np

from visualjudge.vision.errors.levels import ErrorScene, Perturbation, Rng
from visualjudge.vision.errors.matched import common_steps, inside, side
from visualjudge.vision.poses import errors
from visualjudge.vision.poses.record import People, Person, corners

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
        steps = common_steps([boxes[k] for k in free], scene.size, rng)
        if steps is None:
            return truth
        step = severity * steps[side(severity, scene.levels, rng)]
        return People(tuple(_moved(prediction.items[k], step) for k in free))

    return matched


jitter, inversion, swap, missed = (
    displaced(error)
    for error in (errors.jitter, errors.inversion, errors.swap, errors.missed)
)


def _moved(person: Person, step: np.ndarray) -> Person:
    points = person.keypoints.copy()
    points[person.present, :2] += step
    return replace(person, keypoints=points)
