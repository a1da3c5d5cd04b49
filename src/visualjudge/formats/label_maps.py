"""Label-map images with a class table: ADE20K, Cityscapes, CamVid, Pascal Context and
others. Depth maps are in ``depth_maps.py``; the record, in ``vision/masks/record.py``.
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visualjudge.core.errors import DataError, Problem
from visualjudge.core.plurals import pluralize
from visualjudge.formats.pairing import paired
from visualjudge.formats.samples import (
    Sample,
    Samples,
    check_type,
    fitted,
    warn_once,
)
from visualjudge.formats.tables import class_table
from visualjudge.vision.predictions import Masks, masks_from_label_map
from visualjudge.vision.raster.images import (
    image_size,
    opened,
    single_channel,
    stored_samples,
)
from visualjudge.vision.raster.masks import distinct_values

PLACES = "`gt` and `pred` take label maps, `images` photographs"
# Values that mean "no label" unless the class table names them.
UNNAMED = (0, 255)
# Widest strip that interpolation makes, in pixels; the share of strips whose number lies
# between those at their sides, there and at most in the truth; and how many there must
# be, and borders in the truth of numbers that are no neighbours.
WIDTH = 3
STRIPED = 0.9
USUAL = 0.6
FEW_STRIPS = 50


def label_maps(
    task: str,
    gt: str,
    pred: str | None,
    images: str,
    classes: Path,
    *,
    unlabelled: Sequence[int] = (),
    resize_pred: bool = False,
) -> Samples:
    """Yield samples of label maps paired by name. Without ``pred``, the ground truth is
    its own prediction.

    Parameters
    ----------
    gt, images
        Folder, file or pattern (with ``*``).

        See :func:`~visualjudge.formats.pairing.files_by_key`; ``pred`` takes the same
        forms.
    classes
        Class table: csv, tsv, json, or a text file with one name per line.

        See :func:`~visualjudge.formats.tables.class_table`.
    unlabelled
        Value of unlabelled pixels, in addition to 0 and 255.

        0 and 255 mean unlabelled only if the table does not name them.
    resize_pred
        Resize predicted maps to the size of their image (nearest neighbour).
    """
    check_type(task, ("semantic",), "label-map")
    table = class_table(classes)
    skipped = {*unlabelled, *(value for value in UNNAMED if value not in table)}
    if named := skipped & table.keys():
        warnings.warn(
            f"{classes}: `unlabelled` leaves out "
            f"{', '.join(f'{value} ({table[value]})' for value in sorted(named))}, "
            "which the class table names; its pixels count for nothing",
            stacklevel=2,
        )

    binary: list[str] = []
    borders = {True: np.zeros(3, np.int64), False: np.zeros(3, np.int64)}

    def read(file: Path, image: Path, predicted: bool) -> Masks:
        values = fitted(
            _values(file),
            image_size(image),
            file,
            image,
            resize=resize_pred and predicted,
        )
        if (
            1 in table
            and 255 in skipped
            and distinct_values(values) == [0, 255]
        ):
            binary.append(str(file))
        borders[predicted] += _borders(values)
        return _read(file, values, table, skipped)

    for item in paired("label map", images, gt, pred, read):
        if isinstance(item, Problem):
            yield item
        else:
            name, image, guess, real, _ = item
            yield Sample(name, image, guess, real)
    warn_once(
        "label maps",
        "has only 0 and 255, and 255 is read as unlabelled; in a mask of black and "
        "white, name the class 255 in the class table, or write it as 1",
        binary,
    )
    between, strips, _ = borders[True]
    usual, every, apart = borders[False]
    # where classes are steps, as of height, such strips are in the truth too
    if (
        between >= max(STRIPED * strips, FEW_STRIPS)
        and usual <= USUAL * every
        and apart >= FEW_STRIPS
    ):
        warnings.warn(
            f"{pred}: the class of {between} of {strips} narrow strips has a number "
            "between those of the classes at its sides, as after interpolation; resize "
            "label maps by nearest neighbour",
            stacklevel=2,
        )


def _borders(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of narrow strips in rows whose value lies between those at their
    sides, of narrow strips between two values, and of borders of values that are no
    neighbours."""
    flat = values.astype(np.int32).ravel()
    starts = np.flatnonzero(np.diff(flat)) + 1
    steps = flat[starts] - flat[starts - 1]
    narrow = np.diff(starts) <= WIDTH
    return np.array(
        [
            (narrow & (steps[1:] * steps[:-1] > 0)).sum(),
            (narrow & (steps[1:] != -steps[:-1])).sum(),
            (abs(steps) > 1).sum(),
        ]
    )


def _read(
    path: Path,
    values: NDArray[Any],
    table: Mapping[int, str],
    skipped: set[int],
) -> Masks:
    unknown = sorted(set(distinct_values(values)) - skipped - table.keys())
    if unknown:
        raise DataError(
            f"{path.name}: {pluralize(len(unknown), 'value')} not in the class table, "
            f"such as {unknown[0]}; name it there or give `unlabelled` {unknown[0]}; "
            f"{PLACES}"
        )
    return masks_from_label_map(values, table, unlabelled=skipped)


def _values(path: Path) -> NDArray[Any]:
    with opened(path, path.name) as file:
        if file.format == "JPEG":
            raise DataError(
                f"{path.name}: label maps must be PNG, got a JPEG, which changes the "
                f"values of pixels; {PLACES}"
            )
        return single_channel(
            stored_samples(file), f"convert colours to class numbers; {PLACES}"
        )
