"""An example of each prediction type, for the gallery of encodings: photographs with their ground
truth.
"""

from __future__ import annotations

from typing import Any

from visualjudge.apps.demo.photographs import photographs, stereo_disparity
from visualjudge.core.records import Pixels
from visualjudge.vision.predictions import (
    TYPES,
    DepthMap,
    Detection,
    Detections,
    Instance,
    Masks,
    People,
    WholeImage,
)

SUBJECT = "astronaut"

Example = tuple[Pixels, Any, str | None]
"""A photograph, a prediction for it, and an expression."""


def examples() -> dict[str, Example]:
    """Return the examples by type name: those of the demo, and those of plug-ins
    (``PredictionType.example``).
    """
    brought = {row.name: row.example() for row in TYPES.values() if row.example is not None}
    return {**_of_photographs(), **brought}


def _of_photographs() -> dict[str, Example]:
    named = {photo.name: photo for photo in photographs()}
    photo = named[SUBJECT]
    pixels = photo.pixels
    boxes = tuple(Detection(item.label, item.mask.xyxy) for item in photo.objects)
    expression, region = photo.expressions[0]
    pair, disparity = stereo_disparity()
    return {
        "detection": (pixels, Detections(boxes), None),
        "instance": (pixels, Masks(photo.size, photo.objects), None),
        "semantic": (pixels, Masks(photo.size, photo.segments), None),
        "referring": (pixels, Masks(photo.size, (Instance(expression, region),)), expression),
        "keypoint": (pixels, People(photo.people), None),
        "depth": (named[pair].pixels, DepthMap(disparity, inverse=True), None),
        "restoration": (pixels, WholeImage(pixels), None),
        "generation": (pixels, WholeImage(pixels), None),
    }
