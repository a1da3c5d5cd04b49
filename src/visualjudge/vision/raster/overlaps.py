"""IoU of boxes and of masks by hotcoco, and what keeps it right on all input. Matching
by them is in ``vision/scoring/matching.py``.

hotcoco computes in threads from 1,024 pairs on. Threads do not survive a fork, in which
a call would wait for ever, so a call has fewer pairs.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hotcoco import mask as coco_mask

from visualjudge.core.errors import DataError
from visualjudge.core.records import BoolArray, FloatArray, Mask
from visualjudge.vision.raster.limits import MOST_PAIRS, check_items
from visualjudge.vision.raster.masks import packed_rle

_PAIRS_OF_A_CALL = 1000


def box_ious(
    first: FloatArray, second: FloatArray, crowd: BoolArray | None = None
) -> FloatArray:
    """Return the intersection over union of (n, 4) and (m, 4) xyxy boxes, shape (n, m);
    0 for boxes without area.

    For those of ``second`` where ``crowd``, shape (m,) bool, is true, the intersection
    is divided by the first box's own area, as COCO does for crowd regions.

    Raises
    ------
    DataError
        If there are more than :data:`MOST_PAIRS`.
    """
    extents = np.array(first, np.float64), np.array(second, np.float64)
    for extent in extents:
        extent[:, 2:] -= extent[:, :2]
    return _by_rows(coco_mask.bbox_iou, *extents, crowd)


def dense_iou(first: BoolArray, second: BoolArray, inside: int = 0) -> float:
    """Return the IoU of two masks of one shape, with so many further pixels ``inside``
    both; 1 if both are empty.
    """
    union = inside + int(np.count_nonzero(first | second))
    return (
        (inside + int(np.count_nonzero(first & second))) / union
        if union
        else 1.0
    )


def mask_ious(
    first: Sequence[Mask],
    second: Sequence[Mask],
    crowd: BoolArray | None = None,
) -> FloatArray:
    """Return the IoU of masks of one image, shape (len(first), len(second)), as
    :func:`box_ious` does of boxes.
    """
    if first and second and first[0].size != second[0].size:
        raise DataError(
            f"masks must have one size, got {first[0].size} and {second[0].size}"
        )
    packed = [[packed_rle(mask) for mask in side] for side in (first, second)]
    return _by_rows(coco_mask.iou, packed[0], packed[1], crowd)


def _by_rows(
    iou: Callable[..., Any], first: Any, second: Any, crowd: BoolArray | None
) -> FloatArray:
    count = len(first)
    others = len(second)
    check_pairs(count * others)
    values = np.zeros((count, others))
    flags = np.zeros(others, dtype=np.bool_) if crowd is None else crowd
    rows = max(1, _PAIRS_OF_A_CALL // max(1, others))
    for start in range(0, count if others else 0, rows):
        values[start : start + rows] = iou(
            first[start : start + rows], second, flags
        )
    return np.where(
        values > 0, values, 0.0
    )  # hotcoco has NaN for two boxes without area


def check_pairs(count: int) -> None:
    """Check the pairs of a prediction and a ground truth of one image.

    Raises
    ------
    DataError
        If there are more than :data:`~visualjudge.vision.raster.limits.MOST_PAIRS`.
    """
    check_items("prediction: pairs with the ground truth", count, MOST_PAIRS)
