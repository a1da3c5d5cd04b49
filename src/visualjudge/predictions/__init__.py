"""PREDICTIONS: what a model says of an image, a file a type: its record, reading, writing and checks.

:data:`TYPES` has a row for each type; :class:`~visualjudge.tasks.Task` names the type of its predictions.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from visualjudge.errors import DataError
from visualjudge.predictions.base import Payload as Payload
from visualjudge.predictions.base import Prediction as Prediction
from visualjudge.predictions.base import PredictionType as PredictionType
from visualjudge.predictions.base import ReadContext as ReadContext
from visualjudge.predictions.base import WriteContext as WriteContext
from visualjudge.predictions.boxes import DETECTION
from visualjudge.predictions.boxes import Detection as Detection
from visualjudge.predictions.boxes import Detections as Detections
from visualjudge.predictions.depth import DEPTH
from visualjudge.predictions.depth import DepthMap as DepthMap
from visualjudge.predictions.images import GENERATION, RESTORATION
from visualjudge.predictions.images import WholeImage as WholeImage
from visualjudge.predictions.masks import INSTANCE, REFERRING, SEMANTIC
from visualjudge.predictions.masks import Instance as Instance
from visualjudge.predictions.masks import Masks as Masks
from visualjudge.predictions.masks import masks_from_label_map as masks_from_label_map
from visualjudge.predictions.poses import KEYPOINT
from visualjudge.predictions.poses import People as People
from visualjudge.predictions.poses import Person as Person
from visualjudge.records import Size
from visualjudge.registry import Registry
from visualjudge.tasks import task_named

DIGITS = 2
"""Decimals of pixel coordinates in a payload, unless stated otherwise."""

_ROWS = (DETECTION, INSTANCE, SEMANTIC, REFERRING, KEYPOINT, DEPTH, RESTORATION, GENERATION)
TYPES: Registry[str, PredictionType] = Registry("prediction type", {row.name: row for row in _ROWS})


def type_of(task: str) -> PredictionType:
    """The type of a task's predictions.

    Raises
    ------
    UsageError
        If there is no such task.
    """
    return TYPES.find(task_named(task).type)


def read_prediction(
    task: str,
    payload: Payload | Prediction,
    *,
    size: Size | None = None,
    root: Path | None = None,
    expression: str | None = None,
) -> Prediction:
    """The typed prediction of a payload; one that is typed already is returned as it is.

    Parameters
    ----------
    task
        Task name.
    payload
        As in a data folder; masks, depth maps and images may be arrays, or paths, absolute or relative to ``root``.
    size
        (height, width) of the image; needed where polygons alone do not tell it.
    expression
        The referring expression, which becomes the region's label.

    Returns
    -------
    Prediction
        A record of the task's type.

    Raises
    ------
    DataError
        If the payload lacks a field, a value is malformed or a file cannot be read. The message begins with the field.
    """
    if isinstance(payload, Prediction):
        return payload
    if not isinstance(payload, Mapping):
        raise DataError("prediction: must be an object")
    typed: Prediction = type_of(task).read(payload, ReadContext(size, root, expression))
    return typed


def payload_of(
    task: str, prediction: Prediction, *, root: Path, stem: str, digits: int | None = DIGITS
) -> dict[str, Any]:
    """The payload of a typed prediction.

    Masks go inline as compressed RLE; a depth map or an image is written to ``root``/``stem`` with ``.npy`` or
    ``.png`` added, and the payload holds that path relative to ``root``. Boxes and keypoints are rounded to ``digits``
    decimals, or not at all where that is None.
    """
    return type_of(task).write(prediction, WriteContext(root, stem, digits))
