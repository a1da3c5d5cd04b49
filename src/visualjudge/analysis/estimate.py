"""Values and intervals with the image as the unit: shares, differences, means and
correlations, and Holm's adjustment of several tests. The record of one value is in
``value_and_interval.py``; regressions, in ``fits.py``.

Every figure is a function of sums over images. Its variance comes from leaving out each
image once (the delete-one-cluster jackknife, CR3), and Student's t has Kish's effective
number of images, less one, as degrees of freedom. Below five images there is no
interval.

A share has the interval of Korn and Graubard: Clopper and Pearson's for as many
independent cases as have the jackknife's variance, at most the cases that there are (a
design effect of at least 1). Where nothing is wrong, or nothing right, the effective
number of images replaces the cases: an image may go wrong as a whole. Weakness: one
error in many images gives a narrower interval than none. ``accuracy`` on a difference
of two shares has the same floor and the same guard.

Sources: Korn & Graubard 1998 (shares); Clopper & Pearson 1934; Kish 1965 (effective
number); Bell & McCaffrey 2002, MacKinnon, Nielsen & Webb 2023 (CR3); Carter, Schnepel &
Steigerwald 2017 (degrees of freedom); McNemar 1947, Yang, Sun & Hardin 2010 (paired
shares in clusters); Holm 1979.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from visualjudge.analysis.value_and_interval import NOTHING, Estimate
from visualjudge.core.records import BoolArray, FloatArray, IntArray

ALL_ALIKE = "all images give the same result"
LEAST_IMAGES = 5
"""Minimum number of images for an interval."""
TAIL = 0.025
TINY = 1e-12
LEVEL = 0.05
POWER = 0.8
DECIMALS = 6
"""To which means are compared: means of equal scores differ by rounding beyond them."""
Ends = tuple[FloatArray, FloatArray]


def within(error: Any, step: float) -> Any:
    """Return whether scores, of an array or a column of errors, are off by at most
    ``step``."""
    return abs(error) <= step + TINY


def exact(error: Any, step: float) -> Any:
    """Return whether scores are off by less than half a ``step``: beside half points, a
    half is not exact."""
    return abs(error) < step / 2 - TINY


def norm_isf(tail: Any) -> Any:
    """Return the x with P(Z > x) = ``tail``."""
    return -special.ndtri(tail)


def t_sf(x: Any, freedom: Any) -> Any:
    """Return P(T > x) with ``freedom`` degrees of freedom."""
    return special.stdtr(freedom, -x)


def t_isf(tail: Any, freedom: Any) -> Any:
    """Return the x with P(T > x) = ``tail``."""
    return -special.stdtrit(freedom, tail)


NORMAL = float(norm_isf(TAIL))


def too_few() -> str:
    """Say that there are too few images for an interval."""
    return f"fewer than {LEAST_IMAGES} images"


def sums(place: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Return the totals of ``values`` by ``place`` (0 … count - 1), as floats."""
    return np.asarray(np.bincount(place, values, count), dtype=float)


def renumbered(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct ``codes``, sorted, and the index of each code among them:
    like ``numpy.unique`` with its inverse, but without sorting where the codes are
    small numbers.
    """
    if not codes.size or codes.min() < 0 or codes.max() > 8 * codes.size:
        return np.unique(codes, return_inverse=True)
    held = np.zeros(int(codes.max()) + 1, dtype=bool)
    held[codes] = True
    return np.flatnonzero(held), (np.cumsum(held) - 1)[codes]


@dataclass(frozen=True, eq=False)
class Spread:
    """Variance of K figures by leaving out images, (K,), the images and their effective
    number."""

    variance: FloatArray
    images: IntArray
    effective: FloatArray

    @property
    def df(self) -> FloatArray:
        """Degrees of freedom of Student's t."""
        return np.maximum(self.effective - 1, 1e-3)

    @property
    def enough(self) -> BoolArray:
        """Where there are enough images for an interval, both counted and effective."""
        return (self.images >= LEAST_IMAGES) & (self.effective >= 2)


def divided(top: Any, bottom: Any, empty: float = 0.0) -> FloatArray:
    """Return ``top`` / ``bottom``, and ``empty`` where nothing counts."""
    return np.asarray(
        np.divide(
            top,
            bottom,
            out=np.full(bottom.shape, empty),
            where=bottom > 0,
        ),
        dtype=float,
    )


def spread(
    influence: FloatArray,
    weights: FloatArray,
    column: IntArray | None = None,
    columns: int = 1,
) -> Spread:
    """Return the spread of figures from one entry per image and figure: the figure less
    the figure without that image, and the image's number of cases.
    """
    place = np.zeros(weights.size, dtype=np.int64) if column is None else column
    images = np.bincount(place, minlength=columns)
    shrunk = divided(images - 1.0, images)
    variance = sums(place, influence**2, columns) * shrunk
    total = sums(place, weights, columns)
    squares = sums(place, weights**2, columns)
    return Spread(variance, images, divided(total**2, squares))


def ratio(
    top: FloatArray,
    bottom: FloatArray,
    column: IntArray | None = None,
    columns: int = 1,
) -> tuple[FloatArray, Spread]:
    """Return Σ ``top`` / Σ ``bottom`` of each column and its spread, from one entry per
    image and column.
    """
    place = np.zeros(bottom.size, dtype=np.int64) if column is None else column
    total = sums(place, top, columns)
    cases = sums(place, bottom, columns)
    value = divided(total, cases, np.nan)
    rest = cases[place] - bottom
    without = np.divide(
        total[place] - top,
        rest,
        out=value[place].copy(),
        where=rest > 0,
    )
    return value, spread(
        np.nan_to_num(value[place] - without),
        bottom,
        place,
        columns,
    )


# ---------------------------------------------------------------- shares


@dataclass(frozen=True, eq=False)
class Shares:
    """K shares in arrays (K,): ``value``, ``low``, ``high`` (NaN where undefined),
    ``cases`` and ``images``.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    cases: FloatArray
    images: IntArray

    def __getitem__(self, k: int) -> Estimate:
        """Return share ``k`` as a figure."""
        n = round(self.cases[k])
        value = float(self.value[k]) if np.isfinite(self.value[k]) else None
        images = int(self.images[k])
        if np.isnan(self.low[k]):
            why = too_few() if n else NOTHING.why
            return Estimate(value, None, n, images, why)
        interval = float(self.low[k]), float(self.high[k])
        return Estimate(value, interval, n, images)


def shares(
    top: FloatArray,
    bottom: FloatArray,
    column: IntArray | None = None,
    columns: int = 1,
    *,
    graded: bool = False,
    squares: FloatArray | None = None,
    tail: float = TAIL,
) -> Shares:
    """Return Σ ``top`` / Σ ``bottom`` of each column with its 95 % interval.

    Parameters
    ----------
    top, bottom
        Sums over one image's cases, 0 ≤ top ≤ bottom; entries with ``bottom`` 0 are
        left out.
    column
        The share that each entry belongs to; by default, all belong to one.
    graded
        Whether a case may lie between 0 and 1: cases then may vary less than right or
        wrong ones.
    squares
        Sum of the squared weights of one image's cases, if ``top`` and ``bottom`` are
        weighted.
    tail
        Probability beyond each end.
    """
    selected = np.asarray(bottom) > 0
    place = (
        np.zeros(selected.size, dtype=np.int64)
        if column is None
        else np.asarray(column)
    )
    top = np.asarray(top, float)[selected]
    bottom = np.asarray(bottom, float)[selected]
    place = place[selected]
    value, result = ratio(top, bottom, place, columns)
    cases = sums(place, bottom, columns)
    weights = (
        bottom if squares is None else np.asarray(squares, float)[selected]
    )
    n = cases**2 / np.maximum(sums(place, weights, columns), TINY)
    low, high = share_ends(
        value,
        result,
        np.full(columns, np.inf) if graded else n,
        tail,
    )
    estimable = result.enough
    low = np.where(estimable, low, np.nan)
    high = np.where(estimable, high, np.nan)
    return Shares(value, low, high, cases, result.images)


def share_ends(
    value: FloatArray,
    dispersion: Spread,
    cases: FloatArray,
    tail: float = TAIL,
) -> Ends:
    """Return Korn and Graubard's interval of shares, (K,); ``cases`` bounds their
    independent cases from above (infinite: a design effect below 1 is possible).
    """
    p, n = _effective_cases(value, dispersion, cases, tail)
    x = p * n
    rest = n - x
    low = special.betaincinv(np.maximum(x, TINY), rest + 1, tail)
    high = special.betaincinv(
        x + 1,
        np.maximum(rest, TINY),
        1 - tail,
    )
    return np.where(x <= TINY, 0.0, low), np.where(rest <= TINY, 1.0, high)


def share_test(
    value: FloatArray, dispersion: Spread, cases: FloatArray
) -> FloatArray:
    """Return the two-sided p of a share of ½, by the same effective cases as
    :func:`share_ends`."""
    p, n = _effective_cases(value, dispersion, cases, TAIL)
    x = np.maximum(p * n, TINY)
    rest = np.maximum((1 - p) * n, TINY)
    above = np.where(
        p * n <= TINY,
        1.0,
        special.betainc(x, rest + 1, 0.5),
    )
    below = np.where(
        (1 - p) * n <= TINY,
        1.0,
        special.betainc(rest, x + 1, 0.5),
    )
    return np.asarray(np.minimum(1.0, 2 * np.minimum(above, below)))


def _effective_cases(
    value: FloatArray, dispersion: Spread, cases: FloatArray, tail: float
) -> tuple[FloatArray, FloatArray]:
    """Return the shares, and the number of independent cases with the same variance."""
    p = np.clip(np.nan_to_num(value), 0.0, 1.0)
    certain = np.minimum(p, 1 - p) <= TINY
    alike = np.divide(p * (1 - p), dispersion.variance, out=np.full(p.size, np.inf),
                      where=dispersion.variance > TINY**2,)  # fmt: skip
    bounded = np.minimum(alike, cases)
    # t of the cases over t of the images: both are the normal for many
    narrower = t_isf(tail, np.clip(cases - 1, 1, 1e9)) / t_isf(
        tail, np.maximum(dispersion.df, 1.0)
    )
    bounded = bounded * np.minimum(narrower, 1.0) ** 2
    return p, np.where(
        certain | ~np.isfinite(bounded), dispersion.effective, bounded
    )


# ---------------------------------------------------------------- differences of shares


def _paired_error(
    value: FloatArray, dispersion: Spread, apart: FloatArray, cases: FloatArray
) -> FloatArray:
    """Return the standard error, at least that of independent cases."""
    n = np.maximum(cases, 1)
    alone = np.maximum(apart / n - np.nan_to_num(value) ** 2, 0) / n
    return np.sqrt(np.maximum(dispersion.variance, alone))


def gap_ends(
    value: FloatArray,
    dispersion: Spread,
    apart: FloatArray,
    cases: FloatArray,
    tail: float = TAIL,
) -> Ends:
    """Return the interval of differences of two shares of the same cases; NaN where
    undefined. ``apart`` counts the cases that only one of the two has right.

    Without such cases the ends are Clopper and Pearson's for 0 of the effective images;
    if all cases differ in the same direction, one of them could be reversed, which
    counts twice.
    """
    reach = t_isf(tail, dispersion.df) * _paired_error(
        value, dispersion, apart, cases
    )
    edge = 1 - tail ** (1 / np.maximum(dispersion.effective, 1))
    one_way = np.abs(value) >= 1 - TINY
    reach = np.maximum(
        reach,
        np.where(
            apart <= 0,
            edge,
            np.where(one_way, 2 * edge, 0),
        ),
    )
    estimable = dispersion.enough & np.isfinite(value)
    low = np.maximum(value - reach, -1)
    high = np.minimum(value + reach, 1)
    return np.where(estimable, low, np.nan), np.where(estimable, high, np.nan)


def gap_p(
    value: FloatArray, dispersion: Spread, apart: FloatArray, cases: FloatArray
) -> FloatArray:
    """Return the two-sided p of no difference, by the same standard error as
    :func:`gap_ends`."""
    return _p(value, _paired_error(value, dispersion, apart, cases), dispersion)


def difference_ends(
    first: Shares,
    second: Shares,
    variance: FloatArray,
    other: FloatArray,
    together: FloatArray,
) -> Ends:
    """Return the interval of ``first`` less ``second`` from the intervals of both and
    their correlation, which follows from the variances of both and of the difference
    (Newcombe 1998, method 10; Zou & Donner 2008).
    """
    shared = (variance + other - together) / 2
    alike = divided(shared, np.sqrt(variance * other)).clip(-1, 1)
    value = first.value - second.value
    down, up = (
        np.sqrt(np.maximum(mine**2 + theirs**2 - 2 * alike * mine * theirs, 0))
        for mine, theirs in (
            (first.value - first.low, second.high - second.value),
            (first.high - first.value, second.value - second.low),
        )
    )
    return value - down, value + up


# ---------------------------------------------------------------- means and
# correlations


def mean_ends(
    value: FloatArray, dispersion: Spread, tail: float = TAIL
) -> Ends:
    """Return the interval of figures without natural bounds; NaN where undefined."""
    reach = t_isf(tail, dispersion.df) * np.sqrt(dispersion.variance)
    estimable = (
        dispersion.enough & (dispersion.variance > TINY**2) & np.isfinite(value)
    )
    return np.where(estimable, value - reach, np.nan), np.where(
        estimable, value + reach, np.nan
    )


def correlation_ends(
    value: FloatArray, dispersion: Spread, tail: float = TAIL
) -> Ends:
    """Return the interval of figures in (-1, 1), symmetrical on Fisher's z scale; NaN
    where undefined.
    """
    inside = np.isfinite(value) & (np.abs(value) < 1)
    r = np.where(inside, value, 0.0)
    low, high = mean_ends(
        np.arctanh(r),
        replace(dispersion, variance=dispersion.variance / (1 - r**2) ** 2),
        tail,
    )
    return np.where(inside, np.tanh(low), np.nan), np.where(
        inside, np.tanh(high), np.nan
    )


def positive_ends(
    value: FloatArray, dispersion: Spread, tail: float = TAIL
) -> Ends:
    """Return the interval of figures above 0, symmetrical on the log scale; NaN where
    undefined. That of a mean of skewed errors reaches further upwards.
    """
    size = np.maximum(value, TINY)
    low, high = mean_ends(
        np.log(size),
        replace(dispersion, variance=dispersion.variance / size**2),
        tail,
    )
    return np.exp(low), np.exp(high)


def test(value: FloatArray, dispersion: Spread) -> FloatArray:
    """Return the two-sided p of ``value`` = 0; NaN where undefined."""
    return _p(value, np.sqrt(dispersion.variance), dispersion)


def _p(value: FloatArray, error: FloatArray, dispersion: Spread) -> FloatArray:
    """Return p by Student's t; where no image differs, by a sign test over images."""
    size = np.abs(np.nan_to_num(value))
    scaled = np.divide(
        size,
        error,
        out=np.zeros(size.size),
        where=error > TINY,
    )
    signs = np.minimum(1.0, 2 * 0.5 ** np.maximum(dispersion.images, 1.0))
    p = np.where(
        error > TINY,
        2 * t_sf(scaled, dispersion.df),
        np.where(size < TINY, 1.0, signs),
    )
    estimable = (
        (dispersion.images >= 2)
        & (dispersion.effective > 1.5)
        & np.isfinite(value)
    )
    return np.where(estimable, p, np.nan)


def holm(
    p_values: Sequence[float | None], weights: Sequence[float] | None = None
) -> list[float | None]:
    """Return Holm's step-down adjustment of the p-values that are known; None stays
    None. ``weights`` (one for each p) divide the level among the tests; by default all
    are equal.
    """
    weight = (
        np.ones(len(p_values))
        if weights is None
        else np.asarray(weights, dtype=float)
    )
    known = sorted(
        (p / weight[i], i) for i, p in enumerate(p_values) if p is not None
    )
    left = float(sum(weight[i] for _, i in known))
    out: list[float | None] = [None] * len(p_values)
    reached = 0.0
    for ratio_, i in known:
        reached = max(reached, min(1.0, float(ratio_) * left))
        left -= float(weight[i])
        out[i] = reached
    return out
