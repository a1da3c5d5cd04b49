"""Fields that several types of payload share: lists of objects, labels, confidences, boxes, paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.errors import DataError
from visualjudge.predictions.base import Payload
from visualjudge.records import Size, Xyxy


def objects(payload: Payload, field: str) -> list[Payload]:
    """The list of objects in ``field``."""
    items = payload.get(field)
    if not isinstance(items, list | tuple) or not all(isinstance(item, Mapping) for item in items):
        raise DataError(f"{field}: must be a list of objects")
    return list(items)


def label(item: Payload, where: str) -> str:
    """The label of an item."""
    text = item.get("label")
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"{where}.label: must be text that is not empty")
    return text


def score(item: Payload) -> float | None:
    """The confidence of an item, or None."""
    value = item.get("score")
    return None if value is None else float(value)


def crowd(item: Payload) -> bool:
    """COCO's ``iscrowd``."""
    return bool(item.get("iscrowd", 0))


def box(value: Any, field: str) -> Xyxy:
    """[x1, y1, x2, y2] in pixels."""
    if not isinstance(value, list | tuple | np.ndarray) or len(value) != 4:
        raise DataError(f"{field}: must be [x1, y1, x2, y2]")
    if not all(isinstance(v, int | float | np.number) and np.isfinite(v) for v in value):
        raise DataError(f"{field}: contains a value that is not a finite number")
    x1, y1, x2, y2 = (float(v) for v in value)
    if x2 < x1 or y2 < y1:
        raise DataError(f"{field}: must be [x1, y1, x2, y2], got x2 < x1 or y2 < y1 (is it [x, y, width, height]?)")
    return x1, y1, x2, y2


def at(field: str, read: Callable[[], Any]) -> Any:
    """``read()``, with the field's name before the message of its error."""
    try:
        return read()
    except DataError as error:
        raise DataError(f"{field}: {error}") from None


def path(stored: Any, root: Path | None) -> Path:
    """A path of the payload, below ``root`` where that is given."""
    if not isinstance(stored, str | Path):
        raise DataError(f"must be a path, got {type(stored).__name__}")
    return root / stored if root else Path(stored)


def named_file(field: str) -> Callable[[Payload], Iterator[tuple[str, str]]]:
    """``PredictionType.files`` of a payload that names one file."""

    def files(payload: Payload) -> Iterator[tuple[str, str]]:
        if isinstance(payload.get(field), str):
            yield field, payload[field]

    return files


def height_width(size: Size) -> str:
    """A size as messages show it."""
    return f"{size[0]}×{size[1]}"


def check_size(field: str, size: Size, image: Size) -> None:
    """Check that two (height, width) agree."""
    if size != image:
        raise DataError(f"{field}: is {height_width(size)}, the image {height_width(image)} (height×width)")
