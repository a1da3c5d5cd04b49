"""Krippendorff's α: agreement beyond chance of any number of raters, with missing ratings. 1 is
perfect, 0 is chance.

Source: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability". Both disagreements are sums
of moments over units, so α needs no table of value pairs, and leaving out an image is a
subtraction. The ordinal difference of two values, Σ n_g from c to k less (n_c + n_k)/2, is the
difference of their mid-ranks; ordinal α is interval α of mid-ranks. Equal to the ``krippendorff``
package (tested).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from visualjudge.analysis.estimate import TAIL, Spread, spread, sums, t_isf
from visualjudge.core.records import FloatArray, IntArray

Level = Literal["nominal", "ordinal", "interval"]
Interval = tuple[float, float]


def _midranks(values: FloatArray) -> FloatArray:
    """Return the mid-ranks of ``values``; NaN stays NaN."""
    known = np.isfinite(values)
    levels, which, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    out = np.full(values.shape, np.nan)
    out[known] = (np.cumsum(counts) - counts / 2)[which] if levels.size else np.nan
    return out


def _moments(ratings: FloatArray) -> FloatArray:
    """Return per unit (units × 4): the number of pairable values, Σ, Σ², and the sum of squared
    differences over ordered pairs / (m - 1).
    """
    known = np.isfinite(ratings)
    m = known.sum(0)
    x = np.where(known & (m > 1), ratings, 0.0)
    count = np.where(m > 1, m, 0)
    total, squares = x.sum(0), (x * x).sum(0)
    within = 2 * (count * squares - total**2) / np.maximum(count - 1, 1)
    return np.column_stack([count, total, squares, within])


def _interval_alpha(sums: FloatArray) -> FloatArray:
    """Return α for rows of n, Σ, Σ², and Σ within units."""
    n, total, squares, within = sums.T
    expected = 2 * (n * squares - total**2)
    return _one_minus(within * (n - 1), expected, n)


def _one_minus(observed: FloatArray, expected: FloatArray, n: FloatArray) -> FloatArray:
    small = (n < 2) | (expected <= 1e-9 * np.maximum(1, n))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(small, np.nan, 1 - observed / expected))


def _category_counts(ratings: FloatArray) -> FloatArray:
    """Count how many raters gave each value (units × categories); 0 in units with one rating."""
    levels = np.unique(ratings[np.isfinite(ratings)])
    counts = (
        np.stack([(ratings == level).sum(0) for level in levels], 1)
        if levels.size
        else np.zeros((1, 0))
    )
    return np.asarray(np.where(counts.sum(1, keepdims=True) > 1, counts, 0), float)


def _nominal_columns(ratings: FloatArray) -> FloatArray:
    """Return the counts and the disagreeing ordered pairs / (m - 1), units × (categories + 1)."""
    counts = _category_counts(ratings)
    m = counts.sum(1)
    unlike = (m**2 - (counts**2).sum(1)) / np.maximum(m - 1, 1)
    return np.column_stack([counts, unlike])


def _nominal_alpha(sums: FloatArray) -> FloatArray:
    counts, observed = sums[:, :-1], sums[:, -1]
    n = counts.sum(1)
    return _one_minus(observed * (n - 1), n**2 - (counts**2).sum(1), n)


def alpha(ratings: FloatArray, level: Level = "nominal") -> float | None:
    """Krippendorff's α of ``ratings`` (raters × units, NaN = not rated).

    None if no unit has two ratings, or if all pairable values are equal (agreement and chance are
    then indistinguishable).
    """
    _, columns, by_rows = _prepared(ratings, level)
    value = by_rows(columns.sum(0, keepdims=True))[0]
    return float(value) if np.isfinite(value) else None


def alpha_interval(
    ratings: FloatArray, level: Level, groups: IntArray | None = None
) -> Interval | None:
    """Return the 95 % interval of α by leaving out each of ``groups`` of units in turn (one integer
    per unit; by default each unit is a group).

    The interval is computed on the scale -log(1 - α), the log of the disagreement, by Student's t.
    Its standard error is at least the binomial error of the units that disagree. Without any
    disagreement, its upper bound is Clopper and Pearson's for 0 of the groups.
    """
    labels = np.unique(
        np.arange(ratings.shape[1]) if groups is None else groups, return_inverse=True
    )[1]
    scored, columns, by_rows = _prepared(ratings, level)
    total = columns.sum(0, keepdims=True)
    value = float(by_rows(total)[0])
    if not np.isfinite(value):
        return None
    grouped = np.zeros((int(labels.max()) + 1, columns.shape[1]))
    np.add.at(grouped, labels, columns)
    pairable = sums(labels, (np.isfinite(scored).sum(0) > 1).astype(float), int(labels.max()) + 1)
    kept = pairable > 0
    without = by_rows(total - grouped[kept])
    influence = np.nan_to_num(value - without)
    found = spread(influence, pairable[kept], np.zeros(int(kept.sum()), dtype=np.int64), 1)
    return disagreement_ends(value, found, _disagreeing(scored)) if found.enough[0] else None


def _disagreeing(ratings: FloatArray) -> tuple[float, float]:
    """Count the pairable units, and those that hold two different values."""
    known = np.isfinite(ratings)
    pairable = known.sum(0) > 1
    low, high = np.where(known, ratings, np.inf).min(0), np.where(known, ratings, -np.inf).max(0)
    return float(pairable.sum()), float((pairable & (high > low)).sum())


def disagreement_ends(
    value: float, found: Spread, units: tuple[float, float], expected: float = 0.5
) -> Interval | None:
    """Return the interval of ``value``, which is 1 less a disagreement divided by the one
    ``expected``; ``units`` counts all, and those that disagree. It lies within -1 to 1. If no unit,
    or every unit, disagrees, the other end is that of zero events.
    """
    count, unlike = units
    unseen = TAIL ** (1 / float(found.effective[0]))
    if unlike == 0:
        return max(-1.0, 1 - (1 - unseen) / expected), 1.0
    floor = (1 - unlike / count) / unlike
    error = np.sqrt(np.maximum(found.variance / (1 - value) ** 2, floor))
    reach, centre = float(t_isf(TAIL, found.df[0]) * error[0]), -np.log(1 - value)
    low, high = float(1 - np.exp(reach - centre)), float(1 - np.exp(-reach - centre))
    return max(-1.0, low), high if unlike < count else max(high, 1 - unseen / expected)


def _prepared(
    ratings: FloatArray, level: Level
) -> tuple[FloatArray, FloatArray, Callable[[FloatArray], FloatArray]]:
    """Return the prepared ratings, their sums per unit, and the function that computes α from rows
    of sums.
    """
    scored = ratings if level != "ordinal" else _midranks(_pairable(ratings))
    nominal = level == "nominal"
    columns = _nominal_columns(scored) if nominal else _moments(_centred(scored))
    return scored, columns, _nominal_alpha if nominal else _interval_alpha


def _pairable(ratings: FloatArray) -> FloatArray:
    """Remove single ratings of a unit: they take no part in the ranks."""
    return np.where(np.isfinite(ratings).sum(0) > 1, ratings, np.nan)


def _centred(ratings: FloatArray) -> FloatArray:
    """Centre the ratings: α ignores the origin, but floating-point sums of squares do not."""
    known = ratings[np.isfinite(ratings)]
    return ratings - known.mean() if known.size else ratings
