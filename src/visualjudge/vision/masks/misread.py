"""Masks read in another form than their file's: runs by rows, black for white, which an
import tries. Wrong *predictions* are in ``faults.py``.
"""

from collections.abc import Callable
from dataclasses import replace

from visualjudge.core.records import BoolArray
from visualjudge.vision.masks.record import Masks
from visualjudge.vision.raster.masks import mask_from_array
from visualjudge.vision.rows import Misreading


def _each(
    change: Callable[[BoolArray], BoolArray],
) -> Callable[[Masks, Masks], Masks]:
    def mended(prediction: Masks, _truth: Masks) -> Masks:
        return prediction.with_items(
            replace(item, mask=mask_from_array(change(item.mask.dense())))
            for item in prediction.items
        )

    return mended


# Of maps, whose masks lie side by side, and of masks.
OF_MAPS = (
    Misreading(
        "the runs of RLE go along rows, and COCO's go down columns",
        _each(lambda dense: dense.ravel(order="F").reshape(dense.shape)),
    ),
    Misreading("the image was mirrored", _each(lambda dense: dense[:, ::-1])),
    Misreading("masks are upside down", _each(lambda dense: dense[::-1])),
)
MISREADINGS = (
    *OF_MAPS,
    # of two sides, the one whose masks cover most of their image is wrong
    Misreading(
        "masks are inverted",
        _each(lambda dense: ~dense if dense.mean() > 0.5 else dense),
        fitted=True,
    ),
)
