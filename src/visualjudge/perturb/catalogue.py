"""Which types of error there are, family by family, and whether one can be put into a given truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from visualjudge.errors import UsageError
from visualjudge.perturb import dense, detections, keypoints, masks
from visualjudge.perturb.levels import Perturbation, Scene, severities
from visualjudge.records import Prediction
from visualjudge.seeding import Key, rng_for
from visualjudge.skeleton import MIRRORED
from visualjudge.tasks import Family, task_named

Applies = Callable[[Any, Scene], bool]


@dataclass(frozen=True)
class ErrorType:
    """One row: the error's name, the function that makes it, and when it can be made."""

    name: str
    perturb: Perturbation
    applies: Applies


def _something(truth: Any, _scene: Scene) -> bool:
    return len(truth.items) > 0


def _two_labels(truth: Any, scene: Scene) -> bool:
    return len(truth.items) > 0 and len(set(scene.labels)) > 1


def _another_object(truth: Any, scene: Scene) -> bool:
    region = truth.items[0].mask.dense()
    return any(mask.area and not (mask.dense() & region).any() for mask in scene.others)


def _a_mirrored_pair(truth: Any, _scene: Scene) -> bool:
    return any(person.present[a] and person.present[b] for person in truth.items for a, b in MIRRORED)


def _two_people(truth: Any, _scene: Scene) -> bool:
    return sum(bool(person.present.any()) for person in truth.items) > 1


def _always(_truth: Any, _scene: Scene) -> bool:
    return True


def _degraded(_truth: Any, scene: Scene) -> bool:
    return scene.degraded is not None


ERROR_TYPES: dict[Family, tuple[ErrorType, ...]] = {
    "detection": (
        ErrorType("classification", detections.classification, _two_labels),
        ErrorType("localization", detections.localization, _something),
        ErrorType("duplicate", detections.duplicate, _something),
        ErrorType("background", detections.background, _something),
        ErrorType("missed", detections.missed, _something),
    ),
    "instance": (
        ErrorType("classification", masks.classification, _two_labels),
        ErrorType("localization", masks.localization, _something),
        ErrorType("duplicate", masks.duplicate, _something),
        ErrorType("background", masks.background, _something),
        ErrorType("missed", masks.missed, _something),
        ErrorType("boundary", masks.boundary, _something),
    ),
    "semantic": (
        ErrorType("classification", masks.semantic_classification, _two_labels),
        ErrorType("boundary", masks.semantic_boundary, _two_labels),
        ErrorType("missed", masks.semantic_missed, _something),
        ErrorType("background", masks.semantic_background, _two_labels),
    ),
    "referring": (
        ErrorType("wrong_instance", masks.wrong_instance, _another_object),
        ErrorType("boundary", masks.boundary, _something),
        ErrorType("localization", masks.localization, _something),
        ErrorType("missed", masks.eaten, _something),
    ),
    "keypoint": (
        ErrorType("jitter", keypoints.jitter, _something),
        ErrorType("inversion", keypoints.inversion, _a_mirrored_pair),
        ErrorType("swap", keypoints.swap, _two_people),
        ErrorType("missed", keypoints.missed, _something),
    ),
    "depth": (
        ErrorType("scale", dense.scale, _always),
        ErrorType("blur", dense.blur, _always),
        ErrorType("noise", dense.noise, _always),
        ErrorType("ordinal", dense.ordinal, _always),
    ),
    "restoration": (
        ErrorType("residual", dense.residual, _degraded),
        ErrorType("oversmoothing", dense.oversmoothing, _always),
        ErrorType("noise", dense.pixel_noise, _always),
        ErrorType("colour_shift", dense.colour_shift, _always),
        ErrorType("blocking", dense.blocking, _always),
    ),
    "generation": (),
}


def error_types(task: str) -> tuple[str, ...]:
    """Names of the errors that can be put into a task's truth; none for the generation tasks."""
    return tuple(row.name for row in ERROR_TYPES[task_named(task).family])


def applies(task: str, error_type: str, truth: Prediction, scene: Scene) -> bool:
    """Whether the error can be made: two people for a swap, two labels for a wrong one, and so on."""
    return _row(task, error_type).applies(truth, scene)


def perturbed(
    task: str, error_type: str, truth: Prediction, scene: Scene, *, seed: int, key: Key
) -> Iterator[tuple[float, Prediction]]:
    """Predictions of one error type at ``scene.levels`` rising severities, mildest first.

    Every severity draws from the same generator state, so that a severer prediction goes on from the milder one.

    Raises
    ------
    UsageError
        If the task has no error type of that name.
    """
    row = _row(task, error_type)
    for severity in severities(scene.levels):
        rng = rng_for(seed, "perturb", task, error_type, key)
        yield severity, row.perturb(truth, severity, scene, rng)


def _row(task: str, error_type: str) -> ErrorType:
    for row in ERROR_TYPES[task_named(task).family]:
        if row.name == error_type:
            return row
    known = ", ".join(error_types(task)) or "none"
    raise UsageError(f"{task} has no error type {error_type!r}; it has: {known}")
