"""Intervals of shares whose cases come in images: right answers of verdicts, consistent of questions, mean τ.

The interval is Clopper and Pearson's (1934) for the number of *independent* cases that hold as much as those seen
(Korn & Graubard 1998). That number is the number of cases over a design effect (Kish 1965), which is

- the jackknife's variance over that of independent cases, p (1 - p) / (n - 1): 1 where each image is one case;
- raised where the images' influences are more skewed than independent cases would make them;
- drawn towards the largest design effect, that of images in which all cases go together, on the logarithmic scale,
  the more the fewer independent errors were seen: with none, nothing tells whether the cases of an image are alike,
  and each effective image counts as one case;
- multiplied by (t / z)², Student's t at the effective images less one, for the part of the variance that had to be
  estimated (all but that of independent cases), down to one case an effective image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from visualjudge.analysis.statistics.jackknife import (
    FEW,
    LEAST_IMAGES,
    NORMAL,
    TAIL,
    TINY,
    Spread,
    effective_number,
    enough,
    spread,
    sums,
)
from visualjudge.core.records import FloatArray, IntArray

UNSEEN = 2.0
"""How many errors in images whose cases all go together are held against the independent errors seen."""
EDGE = 1e-9


@dataclass(frozen=True, eq=False)
class Shares:
    """K shares: ``value``, ``low``, ``high`` (NaN where undefined), ``cases`` and ``images``; arrays (K,)."""

    value: FloatArray
    low: FloatArray
    high: FloatArray
    cases: FloatArray
    images: IntArray

    def interval(self, k: int) -> tuple[float, float] | None:
        """Ends of share ``k``, or None."""
        return None if np.isnan(self.low[k]) else (float(self.low[k]), float(self.high[k]))

    def why(self, k: int) -> str | None:
        """Why share ``k`` has no interval."""
        if not np.isnan(self.low[k]):
            return None
        return FEW if self.cases[k] else "nothing was asked"


def ratio_influence(
    top: FloatArray, bottom: FloatArray, column: IntArray, columns: int
) -> tuple[FloatArray, FloatArray]:
    """Ratios of totals (columns,), and for each entry the ratio less the ratio without it (entries,)."""
    total, cases = sums(column, top, columns), sums(column, bottom, columns)
    value = np.divide(total, cases, out=np.full(columns, np.nan), where=cases > 0)
    rest = cases[column] - bottom
    without = np.divide(total[column] - top, rest, out=value[column].copy(), where=rest > 0)
    return value, np.nan_to_num(value[column] - without)


def shares(
    top: FloatArray, bottom: FloatArray, column: IntArray | None = None, columns: int = 1, *, whole: bool = True
) -> Shares:
    """95 % intervals of Σ ``top`` / Σ ``bottom`` in each column, one entry an image and column.

    Parameters
    ----------
    top, bottom
        Sums over one image's cases, 0 ≤ top ≤ bottom; shape (entries,). Entries with ``bottom`` 0 are left out.
    column
        Which share the entry belongs to; by default all to one.
    whole
        Whether each case is 0 or 1; else it lies between them, and may vary less than such cases do.
    """
    kept = bottom > 0
    place = np.zeros(bottom.size, dtype=np.int64) if column is None else np.asarray(column)
    top, bottom, place = np.asarray(top, float)[kept], np.asarray(bottom, float)[kept], place[kept]
    value, influence = ratio_influence(top, bottom, place, columns)
    cases = sums(place, bottom, columns)
    found = spread(influence, bottom, place, columns)
    low, high = share_ends(value, found, cases, whole=whole)
    return Shares(value, low, high, cases, found.images)


def share_ends(
    value: FloatArray, found: Spread, cases: FloatArray, *, whole: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Ends of the interval of shares with a known ``spread``, of ``cases`` each; NaN where undefined. Arrays (K,)."""
    p = np.clip(np.nan_to_num(value), 0, 1)
    low, high = exact_ends(p, _independent_cases(p, found, np.maximum(cases, 1), whole=whole))
    told = enough(found) & np.isfinite(value)
    return np.where(told, low, np.nan), np.where(told, high, np.nan)


def exact_ends(p: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Clopper and Pearson's 95 % interval of shares ``p`` of ``n`` independent cases, whole or not; arrays (K,)."""
    low = special.betaincinv(np.maximum(n * p, EDGE), n * (1 - p) + 1, TAIL)
    high = 1 - special.betaincinv(np.maximum(n * (1 - p), EDGE), n * p + 1, TAIL)
    return np.where(p <= EDGE, 0.0, low), np.where(p >= 1 - EDGE, 1.0, high)


def _independent_cases(p: FloatArray, found: Spread, cases: FloatArray, *, whole: bool) -> FloatArray:
    """How many independent cases tell as much of ``p``."""
    images = np.maximum(found.effective, 1)
    effect = _shrunk(_design_effect(p, found, cases, whole=whole), p, cases, images)
    estimated = 1 - 1 / effect if whole else 1.0
    t = stats.t.isf(TAIL, np.maximum(images - 1, 1))
    n = cases / effect
    return np.asarray(np.maximum(n / (1 + ((t / NORMAL) ** 2 - 1) * estimated), np.minimum(n, images)))


def _design_effect(p: FloatArray, found: Spread, cases: FloatArray, *, whole: bool) -> FloatArray:
    """The variance over that of independent cases, and what skewness adds to it."""
    freedom, lean = np.maximum(cases - 1, 1), 1 - 2 * p
    independent = np.maximum(p * (1 - p), EDGE) / freedom
    effect = np.where(found.variance > TINY**2, found.variance / independent, 1.0)
    effect = np.maximum(effect, 1.0) if whole else effect
    third = found.skew * np.sqrt(found.variance * found.images / np.maximum(found.images - 1, 1))
    return np.asarray(effect + np.maximum(freedom * lean * third - lean**2 * effect, 0))


def _shrunk(effect: FloatArray, p: FloatArray, cases: FloatArray, images: FloatArray) -> FloatArray:
    """The design effect, drawn towards that of images in which all cases go together."""
    seen = cases * p * (1 - p) / effect
    weight = UNSEEN / (UNSEEN + seen)
    return np.asarray(effect ** (1 - weight) * np.maximum(cases / images, effect) ** weight)


def one_share(top: FloatArray, bottom: FloatArray, *, whole: bool = True) -> Shares:
    """:func:`shares` of a single column."""
    return shares(np.asarray(top, float), np.asarray(bottom, float), whole=whole)


__all__ = ["LEAST_IMAGES", "Shares", "effective_number", "one_share", "ratio_influence", "share_ends", "shares"]
