"""A lean to one feature, free of differences in difficulty: right answers compared inside strata
and images.

With y = right and s = ±½ for "the option with more of the feature is (not) the better one", the
least-squares slope of y on s, with an intercept and a slope on the margin of its own in each
stratum, is the difference in accuracy at equal difficulty; half of it is the preference. Strata
without both kinds of question add nothing. Weights are those of least squares, which for shares are
Mantel and Haenszel's (1959). The interval holds the preferences that the test by sign flips of
images does not reject; the flipped scores are those that images would have, had the lines of the
strata been fitted without them (CR3: Bell & McCaffrey 2002).

A judge with position bias is right more often if the better option is shown first. If a feature is
correlated with the position, by design or by chance, that must not count as a bias to the feature:
``Cases.first`` adds the position to the lines of the strata.

Images differ in difficulty too. From each pair's y the shrunken mean of the *other* pairs of its
image is taken (the best linear prediction of a random effect: Henderson 1975; leaving the pair
itself out keeps it an adjustment by what was known beforehand), and the same from s where s stands
for the slope's denominator, so the slope stays unbiased.

The test by sign flips needs no degrees of freedom: it asks whether the contributions of images to
a sum are as often up as down. Under the null the images' scores have mean 0, and turning the sign
of any leaves their joint distribution as it is (Hemerik, Goeman & Finos 2020: sign-flipped score
contributions, robust to variances that differ and to dependence inside an image). The distribution
of the sum over all 2ᵐ signs is not drawn but computed: its cumulant generating function is Σ log
cosh(t u), and Lugannani and Rice's (1980) formula gives the tail, to three digits for ten images.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from visualjudge.analysis.statistics.jackknife import (
    LEAST_IMAGES,
    TAIL,
    effective_number,
    renumbered,
    sums,
)
from visualjudge.core.records import BoolArray, FloatArray, IntArray

MOST_STEPS = 200


def root(function: Callable[[float], float], low: float, high: float, near: float) -> float:
    """The place between ``low`` and ``high`` where ``function`` changes its sign, to ``near``.

    By the Illinois method (Dowell & Jarratt 1971), with a bisection where a step leaves more than
    half of the bracket.

    Raises
    ------
    ValueError
        If the function has the same sign at both ends.

    Examples
    --------
    >>> round(root(lambda x: x * x - 2, 0.0, 2.0, 1e-12), 9)
    1.414213562
    """
    below, above = function(low), function(high)
    if below * above > 0:
        raise ValueError(f"function must change its sign, got {below} and {above} at the ends")
    if not below or not above:
        return high if below else low
    kept = 0
    for step in range(MOST_STEPS):
        width = high - low
        middle = (low * above - high * below) / (above - below)
        if not low < middle < high or step % 3 == 2:
            middle = (low + high) / 2
        found = function(middle)
        if not found or width < near or middle in (low, high):
            return middle
        if (found > 0) == (below > 0):
            low, below = middle, found
            above, kept = (above / 2 if kept == 1 else above), 1
        else:
            high, above = middle, found
            below, kept = (below / 2 if kept == -1 else below), -1
    return (low + high) / 2


TINY = 1e-12
CENTRE = 1e-3
"""Below this many standard deviations from 0 the formula is 0/0, and the normal tail serves."""


def sign_flip_p(scores: FloatArray, flipped: FloatArray | None = None) -> float:
    """Two-sided p of Σ ``scores`` (images,) over all signs of its terms; 1 where every score is 0.

    ``flipped``: the terms whose signs are turned, where the scores were fitted and are too small as
    they stand.
    """
    terms = np.abs(scores if flipped is None else flipped)
    u = terms[terms > TINY * max(1.0, float(terms.max(initial=0)))]
    seen = abs(float(scores.sum()))
    if not u.size:
        return 1.0
    least = 2.0 ** (1 - u.size)
    spread = float(np.sqrt((u**2).sum()))
    if seen >= u.sum() * (1 - 1e-9):
        return min(1.0, least)
    if seen < CENTRE * spread:
        return float(2 * special.ndtr(-seen / spread))
    return float(np.clip(2 * _tail(u / spread, seen / spread), least, 1.0))


def _tail(u: FloatArray, x: float) -> float:
    """P(Σ ±u ≥ x) by the saddlepoint t, where the slope Σ u tanh(t u) of the generating function is
    x.
    """
    high = 1.0
    while float((u * np.tanh(high * u)).sum()) < x:
        high *= 2
    t = root(lambda at: float((u * np.tanh(at * u)).sum()) - x, 0.0, high, 1e-14)
    generating = float((np.abs(t * u) + np.log1p(np.exp(-2 * np.abs(t * u))) - np.log(2)).sum())
    curvature = float((u**2 / np.cosh(np.minimum(t * u, 300)) ** 2).sum())
    w, v = np.sqrt(2 * (t * x - generating)), t * np.sqrt(curvature)
    if v <= TINY or w <= TINY:
        return float(special.ndtr(-x))
    return float(special.ndtr(-(w + np.log(v / w) / w)))


FLAT = 1e-9
LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class Cases:
    """Usable replies: one row a stratum, image, pair, kind of question and margin; arrays of shape
    (rows,).

    ``more``: the option with more of the feature is the better one; ``n`` replies, of which
    ``right`` were right.
    """

    stratum: IntArray
    image: IntArray
    pair: IntArray
    more: BoolArray
    margin: FloatArray
    n: FloatArray
    right: FloatArray
    first: BoolArray | None = None
    """The better option was shown first, where a lean to the place is to be held apart."""


@dataclass(frozen=True, eq=False)
class _Grouping:
    """The same rows with strata, images and pairs numbered from 0, and the margin less its mean in
    the stratum.
    """

    stratum: IntArray
    image: IntArray
    pair: IntArray
    margin: FloatArray
    n: FloatArray
    place: FloatArray
    """Whether the better option was shown first, less the stratum's line on the margin; 0 where it
    takes no part.
    """

    def by(self, place: IntArray, values: FloatArray) -> FloatArray:
        """Totals of ``values`` at each place of the rows, (rows,)."""
        return sums(place, values, int(place.max()) + 1)[place]

    def straightened(self, values: FloatArray) -> FloatArray:
        """``values`` (a row's mean) less the stratum's plane on the margin and the place."""
        left = values - self.by(self.stratum, self.n * values) / self.by(self.stratum, self.n)
        for on in (self.margin, self.place):
            squares = self.by(self.stratum, self.n * on**2)
            slope = self.by(self.stratum, self.n * on * left) / np.where(
                squares > FLAT, squares, 1.0
            )
            left = left - np.where(squares > FLAT, slope, 0.0) * on
        return np.asarray(left)

    def others(self, values: FloatArray) -> FloatArray:
        """Σ of the other pairs of the same image."""
        weighted = self.n * values
        return np.asarray(self.by(self.image, weighted) - self.by(self.pair, weighted))


def _grouping(cases: Cases) -> _Grouping:
    stratum, image, pair = (
        renumbered(column)[1] for column in (cases.stratum, cases.image, cases.pair)
    )
    n = np.asarray(cases.n, float)
    centre = sums(stratum, cases.margin * n, int(stratum.max()) + 1) / sums(
        stratum, n, int(stratum.max()) + 1
    )
    groups = _Grouping(stratum, image, pair, cases.margin - centre[stratum], n, np.zeros(n.size))
    return (
        groups
        if cases.first is None
        else replace(groups, place=groups.straightened(cases.first.astype(float)))
    )


def _shrinkage(groups: _Grouping, rest: FloatArray) -> FloatArray | None:
    """What the sum over the other pairs is multiplied by; None where images are not seen to
    differ.
    """
    weighted, ones = groups.n * rest, np.ones(rest.size)
    both = float((weighted * groups.others(rest)).sum())
    pairs = float((groups.n * groups.others(ones)).sum())
    own = float((weighted * groups.by(groups.pair, weighted)).sum())
    squares = float((groups.n * groups.by(groups.pair, groups.n)).sum())
    if pairs <= 0 or both <= 0 or own <= FLAT * squares:
        return None
    shared = min(both / pairs, own / squares)
    usual = squares / float(groups.n.sum())
    return np.asarray(1 / (groups.others(ones) + usual * (own / squares - shared) / shared + FLAT))


@dataclass(frozen=True, eq=False)
class Lean:
    """What each image adds to the slope of right on s: Σ s̃y and Σ s̃s, arrays of shape
    (images,).
    """

    top: FloatArray
    bottom: FloatArray
    taken: FloatArray
    """The part of an image's variance that the lines of its strata took out, 0..1."""

    @property
    def preference(self) -> float:
        """Half the slope, -½..½; NaN where no stratum tells."""
        return (
            float(self.top.sum() / self.bottom.sum() / 2)
            if self.bottom.sum() > FLAT
            else float("nan")
        )

    def p(self, preference: float = 0.0) -> float:
        """Two-sided p that the preference is ``preference``."""
        scores = self.top - 2 * preference * self.bottom
        return sign_flip_p(scores, scores / (1 - self.taken))

    def ends(self) -> tuple[float, float] | None:
        """The preferences that are not rejected at 5 %; None with too few images.

        Where every image gives the same, nothing varied: the ends are Clopper and Pearson's (1934)
        for none of the effective images apart.
        """
        kept = np.abs(self.bottom) > FLAT
        weights = np.abs(self.bottom[kept])
        effective = effective_number(weights, np.zeros(weights.size, dtype=np.int64), 1)[0]
        if weights.size < LEAST_IMAGES or effective < 2 or not np.isfinite(self.preference):
            return None
        if self._spread() <= FLAT:
            edge = (1 - TAIL ** (1 / effective)) / 2
            return max(-0.5, self.preference - edge), min(0.5, self.preference + edge)
        return self._end(-1), self._end(1)

    def _spread(self) -> float:
        """The standard error, but for small samples' corrections."""
        rest = self.top - 2 * self.preference * self.bottom
        return float(np.sqrt((rest**2).sum()) / self.bottom.sum())

    def _end(self, side: int) -> float:
        step = max(1e-4, self._spread())
        reach = step
        while self.p(self.preference + side * reach) > LEVEL:
            reach += step
            if abs(self.preference + side * reach) >= 0.5:
                return side * 0.5
        at = root(lambda x: self.p(self.preference + side * x) - LEVEL, reach - step, reach, 1e-12)
        return float(np.clip(self.preference + side * at, -0.5, 0.5))


def lean(cases: Cases) -> Lean:
    """What each image adds to the preference."""
    groups = _grouping(cases)
    s, y = np.where(cases.more, 0.5, -0.5), np.asarray(cases.right, float) / groups.n
    rest, apart = groups.straightened(y), groups.straightened(s)
    shrunk = _shrinkage(groups, rest)
    top, bottom = (
        groups.n
        * apart
        * (found if shrunk is None else groups.straightened(found - shrunk * groups.others(found)))
        for found in (rest, apart)
    )
    images = int(groups.image.max()) + 1
    return Lean(
        sums(groups.image, top, images), sums(groups.image, bottom, images), _taken(groups, apart)
    )


def _taken(groups: _Grouping, apart: FloatArray) -> FloatArray:
    """s̃'Hs̃ / s̃'s̃ of each image, with H the projection on the lines of its strata (Bell &
    McCaffrey 2002).
    """
    images = int(groups.image.max()) + 1
    entry, which = renumbered(groups.stratum * images + groups.image)
    stratum = entry // images
    taken = np.zeros(entry.size)
    for on in (np.ones(groups.n.size), groups.margin, groups.place):
        squares = np.bincount(groups.stratum, groups.n * on**2)[stratum]
        taken += np.bincount(which, groups.n * apart * on) ** 2 / np.where(
            squares > FLAT, squares, np.inf
        )
    own = np.maximum(np.bincount(groups.image, groups.n * apart**2), FLAT)
    return np.clip(np.bincount(entry % images, taken) / own, 0.0, 0.9)
