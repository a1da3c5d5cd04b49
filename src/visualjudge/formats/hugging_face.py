"""Hugging Face data sets on disk: a folder written by ``save_to_disk``, or Parquet files. They are
read with polars; ``datasets`` is not needed.

An image is a struct of ``bytes`` and ``path``, and class names are in the schema's metadata; see
https://huggingface.co/docs/datasets/about_arrow and /object_detection. Images are unpacked into a
folder, which is then read as COCO or as label maps.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visualjudge.core.atomic import write_bytes, write_json
from visualjudge.core.errors import DataError, Problem, UsageError, in_field
from visualjudge.core.tables import table_metadata, table_parts
from visualjudge.core.untrusted import confined_path, read_file
from visualjudge.formats.coco import CocoTruth, ImageEntry, detections_of, samples_of
from visualjudge.formats.label_maps import label_maps
from visualjudge.formats.sample import Found, check_type, class_name, read_json
from visualjudge.vision.raster.images import image_size

STATE, SPLITS = "state.json", "dataset_dict.json"
SUFFIXES = {
    b"\x89PNG": ".png",
    b"\xff\xd8\xff": ".jpg",
    b"RIFF": ".webp",
    b"GIF8": ".gif",
    b"II*\0": ".tif",
}
# Number of rows in memory at a time; each may contain a large image.
ROWS = 64
COLUMNS = {
    name: name for name in ("image", "image_id", "objects", "label", "bbox", "category", "score")
}


@dataclass(frozen=True)
class Table:
    """The rows of a data set, with images as paths below ``scratch``, and the class names of each
    column.
    """

    names: Mapping[str, tuple[str, ...]]
    rows: Iterator[dict[str, Any]]


def is_hugging_face(path: Path) -> bool:
    """Return whether ``path`` is a data set's folder, one of its files, or a pattern of Parquet
    files.
    """
    return path.is_dir() or path.suffix in (".parquet", ".arrow")


def read_data_set(path: Path, scratch: Path) -> Table:
    """Read a data set on disk. Each image is written below ``scratch`` when its row is read.

    Raises
    ------
    UsageError
        If there is no data set, or it has several splits; the message lists them.
    DataError
        If a file cannot be read.
    """
    files = _files(path)
    features = _features(files[0])
    names = {
        column: tuple(found)
        for column, node in features.items()
        for found in [_class_names(node)]
        if found
    }
    return Table(names, _rows(files, scratch))


def hugging_face(
    task: str,
    gt: str,
    pred: str | None,
    scratch: Path,
    classes: Path | None = None,
    *,
    box_format: str = "xywh",
    column: Mapping[str, str] | None = None,
) -> Found:
    """Yield the samples of a data set on disk. Without ``pred``, the ground truth is its own
    prediction.

    Parameters
    ----------
    gt
        Folder, file or pattern.

        ``pred`` takes the same forms. Rows of both are matched by image name.
    scratch
        Folder for the unpacked files; must be kept until the samples are written.
    classes
        Label maps: class table, if the features contain no names.
    box_format
        Format of objects.bbox: xywh or xyxy.
    column
        OURS=THEIRS, such as prompt=text.

        OURS is ``image``, ``image_id``, ``objects`` with ``bbox``, ``category`` and ``score``, or
        ``label`` (the label-map image).

    Raises
    ------
    UsageError
        If the task is neither object_detection nor semantic_segmentation, or an option is invalid.
    """
    kind = check_type(task, _READERS, "Hugging Face")
    if box_format not in ("xywh", "xyxy"):
        raise UsageError(f"--box-format must be xywh or xyxy, got {box_format!r}")
    known = {**COLUMNS, **(column or {})}
    sides = [
        _Side(Path(one), scratch / name, known)
        for one, name in ((gt, "gt"), (pred, "pred"))
        if one is not None
    ]
    yield from _READERS[kind](sides, classes, box_format == "xyxy")


@dataclass
class _Side:
    """Ground truth or predictions, and the folder they are unpacked into."""

    path: Path
    folder: Path
    columns: Mapping[str, str]
    problems: list[Problem] = field(default_factory=list)
    names: Mapping[int, str] = field(default_factory=dict)

    def rows(self, column: str) -> Iterator[tuple[int, str, Path, Any]]:
        """Yield (row number, image name, image file, value of ``column``) for each row; rows
        without them become problems.
        """
        table = read_data_set(self.path, self.folder)
        self.names = dict(enumerate(table.names.get(self.columns[column], ())))
        for number, row in enumerate(table.rows):
            needed = {one: self.columns[one] for one in ("image", column)}
            absent = [name for name in needed.values() if name not in row]
            if absent and not number:
                raise DataError(
                    f"{self.path}: must have a column {absent[0]!r}, got {', '.join(row)}; "
                    "--column maps a column with another name"
                )
            cells = {name: row.get(name) for name in needed.values()}
            reason = next((f"{k}: {_flaw(v)}" for k, v in cells.items() if _flaw(v)), None)
            image, value = (cells[name] for name in needed.values())
            if reason is not None or not isinstance(image, Path):
                told = reason or f"{needed['image']}: must be an image"
                self.left_out(number, DataError(told))
                continue
            name = row.get(self.columns["image_id"])
            yield number, str(image.stem if name is None else name).replace("/", "_"), image, value

    def left_out(self, number: int, error: DataError) -> None:
        """Note why a row is left out."""
        self.problems.append(Problem.of(error, self.path.name, f"row {number}"))


def _flaw(cell: Any) -> str | None:
    return "is missing" if cell is None else str(cell) if isinstance(cell, DataError) else None


def _detections(sides: Sequence[_Side], _classes: Path | None, corners: bool) -> Found:
    truth, *others = sides
    images, rows = _objects(truth, corners)
    _, predicted = _objects(others[0], corners) if others else ({}, None)
    labels = {
        raw["category_id"]: raw["category_id"]
        for found in (rows, predicted or {})
        for objects in found.values()
        for _, raw in objects
    }
    content = CocoTruth(truth.path, labels, images, defaultdict(list, rows))
    yield from (problem for side in sides for problem in side.problems)
    pred = sides[-1].path
    yield from samples_of(content, predicted, pred, detections_of(content, pred))


# The objects of each image in COCO's form, with a name as their category.
Objects = dict[Any, list[tuple[str, Any]]]


def _objects(side: _Side, corners: bool) -> tuple[dict[Any, ImageEntry], Objects]:
    images, places, made = dict[Any, ImageEntry](), dict[str, int](), Objects()
    for number, name, image, objects in side.rows("objects"):
        try:
            with in_field(side.columns["image"]):
                size = image_size(image)
            if name in images:
                raise DataError(f"image_id: {name!r} is that of row {places[name]} too")
            made[name] = [
                (f"row {number}: objects[{k}]", _object(side, item, corners))
                for k, item in enumerate(_items(objects))
            ]
        except DataError as error:
            side.left_out(number, error)
            continue
        images[name], places[name] = ImageEntry(image.stem, image, size), number
    return images, made


def _object(side: _Side, item: Mapping[str, Any], corners: bool) -> dict[str, Any]:
    label, box = (item.get(side.columns[name]) for name in ("category", "bbox"))
    if side.names and not isinstance(label, str):
        label = class_name(label, side.names, "category")
    elif label is None:
        raise DataError("category: is missing")
    if corners and isinstance(box, list) and [type(v) for v in box] == [float] * 4:
        box = [box[0], box[1], box[2] - box[0], box[3] - box[1]]
    return {"category_id": str(label), "bbox": box, "score": item.get(side.columns["score"])}


# Convert a list of objects, or an object of lists, to a list of objects.
def _items(objects: Any) -> list[Mapping[str, Any]]:
    try:
        if isinstance(objects, Mapping):
            return [
                dict(zip(objects, values, strict=True))
                for values in zip(*objects.values(), strict=True)
            ]
        if all(isinstance(one, Mapping) for one in objects):
            return list(objects)
    except (TypeError, ValueError):
        pass
    raise DataError("objects: must be a list of objects, or an object of lists of equal length")


def _label_maps(sides: Sequence[_Side], classes: Path | None, _corners: bool) -> Found:
    folders = []
    for side in sides:
        place = side.folder / "maps"
        for number, name, image, value in side.rows("label"):
            if not isinstance(value, Path):
                side.left_out(number, DataError(f"{side.columns['label']}: must be an image"))
                continue
            write_bytes(place / f"{name}{value.suffix}", read_file(value, "image"))
            write_bytes(side.folder / "images" / f"{name}{image.suffix}", read_file(image, "image"))
        folders.append(str(place))
    if classes is None:
        if not sides[0].names:
            raise UsageError(f"{sides[0].path}: the features name no classes; give --classes")
        classes = sides[0].folder / "classes.json"
        write_json(classes, {str(number): name for number, name in sides[0].names.items()})
    yield from (problem for side in sides for problem in side.problems)
    pred = folders[1] if len(folders) > 1 else None
    images = str(sides[0].folder / "images")
    yield from label_maps("semantic_segmentation", folders[0], pred, images, classes)


_READERS = {"detection": _detections, "semantic": _label_maps}


def _files(path: Path) -> list[Path]:
    if "*" in path.name:
        found = sorted(path.parent.glob(path.name))
    elif path.is_file():
        found = [path]
    elif (path / SPLITS).is_file():
        names = ", ".join(str(path / name) for name in read_json(path / SPLITS).get("splits", ()))
        raise UsageError(f"{path}: has several splits; give one of {names}")
    elif (path / STATE).is_file():
        stated = read_json(path / STATE).get("_data_files", ())
        found = [confined_path(path, row.get("filename"), of=str(path)) for row in stated]
    else:
        found = sorted(path.rglob("*.parquet"))
        splits = {file.name.partition("-")[0] for file in found}
        if len(splits) > 1:
            names = ", ".join(f"'{found[0].parent}/{split}-*.parquet'" for split in sorted(splits))
            raise UsageError(f"{path}: has several splits; give one of {names}")
    if not found and not path.exists():
        raise UsageError(
            f"{path}: no such file or folder; data sets of the hub must be saved first: "
            "datasets.load_dataset(NAME).save_to_disk(FOLDER)"
        )
    if not found:
        raise UsageError(f"{path} is not a Hugging Face data set: {STATE} and *.parquet not found")
    return found


def _rows(files: Sequence[Path], scratch: Path) -> Iterator[dict[str, Any]]:
    number = 0
    for file in files:
        for part in table_parts(file, ROWS):
            for row in part.iter_rows(named=True):
                yield _unpacked(row, number, file, scratch)
                number += 1


# Return the row with each image, including images in lists, replaced by its path, or by the error
# that it cannot be read.
def _unpacked(row: dict[str, Any], number: int, file: Path, scratch: Path) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for column, value in row.items():
        cells = value if isinstance(value, list) and value else [value]
        made[column] = value
        if all(map(_is_image, cells)):
            try:
                paths = [
                    _image(one, f"{number:06d}{f'_{k}' * (cells is value)}", file, scratch / column)
                    for k, one in enumerate(cells)
                ]
                made[column] = paths if cells is value else paths[0]
            except DataError as error:
                made[column] = error
    return made


def _is_image(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"bytes", "path"}


# Write an image into folder under its name in the data set, or under its number if it has none.
def _image(cell: Mapping[str, Any], number: str, file: Path, folder: Path) -> Path | None:
    stated, content = cell["path"], cell["bytes"]
    if content is None:
        return None if stated is None else _beside(file, stated)
    stem = Path(str(stated)).stem if stated else number
    suffix = next((found for start, found in SUFFIXES.items() if content.startswith(start)), ".img")
    path = folder / f"{stem}{suffix}"
    if path.exists():
        path = folder / f"{stem}_{number}{suffix}"
    write_bytes(path, content)
    return path


def _beside(file: Path, stated: Any) -> Path:
    try:
        return confined_path(file.parent, stated, of=str(file.parent))
    except DataError as error:
        raise DataError(f"{error}; save_to_disk embeds images") from None


def _features(file: Path) -> dict[str, Any]:
    stated = table_metadata(file)
    try:
        features = json.loads(stated.get("huggingface", "{}"))["info"]["features"]
    except (ValueError, KeyError, TypeError):
        return {}
    return features if isinstance(features, dict) else {}


# Return the names of the first ClassLabel in a feature, which may be nested.
def _class_names(node: Any) -> list[str]:
    if isinstance(node, list):
        return next((names for one in node if (names := _class_names(one))), [])
    if not isinstance(node, dict):
        return []
    if node.get("_type") == "ClassLabel":
        return [str(name) for name in node.get("names", ())]
    return next((names for one in node.values() if (names := _class_names(one))), [])
