"""Payloads (the ``prediction`` of a record) parsed into typed predictions, one reader a family of tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.errors import DataError
from visualjudge.raster.images import read_depth, read_gray, read_rgb, rgb_of_array
from visualjudge.raster.masks import mask_from_array, mask_from_wire
from visualjudge.records import (
    DepthMap,
    Detection,
    Detections,
    Instance,
    Masks,
    People,
    Person,
    Prediction,
    Size,
    WholeImage,
    Xyxy,
)
from visualjudge.tasks import Family, task_named

Payload = Mapping[str, Any]
UNLABELLED = (0, 255)
KEYPOINT_NUMBERS = 51


def read_prediction(
    task: str,
    payload: Payload | Prediction,
    *,
    size: Size | None = None,
    root: Path | None = None,
    expression: str | None = None,
) -> Prediction:
    """The typed prediction of a payload; one that is typed already comes back as it is.

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

    Raises
    ------
    DataError
        If the payload lacks a field, a value is malformed or a file cannot be read. The message begins with the field.
    """
    if isinstance(payload, Detections | Masks | People | DepthMap | WholeImage):
        return payload
    if not isinstance(payload, Mapping):
        raise DataError("prediction: is an object")
    return _READERS[task_named(task).family](payload, size, root, expression)


def _detections(payload: Payload, _size: Size | None, _root: Path | None, _expr: str | None) -> Detections:
    items = []
    for k, item in enumerate(_list(payload, "detections")):
        where = f"detections[{k}]"
        box = _box(item.get("bbox"), f"{where}.bbox")
        items.append(Detection(_label(item, where), box, _score(item), bool(item.get("iscrowd", 0))))
    return Detections(tuple(items))


def _instances(payload: Payload, size: Size | None, root: Path | None, _expr: str | None) -> Masks:
    return _masks(_list(payload, "instances"), "instances", size, root)


def _semantic(payload: Payload, size: Size | None, root: Path | None, _expr: str | None) -> Masks:
    if "label_map" in payload:
        return masks_from_label_map(
            _label_map(payload["label_map"], root), _classes(payload.get("classes")), unlabelled=UNLABELLED
        )
    return _masks(_list(payload, "segments"), "segments", size, root)


def _referring(payload: Payload, size: Size | None, root: Path | None, expr: str | None) -> Masks:
    if "segmentation" not in payload:
        raise DataError("segmentation: is missing")
    region = {"label": expr or "region", "segmentation": payload["segmentation"]}
    return _masks([region], "", size, root)


def _people(payload: Payload, _size: Size | None, _root: Path | None, _expr: str | None) -> People:
    people = []
    for k, item in enumerate(_list(payload, "persons")):
        points = _keypoints(item.get("keypoints"), f"persons[{k}].keypoints")
        bbox = _box(item["bbox"], f"persons[{k}].bbox") if item.get("bbox") is not None else None
        area = None if item.get("area") is None else float(item["area"])
        people.append(Person(points, bbox, area, bool(item.get("iscrowd", 0)), _score(item)))
    return People(tuple(people))


def _depth(payload: Payload, _size: Size | None, root: Path | None, _expr: str | None) -> DepthMap:
    stored = payload.get("depth")
    if stored is None:
        raise DataError("depth: is missing")
    if isinstance(stored, np.ndarray):
        values = stored.astype(np.float64)
    else:
        values = _at_field("depth", lambda: read_depth(_path(stored, root)))
    scale = payload.get("scale", 1.0)
    scale = 1.0 if scale is None else scale
    if not isinstance(scale, int | float) or not np.isfinite(scale) or scale <= 0:
        raise DataError(f"scale: is a number above 0, not {scale!r}")
    return DepthMap(values * float(scale) if scale != 1 else values, bool(payload.get("inverse") or False))


def _whole_image(payload: Payload, _size: Size | None, root: Path | None, _expr: str | None) -> WholeImage:
    stored = payload.get("image")
    if stored is None:
        raise DataError("image: is missing")
    if isinstance(stored, np.ndarray):
        return WholeImage(rgb_of_array(stored))
    return WholeImage(_at_field("image", lambda: read_rgb(_path(stored, root))))


_READERS: dict[Family, Callable[[Payload, Size | None, Path | None, str | None], Prediction]] = {
    "detection": _detections,
    "instance": _instances,
    "semantic": _semantic,
    "referring": _referring,
    "keypoint": _people,
    "depth": _depth,
    "restoration": _whole_image,
    "generation": _whole_image,
}


def masks_from_label_map(values: Any, classes: Mapping[int, str], *, unlabelled: Sequence[int]) -> Masks:
    """One segment for each class that occurs in an H×W array of class numbers, in the order of the numbers."""
    items = []
    for number in _numbers_in(values):
        if number in unlabelled:
            continue
        if number not in classes:
            raise DataError(f"label_map: class {number} is not in classes")
        items.append(Instance(classes[number], mask_from_array(values == number)))
    return Masks(values.shape, tuple(items))


def _numbers_in(values: Any) -> list[int]:
    """The numbers that occur, rising. Counting beats sorting twenty times over on the bytes that label maps are."""
    if values.dtype == np.uint8 and values.size:
        return list(np.flatnonzero(np.bincount(values.ravel(), minlength=256)).tolist())
    return list(np.unique(values).tolist())


def _masks(items: Sequence[Payload], name: str, size: Size | None, root: Path | None) -> Masks:
    read = []
    for k, item in enumerate(items):
        where = f"{name}[{k}]" if name else ""
        field = f"{where}.segmentation" if where else "segmentation"
        mask = _at_field(field, partial(mask_from_wire, item.get("segmentation"), size, root))
        if size is not None and mask.size != size:
            raise DataError(f"{field}: mask is {_hw(mask.size)}, the image {_hw(size)} (height×width)")
        size = mask.size
        label = _label(item, where)
        read.append(Instance(label, mask, _score(item), bool(item.get("iscrowd", 0))))
    if size is None:
        return Masks((0, 0), ())
    return Masks(size, tuple(read))


def _at_field(field: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except DataError as error:
        raise DataError(f"{field}: {error}") from None


def _path(stored: Any, root: Path | None) -> Path:
    if not isinstance(stored, str | Path):
        raise DataError(f"is a path, not {type(stored).__name__}")
    return root / stored if root else Path(stored)


def _list(payload: Payload, field: str) -> list[Payload]:
    items = payload.get(field)
    if not isinstance(items, list | tuple) or not all(isinstance(item, Mapping) for item in items):
        raise DataError(f"{field}: is a list of objects")
    return list(items)


def _label(item: Payload, where: str) -> str:
    label = item.get("label")
    if not isinstance(label, str) or not label.strip():
        raise DataError(f"{where}.label: is a text that is not empty")
    return label


def _score(item: Payload) -> float | None:
    score = item.get("score")
    return None if score is None else float(score)


def _box(box: Any, field: str) -> Xyxy:
    if not isinstance(box, list | tuple | np.ndarray) or len(box) != 4:
        raise DataError(f"{field}: is [x1, y1, x2, y2]")
    if not all(isinstance(v, int | float | np.number) and np.isfinite(v) for v in box):
        raise DataError(f"{field}: holds a value that is not a finite number")
    x1, y1, x2, y2 = (float(v) for v in box)
    if x2 < x1 or y2 < y1:
        raise DataError(f"{field}: [x1, y1, x2, y2] with x2 < x1 or y2 < y1 (is it [x, y, width, height]?)")
    return x1, y1, x2, y2


def _keypoints(numbers: Any, field: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    if not isinstance(numbers, list | tuple | np.ndarray) or np.size(numbers) != KEYPOINT_NUMBERS:
        raise DataError(f"{field}: is 51 numbers, x, y, v for each of the 17 COCO keypoints")
    try:
        points = np.asarray(numbers, dtype=np.float64).reshape(17, 3)
    except (TypeError, ValueError):
        raise DataError(f"{field}: holds a value that is not a number") from None
    if not np.isfinite(points).all():
        raise DataError(f"{field}: holds a value that is not a finite number")
    return points


def _label_map(stored: Any, root: Path | None) -> Any:
    if isinstance(stored, np.ndarray):
        return stored
    return _at_field("label_map", lambda: read_gray(_path(stored, root)))


def _classes(classes: Any) -> dict[int, str]:
    if not isinstance(classes, Mapping):
        raise DataError('classes: is an object of number -> name, such as {"1": "road"}')
    try:
        return {int(number): str(name) for number, name in classes.items()}
    except ValueError:
        raise DataError('classes: has a key that is not a number, such as {"1": "road"}') from None


def _hw(size: Size) -> str:
    return f"{size[0]}×{size[1]}"
