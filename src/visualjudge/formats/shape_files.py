"""Boxes and polygons from labelling tools: labelme, Cartucho's text files, Supervisely, Label
Studio, CVAT.

Formats: https://github.com/wkentaro/labelme · https://github.com/Cartucho/mAP ·
https://docs.supervisely.com · https://labelstud.io/guide/export (JSON) · CVAT's export "Datumaro
1.0" (JSON).
"""

from __future__ import annotations

import base64
import io
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError, InvalidRecord, Problem, UsageError
from visualjudge.core.records import Mask, Size
from visualjudge.formats.sample import (
    IMAGE_SUFFIXES,
    Found,
    Sample,
    check_type,
    files_by_key,
    folder_at,
    read_json,
    read_text,
)
from visualjudge.vision.predictions import Detection, Detections, Instance, Masks, Prediction
from visualjudge.vision.raster.images import image_size, opened
from visualjudge.vision.raster.masks import mask_from_array, mask_from_polygons, mask_from_rle

CIRCLE = 64
"""Number of corners of the polygon that approximates a circle."""
LARGEST_BITMAP = 1 << 26
"""Maximum number of bytes of an unpacked bitmap."""


@dataclass(frozen=True, eq=False, slots=True)
class LabelledShape:
    """A labelled object: a mask or ``rings`` in pixels, each [x, y, x, y, …]. A box has one
    ring of 4 corners.
    """

    label: str
    rings: tuple[tuple[float, ...], ...] = ()
    mask: Mask | None = None
    score: float | None = None


Read = Callable[[Any, Size, bool], Iterator[LabelledShape]]
"""(record of an image, (height, width) of the image, whether it is a prediction) → its shapes."""


def shapes(task: str, gt: Path, pred: Path | None, images: Path, format: str) -> Found:
    """Yield the samples of a labelling tool's files. Without ``pred``, the ground truth is its own
    prediction.

    Parameters
    ----------
    gt
        A folder; for label-studio and cvat, a file.

        ``pred`` takes the same form.
    images
        Folder of the images.
    format
        labelme, cartucho, supervisely, label-studio or cvat.

    Raises
    ------
    UsageError
        If the task is neither object_detection nor instance_segmentation, or a folder or format is
        unknown.
    """
    if format not in FORMS:
        raise UsageError(f"--format must be one of {', '.join(FORMS)}, got {format!r}")
    kind = check_type(task, _GATHER, format)
    by_name = files_by_key(folder_at(images))
    records, read = FORMS[format]
    sides = [dict(records(path)) for path in (gt, pred) if path is not None]
    for key, record in sorted(sides[0].items()):
        image = by_name.get(key)
        if image is None:
            yield Problem(gt.name, key, "image", f"there is no image named {key!r} in {images}")
            continue
        try:
            size = image_size(image)
            real = _gathered(kind, read(record, size, False), size, gt.name, key)
            found = real
            if pred is not None:
                guess = sides[1].get(key)
                shown = read(guess, size, True) if guess is not None else iter(())
                found = _gathered(kind, shown, size, pred.name, key)
        except InvalidRecord as error:
            yield error.problem
            continue
        yield Sample(image.stem, image, found, real, real.labels)
    for key in sorted(sides[-1].keys() - sides[0].keys()):
        yield Problem((pred or gt).name, key, "image", f"there is no {key!r} in {gt}")


def _gathered(
    kind: str, found: Iterator[LabelledShape], size: Size, file: str, key: str
) -> Prediction:
    try:
        return _GATHER[kind](list(found), size)
    except DataError as error:
        raise InvalidRecord(Problem.of(error, file, key, "shape")) from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        reason = f"does not follow the format: {type(error).__name__}: {error}"
        raise InvalidRecord(Problem(file, key, "shape", reason)) from None


def _detections(found: list[LabelledShape], size: Size) -> Detections:
    items = []
    for shape in found:
        if shape.mask is not None:
            x1, y1, x2, y2 = shape.mask.box
        else:
            points = np.array([v for ring in shape.rings for v in ring]).reshape(-1, 2)
            (x1, y1), (x2, y2) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
        items.append(Detection(shape.label, (x1, y1, x2, y2), shape.score))
    return Detections(tuple(items))


def _masks(found: list[LabelledShape], size: Size) -> Masks:
    items = []
    for shape in found:
        mask = shape.mask if shape.mask is not None else mask_from_polygons(shape.rings, size)
        if mask.size != size:
            raise DataError(
                f"mask: must be {size[0]}×{size[1]}, got {mask.size[0]}×{mask.size[1]} "
                "(height×width)"
            )
        items.append(Instance(shape.label, mask, shape.score))
    return Masks(size, tuple(items))


_GATHER: dict[str, Callable[[list[LabelledShape], Size], Prediction]] = {
    "detection": _detections,
    "instance": _masks,
}


# ---------------------------------------------------------------- formats


def _labelme(record: Any, size: Size, _predicted: bool) -> Iterator[LabelledShape]:
    _same_size(record.get("imageHeight"), record.get("imageWidth"), size)
    for shape in record["shapes"]:
        points = [tuple(map(float, point)) for point in shape["points"]]
        label, kind, score = (
            str(shape["label"]),
            shape.get("shape_type", "polygon"),
            _score(shape.get("score")),
        )
        if kind == "rectangle":
            yield _box(label, (*points[0], *points[1]), score)
        elif kind == "circle":
            yield LabelledShape(label, (_circle(*points[0], *points[1]),), score=score)
        elif kind == "mask":
            yield LabelledShape(
                label, mask=_bitmap(base64.b64decode(shape["mask"]), points[0], size), score=score
            )
        elif kind == "polygon":
            yield LabelledShape(label, (tuple(v for point in points for v in point),), score=score)
        else:
            raise DataError(f"shape_type: must be polygon, rectangle, circle or mask, got {kind!r}")


def _cartucho(record: Any, _size: Size, predicted: bool) -> Iterator[LabelledShape]:
    form = (
        "class confidence left top right bottom"
        if predicted
        else "class left top right bottom [difficult]"
    )
    for number, line in enumerate(str(record).splitlines(), 1):
        cells = line.split()
        if not cells:
            continue
        values = cells[1:] if predicted else [c for c in cells[1:] if c != "difficult"]
        try:
            numbers = [float(cell) for cell in values]
        except ValueError:
            numbers = []
        if len(numbers) != 4 + predicted:
            raise DataError(f"line {number}: must be {form!r}")
        yield _box(cells[0], numbers[-4:], numbers[0] if predicted else None)


def _supervisely(record: Any, size: Size, _predicted: bool) -> Iterator[LabelledShape]:
    stated = record.get("size", {})
    _same_size(stated.get("height"), stated.get("width"), size)
    for item in record["objects"]:
        label, kind = str(item["classTitle"]), item["geometryType"]
        told = [
            tag.get("value")
            for tag in item.get("tags", ())
            if tag.get("name") in ("confidence", "score")
        ]
        score = _score(told[0]) if told else None
        if kind == "bitmap":
            packed = zlib.decompressobj().decompress(
                base64.b64decode(item["bitmap"]["data"]), LARGEST_BITMAP
            )
            yield LabelledShape(
                label, mask=_bitmap(packed, item["bitmap"]["origin"], size), score=score
            )
            continue
        outer = [tuple(map(float, point)) for point in item["points"]["exterior"]]
        if kind == "rectangle":
            yield _box(label, (*outer[0], *outer[1]), score)
        elif kind == "polygon":
            mask = mask_from_polygons([[v for point in outer for v in point]], size).dense()
            for hole in item["points"].get("interior", ()):
                mask &= ~mask_from_polygons(
                    [[float(v) for point in hole for v in point]], size
                ).dense()
            yield LabelledShape(label, mask=mask_from_array(mask), score=score)
        else:
            raise DataError(f"geometryType: must be rectangle, polygon or bitmap, got {kind!r}")


def _label_studio(record: Any, size: Size, predicted: bool) -> Iterator[LabelledShape]:
    done = record.get("predictions" if predicted else "annotations") or [{"result": []}]
    whole = _score(done[0].get("score"))
    for item in done[0]["result"]:
        kind, value = item["type"], item["value"]
        if kind not in ("rectanglelabels", "polygonlabels"):
            raise DataError(f"type: must be rectanglelabels or polygonlabels, got {kind!r}")
        _same_size(item.get("original_height"), item.get("original_width"), size)
        label, score = str(value[kind][0]), _score(item.get("score")) if "score" in item else whole
        down, across = size[0] / 100, size[1] / 100
        if kind == "polygonlabels":
            ring = tuple(
                float(v) * f
                for point in value["points"]
                for v, f in zip(point, (across, down), strict=True)
            )
            yield LabelledShape(label, (ring,), score=score)
            continue
        if value.get("rotation"):
            raise DataError(f"rotation: must be 0, got {value['rotation']}: boxes are upright")
        x, y = value["x"] * across, value["y"] * down
        yield _box(label, (x, y, x + value["width"] * across, y + value["height"] * down), score)


def _cvat(record: Any, size: Size, _predicted: bool) -> Iterator[LabelledShape]:
    stated = record.get("image", {}).get("size") or (None, None)
    _same_size(stated[0], stated[1], size)
    for item in record["annotations"]:
        label = record["labels"][item["label_id"]]
        score = _score(item.get("attributes", {}).get("score"))
        if item["type"] == "bbox":
            x, y, width, height = (float(v) for v in item["bbox"])
            yield _box(label, (x, y, x + width, y + height), score)
        elif item["type"] == "polygon":
            yield LabelledShape(label, (tuple(float(v) for v in item["points"]),), score=score)
        elif item["type"] == "mask":
            yield LabelledShape(label, mask=mask_from_rle(item["rle"]), score=score)
        else:
            raise DataError(f"type: must be bbox, polygon or mask, got {item['type']!r}")


def _json_files(folder: Path) -> Iterator[tuple[str, Any]]:
    """Read one JSON file per image: ``a.jpg.json`` or ``a.json`` for ``a.jpg``."""
    for path in sorted(folder_at(folder).glob("*.json")):
        inner = PurePosixPath(path.stem)
        record = read_json(path)
        if not isinstance(record, Mapping):
            raise DataError(f"{path}: must be a JSON object")
        yield inner.stem if inner.suffix.lower() in IMAGE_SUFFIXES else path.stem, record


def _text_files(folder: Path) -> Iterator[tuple[str, Any]]:
    return ((path.stem, read_text(path)) for path in sorted(folder_at(folder).glob("*.txt")))


def _tasks(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield Label Studio's tasks by image name, without the prefix that uploads add (8 characters
    and a hyphen).
    """
    content = read_json(path)
    for k, record in enumerate(content if isinstance(content, list) else [None]):
        data = record.get("data") if isinstance(record, Mapping) else None
        if not isinstance(data, Mapping):
            raise DataError(
                f"{path}: [{k}]: must be an object with 'data' and 'annotations', as Label "
                "Studio's JSON"
            )
        named = next(
            (v for name in ("image", "img", "url") if isinstance(v := data.get(name), str)), ""
        )
        stem = PurePosixPath(named).stem
        yield stem[9:] if len(stem) > 9 and stem[8] == "-" else stem, record


def _items(path: Path) -> Iterator[tuple[str, Any]]:
    content = read_json(path)
    try:
        labels = [row["name"] for row in content["categories"]["label"]["labels"]]
        rows = [
            (PurePosixPath(str(item["id"])).name, {**item, "labels": labels})
            for item in content["items"]
        ]
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path}: must be CVAT's export 'Datumaro 1.0': {error} is missing"
        ) from None
    yield from rows


FORMS: dict[str, tuple[Callable[[Path], Iterator[tuple[str, Any]]], Read]] = {
    "labelme": (_json_files, _labelme),
    "cartucho": (_text_files, _cartucho),
    "supervisely": (_json_files, _supervisely),
    "label-studio": (_tasks, _label_studio),
    "cvat": (_items, _cvat),
}
"""For each format, a function that yields the images' records and a function that reads one record.
"""


def _box(label: str, corners: Sequence[float], score: float | None) -> LabelledShape:
    x1, y1, x2, y2 = corners
    left, right = sorted((float(x1), float(x2)))
    top, bottom = sorted((float(y1), float(y2)))
    if not np.isfinite([left, top, right, bottom]).all():
        raise DataError("box: must be finite numbers")
    return LabelledShape(
        label, ((left, top, right, top, right, bottom, left, bottom),), score=score
    )


def _circle(cx: float, cy: float, x: float, y: float) -> tuple[float, ...]:
    radius, angles = math.hypot(x - cx, y - cy), np.linspace(0, 2 * np.pi, CIRCLE, endpoint=False)
    if not math.isfinite(cx + cy + radius):
        raise DataError("circle: must have finite numbers")
    return tuple(
        np.column_stack([cx + radius * np.cos(angles), cy + radius * np.sin(angles)])
        .ravel()
        .tolist()
    )


def _bitmap(content: bytes, origin: Any, size: Size) -> Mask:
    with opened(io.BytesIO(content), "mask") as image:
        if image.size[0] > size[1] or image.size[1] > size[0]:
            raise DataError("mask: must not be larger than the image")
        values = np.asarray(image)
    inside = values[..., -1] > 0 if values.ndim == 3 else values > 0
    left, top = (round(float(v)) for v in origin)
    if left < 0 or top < 0 or top + inside.shape[0] > size[0] or left + inside.shape[1] > size[1]:
        raise DataError("mask: must lie inside the image")
    dense = np.zeros(size, dtype=np.bool_)
    dense[top : top + inside.shape[0], left : left + inside.shape[1]] = inside
    return mask_from_array(dense)


def _score(value: Any) -> float | None:
    if value is None:
        return None
    score = float(value)
    if not np.isfinite(score):
        raise DataError(f"score: must be a finite number, got {value!r}")
    return score


def _same_size(height: Any, width: Any, size: Size) -> None:
    if height is not None and width is not None and (height, width) != size:
        raise DataError(f"size: must be {size[0]}×{size[1]}, got {height}×{width} (height×width)")
