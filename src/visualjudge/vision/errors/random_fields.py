"""Smooth random fields and paths between shapes, which make controlled errors look like
those of models. The errors that use them are in ``vision/<type>/errors.py``.
"""

from collections.abc import Callable

import cv2
import numpy as np

from visualjudge.core.records import BoolArray, FloatArray, Size, Xyxy

BISECTIONS = 24


def smooth_field(
    size: Size,
    rng: np.random.Generator,
    *,
    grain: float = 0.15,
) -> FloatArray:
    """Return a smooth random field of (height, width) ``size``: float64, zero median,
    largest magnitude 1.

    ``grain`` is the scale of its variation, as a share of the longer side.
    """
    height, width = size
    cells = max(2, round(1 / grain))
    knots = rng.standard_normal(
        (
            max(
                2,
                round(cells * height / max(size)),
            )
            + 1,
            cells + 1,
        )
    )
    field = cv2.resize(
        knots,
        (width, height),
        interpolation=cv2.INTER_CUBIC,
    )
    field = field - np.median(field)
    return np.asarray(
        field / max(float(np.abs(field).max()), 1e-9), dtype=np.float64
    )


def lowest_share(
    inside: BoolArray, order: FloatArray, share: float
) -> BoolArray:
    """Return the ``share`` (0..1) of the True pixels of ``inside`` with the lowest
    ``order``, H×W bool.
    """
    values = order[inside]
    count = round(share * values.size)
    chosen = np.zeros(values.size, dtype=np.bool_)
    chosen[np.argsort(values, kind="stable")[:count]] = True
    result = np.zeros(inside.shape, dtype=np.bool_)
    result[inside] = chosen
    return result


def sweep(
    size: Size,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the distance along a random direction with a wavy front, H×W float64, for
    :func:`lowest_share`.
    """
    height, width = size
    angle = rng.uniform(0, 2 * np.pi)
    rows, cols = np.mgrid[:height, :width]
    along = cols * np.cos(angle) + rows * np.sin(angle)
    return np.asarray(
        along + 0.15 * max(size) * smooth_field(size, rng), dtype=np.float64
    )


def reach(
    similarity: Callable[[float], float],
    target: float,
) -> float:
    """Return the t in 0..1 at which ``similarity`` (1 at t = 0, low at t = 1) falls to
    ``target``; 1 if it never does.
    """
    if similarity(1.0) >= target:
        return 1.0
    low = 0.0
    high = 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if similarity(middle) > target else (low, middle)
        )
    return high


def box_iou(first: Xyxy, second: Xyxy) -> float:
    """Return the intersection over union of two boxes; 0 if the union is empty."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    inter = max(0.0, width) * max(0.0, height)
    union = _area(first) + _area(second) - inter
    return inter / union if union > 0 else 0.0


def elsewhere(
    box: Xyxy,
    size: Size,
    rng: np.random.Generator,
    taken: list[Xyxy],
) -> Xyxy:
    """Return a box of about the same size on the image, with the least overlap with
    ``taken`` in 20 random tries.
    """
    height, width = size
    tries = []
    for _ in range(20):
        scale = rng.uniform(0.6, 1.1)
        w = min(
            (box[2] - box[0]) * scale,
            width * 0.8,
        )
        h = min(
            (box[3] - box[1]) * scale,
            height * 0.8,
        )
        x = rng.uniform(0, width - w)
        y = rng.uniform(0, height - h)
        tries.append((x, y, x + w, y + h))
    return min(
        tries,
        key=lambda box: max(
            (box_iou(box, other) for other in taken), default=0.0
        ),
    )


def _area(box: Xyxy) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])
