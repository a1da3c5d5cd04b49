"""Turned boxes, and maps that must have the size of their image."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core.errors import (
    DataError,
)
from visualjudge.core.records import Size, Xyxy
from visualjudge.formats.samples import RESIZE
from visualjudge.vision.raster.images import orientation


def other_size(
    what: str, actual: Size, size: Size, image: Path, *, remedy: str = ""
) -> DataError:
    """Return the error for a ``what`` whose (height, width) differs from its image,
    with a likely reason.
    """
    if actual == size[::-1]:
        remedy = "height and width seem to be swapped"
    hint = exif_hint(actual, size, image) or (f"; {remedy}" if remedy else "")
    return DataError(
        f"{what} must be {size[0]}×{size[1]}, got {actual[0]}×{actual[1]} "
        f"(height×width){hint}"
    )


def exif_hint(actual: Size, size: Size, image: Path) -> str:
    """Return a hint if EXIF orientation rotated an image of (height, width) ``size``,
    otherwise an empty string.
    """
    if actual != size[::-1] or orientation(image) not in (5, 6, 7, 8):
        return ""
    return (
        "; the image has an EXIF orientation: give `exif` ignore if annotations were "
        "made on the image as stored"
    )


def fitted(
    values: NDArray[Any], size: Size, file: Path, image: Path, *, resize: bool
) -> NDArray[Any]:
    """Return an H×W map that has its image's (height, width). With ``resize``, other
    sizes are resized by nearest neighbour.

    Raises
    ------
    DataError
        If the map has another size and ``resize`` is False.
    """
    if values.shape == size:
        return values
    if not resize:
        raise other_size(
            f"{file.name}:",
            (values.shape[0], values.shape[1]),
            size,
            image,
            remedy=RESIZE,
        )
    return np.asarray(
        cv2.resize(values, size[::-1], interpolation=cv2.INTER_NEAREST)
    )


def turned(
    box: Sequence[float], degrees: float, *, about_corner: bool = False
) -> tuple[float, ...]:
    """Return the ring x, y, x, y, … of a box [x, y, width, height] turned clockwise
    about its centre, or about its first corner.
    """
    x, y, width, height = map(float, box)
    middle = (0.0, 0.0) if about_corner else (width / 2, height / 2)
    sine = math.sin(math.radians(degrees))
    cosine = math.cos(math.radians(degrees))
    ring: tuple[float, ...] = ()
    for across, down in (
        (0.0, 0.0),
        (width, 0.0),
        (width, height),
        (0.0, height),
    ):
        right = across - middle[0]
        below = down - middle[1]
        ring += (
            round(x + middle[0] + right * cosine - below * sine, 9),
            round(y + middle[1] + right * sine + below * cosine, 9),
        )
    return ring


def hull(ring: Sequence[float]) -> Xyxy:
    """Return the upright box around points x, y, x, y, …"""
    return min(ring[::2]), min(ring[1::2]), max(ring[::2]), max(ring[1::2])
