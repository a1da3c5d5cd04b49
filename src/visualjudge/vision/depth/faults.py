"""Faults of depth maps: the regions where the aligned depth is worst, and how it is
wrong there. Errors made on purpose are in ``errors.py``, files read in another unit in
``misread.py``.
"""

from collections.abc import Collection, Iterator

import cv2
import numpy as np

from visualjudge.core.records import BoolArray, Fault, FloatArray, Pixels
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.depth.score import RATIO, log_depths
from visualjudge.vision.raster.images import fitted_size
from visualjudge.vision.raster.regions import worst_regions

KINDS = {
    "scale": "a region is too near or too far",
    "blur": "edges are blurred or details are lost",
    "noise": "depth is grainy",
    "ordinal": "near and far are exchanged in a region",
}
# Mean relative error of a region that counts as a fault.
LEAST = 0.05
# Pixels of the longer side at which faults are measured, at most.
LONGEST_SIDE = 1024
# Scale of details, as a share of the longer side.
DETAIL = 1 / 32
# Correlation of the logarithms above which near and far are not exchanged.
PARALLEL = 0.3


def depth_faults(
    prediction: DepthMap,
    truth: DepthMap,
    _labels: Collection[str] | None,
    _input_image: Pixels | None,
) -> Iterator[Fault]:
    """Yield the worst regions after alignment of the medians. Larger maps are measured
    at :data:`LONGEST_SIDE`.

    A fault's weight is the sum of its pixels' absolute log ratios, each divided by log
    1.25 (δ1's threshold) and at most 1, as a share of the valid pixels. Its kind:
    ``ordinal`` if most pixels are on the other side of the median, otherwise ``blur``
    or ``noise`` if most detail is lost or new, otherwise ``scale``.
    """
    size = fitted_size(truth.values.shape, LONGEST_SIDE)
    known, predicted, real = log_depths(
        prediction.scaled(prediction.values.shape, size),
        truth.scaled(truth.values.shape, size),
    )
    detail, true = _details(known, predicted, real)
    middle = np.median(real[known]) if known.any() else 0.0
    new = detail - true
    for box, part in worst_regions(
        np.abs(predicted - real),
        known,
        LEAST,
        truth.values.shape,
    ):
        inside = part & known
        change = (predicted - real)[inside]
        ours = predicted[inside] - middle
        theirs = real[inside] - middle
        product = np.mean(ours * theirs) - ours.mean() * theirs.mean()
        parallel = product > PARALLEL * np.std(ours) * np.std(theirs)
        if np.mean(ours * theirs < 0) > 0.5 and not parallel:
            kind = "ordinal"
        elif np.var(detail[inside]) < np.var(true[inside]) / 2:
            kind = "blur"
        elif np.var(new[inside]) > np.mean((change - new[inside]) ** 2):
            kind = "noise"
        else:
            kind = "scale"
        weights = np.minimum(np.abs(change) / np.log(RATIO), 1)
        yield Fault(kind, box, float(weights.sum() / np.count_nonzero(known)))


def _details(known: BoolArray, *maps: FloatArray) -> Iterator[FloatArray]:
    """Yield what each map, 0 where it is not known, has beside its surroundings."""
    sigma = DETAIL * max(known.shape)
    weight, *totals = (
        cv2.GaussianBlur(
            table.astype(np.float32),
            (0, 0),
            sigma,
        )
        for table in (known, *maps)
    )
    for values, total in zip(maps, totals, strict=True):
        yield np.where(
            known,
            values - total / np.maximum(weight, 1e-9),
            0.0,
        )
