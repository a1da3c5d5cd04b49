"""Krippendorff's α: agreement of any number of raters, with gaps, beyond chance. 1 = perfect, 0 = chance.

Source: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability". Both disagreements are sums over units of
moments, so α needs no table of all value pairs, and a bootstrap over units is a matrix product. The ordinal
difference of two values, Σ n_g from c to k less (n_c + n_k)/2, is the difference of their mid-ranks; ordinal α is
interval α of mid-ranks. Equal to the ``krippendorff`` package (tested).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from visualjudge.analysis.bootstrap import Interval, Resampling, percentile_interval
from visualjudge.records import FloatArray, IntArray

Level = Literal["nominal", "ordinal", "interval"]


def _midranks(values: FloatArray) -> FloatArray:
    """Mid-ranks of the values that are there; NaN stays."""
    known = np.isfinite(values)
    levels, which, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    out = np.full(values.shape, np.nan)
    out[known] = (np.cumsum(counts) - counts / 2)[which] if levels.size else np.nan
    return out


def _moments(ratings: FloatArray) -> FloatArray:
    """Per unit: pairable values, Σ, Σ², and Σ of squared differences over ordered pairs / (m - 1). Units × 4."""
    known = np.isfinite(ratings)
    m = known.sum(0)
    x = np.where(known & (m > 1), ratings, 0.0)
    count = np.where(m > 1, m, 0)
    total, squares = x.sum(0), (x * x).sum(0)
    within = 2 * (count * squares - total**2) / np.maximum(count - 1, 1)
    return np.column_stack([count, total, squares, within])


def _interval_alpha(sums: FloatArray) -> FloatArray:
    """α of rows n, Σ, Σ², Σ within."""
    n, total, squares, within = sums.T
    expected = 2 * (n * squares - total**2)
    return _one_minus(within * (n - 1), expected, n)


def _one_minus(observed: FloatArray, expected: FloatArray, n: FloatArray) -> FloatArray:
    small = (n < 2) | (expected <= 1e-9 * np.maximum(1, n))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(small, np.nan, 1 - observed / expected))


def _category_counts(ratings: FloatArray) -> FloatArray:
    """Units × categories: how many raters gave each value, 0 in units with a single rating."""
    levels = np.unique(ratings[np.isfinite(ratings)])
    counts = np.stack([(ratings == level).sum(0) for level in levels], 1) if levels.size else np.zeros((1, 0))
    return np.asarray(np.where(counts.sum(1, keepdims=True) > 1, counts, 0), float)


def _nominal_columns(ratings: FloatArray) -> FloatArray:
    """Units × (categories + 1): the counts, and the disagreeing ordered pairs / (m - 1)."""
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

    None where no unit has two ratings, or all pairable values are the same (chance cannot be told from agreement).
    """
    value = _alpha_rows(ratings, level, None)[0]
    return float(value) if np.isfinite(value) else None


def alpha_interval(ratings: FloatArray, level: Level, groups: IntArray | None = None) -> Interval | None:
    """Interval of α by resampling ``groups`` of units (one integer a unit; default: each unit alone)."""
    labels = np.unique(np.arange(ratings.shape[1]) if groups is None else groups, return_inverse=True)[1]
    clusters = int(labels.max()) + 1 if labels.size else 0
    if clusters < 2:
        return None
    return percentile_interval(_alpha_rows(ratings, level, labels)[1:], clusters)


def _alpha_rows(ratings: FloatArray, level: Level, labels: IntArray | None) -> FloatArray:
    """α of the sample, followed, where ``labels`` are given, by its bootstrap replicates."""
    nominal = level == "nominal"
    scored = ratings if level != "ordinal" else _midranks(_pairable(ratings))
    columns = _nominal_columns(scored) if nominal else _moments(_centred(scored))
    rows = columns.sum(0, keepdims=True)
    if labels is not None:
        clusters = int(labels.max()) + 1
        grouped = np.zeros((clusters, columns.shape[1]))
        np.add.at(grouped, labels, columns)
        rows = np.vstack([rows, Resampling(clusters).sums(grouped)])
    return _nominal_alpha(rows) if nominal else _interval_alpha(rows)


def _pairable(ratings: FloatArray) -> FloatArray:
    """Single ratings of a unit removed: they take no part in the ranks."""
    return np.where(np.isfinite(ratings).sum(0) > 1, ratings, np.nan)


def _centred(ratings: FloatArray) -> FloatArray:
    """α does not depend on the origin; sums of squares do, in floating point."""
    known = ratings[np.isfinite(ratings)]
    return ratings - known.mean() if known.size else ratings
