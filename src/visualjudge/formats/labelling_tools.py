"""Boxes and polygons from labelling tools: labelme, Label Studio, CVAT. Boxes of
detectors are in ``coco.py``, ``voc.py`` and ``yolo.py``.

Formats: https://github.com/wkentaro/labelme · https://labelstud.io/guide/export (JSON)
· CVAT's export "Datumaro 1.0" (JSON).

A rectangle of more than two corners is read as the polygon that it is, a turned box as
its four corners, and shapes of one label and group as one object. Detection takes the
upright box around.
"""

import base64
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import parse_qs, unquote

import numpy as np
from typing_extensions import TypedDict

from visualjudge.core.errors import (
    DataError,
    InvalidRecord,
    Problem,
    UsageError,
    of_format,
)
from visualjudge.core.jsons import Json
from visualjudge.core.records import Mask, Size
from visualjudge.core.typed_records import Rows, record_of
from visualjudge.formats.pairing import (
    IMAGE_SUFFIXES,
    by_name,
    files_ending_in,
    images_by_key,
)
from visualjudge.formats.samples import (
    Samples,
    check_type,
    compared,
    hull,
    turned,
    warn_once,
)
from visualjudge.formats.tables import class_name, read_json
from visualjudge.vision.fields import flag, number
from visualjudge.vision.predictions import (
    Detection,
    Detections,
    Instance,
    Masks,
    Prediction,
)
from visualjudge.vision.raster.images import image_size, opened
from visualjudge.vision.raster.masks import (
    Budget,
    covered,
    mask_from_array,
    mask_from_polygons,
    mask_from_rle,
    mask_samples,
)

# Shapes of labelme and X-AnyLabeling that are an outline of points; a rectangle may
# have two.
CLOSED = ("polygon", "rectangle", "rotation", "quadrilateral")
# Shapes of Label Studio that are not read.
OTHER_SHAPES = ("ellipse", "brush", "keypoint", "bitmask", "vector")


@dataclass(frozen=True, eq=False, slots=True)
class LabelledShape:
    """A labelled object: a mask or ``rings`` in pixels, each [x, y, x, y, …]. A box has
    one ring of 4 corners. Shapes of one label and ``group`` are one object.
    """

    label: str
    rings: tuple[tuple[float, ...], ...] = ()
    mask: Mask | None = None
    score: float | None = None
    group: Any = None
    iscrowd: bool = False


# (record of an image, (height, width) of the image, whether it is a prediction) → its
# shapes.
Read = Callable[[Any, Size, bool], Iterator[LabelledShape]]
# Name of an image, where its record stands, and the record; None if nobody has finished
# it.
Records = Iterable[tuple[str, str, Any]]


def shapes(
    task: str, gt: Path, pred: Path | None, images: Path, format: str
) -> Samples:
    """Yield the samples of a labelling tool's files. Without ``pred``, the ground truth
    is its own prediction.

    Parameters
    ----------
    gt
        A folder or, for label-studio and cvat, a file.

        ``pred`` takes the same form.
    images
        Folder of the images.
    format
        labelme, label-studio or cvat.

    Raises
    ------
    UsageError
        If the task is neither object_detection nor instance_segmentation, or a folder
        or format is unknown.
    DataError
        If two records are of one image.
    """
    if format not in FORMS:
        raise UsageError(
            f"`format` must be one of {', '.join(FORMS)}, got {format!r}"
        )
    kind = check_type(task, _GATHER, format)
    by_key = images_by_key(images)
    records, read = FORMS[format]
    sides = [
        by_name(records(path, predicted), "records")
        for path, predicted in ((gt, False), (pred, True))
        if path is not None
    ]
    displayed: dict[str, Path] = {}
    for key, record in sorted(sides[0].items()):
        image = by_key.find(key)
        if image is None and isinstance(
            record, Mapping
        ):  # labelme's own name of the photograph
            image = by_key.find(
                PureWindowsPath(str(record.get("imagePath"))).stem
            )
        if image is None:
            yield Problem(
                gt.name,
                key,
                "image",
                f"there is no image named {key!r} in {images}",
            )
        elif record is not None:
            displayed[key] = image

    def typed(number: int, path: Path, key: str, image: Path) -> Prediction:
        size = image_size(image)
        record = sides[number].find(key)
        return _gathered(
            kind,
            iter(()) if record is None else read(record, size, number == 1),
            size,
            path.name,
            key,
        )

    yield from compared(
        displayed.items(),
        partial(typed, 0, gt),
        None if pred is None else partial(typed, 1, pred),
        sides[-1],
    )
    for key in sorted(sides[-1].keys() - sides[0].keys()):
        if sides[0].find(key) is None:
            yield Problem(
                (pred or gt).name, key, "image", f"there is no {key!r} in {gt}"
            )


def _gathered(
    kind: str, result: Iterator[LabelledShape], size: Size, file: str, key: str
) -> Prediction:
    try:
        return _GATHER[kind](_joined(result, size), size)
    except DataError as error:
        raise InvalidRecord(Problem.of(error, file, key, "shape")) from None
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
    ) as error:
        raise InvalidRecord(
            Problem(
                file,
                key,
                "shape",
                f"does not follow the format: {of_format(error)}",
            )
        ) from None


def _joined(
    shapes: Iterator[LabelledShape], size: Size
) -> Iterator[LabelledShape]:
    """Return the objects: shapes of one label and group become one."""
    collected: dict[Any, list[LabelledShape]] = {}
    for place, shape in enumerate(shapes):
        collected.setdefault(
            place if shape.group is None else (shape.label, str(shape.group)),
            [],
        ).append(shape)
    for parts in collected.values():
        if len(parts) > 1 and any(part.mask for part in parts):
            yield replace(
                parts[0],
                rings=(),
                mask=mask_from_array(
                    covered((_mask(part, size) for part in parts), size)
                ),
            )
        else:
            yield replace(
                parts[0],
                rings=tuple(ring for part in parts for ring in part.rings),
            )


def _mask(shape: LabelledShape, size: Size) -> Mask:
    mask = (
        mask_from_polygons(shape.rings, size)
        if shape.mask is None
        else shape.mask
    )
    if mask.size != size:
        raise DataError(
            f"mask: must be {size[0]}×{size[1]}, got {mask.size[0]}×{mask.size[1]} "
            "(height×width)"
        )
    return mask


def _detections(result: Iterator[LabelledShape], _size: Size) -> Detections:
    return Detections(
        tuple(
            Detection(
                shape.label,
                hull([v for ring in shape.rings for v in ring])
                if shape.mask is None
                else shape.mask.box,
                shape.score,
                shape.iscrowd,
            )
            for shape in result
        )
    )


def _masks(result: Iterator[LabelledShape], size: Size) -> Masks:
    budget = Budget()
    items = (
        Instance(
            shape.label,
            budget.admit(_mask(shape, size)),
            shape.score,
            shape.iscrowd,
        )
        for shape in result
    )
    return Masks(size, tuple(items))


_GATHER: dict[str, Callable[[Iterator[LabelledShape], Size], Prediction]] = {
    "detection": _detections,
    "instance": _masks,
}


# ---------------------------------------------------------------- formats


def _labelme(
    record: Any, size: Size, _predicted: bool
) -> Iterator[LabelledShape]:
    _same_size(record.get("imageHeight"), record.get("imageWidth"), size)
    for shape in record["shapes"]:
        points = [(float(x), float(y)) for x, y in shape["points"]]
        kind = shape.get("shape_type") or "polygon"
        rings: tuple[tuple[float, ...], ...] = ()
        mask = None
        if kind == "mask":
            mask = _bitmap(base64.b64decode(shape["mask"]), points[0], size)
        elif kind in CLOSED:
            rings = (_outline(points, rectangle=kind == "rectangle"),)
        else:
            raise DataError(
                f"shape_type: must be an outline or mask, got {kind!r}"
            )
        yield LabelledShape(
            str(shape["label"]).strip(),
            rings,
            mask,
            _score(shape.get("score")),
            shape.get("group_id"),
            flag(shape.get("difficult"), "difficult"),
        )


def _label_studio(
    record: Any, size: Size, predicted: bool
) -> Iterator[LabelledShape]:
    chosen = _only(record, predicted)
    labels = {
        item.get("id"): value["labels"]
        for item in chosen["result"]
        if isinstance(value := item.get("value"), Mapping)
        and value.get("labels")
    }
    for item in chosen["result"]:
        kind = str(item.get("type")).removesuffix("labels")
        if kind in OTHER_SHAPES:
            raise DataError(
                f"type: must be a rectangle or polygon, got {item['type']!r}"
            )
        if kind not in (
            "rectangle",
            "polygon",
        ):  # a choice, relation or text, which is no shape
            continue
        value = item["value"]
        _same_size(
            item.get("original_height"), item.get("original_width"), size
        )
        if item.get("image_rotation"):
            raise DataError(
                f"image_rotation: must be 0, got {item['image_rotation']!r}"
            )
        names = value.get(f"{kind}labels") or labels.get(item.get("id"))
        if not names or len(names) > 1:
            raise DataError(
                f"{item['type']}: a region must have one label, {item.get('id')!r} has "
                f"{names}"
            )
        across = size[1] / 100
        down = size[0] / 100
        if kind == "polygon":
            ring = _outline(
                [(x * across, y * down) for x, y in value["points"]]
            )
        else:
            box = [value["x"] * across, value["y"] * down]
            box += [value["width"] * across, value["height"] * down]
            ring = turned(box, value.get("rotation") or 0, about_corner=True)
        yield LabelledShape(
            str(names[0]),
            (ring,),
            score=_score(item.get("score", chosen.get("score"))),
        )


def _only(record: Any, predicted: bool) -> Any:
    """Return the one annotation or prediction of a task of Label Studio that counts."""
    if len(record) > 1 and not predicted:
        record = [item for item in record if item.get("ground_truth")] or record
    if len(record) > 1:
        versions = ", ".join(
            dict.fromkeys(str(item.get("model_version")) for item in record)
        )
        raise DataError(
            f"predictions: must be one, got {len(record)} of model version {versions}; "
            "export one"
            if predicted
            else "annotations: must be one, or one marked as ground truth, got "
            f"{len(record)}; "
            "which annotator is right is not known"
        )
    return record[0] if record else {"result": []}


def _cvat(record: Any, size: Size, _predicted: bool) -> Iterator[LabelledShape]:
    stated = record.get("image", {}).get("size") or (None, None)
    _same_size(stated[0], stated[1], size)
    for item in record["annotations"]:
        kind = item["type"]
        more = item.get("attributes") or {}
        if kind in ("label", "caption") or more.get(
            "outside"
        ):  # of the image; left the image
            continue
        shape = LabelledShape(
            class_name(
                item["label_id"], dict(enumerate(record["labels"])), "label_id"
            ),
            score=_score(more.get("score")),
            group=item.get("group") or None,
        )
        if kind == "bbox":
            yield replace(
                shape, rings=(turned(item["bbox"], more.get("rotation") or 0),)
            )
        elif kind == "polygon":
            points = item["points"]
            yield replace(
                shape,
                rings=(_outline(zip(points[::2], points[1::2], strict=True)),),
            )
        elif kind == "mask":
            yield replace(shape, mask=mask_from_rle(item["rle"]))
        else:
            raise DataError(
                f"type: must be bbox, polygon or mask, got {kind!r}"
            )


def _json_files(folder: Path, _predicted: bool) -> Records:
    """Read one JSON file per image: a.jpg.json or a.json for a.jpg."""
    for path in files_ending_in(folder, ".json"):
        inner = PurePosixPath(path.stem)
        record = record_of(Json, read_json(path), path)
        name = (
            inner.stem if inner.suffix.lower() in IMAGE_SUFFIXES else path.stem
        )
        yield name, str(path), record


class _Work(TypedDict, total=False):
    """What a person or a model has done on a task of Label Studio."""

    result: Rows


class _Named(TypedDict):
    name: str


def _tasks(path: Path, predicted: bool) -> Records:
    """Yield Label Studio's tasks by image name, without the prefix that uploads add (8
    characters and a hyphen): the annotations that were not cancelled, or the
    predictions."""
    content = read_json(path)
    waiting = []
    for k, record in enumerate(
        content if isinstance(content, list) else [None]
    ):
        data = record.get("data") if isinstance(record, Mapping) else None
        if not isinstance(data, Mapping):
            raise DataError(
                f"{path}: [{k}]: must be an object with 'data' and 'annotations', as "
                "Label Studio's export JSON (not JSON-MIN)"
            )
        address = next(
            (
                v
                for name in ("image", "img", "url")
                if isinstance(v := data.get(name), str)
            ),
            "",
        )
        # A signed address, or ?d= of a local file; urlsplit raises an error of its own
        # for some texts.
        bare, _, query = address.partition("#")[0].partition("?")
        stem = PurePosixPath(parse_qs(query).get("d", [unquote(bare)])[0]).stem
        name = stem[9:] if len(stem) > 9 and stem[8] == "-" else stem
        field = "predictions" if predicted else "annotations"
        where = f"{path}: [{k}]: {field}"
        tasks = record_of(list[_Work], record.get(field) or [], where)
        if predicted and not tasks and record.get("annotations"):
            raise DataError(
                f"{where}: must be a model's, got only annotations; write what the "
                "model found as predictions"
            )
        done = [task for task in tasks if not task.get("was_cancelled")]
        waiting += [] if done else [f"[{k}] ({address})"]
        yield (
            name,
            f"{path}: [{k}] ({address})",
            done if done or predicted else None,
        )
    if not predicted:
        warn_once(
            path, "nobody has finished this task, so it is left out", waiting
        )


def _items(path: Path, _predicted: bool) -> Records:
    if path.suffix.lower() in (".xml", ".zip"):
        raise DataError(
            f"{path}: must be the JSON of CVAT's export 'Datumaro 1.0', got "
            f"{path.suffix}"
        )
    content = read_json(path)
    try:
        classes = content["categories"]["label"]["labels"]
        labels = [
            row["name"]
            for row in record_of(
                list[_Named], classes, f"{path}: categories.label.labels"
            )
        ]
        return [
            (
                PurePosixPath(str(item["id"])).name,
                f"{path}: item {item['id']}",
                {**item, "labels": labels},
            )
            for item in content["items"]
        ]
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path}: must be CVAT's export 'Datumaro 1.0': {of_format(error)}"
        ) from None


# For each format, a function that yields the images' records and a function that reads
# one record.
FORMS: dict[str, tuple[Callable[[Path, bool], Records], Read]] = {
    "labelme": (_json_files, _labelme),
    "label-studio": (_tasks, _label_studio),
    "cvat": (_items, _cvat),
}


def _outline(
    points: Iterable[Sequence[float]], *, rectangle: bool = False
) -> tuple[float, ...]:
    """Return the ring of at least three points, or of two opposite corners of a
    rectangle."""
    ring = tuple(float(v) for x, y in points for v in (x, y))
    if not np.isfinite(ring).all():
        raise DataError("points: must be finite numbers")
    if rectangle and len(ring) == 4:
        x1, y1, x2, y2 = hull(ring)
        return x1, y1, x2, y1, x2, y2, x1, y2
    if len(ring) < 6:
        raise DataError(
            f"points: an outline must have at least 3, got {len(ring) // 2}"
        )
    return ring


def _bitmap(content: bytes, origin: Any, size: Size) -> Mask:
    with opened(io.BytesIO(content), "mask") as image:
        if image.size[0] > size[1] or image.size[1] > size[0]:
            raise DataError("mask: must not be larger than the image")
        values = mask_samples(image)
    inside = values[..., -1] > 0 if values.ndim == 3 else values > 0
    left, top = (round(float(v)) for v in origin)
    if (
        left < 0
        or top < 0
        or top + inside.shape[0] > size[0]
        or left + inside.shape[1] > size[1]
    ):
        raise DataError("mask: must lie inside the image")
    dense = np.zeros(size, dtype=np.bool_)
    dense[top : top + inside.shape[0], left : left + inside.shape[1]] = inside
    return mask_from_array(dense)


def _score(value: Any) -> float | None:
    """Return a confidence, which some tools write as text."""
    return None if value is None else number(float(value), "score")


def _same_size(height: Any, width: Any, size: Size) -> None:
    if height is not None and width is not None and (height, width) != size:
        raise DataError(
            f"size: must be {size[0]}×{size[1]}, got {height!r}×{width!r} "
            "(height×width)"
        )
