"""Human poses as an image, points and limbs of the 17 COCO keypoints, and as a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import cv2
import numpy as np

from visualjudge.core.records import RGB, Pixels, Size
from visualjudge.vision.drawing.canvas import line_width
from visualjudge.vision.drawing.encoded import Encoded, Scene
from visualjudge.vision.drawing.palette import GREEN, PALETTE, color_at, legend_of
from visualjudge.vision.drawing.styles import TextStyle
from visualjudge.vision.drawing.texts import array, compact
from visualjudge.vision.poses.record import Person
from visualjudge.vision.poses.skeleton import KEYPOINT_NAMES, LIMBS


@dataclass(frozen=True, slots=True)
class PoseStyle:
    """Keypoints, with or without limbs."""

    limbs: bool = True
    colors: Literal["single", "person", "part"] = "person"
    canvas: Literal["overlay", "black"] = "overlay"


PART_COLORS: dict[str, RGB] = {name: PALETTE[k][1] for k, name in enumerate(KEYPOINT_NAMES)}
_PART_NAMES = {name: PALETTE[k][0] for k, name in enumerate(KEYPOINT_NAMES)}
_FAR = 8.0


def point_radius(size: Size, *, alone: bool) -> int:
    """Radius of a keypoint's disc: 0.8 % of the longer side, 1 % if there are no limbs; at least 2
    (1 below 64).
    """
    return 1 if max(size) < 64 else max(2, round((0.01 if alone else 0.008) * max(size)))


def person_radius(size: Size, person: Person, *, alone: bool) -> int:
    """:func:`point_radius`, smaller for a person for whom that is more than 3 % of the extent; at
    least 1.
    """
    extent, radius = _longest(person), point_radius(size, alone=alone)
    return min(radius, max(1, round(0.03 * extent))) if extent else radius


def limb_width(size: Size, person: Person) -> int:
    """The width of outlines, smaller for a person for whom that is more than 1.5 % of the extent;
    at least 1.
    """
    return min(line_width(size), max(1, round(0.015 * _longest(person))))


def draw_people(scene: Scene, style: PoseStyle) -> Encoded:
    """All limbs, then all points, so that no limb hides a keypoint; the largest person first.

    A limb between parts has the colour of the part farther from the trunk.
    """
    people: tuple[Person, ...] = scene.prediction.items
    pixels = scene.canvas(style.canvas)
    order = sorted(
        (k for k, person in enumerate(people) if person.present.any()),
        key=lambda k: -_extent(people[k]),
    )
    colors = {k: _colors(k, style) for k in order}
    if style.limbs:
        for k in order:
            _limbs(pixels, people[k], colors[k])
    for k in order:
        _points(
            pixels,
            people[k],
            colors[k],
            person_radius(scene.size, people[k], alone=not style.limbs),
        )
    if style.colors == "part":
        return Encoded(pixels, None, legend_of(PART_COLORS, _PART_NAMES), PART_COLORS)
    return Encoded(pixels)


def _colors(person: int, style: PoseStyle) -> list[RGB]:
    if style.colors == "part":
        return list(PART_COLORS.values())
    return [GREEN if style.colors == "single" else color_at(person)] * len(KEYPOINT_NAMES)


def _extent(person: Person) -> float:
    points = person.keypoints[person.present, :2]
    return float(np.ptp(points, axis=0).sum())


def _longest(person: Person) -> float:
    """The longer side of the keypoints' own box, in pixels; 0 for a single keypoint."""
    return float(np.ptp(person.keypoints[person.present, :2], axis=0).max())


def _limbs(pixels: Pixels, person: Person, colors: list[RGB]) -> None:
    size = pixels.shape[0], pixels.shape[1]
    width, present = limb_width(size, person), person.present.tolist()
    points = person.keypoints[:, :2].tolist()
    for a, b in LIMBS:
        if present[a] and present[b]:
            ends = _near_image(points[a], points[b], _FAR * max(size))
            if ends is not None:
                cv2.line(pixels, *ends, colors[max(a, b)], width, cv2.LINE_8)


def _points(pixels: Pixels, person: Person, colors: list[RGB], radius: int) -> None:
    height, width = pixels.shape[:2]
    reach = radius + 1
    for (x, y), present, color in zip(
        person.keypoints[:, :2].tolist(), person.present, colors, strict=True
    ):
        if present and -reach < x < width + reach and -reach < y < height + reach:
            cv2.circle(pixels, (round(x), round(y)), radius, color, -1, cv2.LINE_8)


def _near_image(
    a: list[float], b: list[float], limit: float
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Both ends as whole pixels; of a limb that reaches very far out, the part within ``limit`` of
    the corner.

    OpenCV counts in 32 bits, and a detector's keypoint can lie anywhere. Clipped by Liang & Barsky
    1984.
    """
    if max(map(abs, (*a, *b))) > limit:
        first, last = 0.0, 1.0
        for start, stop in zip(a, b, strict=True):
            if start == stop:
                if abs(start) > limit:
                    return None
                continue
            near, far = sorted(
                ((-limit - start) / (stop - start), (limit - start) / (stop - start))
            )
            first, last = max(first, near), min(last, far)
        if first >= last:
            return None
        a, b = _between(a, b, first), _between(a, b, last)
    return (round(a[0]), round(a[1])), (round(b[0]), round(b[1]))


def _between(a: list[float], b: list[float], share: float) -> list[float]:
    return [start + share * (stop - start) for start, stop in zip(a, b, strict=True)]


def people_text(scene: Scene, style: TextStyle) -> Encoded:
    """17 keypoints per person, with one decimal; an absent one is 0.0, 0.0."""
    people: tuple[Person, ...] = scene.prediction.items
    form = {"flat_list": _flat_list, "part_keyed": _part_keyed, "coco_list": _coco_list}[
        style.layout
    ]
    return Encoded(text=array(compact(form(k, person)) for k, person in enumerate(people, 1)))


def _flat_list(_number: int, person: Person) -> list[float]:
    points = _places(person)
    return [x for x, _ in points] + [y for _, y in points]


def _part_keyed(number: int, person: Person) -> dict[str, Any]:
    named = zip(KEYPOINT_NAMES, _places(person), strict=True)
    return {
        "person_id": number,
        "keypoints": [{"name": name, "x": x, "y": y} for name, (x, y) in named],
    }


def _coco_list(_number: int, person: Person) -> list[float]:
    seen = [
        v if there else 0.0
        for v, there in zip(person.keypoints[:, 2].tolist(), person.present, strict=True)
    ]
    short = [int(v) if v == int(v) else round(v, 1) for v in seen]
    return [value for (x, y), v in zip(_places(person), short, strict=True) for value in (x, y, v)]


def _places(person: Person) -> list[tuple[float, float]]:
    """(x, y) to one decimal, (0.0, 0.0) where absent; + 0.0 turns a rounded −0.0 into 0.0."""
    xy = person.keypoints[:, :2].tolist()
    return [
        (round(x, 1) + 0.0, round(y, 1) + 0.0) if there else (0.0, 0.0)
        for (x, y), there in zip(xy, person.present, strict=True)
    ]
