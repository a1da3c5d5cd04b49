"""May I rank my models with this judge? Each pair of models by judge and by truth, one resolution,
and one sentence.

For each pair of models with images in common: how often the judge prefers the first, and how often
the truth does on the same images. Both come from the questions that compare the two directly (a
share with Korn and Graubard's interval), or from the contrast of two strengths that all questions
determine (Bradley and Terry's model with errors clustered by image), whichever has the smaller
standard error of the log-odds. Tests against ½ are adjusted by Holm over the pairs, for judge
and truth separately.

The resolution is the smallest difference of two models' mean true scores for which a further pair
would be separated with a power of 80 %. The judge's preference at a difference comes from how often
it is right by the difference of two predictions (means in groups of equal size) over the
differences that were seen, shifted to the stated mean; its variance is that of the preferences.

Sources: Korn & Graubard 1998; Bradley & Terry 1952; Holm 1979; Lachin 2011 (sample sizes).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse, special

from visualjudge.analysis.estimate import (
    LEAST_IMAGES,
    LEVEL,
    POWER,
    TAIL,
    divided,
    holm,
    norm_isf,
    ratio,
    renumbered,
    share_ends,
    share_test,
    sums,
    t_isf,
    t_sf,
)
from visualjudge.analysis.fits import fit
from visualjudge.core.records import BoolArray, FloatArray, IntArray

PairState = Literal["right", "wrong", "undecided", "close"]
AnswerState = Literal["yes", "in_part", "no", "too_few"]
Ends = tuple[float, float]
MOST_TIMES = 20
"""A pair that needs more than this many times the images is too close to be settled."""
GROUP, MOST_GROUPS = 30, 12
"""Number of comparisons whose rate of right answers is one point of the judge's curve, and maximum
number of points.
"""
WIDEST = 10.0
"""Largest difference of two scores."""
MOST_DIFFERENCES = 4000


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons of two models on one image, R rows: the models (places in ``names``; only those
    of one group are compared), the image, the preferences for the first by judge and by truth (1,
    ½, 0), and the difference of their true scores (NaN where unknown).
    """

    names: tuple[str, ...]
    groups: tuple[str, ...]
    first: IntArray
    second: IntArray
    image: IntArray
    judge: FloatArray
    truth: FloatArray
    difference: FloatArray


@dataclass(frozen=True, eq=False)
class Preferences:
    """How often the first of two models is preferred, by pair (K,), its 95 % interval, the standard
    error of its log-odds (infinite if unknown), and p of ½; NaN where unknown.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    error: FloatArray
    p: FloatArray

    @property
    def decided(self) -> BoolArray:
        """Which pairs differ from ½ after Holm's adjustment."""
        adjusted = holm([None if math.isnan(p) else p for p in self.p.tolist()])
        return np.array([p is not None and p < LEVEL for p in adjusted], dtype=bool)

    def turned(self, where: BoolArray) -> Preferences:
        """Return how often the second model is preferred in the pairs of ``where``."""
        columns = (
            (self.value, 1 - self.value),
            (self.low, 1 - self.high),
            (self.high, 1 - self.low),
        )
        value, low, high = (np.where(where, other, own) for own, other in columns)
        return Preferences(value, low, high, self.error, self.p)

    def ends(self, k: int) -> Ends | None:
        """Return the interval of pair ``k``, or None."""
        return (
            None if math.isnan(self.p[k]) else (float(self.low[k]), float(self.high[k]))
        )


@dataclass(frozen=True)
class PairOfModels:
    """Two models by judge and by truth; ``needs_images`` is the range of further images that would
    probably separate them, None if no number would.
    """

    a: str
    b: str
    judge: float
    judge_ci95: Ends | None
    truth: float | None
    truth_ci95: Ends | None
    state: PairState
    needs_images: tuple[int, int] | None
    images: int
    group: str
    difference: float | None
    """Mean difference of the true scores, in points."""
    by: Literal["questions", "strengths"]


@dataclass(frozen=True)
class PairsOfModels:
    """All pairs of one judge, in the order of the truth, and its resolution: the smallest
    difference that is told apart, in points of score, and with twice the images (None if no
    difference is).
    """

    pairs: tuple[PairOfModels, ...]
    resolution: float | None
    resolution_twice: float | None
    images: int


def compare_models(rows: Comparisons) -> PairsOfModels:
    """Return each pair of models by judge and truth, and the resolution."""
    pair, numbers = np.unique(
        np.column_stack([rows.first, rows.second]), axis=0, return_inverse=True
    )
    numbers = numbers.ravel()
    judged, by_strengths = _preferences(rows, rows.judge, pair, numbers)
    true, _ = _preferences(rows, rows.truth, pair, numbers, by_strengths)
    images = np.array(
        [np.unique(rows.image[numbers == k]).size for k in range(len(pair))]
    )
    states = _states(judged, true)
    spread = _variance_per_image(judged, images)
    curve = preference_curve(rows)
    # the level that a further pair would have in Holm's procedure
    tail = TAIL / min(len(pair), (~judged.decided).sum() + 1)
    means = _means(rows.difference, numbers, len(pair))
    needed: list[tuple[int, int] | None] = [None] * len(pair)
    for k in np.flatnonzero(states == "undecided"):
        unseen = curve is None or math.isnan(means[k])
        expected = judged.value[k] if curve is None or unseen else curve(means[k])
        needed[k] = _further_images(float(expected), spread, int(images[k]), tail)
    turned = np.where(np.isnan(true.value), judged.value, true.value) < 0.5
    pair = np.where(turned[:, None], pair[:, ::-1], pair)
    means = np.where(turned, -means, means)
    judged, true = judged.turned(turned), true.turned(turned)
    pairs = tuple(
        PairOfModels(
            rows.names[a],
            rows.names[b],
            float(judged.value[k]),
            judged.ends(k),
            None if math.isnan(true.value[k]) else float(true.value[k]),
            true.ends(k),
            states[k],
            needed[k],
            int(images[k]),
            rows.groups[a],
            None if math.isnan(means[k]) else float(means[k]),
            "strengths" if by_strengths[k] else "questions",
        )
        for k, (a, b) in enumerate(pair.tolist())
    )
    typical = float(np.mean(images)) if images.size else 0.0
    once, twice = (_smallest(curve, spread, times * typical, tail) for times in (1, 2))
    return PairsOfModels(pairs, once, twice, int(np.unique(rows.image).size))


def _states(judged: Preferences, true: Preferences) -> Any:
    known = np.isfinite(true.value)
    alike = (judged.value > 0.5) == (true.value > 0.5)
    cases = known.any() & ~true.decided, ~known | ~judged.decided, alike
    return np.select(cases, ["close", "undecided", "right"], "wrong")


def _means(values: FloatArray, place: IntArray, count: int) -> FloatArray:
    """Return the mean of the known values by place, (K,); NaN without any."""
    known = np.isfinite(values)
    top, cases = (
        sums(place[known], w, count) for w in (values[known], np.ones(known.sum()))
    )
    return divided(top, cases, np.nan)


def _preferences(
    rows: Comparisons,
    outcome: FloatArray,
    pair: IntArray,
    numbers: IntArray,
    by_strengths: BoolArray | None = None,
) -> tuple[Preferences, BoolArray]:
    """Return the preference in each pair by the better of two methods, or by the stated one, and
    where that is by strengths.
    """
    direct = _by_questions(rows.image, outcome, numbers, len(pair))
    strengths = _by_strengths(rows, outcome, pair)
    by = strengths[ERROR] < direct[ERROR] if by_strengths is None else by_strengths
    return Preferences(*np.where(by, strengths, direct)), by


ERROR = 3
"""Row of the standard errors among the columns of :class:`Preferences`."""


def _by_questions(
    image: IntArray, outcome: FloatArray, numbers: IntArray, count: int
) -> FloatArray:
    """Return the columns of :class:`Preferences`, from the questions that compare two models."""
    kept = np.isfinite(outcome)
    images = int(image.max(initial=0)) + 1
    cells, place = renumbered(numbers[kept] * images + image[kept])
    bottom = np.bincount(place).astype(np.float64)
    value, found = ratio(
        sums(place, outcome[kept], cells.size), bottom, cells // images, count
    )
    many = np.full(count, np.inf)
    ends = *share_ends(value, found, many), share_test(value, found, many)
    low, high, p = (np.where(found.enough, column, np.nan) for column in ends)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(found.variance) / (value * (1 - value))
    error = np.where(np.isfinite(error) & (found.variance > 0), error, np.inf)
    return np.array([value, low, high, error, p])


def _by_strengths(rows: Comparisons, outcome: FloatArray, pair: IntArray) -> FloatArray:
    """Return the columns of :class:`Preferences` from strengths, fitted in each group by itself;
    with an infinite error where they add nothing: in a group of two models, or with too few images.
    """
    group = np.unique(rows.groups, return_inverse=True)[1]
    out = np.full((5, len(pair)), np.nan)
    out[ERROR] = np.inf
    for own in range(int(group.max(initial=-1)) + 1):
        places = np.flatnonzero(group[pair[:, 0]] == own)
        kept = np.isfinite(outcome) & (group[rows.first] == own)
        images = int(np.unique(rows.image[kept]).size)
        if len(places) < 2 or images < LEAST_IMAGES:
            continue
        design = _signs(
            np.column_stack([rows.first, rows.second])[kept], len(rows.names)
        )
        found = fit(design, outcome[kept], rows.image[kept], penalised=True)
        contrast = _signs(pair[places], found.coefficients.size).toarray()
        value, variance = contrast @ found.coefficients, found.variance(contrast)
        told = variance > 0
        value, error = value[told], np.sqrt(variance[told])
        reach = t_isf(TAIL, images - 1) * error
        p = 2 * t_sf(np.abs(value) / error, images - 1)
        shares = special.expit([value, value - reach, value + reach])
        out[:, places[told]] = [*shares, error, p]
    return out


def _signs(pair: IntArray, models: int) -> sparse.csr_array:
    """Return 1 for the first of two models and −1 for the second, pairs × models."""
    n = len(pair)
    cells = np.tile(np.arange(n), 2), pair.T.ravel()
    return sparse.csr_array((np.repeat([1.0, -1.0], n), cells), shape=(n, models))


def _variance_per_image(judged: Preferences, images: IntArray) -> float | None:
    """Return the variance that one image contributes to a preference, over p(1 − p): the median of
    the pairs; None if no pair has one.
    """
    known = np.isfinite(judged.error)
    value, variance = judged.value[known], judged.error[known] ** 2
    found = images[known] * variance * value * (1 - value)
    return float(np.median(found)) if found.size else None


Curve = Callable[[float], float]


def preference_curve(rows: Comparisons) -> Curve | None:
    """Return how often the judge prefers the better of two models, by their mean difference: its
    rate of right answers at differences of two predictions, over differences that scatter around
    the mean as those seen do. None without differences of scores.
    """
    kept = np.isfinite(rows.difference) & np.isfinite(rows.judge)
    difference, judge = rows.difference[kept], rows.judge[kept]
    told = difference != 0
    if not told.any():
        return None
    pair = renumbered(rows.first[kept] * len(rows.names) + rows.second[kept])[1]
    scatter = difference - (np.bincount(pair, difference) / np.bincount(pair))[pair]
    scatter = scatter[:: max(1, scatter.size // MOST_DIFFERENCES)]
    scatter = np.concatenate([scatter, -scatter])
    size = np.abs(difference[told])
    right = np.where(difference[told] > 0, judge[told], 1 - judge[told])
    groups = int(np.clip(size.size // GROUP, 1, MOST_GROUPS))
    parts = np.array_split(np.argsort(size, kind="stable"), groups)
    at = [0.0, *(float(size[part].mean()) for part in parts)]
    rates = [0.5, *(float(right[part].mean()) for part in parts)]

    def preference(mean: float) -> float:
        moved = mean + scatter
        share = np.interp(np.abs(moved), at, rates)
        return float(np.where(moved >= 0, share, 1 - share).mean())

    return preference


def _smallest(
    curve: Curve | None, spread: float | None, images: float, tail: float
) -> float | None:
    """Return the smallest mean difference that ``images`` separate with the stated power."""
    if curve is None or spread is None or images < LEAST_IMAGES:
        return None

    def separates(difference: float) -> bool:
        p = curve(difference)
        error = math.sqrt(spread * p * (1 - p) / images)
        return p - 0.5 >= _reach(tail, images) * error

    if not separates(WIDEST):
        return None
    low, high = 0.0, WIDEST
    while high - low > 0.005:
        middle = (low + high) / 2
        low, high = (low, middle) if separates(middle) else (middle, high)
    return high


def _reach(tail: float, images: float) -> float:
    """Return how many standard errors a preference must lie from ½ for the stated power."""
    return float(t_isf(tail, images - 1) + norm_isf(1 - POWER))


def _further_images(
    expected: float, spread: float | None, images: int, tail: float
) -> tuple[int, int] | None:
    """Return the range of further images that would separate a pair, by χ² of the variance; None if
    it is more than 20 times what there is.
    """
    gap = abs(expected - 0.5)
    if spread is None or gap <= 0 or images < 2:
        return None
    once = spread * expected * (1 - expected) * (_reach(tail, images) / gap) ** 2
    if once > MOST_TIMES * images:
        return None
    freedom = images - 1
    ends = [once * freedom / special.chdtri(freedom, end) for end in (TAIL, 1 - TAIL)]
    low, high = (max(1, math.ceil(end - images)) for end in ends)
    return _rounded(low), _rounded(high)


def _rounded(number: int) -> int:
    """Return a number of images with two digits."""
    scale = int(10 ** max(0, len(str(number)) - 2))
    return math.ceil(number / scale) * scale
