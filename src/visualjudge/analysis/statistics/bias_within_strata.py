"""Bias towards a feature at equal difficulty: right answers are compared within strata and images.

With y = right and s = ±½ for "the option with more of the feature is (not) the better one", the
least-squares slope of y on s, with a separate intercept and margin slope in each stratum, is the
difference in accuracy at equal difficulty; half of it is the preference. Strata that lack one kind
of question contribute nothing. The least-squares weights are Mantel and Haenszel's (1959) for
shares. The interval contains the preferences that the sign-flip test over images does not reject.
The flipped score of an image is computed with the strata fitted without that image (CR3: Bell &
McCaffrey 2002).

A judge with position bias is right more often if the better option is shown first. If a feature is
correlated with the position, this must not count as bias towards the feature: ``Cases.first`` adds
the position to the regression in each stratum.

Images differ in difficulty too. The shrunken mean of the *other* pairs of the image is subtracted
from each pair's y (the best linear prediction of a random effect: Henderson 1975). Leaving the pair
itself out makes this an adjustment by prior knowledge. The same is done to s in the slope's
denominator, so the slope stays unbiased.

The sign-flip test needs no degrees of freedom: it asks whether the images' contributions to a sum
are positive as often as negative. Under the null hypothesis the images' scores have mean 0, and
flipping any sign does not change their joint distribution (Hemerik, Goeman & Finos 2020:
sign-flipped score contributions, robust to unequal variances and to dependence within an image).
The distribution of the sum over all 2ᵐ signs is computed rather than sampled: its cumulant
generating function is Σ log cosh(t u), and the formula of Lugannani and Rice (1980) gives the tail,
to three digits for ten images.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from visualjudge.analysis.estimate import (
    LEAST_IMAGES,
    TAIL,
    effective_number,
    renumbered,
    sums,
)
from visualjudge.core.records import BoolArray, FloatArray, IntArray

MOST_STEPS = 200


def root(function: Callable[[float], float], low: float, high: float, near: float) -> float:
    """Return where ``function`` changes its sign between ``low`` and ``high``, to within ``near``.

    Uses the Illinois method (Dowell & Jarratt 1971), and bisects at every eighth step.

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
        if not low < middle < high or step % 8 == 7:
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
"""Number of standard deviations from 0 below which the formula is 0/0 and the normal tail is used.
"""


def sign_flip_p(scores: FloatArray, flipped: FloatArray | None = None) -> float:
    """Return the two-sided p of Σ ``scores`` (images,) over all signs of its terms; 1 if every
    score is 0.

    ``flipped`` gives the terms whose signs are flipped, if the scores were fitted and are therefore
    too small.
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
    """Return P(Σ ±u ≥ x), with the saddlepoint t at which the slope Σ u tanh(t u) of the generating
    function equals x.
    """
    # The slope is concave and at most t, as Σ u² is 1: Newton's steps from x stay below the root.
    # Sums of products, not u @ tanh: BLAS starts threads for long vectors, at 50 times the cost.
    t = x
    for _ in range(MOST_STEPS):
        tanh = np.tanh(t * u)
        slope, bend = (u * tanh).sum(), (u**2 * (1 - tanh**2)).sum()
        step = (x - float(slope)) / max(float(bend), TINY)
        t += step
        if abs(step) <= 1e-14 * t:
            break
    generating = float((np.abs(t * u) + np.log1p(np.exp(-2 * np.abs(t * u))) - np.log(2)).sum())
    curvature = float((u**2 / np.cosh(np.minimum(t * u, 300)) ** 2).sum())
    w, v = np.sqrt(2 * (t * x - generating)), t * np.sqrt(curvature)
    if v <= TINY or w <= TINY:
        return float(special.ndtr(-x))
    return float(special.ndtr(-(w + np.log(v / w) / w)))


FLAT = 1e-9
LEVEL = 0.05
CLOSE = 1e-13
"""A p this near the level counts as equal to it."""


@dataclass(frozen=True, eq=False)
class Cases:
    """Usable replies in arrays of shape (rows,): one row per stratum, image, pair, kind of question
    and margin.

    ``more`` says whether the option with more of the feature is the better one; ``right`` of the
    ``n`` replies were right.
    """

    stratum: IntArray
    image: IntArray
    pair: IntArray
    more: BoolArray
    margin: FloatArray
    n: FloatArray
    right: FloatArray
    first: BoolArray | None = None
    """Whether the better option was shown first; given if position bias is to be separated."""


@dataclass(frozen=True, eq=False)
class _Grouping:
    """The same rows with strata, images and pairs numbered from 0, and the margin centred within
    the stratum.
    """

    stratum: IntArray
    image: IntArray
    pair: IntArray
    margin: FloatArray
    n: FloatArray
    place: FloatArray
    """Whether the better option was shown first, less the stratum's regression on the margin; 0 if
    position is not separated.
    """

    def by(self, place: IntArray, values: FloatArray) -> FloatArray:
        """Sum ``values`` by ``place``, the number of each row's group; shape (rows,)."""
        return sums(place, values, int(place.max()) + 1)[place]

    def straightened(self, values: FloatArray) -> FloatArray:
        """Return ``values`` (row means) less the stratum's regression on the margin and the
        position.
        """
        left = values - self.by(self.stratum, self.n * values) / self.by(self.stratum, self.n)
        for on in (self.margin, self.place):
            squares = self.by(self.stratum, self.n * on**2)
            slope = self.by(self.stratum, self.n * on * left) / np.where(
                squares > FLAT, squares, 1.0
            )
            left = left - np.where(squares > FLAT, slope, 0.0) * on
        return np.asarray(left)

    def others(self, values: FloatArray) -> FloatArray:
        """Sum ``values`` over the other pairs of the same image."""
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
    """Return the factor for the sum over the other pairs; None if images do not seem to differ."""
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
    """Contributions of each image to the slope of right on s: Σ s̃y and Σ s̃s, arrays of shape
    (images,).
    """

    top: FloatArray
    bottom: FloatArray
    taken: FloatArray
    """Share of an image's variance that the regressions of its strata removed, 0..1."""

    @property
    def preference(self) -> float:
        """Half the slope, -½..½; NaN if no stratum is informative."""
        return (
            float(self.top.sum() / self.bottom.sum() / 2)
            if self.bottom.sum() > FLAT
            else float("nan")
        )

    def p(self, preference: float = 0.0) -> float:
        """Return the two-sided p-value of a preference equal to ``preference``."""
        scores = self.top - 2 * preference * self.bottom
        return sign_flip_p(scores, scores / (1 - self.taken))

    def ends(self) -> tuple[float, float] | None:
        """Return the range of preferences not rejected at 5 %; None with too few images.

        If all images give the same value, the ends are those of Clopper and Pearson (1934) for 0 of
        the effective images.
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
        """Return the standard error without small-sample corrections."""
        rest = self.top - 2 * self.preference * self.bottom
        return float(np.sqrt((rest**2).sum()) / self.bottom.sum())

    def _end(self, side: int) -> float:
        step = max(1e-4, self._spread())
        reach = step
        while self.p(self.preference + side * reach) > LEVEL:
            reach += step
            if abs(self.preference + side * reach) >= 0.5:
                return side * 0.5

        def beyond(x: float) -> float:
            off = self.p(self.preference + side * x) - LEVEL
            return off if abs(off) > CLOSE else 0.0

        at = root(beyond, reach - step, reach, 1e-12)
        return float(np.clip(self.preference + side * at, -0.5, 0.5))


def lean(cases: Cases) -> Lean:
    """Return the contributions of each image to the preference."""
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
    """Return s̃'Hs̃ / s̃'s̃ of each image, where H projects on the regressions of its strata (Bell
    & McCaffrey 2002).
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
