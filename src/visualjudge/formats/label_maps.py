"""Label-map images with a class table: ADE20K, Cityscapes, CamVid, Pascal Context and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visualjudge.core.errors import DataError, Problem
from visualjudge.formats.class_names import class_table
from visualjudge.formats.sample import (
    Found,
    Sample,
    check_type,
    fitted,
    paired,
)
from visualjudge.vision.predictions import Instance, Masks
from visualjudge.vision.raster.images import image_size, opened, stored_samples
from visualjudge.vision.raster.masks import mask_from_array

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

        See :func:`~visualjudge.formats.class_names.class_table`.
    unlabelled
        Value of unlabelled pixels, in addition to 0 and 255.

        0 and 255 mean unlabelled only if the table does not name them.
    resize_pred
        Resize predicted maps to the size of their image (nearest neighbour).
    """
    check_type(task, ("semantic",), "label-map")
    table = class_table(classes)
    skipped = {*unlabelled, *(value for value in UNNAMED if value not in table)}

    def read(file: Path, image: Path, predicted: bool) -> Masks:
        return _read(file, table, skipped, image, resize=resize_pred and predicted)

    for one in paired("label map", images, gt, pred, read):
        if isinstance(one, Problem):
            yield one
        else:
            image, guess, real, _ = one
            yield Sample(image.stem, image, guess, real)


def _read(
    path: Path,
    table: Mapping[int, str],
    skipped: set[int],
    image: Path,
    *,
    resize: bool,
) -> Masks:
    size = image_size(image)
    values = fitted(_values(path), size, path, image, resize=resize)
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


def _values(path: Path) -> NDArray[Any]:
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
    if values.shape[2] != 2 and (colours == colours[:, :, :1]).all():
        return np.asarray(values[:, :, 0])
    count = len(np.unique(colours.reshape(-1, colours.shape[2]), axis=0))
    likely = f", like a photograph: {PLACES}" if count > MOST_COLOURS else ""
    raise DataError(
        f"{path.name}: must have one channel of class numbers, got {values.shape[2]} channels and "
        f"{count} colours{likely or ': convert them to class numbers'}"
    )
