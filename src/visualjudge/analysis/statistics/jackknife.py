"""Intervals and tests for figures whose cases are clustered in images.

Every figure here is a smooth function of sums over images, so leaving out each image once shows its
influence (the delete-one-cluster jackknife, "CR3"). Three corrections for few, unequal or skewed
images are applied to its standard error; each can only widen the interval:

- the *effective number* of images (Σw)²/Σw² in place of their number (Kish 1965; Carter, Schnepel &
  Steigerwald 2017);
- Student's t with Satterthwaite's degrees of freedom for a variance whose terms have the observed
  kurtosis (Satterthwaite 1946), at most the effective number less one;
- the Cornish–Fisher shift for skewness on the side where the figure errs (Hall 1992), less what
  the scale accounts for.

Sources: Bell & McCaffrey 2002; Cameron & Miller 2015; MacKinnon, Nielsen & Webb 2023 (CR3); Hall
1992.

The tails of the normal, Student's t and chi-squared distributions use the functions behind
``scipy.stats``, whose import takes half a second, a third of the time of a small report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from visualjudge.core.case_noun import in_cases
from visualjudge.core.records import FloatArray, IntArray


def norm_sf(x: Any) -> Any:
    """Return P(Z > x)."""
    return special.ndtr(-x)


def norm_isf(tail: Any) -> Any:
    """Return the x with P(Z > x) = ``tail``."""
    return -special.ndtri(tail)


def t_sf(x: Any, freedom: Any) -> Any:
    """Return P(T > x) with ``freedom`` degrees of freedom."""
    return special.stdtr(freedom, -x)


def t_isf(tail: Any, freedom: Any) -> Any:
    """Return the x with P(T > x) = ``tail``."""
    return -special.stdtrit(freedom, tail)


def chi2_isf(tail: Any, freedom: Any) -> Any:
    """Return the x with P(χ² > x) = ``tail``."""
    return special.chdtri(freedom, tail)


LEAST_IMAGES = 5
"""Minimum number of images for an interval: with fewer, none would have its stated coverage, and
the reason is shown instead.
"""
LEAST_DF = 2.0
TINY = 1e-12
TAIL = 0.025
NORMAL = float(norm_isf(TAIL))


def too_few() -> str:
    """Say that there are too few images for an interval."""
    return in_cases(f"fewer than {LEAST_IMAGES} images")


def all_alike() -> str:
    """Say that no image moves the figure."""
    return in_cases("all images give the same result")


@dataclass(frozen=True, eq=False)
class Spread:
    """Jackknife results of K figures, in arrays of shape (K,)."""

    variance: FloatArray
    df: FloatArray
    skew: FloatArray
    """Third moment of the influences divided by their second moment to the power 1.5: skewness /
    √images.
    """
    images: IntArray
    effective: FloatArray

    def only(self, k: int) -> Spread:
        """Return that of figure ``k`` alone."""
        return Spread(*(getattr(self, one.name)[k : k + 1] for one in fields(self)))


def sums(place: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Return the totals of ``values`` by ``place`` (0 … count - 1), as floats."""
    return np.asarray(np.bincount(place, values, count), dtype=float)


def renumbered(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct ``codes``, sorted, and the index of each code among them.

    Equal to :func:`numpy.unique` with ``return_inverse``, but without sorting if the codes are not
    much larger than their number.
    """
    if not codes.size or codes.min() < 0 or codes.max() > 8 * codes.size:
        return np.unique(codes, return_inverse=True)
    held = np.zeros(int(codes.max()) + 1, dtype=bool)
    held[codes] = True
    return np.flatnonzero(held), (np.cumsum(held) - 1)[codes]


def effective_number(weights: FloatArray, column: IntArray, columns: int) -> FloatArray:
    """Return Kish's (Σw)²/Σw² of the ``weights`` in each of ``columns`` columns; 0 for an empty
    column.
    """
    total = sums(column, weights, columns)
    squares = sums(column, weights**2, columns)
    return np.asarray(np.divide(total**2, squares, out=np.zeros(columns), where=squares > 0))


def spread(influence: FloatArray, weights: FloatArray, column: IntArray, columns: int) -> Spread:
    """Return the spread of ``columns`` figures from one entry per image and figure.

    ``influence`` is the figure less the figure without that image, ``weights`` the information in
    the image (its number of cases), and ``column`` the figure that the entry belongs to; all have
    shape (entries,).
    """
    images = np.bincount(column, minlength=columns)
    effective = effective_number(weights, column, columns)
    squares = influence * influence  # powers of 3 and 4 take twenty times as long as products
    second, third, fourth = (
        sums(column, values, columns)
        for values in (squares, squares * influence, squares * squares)
    )
    told = second > TINY**2
    kurtosis = np.divide(images * fourth, second**2, out=np.full(columns, 3.0), where=told)
    by_kurtosis = 2 * effective / np.maximum(kurtosis - 1, 0.5)
    df = np.minimum(effective - 1, np.maximum(by_kurtosis, LEAST_DF))
    skew = np.divide(third, second**1.5, out=np.zeros(columns), where=told)
    shrunk = np.divide(images - 1.0, images, out=np.zeros(columns), where=images > 0)
    return Spread(second * shrunk, np.maximum(df, 1e-3), skew, images, effective)


def enough(found: Spread) -> NDArray[np.bool_]:
    """Return where there are enough images for an interval, both counted and effective."""
    return np.asarray((found.images >= LEAST_IMAGES) & (found.effective >= 2))


def reaches(
    found: Spread, error: FloatArray, bend: FloatArray, tail: float = TAIL
) -> tuple[FloatArray, FloatArray]:
    """Return how far the interval extends down and up, on a scale g with standard errors ``error``;
    ``bend`` is g″/g′² there.
    """
    t = t_isf(tail, found.df)
    z2 = float(norm_isf(tail)) ** 2
    shift = -found.skew * (2 * z2 + 1) / 6 - error * bend * z2 / 2
    return error * (t + np.maximum(shift, 0)), error * (t + np.maximum(-shift, 0))


def mean_ends(value: FloatArray, found: Spread) -> tuple[FloatArray, FloatArray]:
    """Return the interval ends of figures without natural bounds; NaN where undefined."""
    error = np.sqrt(found.variance)
    down, up = reaches(found, error, np.zeros_like(error))
    told = enough(found) & (error > TINY) & np.isfinite(value)
    return np.where(told, value - down, np.nan), np.where(told, value + up, np.nan)


def correlation_ends(value: FloatArray, found: Spread) -> tuple[FloatArray, FloatArray]:
    """Return the interval ends of figures in (-1, 1), symmetrical on Fisher's z scale except for
    skewness; NaN where undefined.
    """
    inside = np.isfinite(value) & (np.abs(value) < 1)
    r = np.where(inside, value, 0.0)
    error = np.sqrt(found.variance) / (1 - r**2)
    down, up = reaches(found, error, 2 * r)
    told = enough(found) & (error > TINY) & inside
    z = np.arctanh(r)
    return np.where(told, np.tanh(z - down), np.nan), np.where(told, np.tanh(z + up), np.nan)


def test(value: FloatArray, found: Spread) -> FloatArray:
    """Return the two-sided p-value of ``value`` = 0; NaN where undefined. Where no image differs,
    this is a sign test over images.
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


def holm(
    p_values: Sequence[float | None], weights: Sequence[float] | None = None
) -> list[float | None]:
    """Return Holm's step-down adjustment (Holm 1979) of the p-values that are known; None stays
    None.

    ``weights`` (positive, one for each p) divide the level among the tests, as in section 3 of
    that paper: a test with twice the weight gets twice the level. By default all are equal.
    """
    weight = np.ones(len(p_values)) if weights is None else np.asarray(weights, dtype=float)
    known = sorted((p / weight[i], i) for i, p in enumerate(p_values) if p is not None)
    left = float(sum(weight[i] for _, i in known))
    out: list[float | None] = [None] * len(p_values)
    reached = 0.0
    for ratio, i in known:
        reached = max(reached, min(1.0, float(ratio) * left))
        left -= float(weight[i])
        out[i] = reached
    return out
