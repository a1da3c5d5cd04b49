"""Fields that several types of payload share: lists of objects, labels, confidences,
boxes, paths. The payloads are read in ``vision/<type>/record.py``.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import FloatArray, Size, Xyxy
from visualjudge.core.untrusted import confined_path
from visualjudge.vision.base import Payload
from visualjudge.vision.raster.limits import LARGEST_COORDINATE, check_items

LONGEST_LABEL = 500
LARGEST_NUMBER = 1e15
# Largest coordinate that may be a fraction of the image size.
SHARES = 1.5
FLAGS = {
    "": False,
    "0": False,
    "1": True,
    "0.0": False,
    "1.0": True,
    "false": False,
    "true": True,
}


def objects(payload: Payload, field: str) -> list[Payload]:
    """Return the list of objects in ``field``."""
    items = payload.get(field)
    if not isinstance(items, list | tuple) or not all(
        isinstance(item, Mapping) for item in items
    ):
        reason = (
            "the field is missing"
            if items is None
            else "must be a list of objects"
        )
        raise DataError(f"{field}: {reason}")
    check_items(field, len(items))
    return list(items)


def label(item: Payload, where: str) -> str:
    """Return the label of an item."""
    text = item.get("label")
    if (
        not isinstance(text, str)
        or not text.strip()
        or len(text) > LONGEST_LABEL
    ):
        raise DataError(
            f"{where}.label: must be non-empty text of at most {LONGEST_LABEL} "
            "characters"
        )
    return text


def number(value: Any, field: str, *, largest: float = LARGEST_NUMBER) -> float:
    """Return a finite number of bounded size; text, booleans, lists and objects are
    rejected."""
    plain = isinstance(value, (int, float, np.number)) and not isinstance(
        value, (bool, np.bool_)
    )
    if (
        not plain or not abs(value) <= largest
    ):  # false for NaN; ints of any length
        text = (
            f"{value!r}"[:40]
            if plain and not isinstance(value, int)
            else type(value).__name__
        )
        raise DataError(
            f"{field}: must be a finite number of at most {largest:g}, got {text}"
        )
    return float(value)


def score(item: Payload, where: str = "") -> float | None:
    """Return the confidence of an item, or None."""
    value = item.get("score")
    return (
        None
        if value is None
        else number(value, f"{where}.score" if where else "score")
    )


def flag(value: Any, field: str) -> bool:
    """Return a flag: a truth value, 0 or 1, also as text; None is False."""
    if value is None or value in (0, 1):  # nearly all
        return bool(value)
    text = str(value).strip().lower()
    if text not in FLAGS:
        raise DataError(f"{field}: must be 0 or 1, got {value!r:.40}")
    return FLAGS[text]


def crowd(item: Payload) -> bool:
    """Return COCO's ``iscrowd``."""
    return flag(item.get("iscrowd"), "iscrowd")


def box(value: Any, field: str) -> Xyxy:
    """Return [x1, y1, x2, y2] in pixels."""
    if not isinstance(value, list | tuple | np.ndarray) or len(value) != 4:
        raise DataError(f"{field}: must be [x1, y1, x2, y2]")
    x1, y1, x2, y2 = (
        number(v, field, largest=LARGEST_COORDINATE) for v in value
    )
    if x2 < x1 or y2 < y1:
        raise DataError(
            f"{field}: must be [x1, y1, x2, y2], got x2 < x1 or y2 < y1 (is it [x, y, "
            "width, height]?)"
        )
    return x1, y1, x2, y2


def check_in_pixels(places: FloatArray, where: str) -> None:
    """Refuse the corners of items, n×4, if all look like fractions of the image
    size."""
    if places.size and places.max() <= SHARES and (places % 1).any():
        raise DataError(
            f"{where}: must be in pixels; all {len(places)} lie between 0 and {SHARES} "
            "and look normalised: multiply them by the image's width and height"
        )


def path(stored: Any, root: Path | None) -> Path:
    """Return a path of the payload, below ``root`` if given."""
    if not isinstance(stored, str | Path):
        raise DataError(f"must be a path, got {type(stored).__name__}")
    if root is None:
        return Path(stored)
    return (
        confined_path(root, stored, of="the data folder")
        if isinstance(stored, str)
        else root / stored
    )


def named_file(field: str) -> Callable[[Payload], Iterator[tuple[str, str]]]:
    """Return a function for ``PredictionType.files`` of payloads that name one file in
    ``field``.
    """

    def files(payload: Payload) -> Iterator[tuple[str, str]]:
        if isinstance(payload.get(field), str):
            yield field, payload[field]

    return files


def height_width(size: Size) -> str:
    """Return a size as text, for messages."""
    return f"{size[0]}×{size[1]}"


def check_size(field: str, size: Size, image: Size) -> None:
    """Check that two (height, width) agree."""
    if size != image:
        raise DataError(
            f"{field}: must match the image size {height_width(image)} (height×width), "
            f"got {height_width(size)}"
        )
