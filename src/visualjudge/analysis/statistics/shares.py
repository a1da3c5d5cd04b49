"""Intervals of shares whose cases come in images: right answers of verdicts, consistent of questions, mean τ.

The interval is symmetrical, but for skewness, on the logit scale, with the jackknife's standard error and Student's t
of :mod:`visualjudge.analysis.statistics.jackknife`, and two floors, so that few images never look certain:

- it reaches at least as far as a 90 % interval of independent cases does, 1.64 √(p (1 - p) / n);
- to the variance comes that of 2.5 (2p - 1)² further images as much alike inside as those seen: the rarer a wrong (or
  right) image is, the likelier none was drawn (in the spirit of Agresti & Coull 1998, who add four cases).

Where every case is right, or none is, nothing varied: the interval is Clopper and Pearson's (1934) with each of the
effective images counted as one case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from visualjudge.analysis.statistics.jackknife import (
    FEW,
    LEAST_IMAGES,
    LEAST_REACH,
    TAIL,
    TINY,
    Spread,
    effective_number,
    enough,
    reaches,
    spread,
    sums,
)
from visualjudge.records import FloatArray, IntArray

FURTHER_IMAGES = 2.5
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
        Whether each case is 0 or 1; else it lies between them, and the binomial floor does not hold.
    """
    kept = bottom > 0
    place = np.zeros(bottom.size, dtype=np.int64) if column is None else np.asarray(column)
    top, bottom, place = np.asarray(top, float)[kept], np.asarray(bottom, float)[kept], place[kept]
    value, influence = ratio_influence(top, bottom, place, columns)
    cases = sums(place, bottom, columns)
    found = spread(influence, bottom, place, columns)
    size = np.divide(sums(place, bottom**2, columns), cases, out=np.ones(columns), where=cases > 0)
    low, high = share_ends(value, found, cases, size, whole=whole)
    return Shares(value, low, high, cases, found.images)


def share_ends(
    value: FloatArray, found: Spread, cases: FloatArray, size: FloatArray, *, whole: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Ends of the interval of shares with a known ``spread``; NaN where undefined.

    ``cases``: how many; ``size``: the mean image that a case lies in, Σn²/Σn. All arrays (K,).
    """
    p = np.clip(np.nan_to_num(value), EDGE, 1 - EDGE)
    binomial = p * (1 - p) / np.maximum(cases, 1)
    error = np.sqrt(_with_further(p, found, binomial, size)) / (p * (1 - p))
    least = LEAST_REACH * np.sqrt(binomial) / (p * (1 - p)) if whole else np.zeros_like(p)
    down, up = (np.maximum(reach, least) for reach in reaches(found, error, 2 * p - 1))
    centre = np.log(p / (1 - p))
    low, high = special.expit(centre - down), special.expit(centre + up)
    edge = TAIL ** (1 / np.maximum(found.effective, 1))
    none, every = value <= EDGE, value >= 1 - EDGE
    low = np.where(none, 0.0, np.where(every, edge, low))
    high = np.where(every, 1.0, np.where(none, 1 - edge, high))
    told = enough(found) & np.isfinite(value)
    return np.where(told, low, np.nan), np.where(told, high, np.nan)


def _with_further(p: FloatArray, found: Spread, binomial: FloatArray, size: FloatArray) -> FloatArray:
    """The variance with that of further images; ``alike``: the share of a case's variance that is between images."""
    alike = np.clip((found.variance / binomial - 1) / np.maximum(size - 1, EDGE), 0, 1)
    further = FURTHER_IMAGES * (2 * p - 1) ** 2 * alike * p * (1 - p) / np.maximum(found.effective, 1) ** 2
    return np.asarray(np.where(found.variance > TINY**2, found.variance + further, binomial))


def one_share(top: FloatArray, bottom: FloatArray, *, whole: bool = True) -> Shares:
    """:func:`shares` of a single column."""
    return shares(np.asarray(top, float), np.asarray(bottom, float), whole=whole)


__all__ = ["LEAST_IMAGES", "Shares", "effective_number", "one_share", "ratio_influence", "share_ends", "shares"]
