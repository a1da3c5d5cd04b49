"""Oriented boxes: ``{"boxes": [{"label", "obb": [cx, cy, w, h, angle], "score"?}]}``.

Pixels and degrees; the angle turns the box clockwise on the image, from its width along
x.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np

import visualjudge as vj
from visualjudge.core.errors import DataError
from visualjudge.vision import fields
from visualjudge.vision.base import ReadContext, WriteContext, mark_of
from visualjudge.vision.items import LabelledItems

Corners = np.ndarray


@dataclass(frozen=True, slots=True)
class OrientedBox:
    """One box; ``score`` is the confidence, ``iscrowd`` says of a true box that it need
    not be found.
    """

    label: str
    cx: float
    cy: float
    w: float
    h: float
    angle: float
    score: float | None = None
    iscrowd: bool = False

    @property
    def corners(self) -> Corners:
        """The corners in clockwise order on the image, 4×2 float64 (x, y)."""
        turn = np.deg2rad(self.angle)
        along, across = (
            np.array([np.cos(turn), np.sin(turn)]),
            np.array([-np.sin(turn), np.cos(turn)]),
        )
        signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
        return np.array(
            [
                (self.cx, self.cy)
                + a * self.w / 2 * along
                + b * self.h / 2 * across
                for a, b in signs
            ]
        )

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """(left, top, right, bottom) of the upright box around it."""
        left, top, right, bottom = (
            *self.corners.min(axis=0).tolist(),
            *self.corners.max(axis=0).tolist(),
        )
        return left, top, right, bottom


def box_around(corners: Corners, **rest: Any) -> OrientedBox:
    """The smallest oriented box around points (n×2)."""
    (cx, cy), (w, h), angle = cv2.minAreaRect(np.asarray(corners, np.float32))
    return OrientedBox(cx=cx, cy=cy, w=w, h=h, angle=angle, **rest)


@dataclass(frozen=True, slots=True)
class OrientedBoxes(LabelledItems):
    """The boxes of an image."""

    items: tuple[OrientedBox, ...]

    def marks(self) -> Iterator[vj.Mark]:
        return (
            mark_of(item.label, item.score, item.bounds) for item in self.items
        )

    def coverage(self, size: tuple[int, int]) -> np.ndarray:
        inside = np.zeros(size, np.uint8)
        for item in self.items:
            cv2.fillConvexPoly(
                inside,
                np.rint(np.clip(item.corners, -1e6, 1e6)).astype(np.int32),
                1,
            )
        return inside.astype(bool)

    def scaled(
        self, size: tuple[int, int], target: tuple[int, int]
    ) -> OrientedBoxes:
        factor = np.array([target[1] / size[1], target[0] / size[0]])
        if np.isclose(*factor):
            by = float(factor[0])
            return self.with_items(
                replace(
                    one,
                    cx=one.cx * by,
                    cy=one.cy * by,
                    w=one.w * by,
                    h=one.h * by,
                )
                for one in self.items
            )
        return self.with_items(
            box_around(
                one.corners * factor,
                label=one.label,
                score=one.score,
                iscrowd=one.iscrowd,
            )
            for one in self.items
        )


def read(payload: Any, _reading: ReadContext) -> OrientedBoxes:
    """The record of a payload."""
    items = []
    for k, item in enumerate(fields.objects(payload, "boxes")):
        where = f"boxes[{k}]"
        values = item.get("obb")
        if not isinstance(values, list | tuple) or len(values) != 5:
            raise DataError(f"{where}.obb: must be [cx, cy, w, h, angle]")
        cx, cy, w, h, angle = (
            fields.number(value, f"{where}.obb", largest=1e6)
            for value in values
        )
        if w < 0 or h < 0:
            raise DataError(
                f"{where}.obb: w and h must be 0 or more, got {w:g} and {h:g}"
            )
        label, score = fields.label(item, where), fields.score(item, where)
        items.append(
            OrientedBox(label, cx, cy, w, h, angle, score, fields.crowd(item))
        )
    return OrientedBoxes(tuple(items))


def write(prediction: OrientedBoxes, writing: WriteContext) -> dict[str, Any]:
    """The payload of a record; whether a true box need not be found is not of a
    prediction, and left out.
    """
    return {"boxes": [_item(item, writing.digits) for item in prediction.items]}


def _item(item: OrientedBox, digits: int | None) -> dict[str, Any]:
    values = [float(v) for v in (item.cx, item.cy, item.w, item.h, item.angle)]
    obb = values if digits is None else [round(v, digits) for v in values]
    return {
        "label": item.label,
        "obb": obb,
        **({} if item.score is None else {"score": item.score}),
    }
