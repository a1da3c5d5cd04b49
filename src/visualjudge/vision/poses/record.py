"""Poses: ``{"persons": [{"keypoints": [51 numbers]}]}``, with x, y, v of the 17 COCO
keypoints. The names of the keypoints are in ``skeleton.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import BoolArray, FloatArray, Size, Xyxy
from visualjudge.vision import fields
from visualjudge.vision.base import (
    Mark,
    Payload,
    Prediction,
    ReadContext,
    WriteContext,
)
from visualjudge.vision.poses.skeleton import KEYPOINT_NAMES
from visualjudge.vision.raster.in_memory import shaped
from visualjudge.vision.raster.limits import LARGEST_COORDINATE

KEYPOINT_NUMBERS = 51
# Distance in pixels within which a point counts as on a keypoint.
NEAR = 6.0


@dataclass(frozen=True, eq=False, slots=True)
class Person:
    """A person with 17 COCO keypoints as a (17, 3) float array of x, y, v."""

    keypoints: FloatArray
    bbox: Xyxy | None = None
    area: float | None = None
    iscrowd: bool = False
    score: float | None = None

    @property
    def present(self) -> BoolArray:
        """Whether each keypoint is labelled: v > 0, as in COCO's evaluation, and not x
        = y = 0. Shape (17,).
        """
        x, y, v = self.keypoints.T
        return np.asarray((v > 0) & ~((x == 0) & (y == 0)))


@dataclass(frozen=True, eq=False, slots=True)
class People(Prediction):
    """The persons of an image; they have no labels."""

    items: tuple[Person, ...]

    @property
    def count(self) -> int:
        return len(self.items)

    def items_by_label(self) -> dict[str, list[Any]]:
        return {"person": list(self.items)}

    def marks(self) -> Iterator[Mark]:
        for number, person in enumerate(self.items, 1):
            for name, (x, y, _), present in zip(
                KEYPOINT_NAMES,
                person.keypoints.tolist(),
                person.present,
                strict=True,
            ):
                if present:
                    yield Mark(
                        f"person {number}: {name.replace('_', ' ')}",
                        (x - NEAR, y - NEAR, x + NEAR, y + NEAR),
                    )

    def without_crowds(self) -> People:
        return People(
            tuple(
                item
                for item in self.items
                if not item.iscrowd and item.present.any()
            )
        )

    def scaled(self, size: Size, target: Size) -> People:
        factors = np.array(target[::-1]) / size[::-1]
        return People(
            tuple(
                replace(
                    item,
                    keypoints=item.keypoints * [*factors, 1.0],
                    bbox=item.bbox
                    and tuple((np.tile(factors, 2) * item.bbox).tolist()),
                    area=item.area and item.area * float(factors.prod()),
                )
                for item in self.items
            )
        )


def from_arrays(data: Any) -> Any:
    """Return the payload of (N, 17, 3) keypoints, bare or as ``keypoints`` beside
    ``scores``, ``boxes`` and ``areas``.
    """
    columns = data if isinstance(data, Mapping) else {"keypoints": data}
    if "keypoints" not in columns:
        return data
    points = shaped(
        columns["keypoints"],
        "keypoints",
        ("N", 17, 3),
        "float, x, y, v in pixels",
    )
    people: list[dict[str, Any]] = [
        {"keypoints": point.ravel().tolist()} for point in points
    ]
    for field, name, shape in (
        ("scores", "score", ("N",)), ("boxes", "bbox", ("N", 4)), ("areas", "area", ("N",))
    ):  # fmt: skip
        if columns.get(field) is not None:
            values = shaped(
                columns[field], field, (len(people), *shape[1:]), "float"
            )
            for person, value in zip(people, values.tolist(), strict=True):
                person[name] = value
    return {"persons": people}


def read(payload: Payload, _reading: ReadContext) -> People:
    """Read a keypoint payload."""
    people = []
    for k, item in enumerate(fields.objects(payload, "persons")):
        points = _keypoints(item.get("keypoints"), f"persons[{k}].keypoints")
        bbox = (
            fields.box(item["bbox"], f"persons[{k}].bbox")
            if item.get("bbox") is not None
            else None
        )
        area = (
            None
            if item.get("area") is None
            else fields.number(item["area"], f"persons[{k}].area")
        )
        people.append(
            Person(
                points,
                bbox,
                area,
                fields.crowd(item),
                fields.score(item, f"persons[{k}]"),
            )
        )
    return People(tuple(people))


def _keypoints(numbers: Any, field: str) -> FloatArray:
    values = numbers.ravel() if isinstance(numbers, np.ndarray) else numbers
    if (
        not isinstance(values, list | tuple | np.ndarray)
        or len(values) != KEYPOINT_NUMBERS
    ):
        raise DataError(
            f"{field}: must be 51 numbers, x, y, v for each of the 17 COCO keypoints"
        )
    points = [
        fields.number(value, field, largest=LARGEST_COORDINATE)
        for value in values
    ]
    return np.array(points).reshape(17, 3)


def write(prediction: People, writing: WriteContext) -> dict[str, Any]:
    """Return the payload of a record."""
    return {
        "persons": [_item(item, writing.digits) for item in prediction.items]
    }


def _item(item: Person, digits: int | None) -> dict[str, Any]:
    points = item.keypoints if digits is None else item.keypoints.round(digits)
    return {
        "keypoints": points.ravel().tolist(),
        **({} if item.score is None else {"score": item.score}),
    }


def corners(prediction: People) -> FloatArray:
    """Return the corners of the boxes around each person's present keypoints, n×4."""
    points = [
        person.keypoints[person.present, :2]
        for person in prediction.items
        if person.present.any()
    ]
    return np.array(
        [[*point.min(axis=0), *point.max(axis=0)] for point in points],
        dtype=np.float64,
    ).reshape(-1, 4)
