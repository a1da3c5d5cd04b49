"""A lean to one feature, free of differences in difficulty: right answers compared inside strata.

With y = right and s = ±½ for "the option with more of the feature is (not) the better one", the least-squares slope of
y on s, with an intercept and a slope on the margin of its own in each stratum, is the difference in accuracy at equal
difficulty; half of it is the preference. Strata without both kinds of question add nothing. Weights are those of least
squares, which for shares are Mantel and Haenszel's (1959). The jackknife leaves out one image in all its strata.
"""

from __future__ import annotations

import numpy as np

from visualjudge.analysis.statistics.jackknife import Spread, spread, sums
from visualjudge.records import BoolArray, FloatArray, IntArray

FLAT = 1e-9


def _moments(more: BoolArray, margin: FloatArray, n: FloatArray, right: FloatArray) -> FloatArray:
    """Per row: n, Σm, Σm², Σs, Σsm, Σss, Σy, Σym, Σsy."""
    s = np.where(more, 0.5, -0.5)
    parts = (n, n * margin, n * margin**2, n * s, n * s * margin, n * 0.25, right, right * margin, right * s)
    return np.column_stack(parts)


def _parted(moments: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Σ s̃y and Σ s̃² of each row's sums, with intercept and margin taken out of s."""
    n, m, mm, s, sm, ss, y, ym, sy = moments.T
    held = n > FLAT
    n = np.where(held, n, 1.0)
    spread_m = mm - m * m / n
    slope_s, slope_y = sm - s * m / n, ym - y * m / n
    bent = spread_m > FLAT * np.maximum(1.0, mm)
    safe = np.where(bent, spread_m, 1.0)
    top = sy - s * y / n - np.where(bent, slope_s * slope_y / safe, 0)
    bottom = ss - s * s / n - np.where(bent, slope_s**2 / safe, 0)
    told = held & (bottom > FLAT * np.maximum(1.0, n))
    return np.where(told, top, 0.0), np.where(told, bottom, 0.0)


def lean(
    stratum: IntArray, image: IntArray, more: BoolArray, margin: FloatArray, n: FloatArray, right: FloatArray
) -> tuple[FloatArray, Spread]:
    """The preference (1,), in -½..½ (NaN where no stratum tells), and its spread over images.

    One row a stratum, image, kind of question and margin: ``n`` usable replies, of which ``right`` were right.
    """
    strata, b = np.unique(stratum, return_inverse=True)
    centre = sums(b, margin * n, strata.size) / sums(b, n, strata.size)
    rows = _moments(np.asarray(more, bool), margin - centre[b], np.asarray(n, float), np.asarray(right, float))
    total = np.stack([sums(b, column, strata.size) for column in rows.T], 1)
    images, g = np.unique(image, return_inverse=True)
    entry, which = np.unique(b * images.size + g, return_inverse=True)
    own = np.stack([sums(which, column, entry.size) for column in rows.T], 1)
    place, who = entry // images.size, entry % images.size
    top, bottom = _parted(total)
    left_top, left_bottom = _parted(total[place] - own)
    lost_top = sums(who, top[place] - left_top, images.size)
    lost_bottom = sums(who, bottom[place] - left_bottom, images.size)
    return _preference(top.sum(), bottom.sum(), lost_top, lost_bottom)


def _preference(top: float, bottom: float, lost_top: FloatArray, lost_bottom: FloatArray) -> tuple[FloatArray, Spread]:
    nowhere = np.zeros(lost_top.size, dtype=np.int64)
    if bottom <= FLAT:
        return np.array([np.nan]), spread(np.zeros(lost_top.size), np.maximum(lost_bottom, FLAT), nowhere, 1)
    value, rest = top / bottom / 2, bottom - lost_bottom
    without = np.divide(top - lost_top, 2 * rest, out=np.full(rest.size, value), where=rest > FLAT)
    telling = lost_bottom > FLAT
    return np.array([value]), spread((value - without)[telling], lost_bottom[telling], nowhere[telling], 1)
