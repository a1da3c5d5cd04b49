"""Intervals and upper bounds for shares whose cases are clustered in images, and for paired
differences.

The upper bound of a share of errors is the largest share π that either of two tests does not
refute, and never below the bound for 0 errors in as many independent cases as supposed:

- independent cases: the binomial test, with three quarters of the probability of the observed count
  (the mid-P test uses one half, Clopper & Pearson all of it);
- correlated cases within an image: the errors of image i less those expected are dᵢ = xᵢ − π mᵢ,
and π is
  refuted where Σ d + t S + b S² < 0, with S² = w Σ d² + (1 − w) V. Here V is the prior variance of
  Σ d, that of cases with the intraclass correlation ``alike``; Σ d² is the observed variance, at π
  as in a score test (Wilson 1927; Rao, Scott & Skinner 1998 for clusters); w is the data's share of
  the degrees of freedom, small if few images are expected to contain an error at π (Satterthwaite
  1946); t is Student's; and b corrects for the skewness of few clustered errors (Hall 1992). t
  includes the factor √(G/(G − 1)) for G images.

The lower bound of the errors is 1 minus the upper bound of the right answers.

w, t, b and V depend on π and on the sizes of the images, but not on which cases are errors. So an
additional error can lower the statistic only through Σ d², on an image with far fewer errors than
expected. The test uses the minimum of the statistic over all ways to add errors. The statistic is
convex, so at the minimum each dᵢ is at least −c, with one c for all images. An error can then never
lower the statistic, so **an additional error never lowers an upper bound, and correcting one never
raises it**.

Two judges or encodings on the same cases are compared by the difference of their shares, paired by
case.

Sources of the differences: McNemar 1947; Yang, Sun & Hardin 2010 (clusters); Connor 1987 and Lachin
2011 (sample sizes).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from visualjudge.analysis.statistics.jackknife import (
    LEAST_IMAGES,
    TAIL,
    TINY,
    Spread,
    chi2_isf,
    correlation_ends,
    effective_number,
    enough,
    norm_isf,
    reaches,
    spread,
    sums,
    too_few,
)
from visualjudge.core.records import BoolArray, FloatArray, IntArray

EDGE = 1e-9
MOST_STEPS, CLOSE = 100, 1e-12
"""Maximum number of steps towards a bound, and the tolerance."""
MOST_HALVINGS, NEAR = 60, 1e-7
"""Maximum number of steps towards c, and the tolerance: at the minimum, the slope of the statistic
in c is 0, so the statistic is then as precise as the bounds.
"""
LEAST_DF, LEAST_FREE = 3.0, 0.5
SHORTER, MOST_SHORTER = 0.25, 0.4
"""By how much the skewness of few right answers, in standard deviations, lowers t for the errors,
and the maximum.
"""
LEVEL = 0.05
POWER = 0.8
MOST_IMAGES = 10_000_000
LEAST_REACH = float(norm_isf(0.05))
"""Minimum half-width of an interval, in standard errors of independent cases: images that agree by
chance cannot make it narrower.
"""


@dataclass(frozen=True)
class Supposed:
    """Prior assumptions on the cases of one image.

    Attributes
    ----------
    alike
        Intraclass correlation, from 0 (independent cases) to 1 (whole images go wrong together).
    worth
        Number of additional images that the assumption is worth.
    ties
        Share of the probability of the observed count in the binomial test: 1 is exact, ½ the mid-P
        test.
    skew
        Correction for skewness added to a bound of few errors, in independent errors.
    """

    alike: float
    worth: float
    ties: float
    skew: float = 3.0


SHARES = Supposed(0.8, 0.5, 0.75, 4.0)
"""Assumption for answers: an image may go wrong as a whole, until errors are seen.
"""
SINGLE = Supposed(0.0, 0.5, 0.75)
"""Assumption for events that affect single calls unless they are seen to cluster, such as unusable
replies.
"""
WHOLE_IMAGES = Supposed(1.0, 3.0, 1.0, 1.3)
"""Assumption for a guarantee of few errors where an image can go wrong as a whole."""


@dataclass(frozen=True, eq=False)
class Shares:
    """K shares in arrays (K,): ``value``, ``low``, ``high`` (NaN where undefined), ``cases`` and
    ``images``.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    cases: FloatArray
    images: IntArray

    def interval(self, k: int) -> tuple[float, float] | None:
        """Return the interval of share ``k``, or None."""
        return None if np.isnan(self.low[k]) else (float(self.low[k]), float(self.high[k]))

    def why(self, k: int) -> str | None:
        """Explain why share ``k`` has no interval."""
        if not np.isnan(self.low[k]):
            return None
        return too_few() if self.cases[k] else "nothing was asked"

    def part(self, first: int, last: int) -> Shares:
        """Return shares ``first`` to ``last`` - 1."""
        kept = slice(first, last)
        return Shares(
            self.value[kept], self.low[kept], self.high[kept], self.cases[kept], self.images[kept]
        )


def _ratio_influence(
    top: FloatArray, bottom: FloatArray, column: IntArray, columns: int
) -> tuple[FloatArray, FloatArray]:
    """Return ratios of totals (columns,), and for each entry the ratio less the ratio without it
    (entries,).
    """
    total, cases = sums(column, top, columns), sums(column, bottom, columns)
    value = np.divide(total, cases, out=np.full(columns, np.nan), where=cases > 0)
    rest = cases[column] - bottom
    without = np.divide(total[column] - top, rest, out=value[column].copy(), where=rest > 0)
    return value, np.nan_to_num(value[column] - without)


def ratio(
    top: FloatArray, bottom: FloatArray, column: IntArray | None = None, columns: int = 1
) -> tuple[FloatArray, Spread]:
    """Return Σ ``top`` / Σ ``bottom`` of each column, (columns,), and its spread. There is one
    entry per image and column; without ``column`` all entries form one column.
    """
    place = np.zeros(bottom.size, dtype=np.int64) if column is None else column
    value, influence = _ratio_influence(top, bottom, place, columns)
    return value, spread(influence, bottom, place, columns)


def shares(
    top: FloatArray,
    bottom: FloatArray,
    column: IntArray | None = None,
    columns: int = 1,
    *,
    whole: bool = True,
    supposed: Supposed = SHARES,
    squares: FloatArray | None = None,
) -> Shares:
    """Return 95 % intervals of Σ ``top`` / Σ ``bottom`` in each column, from one entry per image
    and column.

    Parameters
    ----------
    top, bottom
        Sums over one image's cases, 0 ≤ top ≤ bottom; shape (entries,). Entries with ``bottom`` 0
        are left out.
    column
        The share that each entry belongs to; by default, all belong to one.
    whole
        Whether each case is 0 or 1. If not, cases lie between them (*graded*) and may vary far
        less, so the jackknife over images is used too.
    supposed
        Prior assumptions on the cases of one image.
    squares
        Sum of the squared weights of one image's cases, if ``top`` and ``bottom`` are sums of
        weighted cases.
    """
    kept = bottom > 0
    place = np.zeros(bottom.size, dtype=np.int64) if column is None else np.asarray(column)
    top, bottom, place = np.asarray(top, float)[kept], np.asarray(bottom, float)[kept], place[kept]
    weights = None if squares is None else np.tile(np.asarray(squares, float)[kept], 2)
    cases, total = sums(place, bottom, columns), sums(place, top, columns)
    value = np.divide(total, cases, out=np.full(columns, np.nan), where=cases > 0)
    images = np.bincount(place, minlength=columns)
    # Right answers and errors at once: their bounds are found in the same steps.
    bounds = upper_bounds(
        np.append(top, bottom - top),
        np.tile(bottom, 2),
        np.append(place, place + columns),
        2 * columns,
        whole=whole,
        supposed=supposed,
        squares=weights,
    )
    high, low = np.split(bounds, 2)
    if not whole:
        low, high = _nearer(top, bottom, place, low, high)
    told = (images >= LEAST_IMAGES) & (effective_number(bottom, place, columns) >= 2)
    return Shares(
        value, np.where(told, 1 - low, np.nan), np.where(told, high, np.nan), cases, images
    )


def _nearer(
    top: FloatArray, bottom: FloatArray, place: IntArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of right and wrong for graded cases, which may vary far less than right or
    wrong answers.

    Where images differ, an end from the jackknife on Fisher's z scale of 2π − 1 replaces one that
    is farther out.
    """
    value, influence = _ratio_influence(top, bottom, place, low.size)
    below, above = correlation_ends(2 * value - 1, spread(2 * influence, bottom, place, low.size))
    return np.fmin(low, (1 - below) / 2), np.fmin(high, (1 + above) / 2)


def one_share(
    top: FloatArray, bottom: FloatArray, *, whole: bool = True, supposed: Supposed = SHARES
) -> Shares:
    """Return :func:`shares` of a single column."""
    return shares(np.asarray(top, float), np.asarray(bottom, float), whole=whole, supposed=supposed)


def upper_bound(
    errors: FloatArray, cases: FloatArray, *, tail: float = TAIL, supposed: Supposed = WHOLE_IMAGES
) -> float:
    """Return :func:`upper_bounds` of a single share."""
    place = np.zeros(len(cases), dtype=np.int64)
    bound = upper_bounds(
        np.asarray(errors, float), np.asarray(cases, float), place, 1, tail=tail, supposed=supposed
    )
    return float(bound[0])


def upper_bounds(
    errors: FloatArray,
    cases: FloatArray,
    column: IntArray,
    columns: int,
    *,
    tail: float = TAIL,
    whole: bool = True,
    supposed: Supposed = SHARES,
    squares: FloatArray | None = None,
) -> FloatArray:
    """Return one-sided upper bounds, at level 1 − ``tail``, of Σ ``errors`` / Σ ``cases`` in each
    column; (columns,).

    ``errors`` and ``cases`` are sums over one image, one entry per image and column, with 0 ≤
    errors ≤ cases and cases > 0. The bound of a column without cases is 1. ``squares``: as in
    :func:`shares`.
    """
    errors, cases = np.asarray(errors, float), np.asarray(cases, float)
    seen = _Clusters(
        (errors, cases, cases if squares is None else squares), column, columns, supposed, tail
    )
    start = np.divide(seen.x, seen.n, out=np.ones(columns), where=seen.n > 0)
    one = np.ones(columns)
    bound = _root(start, one, seen.statistic)
    again = seen.with_few_errors(bound)
    if again.any():
        those = seen.only(again)
        bound[again] = _root(start[again], one[again], those.least_statistic)
    nothing = 1 - (tail / supposed.ties) ** (1 / np.maximum(seen.independent, 1.0))
    bound = np.maximum(bound, nothing)
    if whole or not seen.several.all():
        n = seen.n**2 / np.maximum(seen.squares, EDGE)
        alone = _binomial_bound(start * n, n, supposed.ties, tail)
        bound = np.where(seen.several, np.maximum(bound, alone) if whole else bound, alone)
    return np.where(start >= 1 - EDGE, 1.0, bound)


def _root(
    low: FloatArray, high: FloatArray, statistic: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return where a statistic that is not below 0 at ``low`` falls below 0, up to ``high``; (K,).
    Uses the Illinois method.
    """
    above, below = statistic(low), statistic(high)
    near = CLOSE * (above - below)
    last = np.zeros(low.size, dtype=np.int64)
    for _ in range(MOST_STEPS):
        part = np.clip(above / np.maximum(above - below, TINY), EDGE, 1 - EDGE)
        middle = low + part * (high - low)
        found = statistic(middle)
        side = np.where(found >= 0, 1, -1)
        above = np.where(side > 0, found, np.where(last < 0, above / 2, above))
        below = np.where(side < 0, found, np.where(last > 0, below / 2, below))
        low, high, last = np.where(side > 0, middle, low), np.where(side < 0, middle, high), side
        if ((np.abs(found) <= near) | (high - low < CLOSE)).all():
            break
    return middle


def _binomial_bound(x: FloatArray, n: FloatArray, ties: float, tail: float) -> FloatArray:
    """Return the π at which :func:`_binomial_tail` equals ``tail``; it lies between the bounds
    without ties and with all of them.
    """
    rest = np.maximum(n - x, EDGE)
    low = special.betaincinv(np.maximum(x, EDGE), rest + 1, 1 - tail)
    high = special.betaincinv(x + 1, rest, 1 - tail)
    return np.where(
        x > EDGE,
        _root(low, high, lambda pi: _binomial_tail(x, n, pi, ties) - tail),
        1 - (tail / ties) ** (1 / np.maximum(n, EDGE)),
    )


def _binomial_tail(x: FloatArray, n: FloatArray, pi: FloatArray, ties: float) -> FloatArray:
    """Return P(X < x) + ties · P(X = x) for n cases with probability π; x and n need not be
    integers.
    """
    below = np.where(x > EDGE, special.betaincc(np.maximum(x, EDGE), n - x + 1, pi), 0.0)
    return np.asarray(
        ties * special.betaincc(x + 1, np.maximum(n - x, EDGE), pi) + (1 - ties) * below
    )


_Given = tuple[FloatArray, FloatArray, FloatArray]
"""Errors, cases, and squared weights of the cases, one entry per image and column."""


class _Clusters:
    """The test of clustered cases, one share per column.

    The variance of images with one case is known, so only images with several cases contribute to Σ
    d².
    """

    def __init__(
        self, given: _Given, column: IntArray, columns: int, supposed: Supposed, tail: float
    ) -> None:
        self.given, self.place, self.supposed, self.tail = given, column, supposed, tail
        errors, cases, squares = given
        self.x, self.n, self.squares = (sums(column, values, columns) for values in given)
        kept = cases**2 > squares * (1 + EDGE)
        self.errors, self.cases, self.column = errors[kept], cases[kept], column[kept]
        self.xx, self.xm, self.mm, apart = (
            sums(self.column, values, columns)
            for values in (self.errors**2, self.errors * self.cases, self.cases**2, squares[kept])
        )
        self.single, self.several = self.squares - apart, self.mm > 0
        self.images = np.maximum(self.n**2 / np.maximum(self.mm + self.single, EDGE), 1.0)
        self.variance = apart + supposed.alike * (self.mm - apart)
        self.independent = self.n**2 / np.maximum(self.variance + self.single, EDGE)

    def only(self, chosen: BoolArray) -> _Clusters:
        """Return the test restricted to the columns that are ``chosen``."""
        errors, cases, squares = self.given
        kept, place = chosen[self.place], np.cumsum(chosen) - 1
        given = errors[kept], cases[kept], squares[kept]
        return _Clusters(
            given, place[self.place[kept]], int(chosen.sum()), self.supposed, self.tail
        )

    def _terms(self, pi: FloatArray) -> _Terms:
        """Return the terms of the test of π that do not depend on which cases are errors."""
        spread = np.maximum(pi * (1 - pi), TINY)
        chance = np.minimum(0.5, np.minimum(pi, 1 - pi) * self.independent / self.images)
        excess = 1 / np.maximum(chance * (1 - chance), TINY) - 4
        own = (self.images - 1) / np.maximum(1.0, excess / 2)
        w = own / (own + self.supposed.worth)
        t = special.stdtrit(np.maximum(own + self.supposed.worth, LEAST_DF), 1 - self.tail)
        skewness = np.maximum(2 * pi - 1, 0) / np.sqrt(np.maximum(self.independent * spread, TINY))
        few = np.sqrt(self.images / np.maximum(self.images - 1, LEAST_FREE))
        t = (
            few
            * t
            / np.sqrt(1 + t**2 * w / self.images)
            * (1 - np.minimum(SHORTER * skewness, MOST_SHORTER))
        )
        lean = (
            self.supposed.skew
            * w
            * np.maximum(1 - 2 * pi, 0)
            / (spread * np.maximum(self.squares, EDGE))
        )
        return _Terms(w, t, lean, spread * ((1 - w) * self.variance + self.single))

    def _squares(self, pi: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(self.xx - 2 * pi * self.xm + pi**2 * self.mm, 0))

    def statistic(self, pi: FloatArray) -> FloatArray:
        """Return Σ d + t S + b S²; (K,)."""
        return self.x - pi * self.n + self._terms(pi).above(self._squares(pi))

    def with_few_errors(self, pi: FloatArray) -> BoolArray:
        """Return the columns in which an image has so few errors that :meth:`least_statistic` is
        smaller; (K,).
        """
        least = self._terms(pi).least(self._squares(pi))
        found = np.zeros(pi.size, dtype=bool)
        found[self.column[self.errors - pi[self.column] * self.cases < -least[self.column]]] = True
        return found

    def least_statistic(self, pi: FloatArray) -> FloatArray:
        """Return the minimum of :meth:`statistic` over all ways to add errors: each dᵢ is raised to
        −c; (K,).
        """
        terms, d = self._terms(pi), self.errors - pi[self.column] * self.cases
        low, high = np.zeros(pi.size), terms.least(self._squares(pi))
        c: FloatArray = high

        def raised(c: FloatArray) -> FloatArray:
            return np.maximum(d, -c[self.column])

        for _ in range(MOST_HALVINGS):
            moved = raised(c)
            squares = sums(self.column, moved**2, pi.size)
            found = terms.least(squares)
            low, high = np.where(found < c, low, c), np.where(found < c, c, high)
            raises = sums(self.column, (d < moved).astype(float), pi.size)
            slope = terms.slope(squares, found) * 2 * c * raises
            step = (found - c) / np.maximum(1 - slope, TINY)
            inside = (c + step >= low) & (c + step <= high)
            last, c = c, np.where(inside, c + step, (low + high) / 2)
            if (np.abs(c - last) <= NEAR * c).all():
                break
        moved = raised(c)
        added = sums(self.column, moved - d, pi.size)
        return self.x - pi * self.n + added + terms.above(sums(self.column, moved**2, pi.size))


@dataclass(frozen=True, eq=False)
class _Terms:
    """w, t, b and the part of S² that does not depend on which cases are errors; arrays (K,)."""

    w: FloatArray
    t: FloatArray
    lean: FloatArray
    known: FloatArray

    def above(self, squares: FloatArray) -> FloatArray:
        """Return t S + b S² with Σ d² = ``squares``."""
        variance = self.w * squares + self.known
        return np.asarray(self.t * np.sqrt(variance) + self.lean * variance)

    def least(self, squares: FloatArray) -> FloatArray:
        """Return c: raising a d below −c lowers Σ d + t S + b S²."""
        slope = self.t / np.sqrt(np.maximum(self.w * squares + self.known, TINY)) + 2 * self.lean
        return np.asarray(1 / np.maximum(self.w * slope, TINY))

    def slope(self, squares: FloatArray, least: FloatArray) -> FloatArray:
        """Return the derivative of :meth:`least`, whose value is given, by ``squares``."""
        variance = np.maximum(self.w * squares + self.known, TINY)
        return np.asarray(least**2 * self.w**2 * self.t / (2 * variance**1.5))


def gap_ends(
    value: FloatArray, found: Spread, apart: FloatArray, cases: FloatArray, tail: float = TAIL
) -> tuple[FloatArray, FloatArray]:
    """Return the 95 % interval of differences of two shares, (K,); NaN where undefined. ``tail`` is
    left out at each end.

    ``apart`` counts cases that only one of the two has right. The interval is at least as wide as a
    90 % interval of independent cases with half a case added each way (after Agresti & Min 2005).
    Without such cases, the ends are Clopper and Pearson's for 0 of the effective images; if all
    cases differ in the same direction, one of them could be reversed, which counts twice.
    """
    n = np.maximum(cases, 1)
    least = LEAST_REACH * np.sqrt(
        np.maximum((apart + 1) / (n + 1) - (value * n / (n + 1)) ** 2, 0) / n
    )
    error = np.sqrt(found.variance)
    down, up = (
        np.maximum(reach, least) for reach in reaches(found, error, np.zeros_like(error), tail)
    )
    edge = 1 - tail ** (1 / np.maximum(found.effective, 1))
    alike = np.where(apart <= 0, edge, np.where(np.abs(value) >= 1 - TINY, 2 * edge, 0))
    down, up = np.maximum(down, alike), np.maximum(up, alike)
    low, high = value - down, value + up
    told = enough(found) & np.isfinite(value)
    return np.where(told, np.maximum(low, -1), np.nan), np.where(told, np.minimum(high, 1), np.nan)


def cases_needed(first_only: float, second_only: float, effect: float = 1.0) -> int | None:
    """Return the number of paired cases that show the difference of the shares ``first_only`` and
    ``second_only`` (5 %, power 80 %).

    Connor's (z_α √(p10 + p01) + z_β √(p10 + p01 − δ²))² / δ², times the design ``effect``; None if
    δ = 0.
    """
    either, gap = first_only + second_only, first_only - second_only
    if abs(gap) < 1e-12:
        return None
    z_level, z_power = norm_isf(LEVEL / 2), norm_isf(1 - POWER)
    root = z_level * np.sqrt(either) + z_power * np.sqrt(max(0.0, either - gap**2))
    return int(np.ceil((root / gap) ** 2 * effect))


def images_needed(found: Spread, gap: float) -> tuple[int | None, tuple[float, float] | None]:
    """Return the number of similar images that would show a difference of ``gap`` (5 %, power 80
    %), with its 95 % range.

    The variance of a mean falls as the number of images rises; the range is that of the observed
    variance, by χ² with the jackknife's degrees of freedom. The number is never below what an
    interval needs. None with too few images, or if none differs.
    """
    variance, images, df = float(found.variance[0]), int(found.images[0]), float(found.df[0])
    if not enough(found)[0] or variance <= 0 or gap <= 0:
        return None, None
    once = images * variance * ((norm_isf(LEVEL / 2) + norm_isf(1 - POWER)) / gap) ** 2
    low, high = (once * df / chi2_isf(tail, df) for tail in (TAIL, 1 - TAIL))
    if once > MOST_IMAGES:
        return None, None
    ends = (max(float(LEAST_IMAGES), float(np.ceil(min(end, MOST_IMAGES)))) for end in (low, high))
    return max(LEAST_IMAGES, int(np.ceil(once))), (next(ends), next(ends))
