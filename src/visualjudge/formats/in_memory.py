"""In-memory predictions of Python libraries: supervision's ``Detections`` and FiftyOne samples.

Neither library is imported: any object with the same attributes works. Formats:
https://supervision.roboflow.com/latest/detection/core and
https://docs.voxel51.com/user_guide/using_datasets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError, Problem
from visualjudge.core.records import BoolArray, Size, Xyxy
from visualjudge.formats.sample import Found, Sample, check_type
from visualjudge.vision.predictions import (
    Detection,
    Detections,
    Instance,
    Masks,
    Prediction,
    read_prediction,
)
from visualjudge.vision.raster.images import image_size
from visualjudge.vision.raster.in_memory import supervision_columns
from visualjudge.vision.raster.masks import mask_from_array


def from_supervision(
    detections: Any,
    classes: Sequence[str] | Mapping[int, str] | None = None,
    *,
    task: str = "object_detection",
) -> Prediction:
    """Convert supervision's ``Detections`` to a prediction: boxes, or masks for instance
    segmentation.

    Parameters
    ----------
    detections
        ``xyxy`` of shape (n, 4) in pixels; ``mask`` of shape (n, H, W), bool; ``confidence`` and
        ``class_id`` of shape (n,); ``data["class_name"]`` contains the labels if the model returned
        any.
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
    if classes is not None and detections.data.get("class_name") is None:
        columns["classes"] = classes
    return read_prediction(task, columns)


def from_fiftyone(
    samples: Iterable[Any],
    pred: str | None,
    truth: str = "ground_truth",
    *,
    task: str = "object_detection",
) -> Found:
    """Yield the samples of a FiftyOne dataset or view, for :func:`visualjudge.import_samples`.

    Parameters
    ----------
    samples
        Samples with ``filepath`` and two fields of ``Detections``. A detection has a label, a
        ``bounding_box`` ``[x, y, width, height]`` as fractions of the image, and optionally
        ``confidence`` and ``mask`` (bool, over the box).
    pred, truth
        Names of the fields with the predictions and the ground truth. Without ``pred``, the ground
        truth is its own prediction.

    Raises
    ------
    UsageError
        If the task's predictions are neither boxes nor instances.

    Examples
    --------
    With a view of FiftyOne::

        samples = vj.from_fiftyone(dataset.match_tags("validation"), "predictions")
        vj.import_samples("object_detection", samples, "data", source="yolo")
    """
    check_type(task, ("detection", "instance"), "FiftyOne")
    read = _FIFTYONE[task]
    for sample in samples:
        path = Path(sample.filepath)
        try:
            size = image_size(path)
            real = read(sample, truth, size)
            found = real if pred is None else read(sample, pred, size)
        except DataError as error:
            yield Problem.of(error, "FiftyOne", path.name)
            continue
        yield Sample(path.stem, path, found, real, real.labels)


def _boxes(sample: Any, field: str, size: Size) -> Prediction:
    return Detections(tuple(_detection(item, size) for item in _items(sample, field)))


def _detection(item: Any, size: Size) -> Detection:
    return Detection(
        item.label, _placed(item, size), item.confidence, bool(getattr(item, "iscrowd", False))
    )


def _masks(sample: Any, field: str, size: Size) -> Prediction:
    return Masks(size, tuple(_instance(item, field, size) for item in _items(sample, field)))


def _instance(item: Any, field: str, size: Size) -> Instance:
    if item.mask is None:
        raise DataError(f"{field}.mask: must be an array of bool, got None")
    dense: BoolArray = np.zeros(size, dtype=np.bool_)
    left, top = (max(0, round(v)) for v in _placed(item, size)[:2])
    crop = np.asarray(item.mask, dtype=np.bool_)[: size[0] - top, : size[1] - left]
    dense[top : top + crop.shape[0], left : left + crop.shape[1]] = crop
    return Instance(
        item.label, mask_from_array(dense), item.confidence, bool(getattr(item, "iscrowd", False))
    )


_FIFTYONE = {"object_detection": _boxes, "instance_segmentation": _masks}


def _items(sample: Any, field: str) -> Iterator[Any]:
    try:
        found = sample[field]
    except KeyError:
        raise DataError(f"{field}: must be a field of the sample") from None
    return iter(() if found is None else found.detections)


# Return the corners in pixels of a box given as fractions of the image size (height, width).
def _placed(item: Any, size: Size) -> Xyxy:
    x, y, width, height = (float(v) for v in item.bounding_box)
    if not (x >= -0.05 and y >= -0.05 and x + width <= 1.05 and y + height <= 1.05):
        raise DataError(
            f"bounding_box: must be fractions of the image, 0 to 1, got {list(item.bounding_box)}"
        )
    return x * size[1], y * size[0], (x + width) * size[1], (y + height) * size[0]
