"""Bounds on foreign images, masks and arrays, checked before anything is decoded. docs/security.md
lists them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from visualjudge.core.errors import DataError, UsageError

PIXELS_VARIABLE = "VISUALJUDGE_MAX_PIXELS"
MOST_PIXELS = 120_000_000
"""Pixels of an image, mask or map, unless ``VISUALJUDGE_MAX_PIXELS`` says otherwise."""
BYTES_PER_PIXEL = 3
"""Bytes of decoded samples, for each pixel of the bound: 8-bit RGB reaches both bounds at once,
16-bit RGBA sooner.
"""
SLOWER = {"WEBP": 4, "JPEG2000": 24}
"""Formats of which fewer pixels are read, by this factor: the slowest image of each takes about as
long to decode.
"""
SLOWEST = 120
"""The factor of what Pillow decodes in Python: text PPM, PPM of an odd depth, and run-length
BMP.
"""
MOST_SCANS = 100
"""Scans of a JPEG; encoders write about ten. Each is a pass over all pixels, and may be a few bytes
of the file.
"""
MOST_POINTS = 100_000
"""Points of the polygons of one mask."""
LONGEST_OUTLINE = 4_000_000
"""Pixels along the polygons of one mask: the native rasteriser needs memory for each."""
MOST_ITEMS = 100_000
"""Boxes, masks or people of one prediction."""
LARGEST_COORDINATE = 1e15
"""Pixels from the origin, of boxes and keypoints: products of four stay finite."""
LARGEST_VERTEX = 1e7
"""Pixels from the origin, of polygons: the native rasteriser crashes above 1e9."""
LONGEST_NETPBM_HEADER = 10_000
"""Bytes of the header of a PPM, PGM or PBM file, comments included."""
MOST_CHUNKS = 1_000
"""Chunks of a PNG that are looked at for an orientation."""


def most_pixels() -> int:
    """The bound in force.

    Raises
    ------
    UsageError
        If the environment variable is not a number of pixels.
    """
    stated = os.environ.get(PIXELS_VARIABLE)
    if stated is None:
        return MOST_PIXELS
    if not (stated.isascii() and stated.isdigit() and int(stated[:18]) > 0):
        raise UsageError(
            f"{PIXELS_VARIABLE} must be a number of pixels above 0, got {stated[:40]!r}"
        )
    return int(stated[:18])


def check_pixels(what: str, shape: Sequence[int], item_bytes: int = 1, slower: int = 1) -> None:
    """Refuse an array of ``shape`` (height, width, and further axes) before it is made.

    ``item_bytes`` are the bytes of all samples of a pixel, or of one where ``shape`` has an axis of
    channels. ``slower`` divides the bound.

    Raises
    ------
    DataError
        If an axis is negative, or the pixels or their bytes are above the bound.
    """
    if len(shape) < 2 or any(side < 0 for side in shape):
        raise DataError(f"{what} must be H×W, got shape {tuple(shape)}"[:200])
    number = 1
    for side in shape:
        number *= side
    bound = most_pixels() // slower
    if number > bound * (4 if len(shape) > 2 else 1):
        size = "×".join(map(str, shape))[:100]
        raise DataError(
            f"{what} must have at most {bound} pixels, got {size}; {PIXELS_VARIABLE} sets the bound"
        )
    if number * item_bytes > bound * BYTES_PER_PIXEL:
        raise DataError(
            f"{what} must decode to at most {BYTES_PER_PIXEL} bytes for each of {bound} pixels, "
            "got "
            f"{number * item_bytes >> 20} MiB; {PIXELS_VARIABLE} sets the bound"
        )


def check_items(field: str, count: int) -> None:
    """Refuse a prediction of too many items.

    Raises
    ------
    DataError
        If there are more than :data:`MOST_ITEMS`.
    """
    if count > MOST_ITEMS:
        raise DataError(f"{field}: must be at most {MOST_ITEMS:,}, got {count:,}")
