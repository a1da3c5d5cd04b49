"""YOLO text files: one file per image, one line per object, coordinates as fractions of the image's
width and height.

Format: https://docs.ultralytics.com/datasets/detect and /segment. ``class cx cy w h [confidence]``
is a box, ``class x y x y x y … [confidence]`` a polygon. An image without a file has no objects.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visualjudge.core.errors import DataError, InvalidRecord, Problem, UsageError
from visualjudge.core.records import Size
from visualjudge.core.yamls import read_yaml
from visualjudge.formats.sample import (
    IMAGE_SUFFIXES,
    Found,
    Sample,
    check_names,
    check_type,
    files_by_key,
    folder_at,
    names_by_line,
    read_text,
)
from visualjudge.formats.suspicious_input import FEW, LEAVING
from visualjudge.vision.predictions import Detection, Detections, Instance, Masks, Prediction
from visualjudge.vision.raster.images import image_size
from visualjudge.vision.raster.masks import mask_from_polygons

BOX = 4
LOOKED_AT = 200
"""Number of prediction files in which the position of the confidence is checked."""
Wrong = Callable[[str, str], InvalidRecord]
Item = Callable[..., Any]
Gather = Callable[[Size, tuple[Any, ...]], Prediction]
OUTSIDE = 0.05
"""Tolerance beyond 0 and 1 for coordinates, because predicted boxes may extend slightly beyond the
image.
"""


def yolo(task: str, gt: Path, pred: Path | None, images: Path, classes: Path) -> Found:
    """Yield the samples of YOLO label files. Without ``pred``, the ground truth is its own
    prediction.

    Parameters
    ----------
    gt
        Folder of ground truth files.
    images
        Folder of the images.
    classes
        Class names: data.yaml, or a text file with one name per line.

    Raises
    ------
    UsageError
        If the task is neither object_detection nor instance_segmentation, or a folder is missing.
    """
    item, gather = _READERS[check_type(task, _READERS, "YOLO")]
    names = class_names(classes)
    folders = [folder_at(folder) for folder in (gt, pred) if folder is not None]
    by_name = {
        key: path
        for key, path in files_by_key(images).items()
        if path.suffix.lower() in IMAGE_SUFFIXES
    }
    if not by_name:
        raise UsageError(f"--images must contain images, got none in {images}")
    _check_labelled(folders[0], by_name, images)
    if pred is not None:
        _check_confidence_last(pred)
    for key, image in by_name.items():
        try:
            size = image_size(image)
            real, found = (
                _read((gt if side is None else side) / f"{key}.txt", names, size, item, gather)
                for side in (gt, pred)
            )
        except InvalidRecord as error:
            yield error.problem
            continue
        yield Sample(image.stem, image, found, real, real.labels)
    for folder in folders:
        for path in sorted(folder.glob("*.txt")):
            if path.stem not in by_name and path != classes:
                yield Problem(
                    path.name, path.stem, "image", f"image {path.stem} not found in {images}"
                )


def _check_labelled(gt: Path, keys: Collection[str], images: Path) -> None:
    """Check that the ground truth has labels. Warn about images without labels, which count as
    images without objects.

    Raises
    ------
    UsageError
        If no image has a label file.
    """
    bare = sorted(key for key in keys if not (gt / f"{key}.txt").is_file())
    if keys and len(bare) == len(keys):
        raise UsageError(
            f"--gt must contain a .txt file of labels for images of {images}, got none for its "
            f"{len(keys)} images"
        )
    if bare:
        warnings.warn(
            f"{gt}: {len(bare)} of {len(keys)} images have no label file, and count as images "
            "without objects; "
            f"the first: {bare[0]}",
            stacklevel=3,
        )


def _check_confidence_last(pred: Path) -> None:
    """Reject boxes that extend beyond their image but fit if the second number of a line, not the
    last, is the confidence.

    Raises
    ------
    DataError
        If the boxes suggest that order.
    """
    rows, first = [], ""
    for path in sorted(pred.glob("*.txt"))[:LOOKED_AT]:
        for number, line in enumerate(read_text(path).splitlines(), 1):
            cells = line.split()
            if len(cells) != BOX + 2:
                continue
            with suppress(ValueError):  # later reported as an invalid record
                rows.append([float(cell) for cell in cells[1:]])
                first = first or f"{path}: line {number}"
    numbers = np.array(rows).reshape(-1, BOX + 1)
    leaving = int((~_fits(numbers[:, :BOX])).sum())
    needed = LEAVING * len(rows) if len(rows) >= FEW else len(rows)
    confident = ((numbers[:, 0] >= 0) & (numbers[:, 0] <= 1)).all()
    if rows and leaving >= needed and confident and _fits(numbers[:, 1:]).all():
        raise DataError(
            f"{first}: confidence must be the last number of a line (class cx cy w h confidence); "
            f"{leaving} of {len(rows)} boxes extend beyond their image, but all fit it with the "
            "second number as confidence: move it to the end"
        )


def _fits(boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which of the boxes, (n, 4) of cx, cy, w, h as fractions, lie within their image."""
    centres, halves = boxes[:, :2], boxes[:, 2:] / 2
    inside = (centres - halves >= -OUTSIDE) & (centres + halves <= 1 + OUTSIDE) & (halves >= 0)
    return np.asarray(inside.all(axis=1))


def class_names(path: Path) -> dict[int, str]:
    """Read class names by number: ``names`` in data.yaml (list or mapping), or a text file with one
    name per line.
    """
    check_names(path)
    if path.suffix.lower() not in (".yaml", ".yml"):
        return names_by_line(path)
    content = read_yaml(path)
    names = content.get("names") if isinstance(content, dict) else None
    if isinstance(names, list):
        return {k: str(name) for k, name in enumerate(names)}
    if isinstance(names, dict) and all(isinstance(k, int) for k in names):
        return {k: str(name) for k, name in names.items()}
    raise DataError(f"{path}: names: must be a list of class names, or number: name")


def _read(path: Path, names: dict[int, str], size: Size, item: Item, gather: Gather) -> Prediction:
    lines = read_text(path).splitlines() if path.is_file() else []
    rows = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    return gather(
        size,
        tuple(item(*_numbers(cells, names, size, path.name, number)) for number, cells in rows),
    )


def _numbers(
    cells: list[str], names: dict[int, str], size: Size, file: str, line: int
) -> tuple[str, NDArray[np.float64], float | None, Size, Wrong]:
    """Return the label, coordinates in pixels (x, y, x, y, …), confidence, image size, and a
    function that creates errors.
    """

    def wrong(field: str, reason: str) -> InvalidRecord:
        return InvalidRecord(Problem(file, f"line {line}", field, reason))

    try:
        number, *values = (float(cell) for cell in cells)
    except ValueError:
        odd = next(cell for cell in cells if not _is_number(cell))
        reason = f"must be a class number and coordinates separated by spaces, got {odd!r:.40}"
        raise wrong("numbers", reason) from None
    if not np.isfinite([number, *values]).all():
        raise wrong("numbers", "must be finite")
    label = names.get(int(number)) if number == int(number) else None
    if label is None:
        known = f"{min(names)} to {max(names)}" if names else "of which there are none"
        raise wrong("class", f"must be the number of a class name, {known}, got {cells[0]}")
    score = values.pop() if len(values) % 2 else None
    outside = [value for value in values if not -OUTSIDE <= value <= 1 + OUTSIDE]
    if outside:
        hint = "; it looks like pixels" if outside[0] > 1 else ""
        reason = (
            f"must be fractions of the image's width and height, 0 to 1, got {outside[0]:g}{hint}"
        )
        raise wrong("coordinates", reason)
    scale = np.tile([size[1], size[0]], len(values) // 2)
    points = np.array(values) * scale
    if len(values) < BOX:
        raise wrong("numbers", "must be a class and 4 numbers, or 6 and more")
    return label, points, score, size, wrong


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _detection(
    label: str, points: NDArray[np.float64], score: float | None, _size: Size, wrong: Wrong
) -> Detection:
    if len(points) == BOX:
        cx, cy, w, h = points.tolist()
        if w < 0 or h < 0:
            raise wrong("box", "has a negative width or height")
        return Detection(label, (cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2), score)
    x, y = points[::2], points[1::2]
    return Detection(label, (float(x.min()), float(y.min()), float(x.max()), float(y.max())), score)


def _instance(
    label: str, points: NDArray[np.float64], score: float | None, size: Size, wrong: Wrong
) -> Instance:
    if len(points) == BOX:
        reason = (
            "must be a class and 6 numbers or more, got a box; --task object_detection reads it"
        )
        raise wrong("numbers", reason)
    return Instance(label, mask_from_polygons([points.tolist()], size), score)


_READERS: dict[str, tuple[Item, Gather]] = {
    "detection": (_detection, lambda _size, items: Detections(items)),
    "instance": (_instance, Masks),
}
