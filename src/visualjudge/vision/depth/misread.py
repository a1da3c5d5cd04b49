"""Depth maps read in another form than their file's: disparities instead of depths,
other orders and units, which an import tries. Wrong *predictions* are in ``faults.py``.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import FloatArray
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.rows import Misreading


def _refitted(
    wrong: Callable[[FloatArray, float], bool],
    prediction: DepthMap,
    truth: DepthMap,
) -> DepthMap:
    """Return the values with the mean and the spread of the truth's, turned over if that
    agrees more with it, if the values and the slope are wrong."""
    known = prediction.valid & truth.valid
    ours, theirs = prediction.values[known], truth.values[known]
    if prediction.inverse != truth.inverse:
        theirs = 1 / theirs
    # a least-squares fit would take spread from a side that is only bad
    slope = (
        np.sign(np.cov(ours, theirs)[0, 1])
        * theirs.std()
        / max(ours.std(), np.finfo(float).tiny)
    )
    if not wrong(prediction.values, slope):
        raise DataError("depth: is in order")
    return replace(
        prediction,
        values=slope * (prediction.values - ours.mean()) + theirs.mean(),
    )


def _turned(
    *axes: int,
) -> Callable[[DepthMap, DepthMap], DepthMap]:
    return lambda prediction, _truth: replace(
        prediction, values=np.flip(prediction.values, axes)
    )


def _unit(name: str, factor: float) -> Misreading:
    return Misreading(
        f"predictions and ground truth differ in unit, as {name} do",
        lambda prediction, _truth: replace(
            prediction, values=prediction.values * factor
        ),
    )


# The largest values of maps that are normalised, and how near to them they are.
LARGEST, NEAR_LARGEST = np.array([1.0, 255.0, 65535.0]), 0.005
MISREADINGS = (
    Misreading(
        "values are disparities, or depths that are read as such (`pred_inverse`, "
        "`gt_inverse`)",
        lambda prediction, _: replace(
            prediction, inverse=not prediction.inverse
        ),
    ),
    Misreading(
        "near and far are exchanged",
        partial(_refitted, lambda _values, slope: slope < 0),
        fitted=True,
    ),
    Misreading(
        "values are normalised for each image (`align` affine)",
        partial(
            _refitted,
            lambda values, _slope: (
                np.abs(values.max() / LARGEST - 1).min() <= NEAR_LARGEST
            ),
        ),
        fitted=True,
    ),
    Misreading(
        "values are cut at the largest",
        lambda prediction, truth: replace(
            prediction,
            values=np.where(
                (prediction.values == prediction.values.max())
                & (prediction.values.min() < prediction.values.max()),
                np.maximum(prediction.values, truth.values),
                prediction.values,
            ),
        ),
        fitted=True,
    ),
    Misreading(
        "values are logarithms of depths",
        lambda prediction, _: replace(
            prediction,
            # no depth has a logarithm above 50
            values=np.where(
                prediction.values <= 50,
                np.exp(np.minimum(prediction.values, 50)),
                prediction.values,
            ),
        ),
    ),
    Misreading(
        "the largest value marks holes (`hole`)",
        lambda prediction, _: replace(
            prediction,
            values=np.where(
                prediction.values == prediction.values.max(),
                0,
                prediction.values,
            ),
        ),
    ),
    Misreading("maps are upside down", _turned(0)),
    Misreading("the image was mirrored", _turned(1)),
    Misreading("maps are turned by 180 degrees", _turned(0, 1)),
    _unit("metres and millimetres", 1e-3),
    _unit("metres and centimetres", 1e-2),
    _unit("metres and millimetres", 1e3),
    _unit("metres and values of 1/256 metre", 1 / 256),
)
