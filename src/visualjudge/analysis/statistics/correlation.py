"""Correlations with and without case weights.

Weights (draws × N) say how often a resample contains each case, so one call computes every
bootstrap replicate. With weights of 1, each equals SciPy's (tested).

Sources: Spearman 1904; Kendall 1945 (τ-b).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from visualjudge.analysis.estimate import renumbered
from visualjudge.core.records import FloatArray, IntArray

KENDALL_MOST = 3000
FEW_CASES = 200
"""Number of cases up to which the table of signs is faster than importing ``scipy.stats``."""
GROUPS = 200
WEIGHT_CELLS = 4_000_000
Weighted = Callable[[FloatArray, FloatArray, Any], FloatArray]


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


@dataclass(frozen=True, eq=False)
class Cases:
    """Cases grouped by value: the distinct pairs ``x``, ``y`` (pairs,), and the pair of each case
    in ``place`` (cases,).
    """

    x: FloatArray
    y: FloatArray
    place: IntArray

    def value(self, weighted: Weighted) -> float | None:
        """Return the correlation of all cases; None with fewer than two cases or a constant."""
        if self.place.size < 2:
            return None
        return _finite(weighted(self.x, self.y, np.bincount(self.place)[None, :])[0])

    def left_out(self, groups: IntArray, weighted: Weighted) -> FloatArray:
        """Return the correlation without each group in turn, (groups,); ``groups`` has each case's
        group number, from 0.
        """
        pairs, count = self.x.size, int(groups.max()) + 1
        out = np.empty(count)
        step = max(1, WEIGHT_CELLS // pairs)
        for start in range(0, count, step):
            some = min(step, count - start)
            rows = (groups >= start) & (groups < start + some)
            own = np.bincount(
                (groups[rows] - start) * pairs + self.place[rows], minlength=some * pairs
            )
            rest = np.bincount(self.place) - own.reshape(some, pairs)
            out[start : start + some] = weighted(self.x, self.y, rest)
        return out


def cases(x: ArrayLike, y: ArrayLike) -> Cases:
    """Group the cases with values ``x`` and ``y`` (cases,) by value: scores have few distinct
    values.
    """
    (a, of_a), (b, of_b) = (
        np.unique(np.asarray(values, float), return_inverse=True) for values in (x, y)
    )
    held, place = renumbered(of_a * b.size + of_b)
    return Cases(a[held // b.size], b[held % b.size], place)


def pearson(x: ArrayLike, y: ArrayLike) -> float | None:
    """Return the product-moment correlation; None with fewer than two cases or a constant."""
    return cases(x, y).value(weighted_pearson)


def spearman(x: ArrayLike, y: ArrayLike) -> float | None:
    """Return the rank correlation with mid-ranks for ties; None with fewer than two cases or a
    constant.
    """
    return cases(x, y).value(weighted_spearman)


def kendall(x: ArrayLike, y: ArrayLike) -> float | None:
    """Return Kendall's τ-b; None with fewer than two cases or a constant."""
    a, b = np.asarray(x, float), np.asarray(y, float)
    if a.size < 2 or np.all(a == a[0]) or np.all(b == b[0]):
        return None
    if a.size <= FEW_CASES:
        return _finite(float(weighted_kendall(a, b, np.ones((1, a.size)))[0]))
    from scipy import (
        stats,
    )  # takes half a second to import, but is O(n log n) where the table of signs is O(n²)

    return _finite(float(stats.kendalltau(a, b)[0]))


def _pearson(a: FloatArray, b: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted correlation per row of ``weights``; ``a`` and ``b`` are (N,) or draws ×
    N.
    """
    total = weights.sum(1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        da = a - (weights * a).sum(1, keepdims=True) / total
        db = b - (weights * b).sum(1, keepdims=True) / total
        va, vb = (weights * da * da).sum(1), (weights * db * db).sum(1)
        flat = (va <= 1e-12 * np.maximum(1, (weights * a * a).sum(1))) | (
            vb <= 1e-12 * np.maximum(1, (weights * b * b).sum(1))
        )
        out = (weights * da * db).sum(1) / np.sqrt(va * vb)
    return np.where(flat, np.nan, np.clip(out, -1, 1))


def weighted_midranks(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mid-ranks of ``values`` (N,) in samples that contain case i ``weights[d, i]``
    times; draws × N.
    """
    levels, which = np.unique(values, return_inverse=True)
    order = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[order], np.arange(levels.size))
    held = np.add.reduceat(weights[:, order], starts, axis=1)
    ranks = np.cumsum(held, axis=1) - held / 2 + 0.5
    return np.asarray(ranks[:, which])


def weighted_spearman(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Spearman's ρ for each row of ``weights`` (draws × N); NaN where a draw is constant."""
    out = np.empty(weights.shape[0])
    step = max(1, WEIGHT_CELLS // max(1, x.size))
    for start in range(0, out.size, step):
        part = np.asarray(weights[start : start + step], float)
        out[start : start + step] = _pearson(
            weighted_midranks(x, part), weighted_midranks(y, part), part
        )
    return out


def weighted_pearson(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Pearson's r for each row of ``weights`` (draws × N); NaN where a draw is constant."""
    out = np.empty(weights.shape[0])
    step = max(1, WEIGHT_CELLS // max(1, x.size))
    for start in range(0, out.size, step):
        out[start : start + step] = _pearson(x, y, np.asarray(weights[start : start + step], float))
    return out


def weighted_kendall(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Kendall's τ-b for each row of ``weights``; NaN above 3000 cases (the table of signs is
    N × N).
    """
    if x.size > KENDALL_MOST:
        return np.full(weights.shape[0], np.nan)
    sx, sy = np.sign(x[:, None] - x), np.sign(y[:, None] - y)
    w = np.asarray(weights, float)
    forms = [((w @ table) * w).sum(1) for table in (sx * sy, np.abs(sx), np.abs(sy))]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(forms[0] / np.sqrt(forms[1] * forms[2]))


def kendall_rows(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return τ-b of each row of ``a`` with the same row of ``b`` (both N × k); NaN where a row is
    constant.
    """
    first, second = np.triu_indices(a.shape[1], 1)
    sa, sb = np.sign(a[:, first] - a[:, second]), np.sign(b[:, first] - b[:, second])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((sa * sb).sum(1) / np.sqrt(np.abs(sa).sum(1) * np.abs(sb).sum(1)))


def jackknife_groups(clusters: IntArray, most: int = GROUPS) -> IntArray:
    """Return each row's image as 0, 1, 2, …; more than ``most`` images are divided into ``most``
    groups (Kott 2001).
    """
    codes = np.unique(clusters, return_inverse=True)[1].astype(np.int64)
    return np.asarray(codes % most if codes.size and codes.max() >= most else codes)
