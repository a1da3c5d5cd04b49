"""Boxes: ``{"detections": [{"label", "bbox": [x1, y1, x2, y2], "score"?}]}``, in
pixels. Their table of all types is in ``vision/predictions.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from visualjudge.core.records import BoolArray, FloatArray, Size, Xyxy
from visualjudge.vision import fields
from visualjudge.vision.base import (
    Mark,
    Payload,
    ReadContext,
    WriteContext,
    mark_of,
)
from visualjudge.vision.items import LabelledItems
from visualjudge.vision.raster.in_memory import rows, shaped


@dataclass(frozen=True, slots=True)
class Detection:
    """One box with its label; ``score`` is the detector's confidence.

    ``extent`` is the (width, height) from a file with x, y, width and height; ``x2 -
    x1`` may differ from it by rounding.
    """

    label: str
    xyxy: Xyxy
    score: float | None = None
    iscrowd: bool = False
    extent: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Detections(LabelledItems):
    """The boxes of an image."""

    items: tuple[Detection, ...]

    def marks(self) -> Iterator[Mark]:
        return (
            mark_of(item.label, item.score, item.xyxy) for item in self.items
        )

    def coverage(self, size: Size) -> BoolArray:
        inside = np.zeros(size, dtype=np.bool_)
        for item in self.items:
            x1, y1, x2, y2 = (max(0, round(v)) for v in item.xyxy)
            inside[y1:y2, x1:x2] = True
        return inside

    def scaled(self, size: Size, target: Size) -> Detections:
        down = target[0] / size[0]
        across = target[1] / size[1]
        items = []
        for item in self.items:
            x1, y1, x2, y2 = item.xyxy
            items.append(
                replace(
                    item,
                    xyxy=(x1 * across, y1 * down, x2 * across, y2 * down),
                    extent=None,
                )
            )
        return Detections(tuple(items))


def from_arrays(data: Any) -> Any:
    """Return the payload of ``{"boxes": (N, 4), "labels", "scores"?, "classes"?}``."""
    if not isinstance(data, Mapping) or "boxes" not in data:
        return data
    boxes = shaped(
        data["boxes"], "boxes", ("N", 4), "float in pixels, x1, y1, x2, y2"
    )
    return {"detections": rows(data, len(boxes), bbox=boxes.tolist())}


def read(payload: Payload, _reading: ReadContext) -> Detections:
    """Return the record of a payload."""
    items = []
    for k, item in enumerate(fields.objects(payload, "detections")):
        where = f"detections[{k}]"
        items.append(
            Detection(
                fields.label(item, where),
                fields.box(item.get("bbox"), f"{where}.bbox"),
                fields.score(item, where),
                fields.crowd(item),
            )
        )
    return Detections(tuple(items))


def write(prediction: Detections, writing: WriteContext) -> dict[str, Any]:
    """Return the payload of a record."""
    return {
        "detections": [_item(item, writing.digits) for item in prediction.items]
    }


def _item(item: Detection, digits: int | None) -> dict[str, Any]:
    box = [
        float(v) if digits is None else round(float(v), digits)
        for v in item.xyxy
    ]
    return {
        "label": item.label,
        "bbox": box,
        **({} if item.score is None else {"score": item.score}),
    }


def corners(prediction: Detections) -> FloatArray:
    """Return the corners of the boxes, shape (n, 4)."""
    return np.array(
        [item.xyxy for item in prediction.items], dtype=np.float64
    ).reshape(-1, 4)
