"""PREDICTIONS: typed model outputs for an image. Each type has a record and functions
to read, write and check it. The base class is in ``base.py``.

:data:`TYPES` has a row for each type; :class:`~visualjudge.vision.tasks.Task` names the
type of its predictions.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from visualjudge.core.errors import DataError
from visualjudge.core.records import Size
from visualjudge.core.registry import Registry
from visualjudge.vision.base import (
    Payload as Payload,
    Prediction as Prediction,
    ReadContext as ReadContext,
    WriteContext as WriteContext,
)
from visualjudge.vision.boxes.record import (
    Detection as Detection,
    Detections as Detections,
)
from visualjudge.vision.built_in_types import BUILT_IN
from visualjudge.vision.depth.record import DepthMap as DepthMap
from visualjudge.vision.images.record import WholeImage as WholeImage
from visualjudge.vision.masks.record import (
    Instance as Instance,
    Masks as Masks,
    masks_from_label_map as masks_from_label_map,
)
from visualjudge.vision.poses.record import People as People, Person as Person
from visualjudge.vision.raster.in_memory import supervision_columns
from visualjudge.vision.rows import PredictionType as PredictionType
from visualjudge.vision.tasks import task_named

# Decimals of pixel coordinates in a payload, unless stated otherwise.
DIGITS = 2

TYPES: Registry[str, PredictionType] = Registry(
    "prediction type",
    {row.name: row for row in BUILT_IN},
    home=f"{__name__}:TYPES",
)


def type_of(task: str) -> PredictionType:
    """Return the type of a task's predictions.

    Raises
    ------
    UsageError
        If there is no such task.
    """
    return TYPES.find(task_named(task).type)


def read_prediction(
    task: str,
    payload: Any,
    *,
    size: Size | None = None,
    root: Path | None = None,
    expression: str | None = None,
) -> Prediction:
    """Return the typed prediction of a payload; a prediction that is already typed is
    unchanged.

    Parameters
    ----------
    task
        Task name.
    payload
        Payload as in a data folder, with paths that are absolute or relative to
        ``root``, or arrays in the forms listed in docs/python.md.
    size
        (height, width) of the image; required if the payload has only polygons.
    expression
        The referring expression, which becomes the region's label.

    Returns
    -------
    Prediction
        A record of the task's type.

    Raises
    ------
    DataError
        If the payload lacks a field, a value is malformed or a file cannot be read. The
        message begins with the field.
    """
    if isinstance(payload, Prediction):
        return payload
    kind = type_of(task)
    payload = kind.arrays(supervision_columns(payload))
    if not isinstance(payload, Mapping):
        raise DataError(
            "a prediction must be a payload, a record or arrays, got "
            f"{type(payload).__name__}"
        )
    typed: Prediction = kind.read(payload, ReadContext(size, root, expression))
    return typed


def payload_of(
    task: str,
    prediction: Prediction,
    *,
    root: Path,
    stem: str,
    digits: int | None = DIGITS,
) -> dict[str, Any]:
    """Return the payload of a typed prediction.

    Masks are stored inline as compressed RLE; a depth map or image is written to
    ``root``/``stem`` plus ``.npy`` or ``.png``, and the payload holds that path
    relative to ``root``. Boxes and keypoints are rounded to ``digits`` decimals, or not
    rounded if it is None.
    """
    return type_of(task).write(prediction, WriteContext(root, stem, digits))
