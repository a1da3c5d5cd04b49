"""Detect input that can be read but whose numbers suggest another meaning."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import FloatArray, Size

Rows = Mapping[Any, Sequence[tuple[str, Any]]]
"""Records of a COCO file by image id, each with its location."""

FEW = 5
"""If there are fewer boxes than this, all of them must suggest another form."""
LEAVING = 0.3
"""Minimum fraction of boxes that extend beyond the image for another form to be considered."""
_NUMBERS = frozenset({int, float, bool})
SHARES = 1.5
"""Largest coordinate that may be a fraction of the image size."""
SLACK = 2.0
"""Number of pixels by which a box may extend beyond its image."""


def check_not_exchanged(truths: Rows, results: Rows, gt: Path, pred: Path) -> None:
    """Reject a ground truth that has confidences if the predictions have none.

    Raises
    ------
    DataError
        If the files look exchanged.
    """
    sides = [[raw for rows in side.values() for _, raw in rows] for side in (truths, results)]
    scored = [bool(rows) and all(raw.get("score") is not None for raw in rows) for rows in sides]
    if scored[0] and sides[1] and not any(raw.get("score") is not None for raw in sides[1]):
        raise DataError(
            f"{gt}: annotations: all {len(sides[0])} have a score, but those of {pred} have none; "
            "--gt and --pred seem to be swapped"
        )


def check_boxes(rows: Rows, sizes: Mapping[Any, Size], file: Path) -> None:
    """Reject boxes that are normalised, or are corners instead of ``[x, y, width, height]``.

    Raises
    ------
    DataError
        If the boxes look like another form; the message says which.
    """
    boxes, frames = _boxes(rows, sizes)
    count = len(boxes)
    if not count:
        return
    if boxes.max() <= SHARES and (boxes % 1).any():
        raise DataError(
            f"{file}: bbox: must be [x, y, width, height] in pixels; all {count} boxes lie "
            f"between 0 and {SHARES} "
            "and look normalised: multiply them by the image's width and height"
        )
    ends = boxes[:, :2] + boxes[:, 2:]
    leaving = int((ends > frames + SLACK).any(axis=1).sum())
    fitting = int(
        ((boxes[:, 2:] >= boxes[:, :2]) & (boxes[:, 2:] <= frames + SLACK)).all(axis=1).sum()
    )
    if fitting == count and leaving >= (LEAVING * count if count >= FEW else count):
        raise DataError(
            f"{file}: bbox: must be [x, y, width, height]; {leaving} of {count} boxes "
            "extend beyond their image, but all fit it as [x1, y1, x2, y2]: subtract x1 and y1"
        )


def check_keypoints(rows: Rows, _sizes: Mapping[Any, Size], file: Path) -> None:
    """Reject keypoints given as fractions of the image's width and height.

    Raises
    ------
    DataError
        If no coordinate exceeds 1.5 and not all are whole numbers.
    """
    lists = [raw.get("keypoints") for side in rows.values() for _, raw in side]
    numbers = [
        value
        for points in lists
        if isinstance(points, list) and _NUMBERS.issuperset(map(type, points))
        for at, value in enumerate(points)
        if at % 3 != 2
    ]
    if numbers and 0 < max(numbers) <= SHARES and any(value % 1 for value in numbers):
        raise DataError(
            f"{file}: keypoints: must be x, y in pixels; all of {len(lists)} persons lie between 0 "
            f"and {SHARES} and look normalised: multiply them by the image's width and height"
        )


CHECKS = {"detection": check_boxes, "keypoint": check_keypoints}
"""Checks, by prediction type, that reject records that look like another form."""


def warn_of_truths(rows: Rows, sizes: Mapping[Any, Size], file: Path) -> None:
    """Warn about ground truth that can be read but is probably wrong: one warning per kind, naming
    the first record.
    """
    found: dict[str, list[str]] = {}
    seen = set[Any]()
    for number, records in rows.items():
        for where, raw in records:
            for told in _doubts(raw, sizes.get(number), seen):
                found.setdefault(told, []).append(where)
            seen.add(raw.get("id"))
    for told, places in found.items():
        warnings.warn(
            f"{file}: {places[0]}: {told}; records like this: {len(places)}", stacklevel=3
        )


def _doubts(raw: Mapping[str, Any], size: Size | None, seen: set[Any]) -> Iterator[str]:
    if size is None:
        yield "image_id: must be an image of the file; the record is left out"
        return
    if raw.get("id") is not None and raw["id"] in seen:
        yield "id: occurs twice; the records count as two objects"
    if (box := _box(raw)) is None or not all(map(math.isfinite, box)):
        return
    x, y, width, height = box
    if not width or not height:
        yield "bbox: has no area"
    elif min(x, y) < -SLACK or x + width > size[1] + SLACK or y + height > size[0] + SLACK:
        yield "bbox: extends beyond its image"


def warn_of_range(where: str, ratings: Sequence[float], limits: tuple[float, float]) -> None:
    """Warn about ratings that look like a scale up to 1 or 5 if another range is assumed."""
    low, high = limits
    if len(ratings) < 2 or high <= 1:
        return
    if all(0 <= value <= 1 for value in ratings) and any(ratings):
        look, range_ = "numbers from 0 to 1", "0 1"
    elif high > 5 and all(1 <= value <= 5 and value * 2 % 1 == 0 for value in ratings):
        look, range_ = "whole or half numbers from 1 to 5", "1 5"
    else:
        return
    warnings.warn(
        f"{where}: all {len(ratings)} values are {look}, and were read as ranging from "
        f"{low:g} to {high:g}; state their range: --score-range {range_}, or --score-range "
        f"{low:g} {high:g}",
        stacklevel=3,
    )


def _boxes(rows: Rows, sizes: Mapping[Any, Size]) -> tuple[FloatArray, FloatArray]:
    """Return the readable boxes, (n, 4), and the (width, height) of their images, (n, 2)."""
    boxes, frames = [], []
    for number, records in rows.items():
        for _, raw in records if number in sizes else ():
            if (box := _box(raw)) is not None:
                boxes.append(box)
                frames.append(sizes[number][::-1])
    found = np.array(boxes, dtype=np.float64).reshape(-1, 4)
    finite = np.isfinite(found).all(axis=1)
    return found[finite], np.array(frames, dtype=np.float64).reshape(-1, 2)[finite]


def _box(raw: Mapping[str, Any]) -> list[float] | None:
    """Return the box of a record if it consists of four numbers."""
    box = raw.get("bbox")
    readable = isinstance(box, list) and len(box) == 4 and _NUMBERS.issuperset(map(type, box))
    return box if readable else None
