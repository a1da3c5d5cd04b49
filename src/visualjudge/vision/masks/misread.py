"""Common mistakes in masks: runs by rows, x for y, another scale, black for white."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import BoolArray
from visualjudge.vision.masks.record import Masks
from visualjudge.vision.raster.masks import mask_from_array
from visualjudge.vision.rows import Misreading

MOST_INSIDE = 0.7


def _each(
    change: Callable[[BoolArray], BoolArray],
) -> Callable[[Masks, Masks], Masks]:
    def mended(prediction: Masks, _truth: Masks) -> Masks:
        return prediction.with_items(
            replace(item, mask=mask_from_array(change(item.mask.dense())))
            for item in prediction.items
        )

    return mended


def _placed(part: BoolArray, shape: tuple[int, ...]) -> BoolArray:
    """Return ``part`` in the upper left of a mask of this shape.

    Raises
    ------
    DataError
        If much of it is outside: what leaves its image when corrected was right.
    """
    whole = np.zeros(shape, np.bool_)
    inside = part[: shape[0], : shape[1]]
    if inside.sum() < MOST_INSIDE * part.sum():
        raise DataError("mask: leaves its image")
    whole[: inside.shape[0], : inside.shape[1]] = inside
    return whole


MISREADINGS = (
    Misreading(
        "the runs of RLE go along rows, and COCO's go down columns",
        _each(lambda dense: dense.ravel(order="F").reshape(dense.shape)),
    ),
    Misreading(
        "x and y are exchanged",
        _each(lambda dense: _placed(dense.T, dense.shape)),
    ),
    Misreading(
        "all coordinates were divided by 2",
        _each(
            lambda dense: _placed(
                dense.repeat(2, axis=0).repeat(2, axis=1), dense.shape
            )
        ),
    ),
    Misreading(
        "all coordinates were divided by 4",
        _each(
            lambda dense: _placed(
                dense.repeat(4, axis=0).repeat(4, axis=1), dense.shape
            )
        ),
    ),
    Misreading(
        "all coordinates were multiplied by 2",
        _each(lambda dense: _placed(dense[::2, ::2], dense.shape)),
    ),
    Misreading("the image was mirrored", _each(lambda dense: dense[:, ::-1])),
    Misreading("masks are upside down", _each(lambda dense: dense[::-1])),
    Misreading("masks are inverted", _each(lambda dense: ~dense), fitted=True),
)
