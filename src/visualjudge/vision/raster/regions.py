"""Connected regions of a mask, and the regions of an image where an error is largest.
Faults use them in ``vision/<type>/faults.py``.
"""

from collections.abc import Iterator

import cv2
import numpy as np

from visualjudge.core.records import BoolArray, FloatArray, Size, Xyxy

# Regions below this share of the image are left out.
SMALLEST = 0.0005
# An error is averaged over windows of this share of the longer side.
WINDOW = 1 / 24
# A window belongs to a region if its error is at least this share of the image's
# largest.
NEARLY_WORST = 0.5


def regions(
    mask: BoolArray, size: Size | None = None
) -> Iterator[tuple[Xyxy, BoolArray]]:
    """Yield the box and the mask, H×W bool, of each 8-connected region of an H×W mask.
    Boxes are in pixels of the mask, or of an image of (height, width) ``size``."""
    grown = np.divide((size or mask.shape)[::-1] * 2, mask.shape[::-1] * 2)
    count, numbers, stats, _ = cv2.connectedComponentsWithStats(
        mask.astype(np.uint8)
    )
    for number in range(1, count):
        left, top, width, height, area = map(float, stats[number])
        if area >= SMALLEST * mask.size:
            yield (
                tuple(
                    (grown * (left, top, left + width, top + height)).tolist()
                ),
                np.asarray(numbers == number),
            )


def worst_regions(
    error: FloatArray, known: BoolArray, least: float, size: Size | None = None
) -> Iterator[tuple[Xyxy, BoolArray]]:
    """Yield the regions whose mean ``error``, H×W, over the ``known`` pixels of a
    window is at least ``least`` and half of the largest one; see :func:`regions`.
    """
    side = max(3, round(WINDOW * max(error.shape)))
    mean = cv2.blur(np.where(known, error, 0.0), (side, side))
    mean *= known / np.maximum(
        cv2.blur(known.astype(np.float64), (side, side)), 1e-9
    )
    yield from regions(
        mean >= max(least, NEARLY_WORST * float(mean.max(initial=0.0))), size
    )
