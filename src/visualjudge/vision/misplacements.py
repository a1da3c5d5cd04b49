"""Predictions read in coordinates of another order, scale or origin than their file's,
which an import tries on the boxes around them. Mistakes of one type alone are in
``vision/<type>/misread.py``.

They are tried on the boxes around predictions, so all types with places share them.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visualjudge.core.records import FloatArray
from visualjudge.vision.base import Prediction
from visualjudge.vision.raster.overlaps import box_ious
from visualjudge.vision.rows import Change, Misplacement
from visualjudge.vision.scoring.matching import BACKGROUND, pairs

# Sides in pixels of the square images that detectors are commonly given.
LETTERBOXES = (416, 512, 640, 1024, 1280)
# Sizes of images, and factors, that coordinates are commonly left in.
KNOWN = (
    *(100.0, 224.0, 256.0, 300.0, 320.0, 800.0, 1000.0, 1333.0, *LETTERBOXES),
    *(1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0),
    *(1 / 1.5, 1 / 2, 1 / 3, 1 / 4, 1 / 8, 1 / 16, 1 / 100),
)
# How far the logarithm of a fitted scale may be from those of these that are tried.
NEAR = 0.06
# Radius of what fits together: of logarithms, and in parts of a usual object.
ALIKE = 0.2
NEARBY = 0.3
# Least logarithm of a scale that is a mistake of a file, and least size.
LEAST_SCALE = 0.2
LEAST_SIZE = 1e-6
# Pairs that are looked at.
MOST_PAIRS = 1000


class Outlines(NamedTuple):
    """The boxes around the items of one side of an image, (n, 4), and their labels."""

    corners: FloatArray
    labels: NDArray[np.str_]


def _turned(order: list[int], *mirrored: int) -> Change:
    """Return what takes corners in another order and counts axes from the other end:
    0 for x, 1 for y."""

    def placed(corners: FloatArray, size: FloatArray) -> FloatArray:
        result = corners[:, order]
        for axis in mirrored:
            ends = [axis, axis + 2]
            result[:, ends] = size[axis] - result[:, ends[::-1]]
        return result

    return placed


def _letterboxed(
    side: float, corners: FloatArray, size: FloatArray
) -> FloatArray:
    factor = side / size.max()
    return np.asarray((corners - (side - size * factor) / 2) / factor)


def _rescaled(
    scale: float,
    norm: Callable[[FloatArray], FloatArray],
    corners: FloatArray,
    size: FloatArray,
) -> FloatArray:
    return corners * norm(size) / scale


Y_BEFORE_X = Misplacement("coordinates are y before x", _turned([1, 0, 3, 2]))
SHARED = (
    Y_BEFORE_X,
    Misplacement("the image was mirrored", _turned([0, 1, 2, 3], 0)),
    Misplacement("y is counted from the bottom", _turned([0, 1, 2, 3], 1)),
    Misplacement(
        "the image was turned by 180 degrees", _turned([0, 1, 2, 3], 0, 1)
    ),
    Misplacement(
        "the image was turned by 90 degrees", _turned([1, 0, 3, 2], 1)
    ),
    Misplacement(
        "the image was turned by 90 degrees", _turned([1, 0, 3, 2], 0)
    ),
    Misplacement(
        "coordinates are pixels and were read as percent of the image",
        lambda corners, size: corners * 100 / size,
    ),
    Misplacement(
        "coordinates are fractions of a letterboxed image",
        lambda corners, size: _letterboxed(
            size.max(), corners / size * size.max(), size
        ),
    ),
    *(
        Misplacement(
            f"coordinates refer to an image letterboxed to {side} × {side}",
            partial(_letterboxed, side),
        )
        for side in LETTERBOXES
    ),
)
# What a scale is called, and what of the (width, height, width, height) of images
# coordinates were divided by.
NORMS: tuple[
    tuple[Callable[[float], str], Callable[[FloatArray], FloatArray]], ...
] = (
    (
        lambda scale: (
            f"all coordinates were multiplied by {scale:.3g}"
            if scale > 1
            else f"all coordinates were divided by {1 / scale:.3g}"
        ),
        lambda sizes: np.ones_like(sizes),
    ),
    (
        lambda scale: (
            "coordinates are fractions of the size of the image"
            if scale == 1
            else f"coordinates refer to an image of {scale:.4g} × {scale:.4g}"
        ),
        lambda sizes: sizes,
    ),
    (
        lambda scale: (
            f"coordinates refer to an image of {scale:.4g} on its longer side"
        ),
        lambda sizes: 0 * sizes + sizes.max(axis=-1, keepdims=True),
    ),
    (
        lambda scale: (
            f"coordinates refer to an image of {scale:.4g} on its shorter side"
        ),
        lambda sizes: 0 * sizes + sizes.min(axis=-1, keepdims=True),
    ),
)

# What a move is called, the least that is a mistake of a file, its decimals, and its
# unit by the size of images.
MOVES: tuple[
    tuple[str, float, int, Callable[[FloatArray], FloatArray]], ...
] = (
    (
        "compared with the ground truth, predictions are moved by {:g} pixels to the "
        "right and {:g} down",
        3.0,
        0,
        np.ones_like,
    ),
    (
        "compared with the ground truth, predictions are moved by {:g} of the width of "
        "the image to the right and {:g} of its height down, as in a crop",
        0.02,
        2,
        np.copy,
    ),
)


def fitted_scales(
    ours: FloatArray, theirs: FloatArray, sizes: FloatArray
) -> Iterator[Misplacement]:
    """Yield the mistakes of scale on which most pairs agree.

    Parameters
    ----------
    ours, theirs
        Corners, (n, 4), of predictions and of ground truths of their label and image.
    sizes
        (width, height, width, height) of each pair's image, (n, 4).
    """
    first, second = (
        np.log(np.maximum(_centres_and_sizes(side), LEAST_SIZE))
        for side in (ours, theirs)
    )
    for told, norm in NORMS:
        ratios = first - second + np.log(norm(sizes))
        scale = float(np.exp(_densest(np.nan_to_num(ratios), ALIKE).mean()))
        known = [k for k in KNOWN if abs(np.log(k / scale)) <= NEAR]
        for near in known or [scale]:
            if near == 1 or abs(np.log(near)) >= LEAST_SCALE:
                yield Misplacement(told(near), partial(_rescaled, near, norm))


def fitted_moves(
    ours: FloatArray, theirs: FloatArray, sizes: FloatArray
) -> Iterator[Misplacement]:
    """Yield the mistakes of origin on which most pairs agree, in pixels and in parts of
    the image, from the same arrays."""
    for told, least, digits, unit in MOVES:
        first, second = (
            _centres_and_sizes(side) / unit(sizes) for side in (ours, theirs)
        )
        near = NEARBY * float(np.median(np.nan_to_num(second[:, 2:])))
        (right, down), _ = np.split(
            _densest(np.nan_to_num(first - second), near).round(digits), 2
        )
        if max(abs(right), abs(down)) >= least:
            yield Misplacement(
                told.format(right, down),
                partial(_moved_by, [right, down, right, down], unit),
            )


def _moved_by(
    parts: Sequence[float],
    unit: Callable[[FloatArray], FloatArray],
    corners: FloatArray,
    size: FloatArray,
) -> FloatArray:
    return corners - parts * unit(size)


def after(first: Misplacement, second: Misplacement) -> Misplacement:
    """Return both mistakes, of which ``first`` is corrected first."""
    return Misplacement(
        f"{first.told}, and {second.told}",
        lambda corners, size: second.placed(first.placed(corners, size), size),
    )


def _centres_and_sizes(corners: FloatArray) -> FloatArray:
    first, second = corners[:, :2], corners[:, 2:]
    return np.hstack([(first + second) / 2, second - first])


def _densest(points: FloatArray, radius: float) -> FloatArray:
    """Return the median of the points, (n, k), around which most others lie."""
    points = points[:: len(points) // MOST_PAIRS + 1]
    near = np.all(
        [abs(np.subtract.outer(part, part)) <= radius for part in points.T],
        axis=0,
    )
    most = near.sum(axis=1).argmax()
    return np.asarray(np.median(points[near[most]], axis=0))


def outlines(side: Prediction, places: Callable[[Any], FloatArray]) -> Outlines:
    """Return the boxes around the items of a side without its crowds."""
    side = side.without_crowds()
    corners = places(side)
    labels = [getattr(item, "label", "") for item in getattr(side, "items", ())]
    return Outlines(corners, np.array(labels, np.str_)[: len(corners)])


def overlap(ours: Outlines, theirs: Outlines) -> float:
    """Return how well boxes of one label lie at one another, 0..10: the mean IoU of one-
    to-one matching, where what is left over counts 0."""
    same = ours.labels[:, None] == theirs.labels
    ious = np.where(same, box_ious(ours.corners, theirs.corners), 0.0)
    matched = sum(value for _, _, value in pairs(ious, BACKGROUND))
    return 20 * matched / sum(same.shape) if sum(same.shape) else 10.0


def same_labels(
    sides: Sequence[tuple[Outlines, Outlines]], sizes: Sequence[FloatArray]
) -> list[FloatArray]:
    """Return the corners of all pairs of a prediction and a ground truth of one image
    and label, and the size of their image, each (n, 4)."""
    rows = [
        np.concatenate([ours.corners[i], theirs.corners[j], size])
        for (ours, theirs), size in zip(sides, sizes, strict=True)
        for i, j in np.argwhere(ours.labels[:, None] == theirs.labels)
    ]
    return np.split(np.reshape(rows, (-1, 12)), 3, axis=1)
