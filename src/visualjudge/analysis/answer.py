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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import sparse, special

from visualjudge.analysis.estimate import (
    LEAST_IMAGES,
    LEVEL,
    POWER,
    TAIL,
    holm,
    norm_isf,
    ratio,
    renumbered,
    share_ends,
    share_test,
    t_isf,
)
from visualjudge.analysis.fits import Fit, fit, interval, p_value
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

    @property
    def images(self) -> int:
        """Number of distinct images."""
        return int(np.unique(self.image).size)


@dataclass(frozen=True)
class Preference:
    """How often the first of two models is preferred, its 95 % interval, the standard error of its
    log-odds, and p of ½.
    """

    value: float
    ci95: Ends | None
    error: float
    p: float | None


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
    known = np.isfinite(rows.truth).any()
    pair, numbers = np.unique(
        np.column_stack([rows.first, rows.second]), axis=0, return_inverse=True
    )
    numbers = numbers.ravel()
    judged = _preferences(rows, rows.judge, pair, numbers)
    true = _preferences(rows, rows.truth, pair, numbers, like=judged) if known else None
    images = np.array([np.unique(rows.image[numbers == k]).size for k in range(len(pair))])
    decided = _decided([preference for preference, _ in judged])
    spread = _variance_per_image(judged, images)
    curve = Curve.of(rows)
    # the level that a further pair would have in Holm's procedure
    tail = TAIL / min(len(pair), sum(not sure for sure in decided) + 1)
    means = [_mean(rows.difference[numbers == k]) for k in range(len(pair))]
    separable = [True] * len(pair) if true is None else _decided([t for t, _ in true])
    out = []
    for k, (a, b) in enumerate(pair.tolist()):
        preference, by = judged[k]
        truth = None if true is None else true[k][0]
        state = _state(preference, truth, decided[k], separable[k])
        needed = None
        if state == "undecided":
            mean = means[k]
            expected = preference.value if curve is None or mean is None else curve(mean)
            needed = _further_images(expected, spread, int(images[k]), tail)
        out.append(
            PairOfModels(
                rows.names[a],
                rows.names[b],
                preference.value,
                preference.ci95,
                None if truth is None else truth.value,
                None if truth is None else truth.ci95,
                state,
                needed,
                int(images[k]),
                rows.groups[a],
                means[k],
                by,
            )
        )
    typical = float(np.mean(images)) if images.size else 0.0
    once, twice = (_smallest(curve, spread, times * typical, tail) for times in (1, 2))
    return PairsOfModels(tuple(map(_better_first, out)), once, twice, rows.images)


def _better_first(pair: PairOfModels) -> PairOfModels:
    """Return the pair with the model first that the truth, else the judge, prefers."""
    if (pair.judge if pair.truth is None else pair.truth) >= 0.5:
        return pair
    return replace(
        pair,
        a=pair.b,
        b=pair.a,
        judge=1 - pair.judge,
        judge_ci95=_turned(pair.judge_ci95),
        truth=None if pair.truth is None else 1 - pair.truth,
        truth_ci95=_turned(pair.truth_ci95),
        difference=None if pair.difference is None else -pair.difference,
    )


def _turned(ends: Ends | None) -> Ends | None:
    return None if ends is None else (1 - ends[1], 1 - ends[0])


def _mean(values: FloatArray) -> float | None:
    seen = values[np.isfinite(values)]
    return float(seen.mean()) if seen.size else None


def _decided(preferences: Sequence[Preference]) -> list[bool]:
    adjusted = holm([preference.p for preference in preferences])
    return [p is not None and p < LEVEL for p in adjusted]


def _state(judge: Preference, truth: Preference | None, sure: bool, separable: bool) -> PairState:
    if not separable:
        return "close"
    if truth is None or not sure:
        return "undecided"
    return "right" if (judge.value > 0.5) == (truth.value > 0.5) else "wrong"


Measured = tuple[Preference, Literal["questions", "strengths"]]


def _preferences(
    rows: Comparisons,
    outcome: FloatArray,
    pair: IntArray,
    numbers: IntArray,
    like: Sequence[Measured] | None = None,
) -> list[Measured]:
    """Return the preference in each pair by the better of two methods, or by those of ``like``."""
    direct = _by_questions(rows.image, outcome, numbers, len(pair))
    strengths = _by_strengths(rows, outcome, pair)
    out: list[Measured] = []
    for k, (own, all_) in enumerate(zip(direct, strengths, strict=True)):
        by = like[k][1] if like else "strengths" if all_.error < own.error else "questions"
        out.append((all_ if by == "strengths" else own, by))
    return out


def _by_questions(
    image: IntArray, outcome: FloatArray, numbers: IntArray, count: int
) -> list[Preference]:
    kept = np.isfinite(outcome)
    images = int(image.max(initial=0)) + 1
    cells, place = renumbered(numbers[kept] * images + image[kept])
    bottom = np.bincount(place).astype(np.float64)
    top = np.asarray(np.bincount(place, outcome[kept]), dtype=np.float64)
    value, found = ratio(top, bottom, cells // images, count)
    many = np.full(count, np.inf)
    low, high = share_ends(value, found, many)
    p = share_test(value, found, many)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(found.variance) / (value * (1 - value))
    error = np.where(np.isfinite(error) & (found.variance > 0), error, np.inf)
    enough = found.enough
    return [
        Preference(
            float(value[k]),
            (float(low[k]), float(high[k])) if enough[k] else None,
            float(error[k]),
            float(p[k]) if enough[k] else None,
        )
        for k in range(count)
    ]


NOTHING = Preference(math.nan, None, math.inf, None)


def _by_strengths(rows: Comparisons, outcome: FloatArray, pair: IntArray) -> list[Preference]:
    """Return preferences from strengths, fitted in each group by itself; with an infinite error
    where they add nothing: in a group of two models, or with too few images.
    """
    group = np.unique(rows.groups, return_inverse=True)[1]
    out = [NOTHING] * len(pair)
    for own in range(int(group.max(initial=-1)) + 1):
        places = np.flatnonzero(group[pair[:, 0]] == own)
        kept = np.isfinite(outcome) & (group[rows.first] == own)
        images = int(np.unique(rows.image[kept]).size)
        if len(places) < 2 or images < LEAST_IMAGES:
            continue
        found = _fitted(rows, outcome, kept)
        for place in places:
            first, second = pair[place].tolist()
            out[place] = _contrast(found, first, second, images)
    return out


def _fitted(rows: Comparisons, outcome: FloatArray, kept: BoolArray) -> Fit:
    n = int(kept.sum())
    models = np.concatenate([rows.first[kept], rows.second[kept]])
    cells = (np.tile(np.arange(n), 2), models)
    design = sparse.csr_array((np.repeat([1.0, -1.0], n), cells), shape=(n, len(rows.names)))
    return fit(design, outcome[kept], rows.image[kept], penalised=True)


def _contrast(found: Fit, first: int, second: int, images: int) -> Preference:
    contrast = np.zeros((1, found.coefficients.size))
    contrast[0, first], contrast[0, second] = 1, -1
    value = float(contrast[0] @ found.coefficients)
    variance = float(found.variance(contrast)[0])
    if not variance > 0:
        return NOTHING
    low, high = interval(value, variance, images - 1)
    p = p_value(value, variance, images - 1)
    return Preference(_logistic(value), (_logistic(low), _logistic(high)), variance**0.5, p)


def _logistic(value: float) -> float:
    return float(special.expit(value))


def _variance_per_image(judged: Sequence[Measured], images: IntArray) -> float | None:
    """Return the variance that one image contributes to a preference, over p(1 − p): the median of
    the pairs; None if no pair has one.
    """
    found = [
        count * preference.error**2 * preference.value * (1 - preference.value)
        for (preference, _), count in zip(judged, images.tolist(), strict=True)
        if math.isfinite(preference.error)
    ]
    return float(np.median(found)) if found else None


@dataclass(frozen=True, eq=False)
class Curve:
    """How often the judge prefers the better of two models, by their mean difference: its rate of
    right answers (``right``) at differences of two predictions (``at``), over differences that
    scatter around the mean as those seen do (``scatter``).
    """

    at: FloatArray
    right: FloatArray
    scatter: FloatArray

    @classmethod
    def of(cls, rows: Comparisons) -> Curve | None:
        """Return the curve of all comparisons; None without differences of scores."""
        kept = np.isfinite(rows.difference) & np.isfinite(rows.judge)
        difference, judge = rows.difference[kept], rows.judge[kept]
        told = difference != 0
        if not told.any():
            return None
        pair = renumbered(rows.first[kept] * len(rows.names) + rows.second[kept])[1]
        mean = np.bincount(pair, difference) / np.bincount(pair)
        scatter = difference - mean[pair]
        scatter = scatter[:: max(1, scatter.size // MOST_DIFFERENCES)]
        size = np.abs(difference[told])
        right = np.where(difference[told] > 0, judge[told], 1 - judge[told])
        groups = int(np.clip(size.size // GROUP, 1, MOST_GROUPS))
        parts = np.array_split(np.argsort(size, kind="stable"), groups)
        at = [float(size[part].mean()) for part in parts]
        rates = [float(right[part].mean()) for part in parts]
        return cls(np.array([0.0, *at]), np.array([0.5, *rates]), np.abs(scatter))

    def __call__(self, mean: float) -> float:
        """Return the preference at a mean difference."""
        total = 0.0
        for sign in (1, -1):
            difference = mean + sign * self.scatter
            right = np.interp(np.abs(difference), self.at, self.right)
            total += float(np.where(difference >= 0, right, 1 - right).mean())
        return total / 2


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
