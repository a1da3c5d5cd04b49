"""Human poses as an image (points and limbs of the 17 COCO keypoints) or as text. Lines
are those of ``vision/drawing/canvas.py``; the skeleton is in ``skeleton.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import cv2
import numpy as np

from visualjudge.core.records import RGB, Pixels, Size
from visualjudge.vision.drawing.canvas import line_width
from visualjudge.vision.drawing.encoded import Encoded, Scene
from visualjudge.vision.drawing.palette import (
    GREEN,
    PALETTE,
    color_at,
    legend_of,
)
from visualjudge.vision.drawing.styles import TextStyle
from visualjudge.vision.drawing.texts import array, compact
from visualjudge.vision.poses.record import Person
from visualjudge.vision.poses.skeleton import KEYPOINT_NAMES, LIMBS


@dataclass(frozen=True, slots=True)
class PoseStyle:
    """Style of keypoints, with or without limbs."""

    limbs: bool = True
    colors: Literal["single", "person", "part"] = "person"
    canvas: Literal["overlay", "black"] = "overlay"


PART_COLORS: dict[str, RGB] = {
    name: PALETTE[k][1] for k, name in enumerate(KEYPOINT_NAMES)
}
_PART_NAMES = {name: PALETTE[k][0] for k, name in enumerate(KEYPOINT_NAMES)}
# OpenCV uses 32-bit coordinates, and a detector's keypoint can lie anywhere.
_FARTHEST = 2**30
# What a text writes for a keypoint that is not there.
ABSENT = (0.0, 0.0)


def point_radius(size: Size, *, alone: bool) -> int:
    """Return the radius of a keypoint's disc: 0.8 % of the longer side, or 1 % if there
    are no limbs; at least 2 (1 for images below 64 pixels).
    """
    return (
        1
        if max(size) < 64
        else max(2, round((0.01 if alone else 0.008) * max(size)))
    )


@dataclass(frozen=True, slots=True)
class _Figure:
    """A person to draw; ``number`` counts from 0 in the order of the prediction.

    ``places`` are the (x, y) of the keypoints in whole pixels, None for absent ones.
    ``limbs`` contains the keypoint numbers at both ends of each limb. ``extent`` is the
    (width, height) in pixels of the box around the keypoints: 0 for a single keypoint.
    """

    number: int
    places: list[tuple[int, int] | None]
    limbs: list[tuple[int, int]]
    extent: Sequence[float]


def _figures(scene: Scene) -> list[_Figure]:
    """Return the persons with at least one keypoint, largest first."""
    people: tuple[Person, ...] = scene.prediction.items
    figures = [_figure(number, person) for number, person in enumerate(people)]
    return sorted(
        (figure for figure in figures if any(figure.places)),
        key=lambda figure: -sum(figure.extent),
    )


def _figure(number: int, person: Person) -> _Figure:
    present = person.present.tolist()
    clipped = person.keypoints[:, :2].clip(-_FARTHEST, _FARTHEST)
    places = [
        (x, y) if there else None
        for (x, y), there in zip(
            clipped.round().astype(int).tolist(),
            present,
            strict=True,
        )
    ]
    seen = person.keypoints[person.present, :2]
    extent = np.ptp(seen, axis=0).tolist() if len(seen) else (0.0, 0.0)
    return _Figure(
        number,
        places,
        [(a, b) for a, b in LIMBS if present[a] and present[b]],
        extent,
    )


def _person_radius(size: Size, figure: _Figure, *, alone: bool) -> int:
    """Return :func:`point_radius`, limited to 3 % of the person's extent; at least
    1."""
    extent = max(figure.extent)
    radius = point_radius(size, alone=alone)
    return min(radius, max(1, round(0.03 * extent))) if extent else radius


def draw_people(scene: Scene, style: PoseStyle) -> Encoded:
    """Draw all limbs, then all points, so that no limb hides a keypoint; the largest
    person first.

    A limb has the colour of the keypoint farther from the trunk.
    """
    figures = scene.once(_figures)
    pixels = scene.canvas(style.canvas)
    if style.limbs:
        for figure in figures:
            # outlines are limited to 1.5 % of the person's extent
            width = min(
                line_width(scene.size),
                max(1, round(0.015 * max(figure.extent))),
            )
            colors = _colors(figure, style)
            for a, b in figure.limbs:
                ends = figure.places[a], figure.places[b]
                cv2.line(
                    pixels,
                    *ends,
                    colors[max(a, b)],
                    width,
                    cv2.LINE_8,
                )
    for figure in figures:
        _points(
            pixels,
            figure,
            _colors(figure, style),
            _person_radius(scene.size, figure, alone=not style.limbs),
        )
    return (
        Encoded(pixels, None, legend_of(PART_COLORS, _PART_NAMES), PART_COLORS)
        if style.colors == "part"
        else Encoded(pixels)
    )


def _colors(figure: _Figure, style: PoseStyle) -> list[RGB]:
    if style.colors == "part":
        return list(PART_COLORS.values())
    return [
        GREEN if style.colors == "single" else color_at(figure.number)
    ] * len(KEYPOINT_NAMES)


def _points(
    pixels: Pixels,
    figure: _Figure,
    colors: list[RGB],
    radius: int,
) -> None:
    height, width = pixels.shape[:2]
    reach = radius + 2
    for place, color in zip(figure.places, colors, strict=True):
        if (
            place
            and -reach < place[0] < width + reach
            and -reach < place[1] < height + reach
        ):
            cv2.circle(pixels, place, radius, color, -1, cv2.LINE_8)


def people_text(scene: Scene, style: TextStyle) -> Encoded:
    """Write 17 keypoints per person with one decimal; absent keypoints are 0.0, 0.0."""
    people: tuple[Person, ...] = scene.prediction.items
    form = {
        "flat_list": _flat_list,
        "part_keyed": _part_keyed,
        "coco_list": _coco_list,
    }[style.layout]
    return Encoded(
        text=array(
            compact(form(k, person)) for k, person in enumerate(people, 1)
        )
    )


def _flat_list(_number: int, person: Person) -> list[float]:
    points = _places(person)
    return [x for x, _ in points] + [y for _, y in points]


def _part_keyed(number: int, person: Person) -> dict[str, Any]:
    return {
        "person_id": number,
        "keypoints": [
            {"name": name, "x": x, "y": y}
            for name, (x, y) in zip(
                KEYPOINT_NAMES, _places(person), strict=True
            )
        ],
    }


def _coco_list(_number: int, person: Person) -> list[float]:
    seen = [
        v if there else 0.0
        for v, there in zip(
            person.keypoints[:, 2].tolist(),
            person.present,
            strict=True,
        )
    ]
    short = [int(v) if v == int(v) else round(v, 1) for v in seen]
    return [
        value
        for (x, y), v in zip(_places(person), short, strict=True)
        for value in (x, y, v)
    ]


def _places(person: Person) -> list[tuple[float, float]]:
    """Return (x, y) of each keypoint rounded to one decimal, (0.0, 0.0) if absent."""
    return [
        _place(x, y) if there else ABSENT
        for (x, y), there in zip(
            person.keypoints[:, :2].tolist(), person.present, strict=True
        )
    ]


def _place(x: float, y: float) -> tuple[float, float]:
    """+ 0.0 turns a rounded −0.0 into 0.0. A keypoint beside the corner of the image is
    not written as absent."""
    place = round(x, 1) + 0.0, round(y, 1) + 0.0
    return place if place != ABSENT else (0.1, 0.0)
