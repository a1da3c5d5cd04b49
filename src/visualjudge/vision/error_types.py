"""The error types of all prediction types, and predictions made with one of them. They
are rows of ``vision/<type>/type.py``; predictions of graded severity are made in
``errors/groups.py``.
"""

from collections.abc import Iterator
from typing import Literal, get_args

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.seeding import Key, rng_for
from visualjudge.vision.base import Prediction
from visualjudge.vision.errors.levels import ErrorScene, severities
from visualjudge.vision.errors.matched import middles
from visualjudge.vision.predictions import type_of
from visualjudge.vision.rows import ErrorType
from visualjudge.vision.tasks import task_named

# How the predictions of a group differ: in their distance from the truth, with errors
# that look alike, or in a visible error that grows.
Pairing = Literal["matched", "ladder"]
PAIRINGS: tuple[Pairing, ...] = get_args(Pairing)


def error_types(task: str) -> tuple[str, ...]:
    """Return the names of a task's error types, in the table's order; none for the
    generation tasks.
    """
    return tuple(row.name for row in type_of(task_named(task).name).errors)


def error_type_named(task: str, name: str) -> ErrorType:
    """Return one of a task's error types.

    Raises
    ------
    UsageError
        If the task has no error type of that name.
    """
    rows = {row.name: row for row in type_of(task_named(task).name).errors}
    if name not in rows:
        raise UsageError(
            f"{task} has no error type {name!r}; it has: {', '.join(rows) or 'none'}"
        )
    return rows[name]


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
    """Yield predictions of one error type at ``scene.levels`` rising severities,
    mildest first.

    Every severity starts from the same generator state, so that a more severe
    prediction extends a milder one. ``pairing`` is described in
    :func:`visualjudge.vision.errors.groups.graded`.

    Raises
    ------
    DataError
        If the function of the error type, for example from a plug-in, does not return a
        prediction.
    """
    row = error_type_named(task, error_type)
    function = row.perturb
    levels = severities(scene.levels)
    if pairing == "matched" and row.matched is not None:
        function = row.matched
        levels = middles(scene.levels)
    for severity in levels:
        rng = rng_for(seed, "perturb", task, error_type, key)
        prediction = function(truth, severity, scene, rng)
        if not isinstance(prediction, Prediction):
            raise DataError(
                f"error type {error_type} of {row.type}: must return a prediction, got "
                f"{type(prediction).__name__}"
            )
        yield severity, prediction
