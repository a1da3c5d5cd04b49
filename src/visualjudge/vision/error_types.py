"""The types of error, a row each, and whether one can be put into a given truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.registry import Registry
from visualjudge.core.seeding import Key, rng_for
from visualjudge.vision.boxes import errors as detections
from visualjudge.vision.errors import dense, items
from visualjudge.vision.errors.levels import ErrorScene, Perturbation, severities
from visualjudge.vision.masks import errors as masks
from visualjudge.vision.poses import errors as keypoints
from visualjudge.vision.poses.skeleton import MIRRORED
from visualjudge.vision.predictions import Prediction
from visualjudge.vision.tasks import task_named

Applies = Callable[[Any, ErrorScene], bool]
Clean = Callable[[Any], Prediction]


def always(_truth: Any, _scene: ErrorScene) -> bool:
    """Applies to every truth."""
    return True


def unchanged(truth: Any) -> Prediction:
    """The truth itself."""
    found: Prediction = truth
    return found


@dataclass(frozen=True)
class ErrorType:
    """One type of error of one prediction type: the function that makes it, and when it can be made.

    ``perturb`` takes (truth, severity in (0, 1], scene, generator) and returns a prediction; ``applies`` takes (truth,
    scene); ``clean`` takes the truth and returns it written as ``perturb`` writes, so that the order of its parts does
    not tell it from a prediction with an error.
    """

    type: str
    name: str
    perturb: Perturbation
    applies: Applies = always
    clean: Clean = unchanged


def _something(truth: Any, _scene: ErrorScene) -> bool:
    return len(truth.items) > 0


def _two_labels(truth: Any, scene: ErrorScene) -> bool:
    return len(truth.items) > 0 and len(set(scene.labels)) > 1


def _another_object(truth: Any, scene: ErrorScene) -> bool:
    region = truth.items[0].mask.dense()
    return any(mask.area and not (mask.dense() & region).any() for mask in scene.others)


def _a_mirrored_pair(truth: Any, _scene: ErrorScene) -> bool:
    return any(person.present[a] and person.present[b] for person in truth.items for a, b in MIRRORED)


def _two_people(truth: Any, _scene: ErrorScene) -> bool:
    return sum(bool(person.present.any()) for person in truth.items) > 1


def _degraded(_truth: Any, scene: ErrorScene) -> bool:
    return scene.degraded is not None


_ROWS = (
    ErrorType("detection", "classification", items.classification, _two_labels),
    ErrorType("detection", "localization", detections.localization, _something),
    ErrorType("detection", "duplicate", detections.duplicate, _something),
    ErrorType("detection", "background", detections.background, _something),
    ErrorType("detection", "missed", items.missed, _something),
    ErrorType("instance", "classification", items.classification, _two_labels),
    ErrorType("instance", "localization", masks.localization, _something),
    ErrorType("instance", "duplicate", masks.duplicate, _something),
    ErrorType("instance", "background", masks.background, _something),
    ErrorType("instance", "missed", items.missed, _something),
    ErrorType("instance", "boundary", masks.boundary, _something),
    ErrorType("semantic", "classification", masks.semantic_classification, _two_labels, masks.semantic_clean),
    ErrorType("semantic", "boundary", masks.semantic_boundary, _two_labels, masks.semantic_clean),
    ErrorType("semantic", "missed", masks.semantic_missed, _something, masks.semantic_clean),
    ErrorType("semantic", "background", masks.semantic_background, _two_labels, masks.semantic_clean),
    ErrorType("referring", "wrong_instance", masks.wrong_instance, _another_object),
    ErrorType("referring", "boundary", masks.boundary, _something),
    ErrorType("referring", "localization", masks.localization, _something),
    ErrorType("referring", "missed", masks.eaten, _something),
    ErrorType("keypoint", "jitter", keypoints.jitter, _something),
    ErrorType("keypoint", "inversion", keypoints.inversion, _a_mirrored_pair),
    ErrorType("keypoint", "swap", keypoints.swap, _two_people),
    ErrorType("keypoint", "missed", keypoints.missed, _something),
    ErrorType("depth", "scale", dense.scale, always),
    ErrorType("depth", "blur", dense.blur, always),
    ErrorType("depth", "noise", dense.noise, always),
    ErrorType("depth", "ordinal", dense.ordinal, always),
    ErrorType("restoration", "residual", dense.residual, _degraded),
    ErrorType("restoration", "oversmoothing", dense.oversmoothing, always),
    ErrorType("restoration", "noise", dense.pixel_noise, always),
    ErrorType("restoration", "colour_shift", dense.colour_shift, always),
    ErrorType("restoration", "blocking", dense.blocking, always),
)
ERROR_TYPES: Registry[tuple[str, str], ErrorType] = Registry("error type", {(row.type, row.name): row for row in _ROWS})


def error_types(task: str) -> tuple[str, ...]:
    """Names of the errors that can be put into a task's truth, in the table's order; none for the generation tasks."""
    kind = task_named(task).type
    return tuple(name for of, name in ERROR_TYPES if of == kind)


def error_type_named(task: str, name: str) -> ErrorType:
    """One of a task's error types.

    Raises
    ------
    UsageError
        If the task has no error type of that name.
    """
    key = task_named(task).type, name
    if key not in ERROR_TYPES:
        known = ", ".join(error_types(task)) or "none"
        raise UsageError(f"{task} has no error type {name!r}; it has: {known}")
    return ERROR_TYPES[key]


def perturbed(
    task: str, error_type: str, truth: Prediction, scene: ErrorScene, *, seed: int, key: Key
) -> Iterator[tuple[float, Prediction]]:
    """Predictions of one error type at ``scene.levels`` rising severities, mildest first.

    Every severity draws from the same generator state, so that a severer prediction goes on from the milder one.

    Raises
    ------
    DataError
        If the function of the error type, a plug-in's say, returns no prediction.
    """
    row = error_type_named(task, error_type)
    for severity in severities(scene.levels):
        rng = rng_for(seed, "perturb", task, error_type, key)
        found = row.perturb(truth, severity, scene, rng)
        if not isinstance(found, Prediction):
            raise DataError(
                f"error type {error_type} of {row.type}: must return a prediction, got {type(found).__name__}"
            )
        yield severity, found
