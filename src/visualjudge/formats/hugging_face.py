"""Hugging Face data sets on disk: a folder written by ``save_to_disk``, or Parquet
files. They are read with polars; ``datasets`` is not needed. Boxes and masks in JSON
files are in ``coco.py``.

An image is a struct of ``bytes`` and ``path``, and class names are in the schema's
metadata; see https://huggingface.co/docs/datasets/about_arrow and /object_detection.
Images are unpacked into a folder, and objects are read as COCO's.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visualjudge.core.atomic import write_bytes
from visualjudge.core.errors import (
    DataError,
    Problem,
    UsageError,
    in_field,
)
from visualjudge.core.parquet import table_metadata, table_parts
from visualjudge.core.untrusted import confined_path
from visualjudge.formats.coco import (
    CocoTruth,
    ImageEntry,
    reader_of_rows,
    samples_of,
)
from visualjudge.formats.samples import Samples, check_type, warn_once
from visualjudge.formats.tables import class_name, read_json, whole
from visualjudge.vision.raster.images import image_size

STATE = "state.json"
SPLITS = "dataset_dict.json"
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
    name: name
    for name in ("image", "image_id", "objects", "bbox", "category", "score")
}


def read_data_set(
    path: Path, scratch: Path
) -> tuple[dict[str, list[str]], Iterator[dict[str, Any]]]:
    """Return the class names of each column, and the rows of a data set on disk. Each
    image is a path below ``scratch``, written when its row is read.

    Raises
    ------
    UsageError
        If there is no data set, or it has several splits; the message lists them.
    DataError
        If a file cannot be read.
    """
    files = _files(path)
    return {
        column: _class_names(node)
        for column, node in _features(files[0]).items()
    }, _rows(files, scratch)


def hugging_face(
    task: str,
    gt: str,
    pred: str | None,
    scratch: Path,
    *,
    box_format: str = "xywh",
    column: Mapping[str, str] | None = None,
) -> Samples:
    """Yield the samples of a data set on disk. Without ``pred``, the ground truth is
    its own prediction.

    Parameters
    ----------
    gt
        Folder, file or pattern.

        ``pred`` takes the same forms. Rows of both are matched by image name.
    scratch
        Folder for the unpacked files; must be kept until the samples are written.
    box_format
        Format of objects.bbox: xywh or xyxy.
    column
        OURS=THEIRS, such as prompt=text.

        OURS is ``image``, ``image_id``, or ``objects`` with ``bbox``, ``category`` and
        ``score``.

    Raises
    ------
    UsageError
        If the task is not object_detection, or an option is invalid.
    """
    check_type(task, ("detection",), "Hugging Face")
    if box_format not in ("xywh", "xyxy"):
        raise UsageError(
            f"`box_format` must be xywh or xyxy, got {box_format!r}"
        )
    known = {**COLUMNS, **(column or {})}
    sides = [
        _Side(Path(item), scratch / name, known)
        for item, name in ((gt, "gt"), (pred, "pred"))
        if item is not None
    ]
    images, rows = _objects(sides[0], box_format == "xyxy")
    predicted = None
    if pred is not None:
        sides[1].names = sides[0].names  # unless it has its own
        predicted = _objects(sides[1], box_format == "xyxy")[1]
    labels = {
        whole(raw["category_id"]): raw["category_id"]
        for result in (rows, predicted or {})
        for objects in result.values()
        for _, raw in objects
    }
    content = CocoTruth(
        sides[0].path, labels, images, annotations=defaultdict(list, rows)
    )
    yield from (problem for side in sides for problem in side.problems)
    place = sides[-1].path
    yield from samples_of(
        content,
        predicted,
        place,
        reader_of_rows("detection", content, place, resize=False),
    )


@dataclass
class _Side:
    """Ground truth or predictions, and the folder they are unpacked into."""

    path: Path
    folder: Path
    columns: Mapping[str, str]
    problems: list[Problem] = field(default_factory=list)
    names: Mapping[int, str] = field(default_factory=dict)
    # Whether the file itself has names; else those of the other side are used.
    named: bool = False

    def rows(self, column: str) -> Iterator[tuple[int, str, Path, Any]]:
        """Yield (row number, image name, image file, value of ``column``) for each row;
        rows without them become problems."""
        names, rows = read_data_set(self.path, self.folder)
        own = dict(enumerate(names.get(self.columns[column], ())))
        self.named = bool(own)
        self.names = own or self.names
        places: dict[str, int] = {}
        for number, row in enumerate(rows):
            needed = [self.columns[item] for item in ("image", column)]
            absent = [name for name in needed if name not in row]
            if absent and not number:
                raise DataError(
                    f"{self.path}: must have a column {absent[0]!r}, got "
                    f"{', '.join(row)}; `column` maps a column with another name"
                )
            try:
                image, value = (_cell(row, name) for name in needed)
                if not isinstance(image, Path):
                    raise DataError(f"{needed[0]}: must be an image")
                stated = row.get(self.columns["image_id"])
                name = str(
                    image.stem if stated is None else whole(stated)
                ).replace("/", "_")
                if name in places:
                    raise DataError(
                        f"image_id: {name!r} is that of row {places[name]} too"
                    )
            except DataError as error:
                self.left_out(number, error)
                continue
            places[name] = number
            yield number, name, image, value

    def left_out(self, number: int, error: DataError) -> None:
        """Note why a row is left out."""
        self.problems.append(Problem.of(error, self.path.name, f"row {number}"))


def _cell(row: Mapping[str, Any], column: str) -> Any:
    cell = row.get(column)
    if cell is None or isinstance(cell, DataError):
        raise DataError(f"{column}: {'is missing' if cell is None else cell}")
    return cell


# The objects of each image in COCO's form, with a name as their category.
Objects = dict[Any, list[tuple[str, Any]]]


def _objects(
    side: _Side, corners: bool
) -> tuple[dict[Any, ImageEntry], Objects]:
    images = dict[Any, ImageEntry]()
    made = Objects()
    unnamed: list[str] = []
    for number, name, image, objects in side.rows("objects"):
        try:
            with in_field(side.columns["image"]):
                size = image_size(image)
            made[name] = [
                (f"row {number}: objects[{k}]", _object(side, item, corners))
                for k, item in enumerate(_items(objects))
            ]
        except DataError as error:
            side.left_out(number, error)
            continue
        images[name] = ImageEntry(image.stem, image, size)
        if not side.named and any(
            str(item.get(side.columns["category"])).isdecimal()
            for item in _items(objects)
        ):
            unnamed.append(f"row {number}")
    warn_once(
        side.path,
        "classes are numbers, and no column has names for them (ClassLabel), so the "
        "two sides are joined by number",
        unnamed,
    )
    return images, made


def _object(
    side: _Side, item: Mapping[str, Any], corners: bool
) -> dict[str, Any]:
    label, box = (item.get(side.columns[name]) for name in ("category", "bbox"))
    column = side.columns["category"]
    if column not in item:
        raise DataError(
            f"{column}: is missing, the fields are {', '.join(item)}; `column` "
            "category=NAME maps another name"
        )
    if side.names and label not in side.names.values():
        label = class_name(label, side.names, "category")
    elif label is None:
        raise DataError("category: is missing")
    if (
        corners
        and isinstance(box, list)
        and [isinstance(v, int | float) for v in box] == [True] * 4
    ):
        box = [box[0], box[1], box[2] - box[0], box[3] - box[1]]
    return {
        **item,
        "category_id": str(label),
        "bbox": box,
        "score": item.get(side.columns["score"]),
    }


def _items(objects: Any) -> list[Mapping[str, Any]]:
    """Convert a list of objects, or an object of lists, to a list of objects."""
    try:
        if isinstance(objects, Mapping):
            return [
                dict(zip(objects, values, strict=True))
                for values in zip(*objects.values(), strict=True)
            ]
        if all(isinstance(item, Mapping) for item in objects):
            return list(objects)
    except (TypeError, ValueError):
        pass
    raise DataError(
        "objects: must be a list of objects, or an object of lists of equal length"
    )


def _files(path: Path) -> list[Path]:
    collected = list[Path]()
    splits = list[str]()
    if "*" in path.name:
        collected = sorted(path.parent.glob(path.name))
    elif path.is_file():
        collected = [path]
    elif (path / SPLITS).is_file():
        splits = [
            str(path / name)
            for name in read_json(path / SPLITS).get("splits", ())
        ]
    elif (path / STATE).is_file():
        collected = [
            confined_path(path, row.get("filename"), of=str(path))
            for row in read_json(path / STATE).get("_data_files", ())
        ]
    else:
        collected = sorted(path.rglob("*.parquet"))
        splits = sorted(
            {
                f"'{file.parent}/{file.name.partition('-')[0]}-*.parquet'"
                for file in collected
            }
        )
    if splits and len(splits) != len(collected[:1]):
        raise UsageError(
            f"{path}: has several splits; give one of {', '.join(splits)}"
        )
    if not collected:
        raise UsageError(
            f"{path} is not a Hugging Face data set: {STATE} and *.parquet not found; "
            "data sets of the hub must be saved first: "
            "datasets.load_dataset(NAME).save_to_disk(FOLDER)"
        )
    return collected


def _rows(files: Sequence[Path], scratch: Path) -> Iterator[dict[str, Any]]:
    number = 0
    for file in files:
        for part in table_parts(file, ROWS):
            for row in part.iter_rows(named=True):
                yield _unpacked(row, number, file, scratch)
                number += 1


def _unpacked(
    row: dict[str, Any], number: int, file: Path, scratch: Path
) -> dict[str, Any]:
    """Return the row with each image replaced by its path, or by the error that it
    cannot be read."""
    made = dict(row)
    for column, value in row.items():
        if isinstance(value, dict) and value.keys() == {"bytes", "path"}:
            try:
                made[column] = _image(
                    value, f"{number:06d}", file, scratch / column
                )
            except DataError as error:
                made[column] = error
    return made


def _image(
    cell: Mapping[str, Any], number: str, file: Path, folder: Path
) -> Path | None:
    """Write an image into folder under its name in the data set, or under its number if
    it has none."""
    stated = cell["path"]
    content = cell["bytes"]
    if content is None:
        try:
            return (
                None
                if stated is None
                else confined_path(file.parent, stated, of=str(file.parent))
            )
        except DataError as error:
            raise DataError(f"{error}; save_to_disk embeds images") from None
    stem = Path(str(stated)).stem if stated else number
    suffix = next(
        (
            result
            for start, result in SUFFIXES.items()
            if content.startswith(start)
        ),
        ".img",
    )
    path = folder / f"{stem}{suffix}"
    if path.exists():
        path = folder / f"{stem}_{number}{suffix}"
    write_bytes(path, content)
    return path


def _features(file: Path) -> dict[str, Any]:
    stated = table_metadata(file)
    try:
        features = json.loads(stated.get("huggingface", "{}"))["info"][
            "features"
        ]
    except (ValueError, KeyError, TypeError):
        return {}
    return features if isinstance(features, dict) else {}


def _class_names(node: Any) -> list[str]:
    """Return the names of the first ClassLabel in a feature, which may be nested."""
    if isinstance(node, list):
        return next(
            (names for item in node if (names := _class_names(item))), []
        )
    if not isinstance(node, dict):
        return []
    return (
        [str(name) for name in node.get("names", ())]
        if node.get("_type") == "ClassLabel"
        else next(
            (names for item in node.values() if (names := _class_names(item))),
            [],
        )
    )
