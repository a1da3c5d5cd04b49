"""Masks read in another form than their file's: runs by rows, black for white, which an
import tries. Wrong *predictions* are in ``faults.py``.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from visualjudge.core.records import BoolArray
from visualjudge.vision.masks.record import Masks
from visualjudge.vision.raster.masks import mask_from_array
from visualjudge.vision.rows import Misreading


def _changed(
    change: Callable[[BoolArray], BoolArray], prediction: Masks, _truth: Masks
) -> Masks:
    return prediction.with_items(
        replace(item, mask=mask_from_array(change(item.mask.dense())))
        for item in prediction.items
    )


def _moved_back(prediction: Masks, truth: Masks) -> Masks:
    """Return the masks moved to where most of the truth of their labels lies."""
    theirs = truth.by_label()
    spectrum = sum(
        np.fft.rfft2(theirs[label].dense()) * np.fft.rfft2(mask.dense()).conj()
        for label, mask in prediction.by_label().items()
        if label in theirs
    )
    best = np.fft.irfft2(spectrum, truth.size).argmax()
    return _changed(
        lambda dense: np.roll(
            dense, np.unravel_index(best, truth.size), (0, 1)
        ),
        prediction,
        truth,
    )


# Of maps, whose masks lie side by side, and of masks.
OF_MAPS = (
    Misreading(
        "the runs of RLE go along rows, and COCO's go down columns",
        partial(
            _changed, lambda dense: dense.ravel(order="F").reshape(dense.shape)
        ),
    ),
    Misreading(
        "the image was mirrored",
        partial(_changed, lambda dense: dense[:, ::-1]),
    ),
    Misreading(
        "masks are upside down", partial(_changed, lambda dense: dense[::-1])
    ),
    Misreading(
        "compared with the ground truth, masks are moved",
        _moved_back,
        fitted=True,
        least=6.0,
    ),
)
MISREADINGS = (
    # where one mask is moved to another, it fits it
    *(row for row in OF_MAPS if not row.fitted),
    # of two sides, the one whose masks cover most of their image is wrong
    Misreading(
        "masks are inverted",
        partial(
            _changed, lambda dense: ~dense if dense.mean() > 0.5 else dense
        ),
        fitted=True,
    ),
)
