"""The error types of all prediction types, and predictions made with one of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.registry import Registry, lacking
from visualjudge.core.seeding import Key, rng_for
from visualjudge.vision.base import Prediction
from visualjudge.vision.built_in_types import BUILT_IN
from visualjudge.vision.errors.levels import ErrorScene, severities
from visualjudge.vision.errors.matched import middles
from visualjudge.vision.rows import ErrorType
from visualjudge.vision.tasks import task_named

Pairing = Literal["matched", "ladder"]
"""How the predictions of a group differ: in their distance from the truth, with errors that look
alike, or in a visible error that grows.
"""
PAIRINGS: tuple[Pairing, ...] = get_args(Pairing)

ERROR_TYPES: Registry[tuple[str, str], ErrorType] = Registry(
    "error type", {(row.type, row.name): row for kind in BUILT_IN for row in kind.errors}
)


def error_types(task: str) -> tuple[str, ...]:
    """Return the names of a task's error types, in the table's order; none for the generation
    tasks.
    """
    kind = task_named(task).type
    return tuple(name for of, name in ERROR_TYPES if of == kind)


def error_type_named(task: str, name: str) -> ErrorType:
    """Return one of a task's error types.

    Raises
    ------
    UsageError
        If the task has no error type of that name.
    """
    key = task_named(task).type, name
    if key not in ERROR_TYPES:
        known = ", ".join(error_types(task)) or "none"
        raise UsageError(
            f"{task} has no error type {name!r}{lacking('error type', key)}; it has: {known}"
        )
    return ERROR_TYPES[key]


def perturbed(
    task: str,
    error_type: str,
    truth: Prediction,
    scene: ErrorScene,
    *,
    seed: int,
    key: Key,
    pairing: Pairing = "ladder",
) -> Iterator[tuple[float, Prediction]]:
    """Yield predictions of one error type at ``scene.levels`` rising severities, mildest first.

    Every severity starts from the same generator state, so that a more severe prediction extends a
    milder one. ``pairing`` is described in :func:`visualjudge.vision.errors.groups.graded`.

    Raises
    ------
    DataError
        If the function of the error type, for example from a plug-in, does not return a prediction.
    """
    row = error_type_named(task, error_type)
    function, levels = row.perturb, severities(scene.levels)
    if pairing == "matched" and row.matched is not None:
        function, levels = row.matched, middles(scene.levels)
    for severity in levels:
        rng = rng_for(seed, "perturb", task, error_type, key)
        found = function(truth, severity, scene, rng)
        if not isinstance(found, Prediction):
            raise DataError(
                f"error type {error_type} of {row.type}: must return a prediction, got "
                f"{type(found).__name__}"
            )
        yield severity, found
