"""The context image of an inpainting question: the original with its masked region
hatched. Sentences of context are in ``vision/contexts.py``.
"""

import cv2
import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import BoolArray, Mask, Pixels
from visualjudge.vision.drawing.canvas import line_width

# Two alternating colours, one of which stands out on any photograph.
HATCH = ((255, 0, 255), (255, 255, 255))


def context_image(image: Pixels, mask: Mask | BoolArray) -> Pixels:
    """Return ``image`` with the masked region hatched: diagonal stripes of magenta and
    white at an opacity of 0.5.

    The content under the stripes stays visible; pixels outside the region are
    unchanged.

    Parameters
    ----------
    image
        H×W×3 uint8 RGB; not modified.
    mask
        The region: a :class:`~visualjudge.core.records.Mask` or an H×W array (inside
        where > 0).

    Raises
    ------
    DataError
        If mask and image differ in size.
    """
    inside = mask.dense() if isinstance(mask, Mask) else np.asarray(mask) > 0
    height, width = image.shape[:2]
    if inside.shape != (height, width):
        raise DataError(
            f"mask: must match the image size {(height, width)} (height, width), got "
            f"{inside.shape}"
        )
    stripe = 3 * line_width((height, width))
    diagonal = (
        (
            np.arange(height, dtype=np.int32)[:, None]
            + np.arange(width, dtype=np.int32)[None]
        )
        // stripe
        % 2
    )
    out = image.copy()
    for number, color in enumerate(HATCH):
        chosen = inside & (diagonal == number)
        mixed = cv2.addWeighted(image, 0.5, np.full_like(image, color), 0.5, 0)
        cv2.copyTo(mixed, chosen.view(np.uint8), out)
    return out
