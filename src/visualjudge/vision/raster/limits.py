"""Limits on untrusted images, masks and arrays, checked before decoding. They are
listed in docs/security.md. Limits on the size of files are in ``core/untrusted.py``.
"""

import math
import os
from collections.abc import Sequence

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.untrusted import BOUNDS

PIXELS_VARIABLE = "VISUALJUDGE_MAX_PIXELS"
# Maximum pixels of an image, mask or map, unless ``VISUALJUDGE_MAX_PIXELS`` is set.
MOST_PIXELS = BOUNDS["image"].items
# Maximum bytes of decoded samples per pixel of the limit: 8-bit RGB reaches both limits
# at once, 16-bit RGBA the byte limit first.
BYTES_PER_PIXEL = 3
# Maximum pixels in the boxes of all masks of a prediction, in images of that limit.
MASKS_OF_AN_IMAGE = 15
# Maximum points in the polygons of a mask.
MOST_POINTS = 100_000
# Maximum outline length in pixels of a mask's polygons; the native rasteriser needs
# memory for each.
LONGEST_OUTLINE = 4_000_000
# Maximum boxes, masks or people in a prediction.
MOST_ITEMS = 100_000
# Maximum pairs of a prediction and a ground truth of one image.
MOST_PAIRS = 50_000_000
# Maximum distance in pixels of boxes and keypoints from the origin: products of four
# remain finite.
LARGEST_COORDINATE = 1e15
# Maximum distance in pixels of polygons from the origin: the native rasteriser crashes
# above 1e9.
LARGEST_VERTEX = 1e7


def most_pixels() -> int:
    """Return the current pixel limit.

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


def check_pixels(what: str, shape: Sequence[int], item_bytes: int = 1) -> None:
    """Check the size of an array of ``shape`` (height, width, and further axes) before
    it is created.

    ``item_bytes`` is the number of bytes of all samples of a pixel, or of one sample if
    ``shape`` has a channel axis.

    Raises
    ------
    DataError
        If an axis is negative, or the number of pixels or bytes exceeds the limit.
    """
    if len(shape) < 2 or any(side < 0 for side in shape):
        raise DataError(f"{what} must be H×W, got shape {tuple(shape)}"[:200])
    number = math.prod(shape)
    bound = most_pixels()
    if number > bound * (4 if len(shape) > 2 else 1):
        size = "×".join(map(str, shape))[:100]
        raise DataError(
            f"{what} must have at most {bound} pixels, got {size}; {PIXELS_VARIABLE} "
            "sets the bound"
        )
    if number * item_bytes > bound * BYTES_PER_PIXEL:
        raise DataError(
            f"{what} must decode to at most {BYTES_PER_PIXEL} bytes for each of "
            f"{bound} pixels, got {number * item_bytes >> 20} MiB; {PIXELS_VARIABLE} "
            "sets the bound"
        )


def check_items(field: str, count: int, most: int = MOST_ITEMS) -> None:
    """Check the number of items in a prediction.

    Raises
    ------
    DataError
        If there are more than ``most``.
    """
    if count > most:
        raise DataError(f"{field}: must be at most {most:,}, got {count:,}")
