"""Intervals and tests for figures whose cases come in images: what one image adds, image by image.

Every figure here is smooth in sums over images, so leaving each image out once shows how far the
figure leans on it (the delete-one-cluster jackknife, "CR3"). On top of its standard error stand
three corrections for few, unequal or skewed images, each of which only widens:

- the *effective number* of images (Σw)²/Σw² in place of their number (Kish 1965; Carter, Schnepel &
  Steigerwald 2017);
- Student's t at Satterthwaite's degrees of freedom of a variance whose terms have the kurtosis seen
  (Satterthwaite 1946), at most the effective number less one;
- the Cornish–Fisher shift for skewness on the side where the figure errs (Hall 1992), less what the
  scale takes in.

Sources: Bell & McCaffrey 2002; Cameron & Miller 2015; MacKinnon, Nielsen & Webb 2023 (CR3); Hall
1992.

The tails of the normal distribution, Student's and chi-squared are the functions that
``scipy.stats`` calls itself: it takes half a second to import, a third of a small report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from visualjudge.core.records import FloatArray, IntArray


def norm_sf(x: Any) -> Any:
    """P(Z > x)."""
    return special.ndtr(-x)


def norm_isf(tail: Any) -> Any:
    """The x with P(Z > x) = ``tail``."""
    return -special.ndtri(tail)


def t_sf(x: Any, freedom: Any) -> Any:
    """P(T > x) with ``freedom`` degrees of freedom."""
    return special.stdtr(freedom, -x)


def t_isf(tail: Any, freedom: Any) -> Any:
    """The x with P(T > x) = ``tail``."""
    return -special.stdtrit(freedom, tail)


def chi2_isf(tail: Any, freedom: Any) -> Any:
    """The x with P(χ² > x) = ``tail``."""
    return special.chdtri(freedom, tail)


LEAST_IMAGES = 5
"""Below this many images an interval cannot hold what it says: none is given, and the reason stands
in its place.
"""
LEAST_DF = 2.0
TINY = 1e-12
TAIL = 0.025
NORMAL = float(norm_isf(TAIL))
FEW = f"fewer than {LEAST_IMAGES} images"
ALIKE = "every image gives the same"


@dataclass(frozen=True, eq=False)
class Spread:
    """What the jackknife says of K figures: arrays of shape (K,)."""

    variance: FloatArray
    df: FloatArray
    skew: FloatArray
    """Third moment of the influences over the 1.5th power of their second: skewness / √images."""
    images: IntArray
    effective: FloatArray


def sums(place: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Totals of ``values`` by ``place`` (0 … count - 1), as floats."""
    return np.asarray(np.bincount(place, values, count), dtype=float)


def renumbered(codes: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct ``codes``, sorted, and the place of each among them.

    As :func:`numpy.unique` gives them, but without a sort where the codes are not much larger than
    their number.
    """
    if not codes.size or codes.min() < 0 or codes.max() > 8 * codes.size:
        return np.unique(codes, return_inverse=True)
    held = np.zeros(int(codes.max()) + 1, dtype=bool)
    held[codes] = True
    return np.flatnonzero(held), (np.cumsum(held) - 1)[codes]


def effective_number(weights: FloatArray, column: IntArray, columns: int) -> FloatArray:
    """Kish's (Σw)²/Σw² of the ``weights`` in each of ``columns`` columns; 0 where a column is
    empty.
    """
    total = sums(column, weights, columns)
    squares = sums(column, weights**2, columns)
    return np.asarray(np.divide(total**2, squares, out=np.zeros(columns), where=squares > 0))


def spread(influence: FloatArray, weights: FloatArray, column: IntArray, columns: int) -> Spread:
    """Spread of ``columns`` figures from one entry an image and figure.

    ``influence``: the figure less the figure without that image; ``weights``: how much information
    the image holds (its number of cases); ``column``: which figure the entry belongs to. All of
    shape (entries,).
    """
    images = np.bincount(column, minlength=columns)
    effective = effective_number(weights, column, columns)
    second, third, fourth = (sums(column, influence**power, columns) for power in (2, 3, 4))
    told = second > TINY**2
    kurtosis = np.divide(images * fourth, second**2, out=np.full(columns, 3.0), where=told)
    by_kurtosis = 2 * effective / np.maximum(kurtosis - 1, 0.5)
    df = np.minimum(effective - 1, np.maximum(by_kurtosis, LEAST_DF))
    skew = np.divide(third, second**1.5, out=np.zeros(columns), where=told)
    shrunk = np.divide(images - 1.0, images, out=np.zeros(columns), where=images > 0)
    return Spread(second * shrunk, np.maximum(df, 1e-3), skew, images, effective)


def enough(found: Spread) -> NDArray[np.bool_]:
    """Where there are images enough, counted and effective, for an interval."""
    return np.asarray((found.images >= LEAST_IMAGES) & (found.effective >= 2))


def reaches(
    found: Spread, error: FloatArray, bend: FloatArray, tail: float = TAIL
) -> tuple[FloatArray, FloatArray]:
    """How far the interval goes down and up, on a scale g with standard errors ``error``; ``bend``
    = g″/g′² there.
    """
    t = t_isf(tail, found.df)
    z2 = float(norm_isf(tail)) ** 2
    shift = -found.skew * (2 * z2 + 1) / 6 - error * bend * z2 / 2
    return error * (t + np.maximum(shift, 0)), error * (t + np.maximum(-shift, 0))


def mean_ends(value: FloatArray, found: Spread) -> tuple[FloatArray, FloatArray]:
    """Ends of the interval of figures that have no bounds of their own; NaN where undefined."""
    error = np.sqrt(found.variance)
    down, up = reaches(found, error, np.zeros_like(error))
    told = enough(found) & (error > TINY) & np.isfinite(value)
    return np.where(told, value - down, np.nan), np.where(told, value + up, np.nan)


def correlation_ends(value: FloatArray, found: Spread) -> tuple[FloatArray, FloatArray]:
    """Ends for figures in (-1, 1), symmetrical but for skewness on Fisher's z scale; NaN where
    undefined.
    """
    inside = np.isfinite(value) & (np.abs(value) < 1)
    r = np.where(inside, value, 0.0)
    error = np.sqrt(found.variance) / (1 - r**2)
    down, up = reaches(found, error, 2 * r)
    told = enough(found) & (error > TINY) & inside
    z = np.arctanh(r)
    return np.where(told, np.tanh(z - down), np.nan), np.where(told, np.tanh(z + up), np.nan)


def test(value: FloatArray, found: Spread) -> FloatArray:
    """Two-sided p of ``value`` = 0; NaN where undefined. Where no image differs: a sign test over
    images.
    """
    error = np.sqrt(found.variance)
    scaled = np.divide(np.abs(value), error, out=np.zeros_like(error), where=error > TINY)
    p = 2 * t_sf(scaled, found.df)
    flat = np.where(
        np.abs(value) < TINY, 1.0, np.minimum(1.0, 2 * 0.5 ** np.maximum(found.images, 1.0))
    )
    p = np.where(error > TINY, p, flat)
    return np.asarray(
        np.where((found.images >= 2) & (found.effective > 1.5) & np.isfinite(value), p, np.nan)
    )


def holm(p_values: list[float | None]) -> list[float | None]:
    """Holm's step-down adjustment (Holm 1979) over the p that are there; None stays None."""
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    out: list[float | None] = [None] * len(p_values)
    reached = 0.0
    for rank, (p, i) in enumerate(known):
        reached = max(reached, min(1.0, p * (len(known) - rank)))
        out[i] = reached
    return out
