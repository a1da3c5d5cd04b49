"""Samples given as Python objects: dictionaries, data frames, paths, arrays,
supervision data. Samples from files are in the other modules of this folder.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.errors import (
    DataError,
    Problem,
    UsageError,
    in_field,
)
from visualjudge.core.records import Size
from visualjudge.formats.samples import Sample, Samples, check_type
from visualjudge.vision.predictions import Prediction, read_prediction, type_of
from visualjudge.vision.raster.images import image_size, pixels_of, write_png
from visualjudge.vision.raster.in_memory import supervision_columns

_FIELDS = frozenset(item.name for item in fields(Sample))


def samples_of(task: str, stated: Iterable[Any], folder: Path) -> Samples:
    """Convert each item of ``stated`` to a
    :class:`~visualjudge.formats.samples.Sample`, or to a problem if it cannot be read.

    Parameters
    ----------
    stated
        Samples; mappings with the fields of a sample (``score`` is short for
        ``final_score``; ``image_id`` defaults to the image's file name without suffix);
        or a pandas or Polars data frame with such columns. A prediction or ground truth
        may be a record, a payload as in a data folder, arrays in the forms listed in
        docs/python.md, a supervision object or, if the task's prediction is a file, its
        path. ``labels`` defaults to those of the ground truth.
    folder
        Where images in memory are written as PNG, until they have been imported.

    Raises
    ------
    UsageError
        If ``stated`` contains something else, or a mapping has a field that samples do
        not have.
    """
    rows = stated.to_dicts() if hasattr(stated, "to_dicts") else stated
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):
        rows = rows.to_dict("records")
    for number, row in enumerate(rows):
        if isinstance(row, Problem):
            yield row
            continue
        try:
            yield _typed(
                task,
                row if isinstance(row, Sample) else _sample(row, number),
                folder,
            )
        except DataError as error:
            yield Problem.of(error, "samples", f"[{number}]", "prediction")


def _sample(row: Any, number: int) -> Sample:
    if not isinstance(row, Mapping):
        raise UsageError(
            f"samples[{number}]: must be a vj.Sample or a mapping of its fields, got "
            f"{type(row).__name__}"
        )
    values = {
        str(name): value
        for name, value in row.items()
        # a missing cell of pandas is NaN
        if not (value is None or (isinstance(value, float) and np.isnan(value)))
    }
    if "score" in values:
        values.setdefault("final_score", values.pop("score"))
    unknown = sorted(set(values) - _FIELDS)
    if unknown:
        raise UsageError(
            f"samples[{number}]: {unknown[0]!r} is not a field of a sample; known "
            f"fields: {', '.join(item.name for item in fields(Sample))}"
        )
    if "prediction" not in values:
        raise DataError("prediction: the field is missing")
    image = values.setdefault("image", None)
    if isinstance(image, str | Path) and "image_id" not in values:
        values["image_id"] = Path(image).stem
    if "image_id" not in values:
        raise DataError("image_id: must be given if the image is not a file")
    return Sample(**{**values, "image_id": str(values["image_id"])})


def _typed(task: str, sample: Sample, folder: Path) -> Sample:
    """Return the sample with shorthand forms replaced by paths and records."""
    image, file, mask, control = (
        _path(name, getattr(sample, name), folder)
        for name in ("image", "file", "mask", "control")
    )
    stated = sample.prediction, sample.truth
    if file is None and isinstance(stated[0], str | Path):
        file = Path(stated[0])
    typed = all(item is None or isinstance(item, Prediction) for item in stated)
    size = None if image is None or typed else image_size(image)
    prediction = _record(task, "prediction", stated[0], size, sample.prompt)
    truth = (
        None
        if stated[1] is None
        else _record(task, "truth", stated[1], size, sample.prompt)
    )
    return replace(
        sample,
        prediction=prediction,
        truth=truth,
        labels=sample.labels or (() if truth is None else truth.labels),
        image=image,
        file=file,
        mask=mask,
        control=control,
    )


def _path(name: str, value: Any, folder: Path) -> Path | None:
    """Return the path of an image; one in memory becomes a PNG in ``folder``."""
    if value is None or isinstance(value, str | Path):
        return None if value is None else Path(value)
    with in_field(name):
        pixels = pixels_of(value)
    file = folder / f"{len(list(folder.iterdir()))}.png"
    write_png(file, pixels)
    return file


def _record(
    task: str, name: str, value: Any, size: Size | None, expression: str | None
) -> Prediction:
    field = type_of(task).file_field
    if field is not None and isinstance(value, str | Path):
        value = {field: str(value)}
    with in_field(name):
        return read_prediction(task, value, size=size, expression=expression)


def from_supervision(
    detections: Any,
    classes: Sequence[str] | Mapping[int, str] | None = None,
    *,
    task: str = "object_detection",
) -> Prediction:
    """Convert supervision's ``Detections`` to a prediction: boxes, or masks for
    instance segmentation.

    Parameters
    ----------
    detections
        ``xyxy`` of shape (n, 4) in pixels; ``mask`` of shape (n, H, W), bool;
        ``confidence`` and ``class_id`` of shape (n,); ``data["class_name"]`` contains
        the labels if the model returned any.
    classes
        Labels by ``class_id``, used if ``data`` contains none.

    Raises
    ------
    DataError
        If a label is unknown, or the task needs masks and there are none.
    UsageError
        If the task's predictions are neither boxes nor instances.

    Examples
    --------
    With supervision 0.31::

        detections = supervision.Detections.from_ultralytics(model(image)[0])
        prediction = vj.from_supervision(detections)
        prediction = vj.from_supervision(detections, task="instance_segmentation")
    """
    check_type(task, ("detection", "instance"), "supervision")
    columns = supervision_columns(detections)
    if (
        columns is not detections
        and classes is not None
        and detections.data.get("class_name") is None
    ):
        columns["classes"] = classes
    return read_prediction(task, columns)
