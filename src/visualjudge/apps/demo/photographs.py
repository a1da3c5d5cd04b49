"""Photographs in ``assets``, with ground truth drawn by hand for this project in
``truth.json``; the coins' outlines were traced from a watershed. Data of all tasks are
made of them in ``data.py``, the study of four detectors in ``study_data.py``.

``grace_hopper`` is a photograph of the U.S. Navy, ``astronaut`` of NASA, ``rocket`` of
SpaceX, all in the public domain. The others are those of scikit-image, as JPEG:
``camera`` (Lav Varshney), ``coffee`` (Rachel Michetti) and ``chelsea`` (Stefan van der
Walt) are CC0, ``coins`` has no known copyright restrictions (Brooklyn Museum), and
``motorcycle``, with its disparity in 1/16 pixels, is of Middlebury 2014 (Scharstein
et al., GCPR 2014).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from visualjudge.core.jsons import Json
from visualjudge.core.records import BoolArray, FloatArray, Mask, Pixels, Size
from visualjudge.vision.poses.skeleton import KEYPOINT_NAMES
from visualjudge.vision.predictions import Instance, Person
from visualjudge.vision.raster.images import (
    fitted_size,
    read_depth,
    read_rgb,
    resized_rgb,
)
from visualjudge.vision.raster.masks import (
    mask_from_array,
    mask_from_polygons,
    resized_mask,
)

MIN_VISIBLE = 30
ASSETS = Path(__file__).with_name("assets")


@dataclass(frozen=True, eq=False)
class Photograph:
    """One photograph and its ground truth."""

    name: str
    pixels: Pixels
    background: str
    caption: str
    objects: tuple[Instance, ...]
    people: tuple[Person, ...]
    expressions: tuple[tuple[str, Mask], ...]

    @property
    def size(self) -> Size:
        """(height, width)."""
        height, width = self.pixels.shape[:2]
        return height, width

    def smaller(self, side: int) -> Photograph:
        """Return the photograph and its objects, shrunk so that the longer side is at
        most ``side``.
        """
        pixels = smaller(self.pixels, side)
        size = pixels.shape[0], pixels.shape[1]
        objects = tuple(
            replace(item, mask=resized_mask(item.mask, size))
            for item in self.objects
        )
        return replace(self, pixels=pixels, objects=objects)

    @cached_property
    def segments(self) -> tuple[Instance, ...]:
        """One mask per class without overlap: later objects cover earlier ones, and the
        background is lowest.
        """
        rest: BoolArray = np.ones(self.size, dtype=np.bool_)
        classes: dict[str, BoolArray] = {}
        for item in reversed(self.objects):
            visible = item.mask.dense() & rest
            rest &= ~visible
            classes[item.label] = (
                classes.get(item.label, np.zeros(self.size, dtype=np.bool_))
                | visible
            )
        classes[self.background] = rest
        return tuple(
            Instance(label, mask_from_array(dense))
            for label, dense in sorted(classes.items())
            if np.count_nonzero(dense) > MIN_VISIBLE
        )


def photographs() -> tuple[Photograph, ...]:
    """Return all photographs of the demo, in the order of ``truth.json``."""
    rows = json.loads(Path(__file__).with_name("truth.json").read_text("utf-8"))
    return tuple(_photograph(name, row) for name, row in rows.items())


def stereo_disparity() -> tuple[str, FloatArray]:
    """Return the photograph with a measured depth, and its disparity in pixels, H×W
    float64, 0 where unknown.
    """
    return "motorcycle", read_depth(ASSETS / "motorcycle_disparity.png") / 16


def _photograph(name: str, row: Json) -> Photograph:
    pixels = read_rgb(ASSETS / row["file"])
    objects = tuple(_object(item, pixels) for item in row["objects"])
    return Photograph(
        name=name,
        pixels=pixels,
        background=row["background"],
        caption=row["caption"],
        objects=objects,
        people=tuple(_person(item, objects) for item in row["persons"]),
        expressions=tuple(
            (item["text"], objects[item["object"]].mask)
            for item in row["expressions"]
        ),
    )


def _object(item: Json, pixels: Pixels) -> Instance:
    height, width = pixels.shape[:2]
    return Instance(
        item["label"],
        mask_from_polygons(
            [[float(v) for point in item["polygon"] for v in point]],
            (height, width),
        ),
    )


def _person(item: Json, objects: tuple[Instance, ...]) -> Person:
    points = np.zeros((17, 3))
    for name, (x, y) in item["keypoints"].items():
        points[KEYPOINT_NAMES.index(name)] = x, y, 2
    mask = objects[item["object"]].mask
    x1, y1, x2, y2 = mask.xyxy
    return Person(points, bbox=(x1, y1, x2, y2), area=float(mask.area))


def smaller(pixels: Pixels, side: int) -> Pixels:
    """Shrink ``pixels`` so that the longer side is at most ``side``."""
    return resized_rgb(
        pixels, fitted_size((pixels.shape[0], pixels.shape[1]), side)
    )
