"""Correlations with and without case weights. A judge's scores beside the true ones are
in ``score_agreement.py``.

Weights (draws × N) say how often a resample contains each case, so one call computes
every replicate. With weights of 1, each equals SciPy's (tested).

Sources: Spearman 1904; Kendall 1945 (τ-b).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from visualjudge.core.records import FloatArray, IntArray

KENDALL_MOST = 3000
GROUPS = 200
WEIGHT_CELLS = 4_000_000
Weighted = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def left_out(
    x: FloatArray,
    y: FloatArray,
    groups: IntArray,
    weighted: Weighted,
) -> tuple[float, FloatArray]:
    """Return the correlation of all cases, and that without each group in turn,
    (groups,); ``groups`` has each case's group number, from 0. NaN where it is
    undefined.
    """
    # scores have few distinct pairs of values
    values, place = np.unique(
        np.column_stack([x, y]),
        axis=0,
        return_inverse=True,
    )
    own = np.zeros((int(groups.max()) + 2, len(values)))
    np.add.at(
        own,
        (groups + 1, place.ravel()),
        1.0,
    )
    result = weighted(
        values[:, 0],
        values[:, 1],
        own.sum(0) - own,
    )
    return float(result[0]), result[1:]


def pearson(x: ArrayLike, y: ArrayLike) -> float | None:
    """Return the product-moment correlation; None with fewer than two cases or a
    constant."""
    return _all(x, y, weighted_pearson)


def spearman(x: ArrayLike, y: ArrayLike) -> float | None:
    """Return the rank correlation with mid-ranks for ties; None with fewer than two
    cases or a constant.
    """
    return _all(x, y, weighted_spearman)


def _all(x: ArrayLike, y: ArrayLike, weighted: Weighted) -> float | None:
    a = np.asarray(x, float)
    b = np.asarray(y, float)
    value = (
        float(
            weighted(
                a,
                b,
                np.ones((1, a.size)),
            )[0]
        )
        if a.size
        else np.nan
    )
    return value if np.isfinite(value) else None


def _correlation(
    a: FloatArray, b: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return the weighted correlation per row of ``weights``; ``a`` and ``b`` are (N,)
    or draws × N.
    """
    total = weights.sum(1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        da = a - (weights * a).sum(1, keepdims=True) / total
        db = b - (weights * b).sum(1, keepdims=True) / total
        va = (weights * da * da).sum(1)
        vb = (weights * db * db).sum(1)
        flat = (va <= 1e-12 * np.maximum(1, (weights * a * a).sum(1))) | (
            vb <= 1e-12 * np.maximum(1, (weights * b * b).sum(1))
        )
        out = (weights * da * db).sum(1) / np.sqrt(va * vb)
    return np.where(
        flat,
        np.nan,
        np.clip(out, -1, 1),
    )


def _in_parts(
    weights: FloatArray, result: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return what ``result`` makes of some rows of ``weights`` at a time."""
    step = max(1, WEIGHT_CELLS // max(1, weights.shape[1]))
    starts = range(0, len(weights), step)
    return np.concatenate(
        [result(weights[k : k + step].astype(float)) for k in starts]
    )


def weighted_midranks(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mid-ranks of ``values`` (N,) in samples that contain case i
    ``weights[d, i]`` times; draws × N.
    """
    levels, which = np.unique(values, return_inverse=True)
    order = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[order], np.arange(levels.size))
    held = np.add.reduceat(
        weights[:, order],
        starts,
        axis=1,
    )
    ranks = np.cumsum(held, axis=1) - held / 2 + 0.5
    return ranks[:, which]


def weighted_spearman(
    x: FloatArray, y: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return Spearman's ρ for each row of ``weights`` (draws × N); NaN where a draw is
    constant."""
    return _in_parts(
        weights,
        lambda w: _correlation(
            weighted_midranks(x, w),
            weighted_midranks(y, w),
            w,
        ),
    )


def weighted_pearson(
    x: FloatArray, y: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return Pearson's r for each row of ``weights`` (draws × N); NaN where a draw is
    constant."""
    return _in_parts(weights, lambda w: _correlation(x, y, w))


def weighted_kendall(
    x: FloatArray, y: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return Kendall's τ-b for each row of ``weights``; NaN above 3000 cases (the table
    of signs is N × N).
    """
    if x.size > KENDALL_MOST:
        return np.full(weights.shape[0], np.nan)
    sx = np.sign(x[:, None] - x)
    sy = np.sign(y[:, None] - y)
    w = np.asarray(weights, float)
    forms = [
        ((w @ table) * w).sum(1)
        for table in (
            sx * sy,
            np.abs(sx),
            np.abs(sy),
        )
    ]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(forms[0] / np.sqrt(forms[1] * forms[2]))


def kendall_rows(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return τ-b of each row of ``a`` with the same row of ``b`` (both N × k); NaN
    where a row is constant.
    """
    first, second = np.triu_indices(a.shape[1], 1)
    sa = np.sign(a[:, first] - a[:, second])
    sb = np.sign(b[:, first] - b[:, second])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(
            (sa * sb).sum(1) / np.sqrt(np.abs(sa).sum(1) * np.abs(sb).sum(1))
        )
