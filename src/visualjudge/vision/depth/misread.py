"""Common mistakes in depth maps: disparities instead of depths, other orders and
units."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.rows import Misreading
from visualjudge.vision.view import correlation


def _negative(prediction: DepthMap, truth: DepthMap) -> DepthMap:
    known = prediction.valid & truth.valid
    ours, theirs = (
        side.values[known].astype(np.float32) for side in (prediction, truth)
    )
    if (correlation(ours, theirs) > 0) == (prediction.inverse == truth.inverse):
        raise DataError("depth: near and far are in order")
    return replace(
        prediction, values=ours.max() + ours.min() - prediction.values
    )


def _turned(
    axis: int,
) -> Callable[[DepthMap, DepthMap], DepthMap]:
    return lambda prediction, _truth: replace(
        prediction, values=np.flip(prediction.values, axis)
    )


def _unit(name: str, factor: float) -> Misreading:
    return Misreading(
        f"predictions are in {name}, and the truth is not",
        lambda prediction, _truth: replace(
            prediction, values=prediction.values * factor
        ),
    )


MISREADINGS = (
    Misreading(
        "predictions are disparities, or depths that are read as such (`pred_inverse`)",
        lambda prediction, _: replace(
            prediction, inverse=not prediction.inverse
        ),
    ),
    Misreading("near and far are exchanged", _negative),
    Misreading(
        "predictions are logarithms of depths",
        lambda prediction, _: replace(
            prediction, values=np.exp(np.minimum(prediction.values, 50))
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
    _unit("millimetres", 1e-3),
    _unit("centimetres", 1e-2),
    _unit("metres", 1e3),
    _unit("values of 1/256 metre", 1 / 256),
)
