"""Label-map images with a class table: ADE20K, Cityscapes, CamVid, Pascal Context and others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visualjudge.core.errors import DataError, Problem
from visualjudge.formats.sample import (
    Found,
    Sample,
    check_names,
    check_type,
    fitted,
    names_by_line,
    paired,
    read_json,
    read_table,
)
from visualjudge.vision.predictions import Instance, Masks
from visualjudge.vision.raster.images import image_size, opened, stored_samples
from visualjudge.vision.raster.masks import mask_from_array

NUMBER_COLUMNS = ("id", "idx", "index", "value", "label", "class_id", "number", "trainid")
NAME_COLUMNS = ("name", "class", "label_name", "class_name")
# A file with more values without a class, or more colours, is assumed to be a photograph.
FEW_UNKNOWN, MOST_COLOURS = 10, 256
PLACES = "--gt and --pred take label maps, --images photographs"
# Values that mean "no label" unless the class table names them.
UNNAMED = (0, 255)


def label_maps(
    task: str,
    gt: str,
    pred: str | None,
    images: str,
    classes: Path,
    *,
    unlabelled: Sequence[int] = (),
    channel: int | None = None,
    resize_pred: bool = False,
) -> Found:
    """Yield samples of label maps paired by name. Without ``pred``, the ground truth is its own
    prediction.

    Parameters
    ----------
    gt, images
        Folder, file, or pattern with one *.

        See :func:`~visualjudge.formats.sample.files_by_key`; ``pred`` takes the same forms.
    classes
        Class table: csv, tsv, json, or a text file with one name per line.

        See :func:`class_table`.
    unlabelled
        Value of unlabelled pixels, in addition to 0 and 255.

        0 and 255 mean unlabelled only if the table does not name them.
    channel
        Channel of the label map, counted from 0, if it has several.
    resize_pred
        Resize predicted maps to the size of their image (nearest neighbour).
    """
    check_type(task, ("semantic",), "label-map")
    table = class_table(classes)
    skipped = {*unlabelled, *(value for value in UNNAMED if value not in table)}

    def read(file: Path, image: Path, predicted: bool) -> Masks:
        return _read(file, table, skipped, channel, image, resize=resize_pred and predicted)

    for one in paired("label map", images, gt, pred, read):
        if isinstance(one, Problem):
            yield one
        else:
            image, guess, real, _ = one
            yield Sample(image.stem, image, guess, real)


def class_table(path: Path) -> dict[int, str]:
    """Read class names by value.

    The table is a CSV or TSV file with a column of numbers (id, idx, index, value, …) and one of
    names (name, class); JSON, ``{"1": "road"}`` or an array of such rows; or a text file with one
    name per line, counted from 0.

    A name such as ADE20K's ``person;individual;someone`` is shortened to the part before the first
    ``;``, unless another class begins with the same part.
    """
    check_names(path)
    suffix = path.suffix.lower()
    if suffix == ".json":
        table = _from_json(path)
    elif suffix in (".csv", ".tsv"):
        table = _from_rows(read_table(path), path)
    else:
        table = names_by_line(path)
    short = {value: name.partition(";")[0].strip() for value, name in table.items()}
    times = Counter(short.values())
    return {
        value: short[value] if times[short[value]] == 1 else name for value, name in table.items()
    }


def _from_json(path: Path) -> dict[int, str]:
    content = read_json(path)
    if isinstance(content, list):
        return _from_rows(content, path)
    try:
        return {int(value): str(name) for value, name in content.items()}
    except (AttributeError, ValueError):
        raise DataError(f'{path}: must be a class table such as {{"1": "road"}}') from None


def _from_rows(rows: list[Any], path: Path) -> dict[int, str]:
    table: dict[int, str] = {}
    for number, row in enumerate(rows, 1):
        cells = (
            {str(k).strip().lower(): v for k, v in row.items()} if isinstance(row, Mapping) else {}
        )
        value = next((cells[name] for name in NUMBER_COLUMNS if name in cells), None)
        name = next((cells[name] for name in NAME_COLUMNS if name in cells), None)
        try:
            key = int(str(value))
        except ValueError:
            raise DataError(
                f"{path}: row {number}: needs a whole number in id (or idx, value) and a name"
            ) from None
        if not name or key in table:
            raise DataError(
                f"{path}: row {number}: "
                f"{'name: is empty' if not name else f'id: {key} occurs twice'}"
            )
        table[key] = str(name).strip()
    return table


def _read(
    path: Path,
    table: Mapping[int, str],
    skipped: set[int],
    channel: int | None,
    image: Path,
    *,
    resize: bool,
) -> Masks:
    size = image_size(image)
    values = fitted(_values(path, channel), size, path, image, resize=resize)
    classes: dict[str, Any] = {}
    found = [value for value in np.unique(values).tolist() if value not in skipped]
    unknown = [value for value in found if value not in table]
    if len(unknown) > FEW_UNKNOWN:
        raise DataError(
            f"{path.name}: must contain class numbers; {len(unknown)} of its values are not in the "
            f"class table ({unknown[0]} to {unknown[-1]}), as in a photograph; {PLACES}"
        )
    if unknown:
        raise DataError(
            f"{path.name}: value {unknown[0]} is not in the class table; name it there or give "
            f"--unlabelled {unknown[0]}"
        )
    for value in found:
        name = table[value]
        classes[name] = (values == value) | classes.get(name, False)
    return Masks(size, tuple(Instance(name, mask_from_array(classes[name])) for name in classes))


def _values(path: Path, channel: int | None) -> NDArray[Any]:
    with opened(path, path.name) as file:
        if file.format == "JPEG":
            raise DataError(
                f"{path.name}: label maps must be PNG, got a JPEG, which changes the values of "
                f"pixels; {PLACES}"
            )
        values = stored_samples(file)
    if values.ndim == 2:
        return values
    colours = values[:, :, :3]
    if channel is None and values.shape[2] != 2 and (colours == colours[:, :, :1]).all():
        return np.asarray(values[:, :, 0])
    if channel is None or not 0 <= channel < values.shape[2]:
        count = len(np.unique(colours.reshape(-1, colours.shape[2]), axis=0))
        likely = (
            f"{count} colours, like a photograph: {PLACES}; --channel selects"
            if count > MOST_COLOURS
            else f"{count} colours: convert them to class numbers, or use --channel to select"
        )
        raise DataError(
            f"{path.name}: must have one channel of class numbers, got {values.shape[2]} channels "
            f"and {likely} the channel with the classes"
        )
    return np.asarray(values[:, :, channel])
