"""Search for pairs of boxes with a minimum IoU without comparing all pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visualjudge.core.errors import DataError
from visualjudge.core.records import BoolArray, FloatArray

IntArray = NDArray[np.intp]
MOST_PAIRS = 5_000_000
"""Maximum pairs of a nearby prediction and ground truth with the same label in an image; for
people, maximum of all pairs.
"""
MOST_COMPARED = 100_000_000
"""Maximum pairs of masks, or of a prediction and a crowd region, in an image whose boxes are
compared.
"""
TOGETHER = 1_000_000
"""Maximum pairs in memory at a time."""
FEW = 300_000
"""Maximum number of pairs with similar left edges; above it, pairs are searched by size."""
_SIZES = 60
"""Bound on the absolute value of log2 of sizes in pixels."""


@dataclass
class Pairs:
    """Number of pairs compared so far in an image, over all its labels."""

    near: int = 0
    compared: int = 0

    def add(self, *, near: int = 0, compared: int = 0) -> None:
        """Count pairs before they are compared.

        Raises
        ------
        DataError
            If the total exceeds :data:`MOST_PAIRS` or :data:`MOST_COMPARED`.
        """
        self.near, self.compared = self.near + near, self.compared + compared
        check_pairs(self.near)
        check_pairs(self.compared, MOST_COMPARED)


def check_pairs(count: int, most: int = MOST_PAIRS) -> None:
    """Check that at most ``most`` pairs of an image are compared.

    Raises
    ------
    DataError
        If there are more.
    """
    if count > most:
        raise DataError(
            f"prediction: must have at most {most:,} pairs with the ground truth of its image "
            "and classes, "
            f"got {count:,}"
        )


def close_pairs(
    first: FloatArray, second: FloatArray, least: float, counted: Pairs
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the indices in ``first`` and ``second`` of all pairs that may have an IoU of at least
    ``least``, each pair once.

    Such boxes have widths (heights) w ≥ w' with w' ≥ least·w, and their edges differ by at most (1
    − least)·w. Boxes are therefore grouped by size, and neighbouring groups are searched by edge
    positions.

    Parameters
    ----------
    first, second
        Boxes of shape (n, 4) and (m, 4), xyxy.
    least
        Minimum IoU, above 0 and below 1.
    counted
        The number of pairs compared in the image so far.

    Raises
    ------
    DataError
        If there are more than :data:`MOST_PAIRS`.
    """
    if (swept := _swept(first, second, least)) is not None:
        counted.add(near=len(swept[0]))
        yield swept
        return
    ours, others = _by_size(first, least), _by_size(second, least)
    for (wide, high), mine in ours.items():
        for key in ((wide + a, high + b) for a in (-1, 0, 1) for b in (-1, 0, 1)):
            for i, j in _near(first, mine, second, others[key], least) if key in others else ():
                counted.add(near=len(i))
                yield i, j


def _swept(first: FloatArray, second: FloatArray, least: float) -> tuple[IntArray, IntArray] | None:
    """Return the pairs of :func:`close_pairs`, comparing each box with those whose left edges are
    near; None if these are more than :data:`FEW`.
    """
    order = np.argsort(second[:, 0], kind="stable")
    edges = second[order, 0]
    sides = np.maximum(first[:, 2:] - first[:, :2], 0)
    reach = (1 / least - 1) * (1 + 1e-6) * sides + _rounding(first, second)
    start = np.searchsorted(edges, first[:, 0] - reach[:, 0])
    count = np.searchsorted(edges, first[:, 0] + reach[:, 0], side="right") - start
    if count.sum() > FEW:
        return None
    i = np.repeat(np.arange(len(first)), count)
    j = np.arange(len(i)) + np.repeat(start - np.cumsum(count) + count, count)
    level = np.abs(first[i, 1] - second[order, 1][j]) <= reach[i, 1]
    i, j = i[level], order[j[level]]
    close = _close(first[i], second[j], least)
    return i[close], j[close]


def _close(ours: FloatArray, others: FloatArray, least: float) -> BoolArray:
    """Return whether the edges of corresponding boxes in two arrays, (n, 4) each, differ by no more
    than ``least`` allows.
    """
    longer = np.maximum(ours[..., 2:] - ours[..., :2], others[..., 2:] - others[..., :2])
    reach = (1 - least) * (1 + 1e-6) * longer + _rounding(ours, others)
    gaps = np.abs(ours - others)
    return np.asarray(((gaps[..., :2] <= reach) & (gaps[..., 2:] <= reach)).all(axis=1))


def _rounding(first: FloatArray, second: FloatArray) -> float:
    largest = max(np.abs(first).max(initial=0), np.abs(second).max(initial=0))
    return float(4 * np.finfo(np.float64).eps * largest)


def _by_size(boxes: FloatArray, least: float) -> dict[tuple[int, int], IntArray]:
    """Return the indices of boxes with an area by class of width and height. Boxes with an IoU of
    ``least`` are in neighbouring classes.
    """
    sides = boxes[:, 2:] - boxes[:, :2]
    places = np.flatnonzero((sides > 0).all(axis=1) & np.isfinite(sides).all(axis=1))
    step = -np.log2(least) * 1.01  # rounding must not put two boxes of that IoU two classes apart
    classes = np.floor(np.clip(np.log2(sides[places]), -_SIZES, _SIZES) / step).astype(int)
    order = np.lexsort(classes.T)
    places, classes = places[order], classes[order]
    starts = np.flatnonzero(np.any(np.diff(classes, axis=0, prepend=classes[:1] - 1) != 0, axis=1))
    parts = np.split(places, starts[1:])
    return {(int(a), int(b)): part for (a, b), part in zip(classes[starts], parts, strict=True)}


def _near(
    first: FloatArray, mine: IntArray, second: FloatArray, others: IntArray, least: float
) -> Iterator[tuple[IntArray, IntArray]]:
    from scipy.spatial import cKDTree  # slow to import, and few images need it

    boxes, truths = first[mine], second[others]
    sides = np.concatenate([side[:, 2:] - side[:, :2] for side in (boxes, truths)])
    scale = np.tile(sides.max(axis=0), 2)
    boxes, truths = boxes / scale, truths / scale
    reach = (1 - least) * (1 + 1e-6) + _rounding(boxes, truths)
    tree, order = (
        cKDTree(truths),
        cKDTree(boxes).indices,
    )  # a tree's order keeps neighbours in space together
    rows = max(1, TOGETHER // len(truths))
    for some in np.split(order, range(rows, len(order), rows)):
        found = cKDTree(boxes[some]).sparse_distance_matrix(
            tree, reach, p=np.inf, output_type="ndarray"
        )
        yield mine[some[found["i"]]], others[found["j"]]
