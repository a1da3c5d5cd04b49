"""YOLO text files: a file an image, a line an object, coordinates as shares of the picture's width and height.

Format: https://docs.ultralytics.com/datasets/detect and /segment. ``class cx cy w h [confidence]`` is a box,
``class x y x y x y … [confidence]`` a polygon. No file means no object, as there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import yaml

from visualjudge.data.importers.sample import Found, Sample, files_by_key, read_text
from visualjudge.errors import DataError, InvalidRecord, Problem, UsageError
from visualjudge.raster.images import picture_size
from visualjudge.raster.masks import mask_from_polygons
from visualjudge.records import Detection, Detections, Instance, Masks, Size
from visualjudge.tasks import task_named

BOX = 4
PICTURES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff")


def yolo(task: str, gt: Path, pred: Path | None, images: Path, classes: Path) -> Found:
    """Samples of YOLO label files; without ``pred`` the truth is its own prediction.

    Raises
    ------
    UsageError
        If the task is neither object_detection nor instance_segmentation, or a folder is missing.
    """
    family = task_named(task).family
    if family not in ("detection", "instance"):
        raise UsageError(f"yolo has no {task}; it has object_detection, instance_segmentation")
    names = class_names(classes)
    for folder in (gt, pred):
        if folder is not None and not folder.is_dir():
            raise UsageError(f"{folder}: no such folder")
    pictures = {key: path for key, path in files_by_key(images).items() if path.suffix.lower() in PICTURES}
    for key, picture in pictures.items():
        try:
            size = picture_size(picture)
            real, found = (
                _read((gt if side is None else side) / f"{key}.txt", names, size, family == "detection")
                for side in (gt, pred)
            )
        except InvalidRecord as error:
            yield error.problem
            continue
        yield Sample(key, picture, found, real, tuple(sorted({item.label for item in real.items})))
    for folder in (gt, pred):
        for path in sorted(folder.glob("*.txt")) if folder is not None else ():
            if path.stem not in pictures and path != classes:
                yield Problem(path.name, path.stem, "image", f"there is no picture {path.stem} in {images}")


def class_names(path: Path) -> dict[int, str]:
    """Names by number: ``names`` of a data.yaml (list or mapping), or a text with a name a line."""
    text = read_text(path)
    if path.suffix.lower() not in (".yaml", ".yml"):
        return dict(enumerate(line.strip() for line in text.splitlines() if line.strip()))
    try:
        names = (yaml.safe_load(text) or {}).get("names")
    except (yaml.YAMLError, AttributeError):
        names = None
    if isinstance(names, list):
        return {k: str(name) for k, name in enumerate(names)}
    if isinstance(names, dict) and all(isinstance(k, int) for k in names):
        return {k: str(name) for k, name in names.items()}
    raise DataError(f"{path}: names: is a list of class names, or number: name")


def _read(path: Path, names: dict[int, str], size: Size, boxes: bool) -> Detections | Masks:
    lines = read_text(path).splitlines() if path.is_file() else []
    rows = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    items = [_item(cells, names, size, boxes, path.name, number) for number, cells in rows]
    if boxes:
        return Detections(tuple(item for item in items if isinstance(item, Detection)))
    return Masks(size, tuple(item for item in items if isinstance(item, Instance)))


def _item(
    cells: list[str], names: dict[int, str], size: Size, boxes: bool, file: str, line: int
) -> Detection | Instance:
    where = f"line {line}"
    try:
        number, *values = (float(cell) for cell in cells)
    except ValueError:
        raise InvalidRecord(Problem(file, where, "numbers", "holds something that is not a number")) from None
    if not np.isfinite(values).all():
        raise InvalidRecord(Problem(file, where, "numbers", "holds a value that is not finite"))
    label = names.get(int(number)) if number == int(number) else None
    if label is None:
        raise InvalidRecord(Problem(file, where, "class", f"{cells[0]} is not in the class names"))
    score = values.pop() if len(values) % 2 else None
    scale = np.tile([size[1], size[0]], len(values) // 2)
    points = np.array(values) * scale
    if len(values) == BOX and boxes:
        cx, cy, w, h = points.tolist()
        if w < 0 or h < 0:
            raise InvalidRecord(Problem(file, where, "box", "has a negative width or height"))
        return Detection(label, (cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2), score)
    if len(values) <= BOX:
        raise InvalidRecord(Problem(file, where, "numbers", "is a class and 4 numbers, or 6 and more"))
    if boxes:
        x, y = points[::2], points[1::2]
        return Detection(label, (float(x.min()), float(y.min()), float(x.max()), float(y.max())), score)
    return Instance(label, mask_from_polygons([points.tolist()], size), score)
