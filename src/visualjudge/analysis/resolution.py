"""The resolution of a judge: the smallest win rate above ½ at which judge and truth
would both separate a pair of models, in the same order, in 80 % of studies or more,
with a probability of 75 %. The tests are in ``separation.py``; plans of new studies, in
``apps/planning``.

How often the judge prefers the better of two predictions rises with their difference in
score: ½ + (½ − lapse) · erf(difference / scale). The study leaves several rates
possible; each has its likelihood as a weight, and the power is the lower quartile over
them. A promise that only the most probable rate would keep is none, and the mean power
is not reached where only chance made it high enough to be stated. The judge's
preference at a win rate is that rate, averaged over the differences that were seen,
shifted. Without differences of scores it is how often the judge is right.

A preference is proven where the test of the study would prove it: Korn and Graubard's,
with the variance that an image contributes to the preferences seen, at the level that
Holm's procedure leaves to a pair that is clearer than the other open ones.

Further images: :func:`further_images`.

Sources: Wichmann & Hill 2001 (lapses); O'Hagan, Stevens & Campbell 2005 (power where
the effect is not known); Anderson, Kelley & Maxwell 2017 (its lower quantiles);
Spiegelhalter, Freedman & Blackburn 1986 (power that data predict); Daniels 1999 (a
prior of shrinkage); Lachin 2011.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from visualjudge.analysis.estimate import (
    DECIMALS,
    LEAST_IMAGES,
    POWER,
    Spread,
    divided,
    norm_isf,
    share_test,
)
from visualjudge.core.records import FloatArray, IntArray

WIDEST = 10.0
"""Largest difference of two scores."""
MOST_DIFFERENCES = 300
MOST_BINS = 40
LAPSES = np.linspace(0, 0.5, 41)
SCALES = np.geomspace(0.02, 8, 20)
"""Scales to try, in medians of the differences."""
IMPROBABLE = 0.02
"""Likelihood of a rate, relative to the largest, below which it is left out."""
NODES = special.ndtri((np.arange(80) + 0.5) / 80)
"""Quantiles of the normal distribution, over which a power is averaged."""
DOUBT = 0.25
"""Probability that the power of the judge is below the stated one."""
STEPS = 11
PREFERENCES = np.linspace(0.5, 1, 501)
SETTLED = 0.8
"""Probability that a promised number of further images separates a pair."""
TIMES = np.geomspace(0.05, 20, 60)
"""Further images to try, in multiples of those that there are."""
PARTS = np.linspace(0.025, 0.975, 20)
"""Parts of the variance of z that are differences between pairs."""


@dataclass(frozen=True, eq=False)
class Skill:
    """Possible rates of right answers (G,) of a judge and their weights, which sum to
    1.

    ``scatter`` (D,) are the differences of two predictions about the mean of their
    models; None where only the better one is known: then ``scale`` is not used.
    """

    weight: FloatArray
    lapse: FloatArray
    scale: FloatArray
    scatter: FloatArray | None

    def at(self, number: float) -> tuple[float, FloatArray, float]:
        """Return the win rate by truth, the judge's preferences (G,), and the
        difference of two models in points, at a mean difference of their scores of
        ``number``; or, where only the better prediction is known, at a win rate of ½ +
        ``number``.
        """
        if self.scatter is None:
            return 0.5 + number, 0.5 + (1 - 2 * self.lapse) * number, math.nan
        moved = number + self.scatter
        scales, place = np.unique(self.scale, return_inverse=True)
        signed = special.erf(moved / scales[:, None]).mean(1)[place]
        truth = float(((np.sign(moved) + 1) / 2).mean())
        return truth, 0.5 + (0.5 - self.lapse) * signed, number


def skill_of(
    difference: FloatArray,
    right: FloatArray,
    cases: FloatArray,
    pair: IntArray,
    *,
    graded: bool,
) -> Skill | None:
    """Return the rates that R comparisons leave possible; None without a known better
    prediction.

    Parameters
    ----------
    difference
        (R,) the first score less the second.
    right
        (R,) the judge's preference for the better prediction, 0 … 1.
    cases
        (R,) the weight of each comparison in independent cases.
    pair
        (R,) the pair of models.
    graded
        Whether differences say more than which prediction is better.
    """
    difference = difference.round(DECIMALS)
    apart = difference != 0
    if not apart.any():
        return None
    size = np.abs(difference[apart])
    edges = np.quantile(size, np.linspace(0, 1, MOST_BINS + 1)[1:-1])
    bin_of = np.searchsorted(edges, size, side="left")
    count = np.bincount(bin_of, cases[apart], MOST_BINS)
    hits = np.bincount(
        bin_of,
        cases[apart] * right[apart],
        MOST_BINS,
    )
    total = np.bincount(bin_of, cases[apart] * size, MOST_BINS)
    known = count > 0
    scales = SCALES * float(np.median(size)) if graded else np.array([1e-9])
    lapse, scale = (grid.ravel() for grid in np.meshgrid(LAPSES, scales))
    rise = special.erf(total[known] / count[known] / scale[:, None])
    rate = np.clip(
        0.5 + (0.5 - lapse[:, None]) * rise,
        1e-4,
        1 - 1e-4,
    )
    likelihood = np.log(rate) @ hits[known]
    likelihood += np.log(1 - rate) @ (count - hits)[known]
    weight = np.exp(likelihood - likelihood.max())
    selected = weight >= IMPROBABLE
    scatter = None
    if graded:
        means = np.bincount(pair, difference) / np.bincount(pair)
        scatter = difference - means[pair]
        scatter = np.sort(np.concatenate([scatter, -scatter]))
        scatter = scatter[:: max(1, scatter.size // MOST_DIFFERENCES)]
    return Skill(
        weight[selected] / weight[selected].sum(),
        lapse[selected],
        scale[selected],
        scatter,
    )


@dataclass(frozen=True, eq=False)
class Trial:
    """How the preferences of judge and truth for one of two models are tested.

    ``judge`` and ``truth`` are the variances that one image contributes to a
    preference, over p(1 − p), ``shared`` their correlation over images, and ``tail``
    the level of one side.
    """

    judge: float
    truth: float
    shared: float
    tail: float

    def power(
        self,
        skill: Skill,
        number: float,
        images: float,
    ) -> float:
        """Return how often judge and truth both separate a pair, at least: the lower
        quartile over the skill."""
        rate, preferred, _ = skill.at(number)
        of_judge = self._beyond(preferred, self.judge, images)[:, None]
        of_truth = self._beyond(
            np.array([rate]),
            self.truth,
            images,
        )
        rest = (of_truth + self.shared * NODES) / math.sqrt(1 - self.shared**2)
        both = (of_judge + NODES > 0) * special.ndtr(rest)
        each = both.mean(1)
        order = np.argsort(each)
        below = np.cumsum(skill.weight[order])
        return float(each[order][np.searchsorted(below, DOUBT)])

    def _beyond(
        self,
        preference: FloatArray,
        variance: float,
        images: float,
    ) -> FloatArray:
        """Return how far preferences (G,) lie above the smallest that is proven, in
        standard errors.
        """
        cases = images / variance
        bounded = np.clip(preference, 0, 1 - 0.5 / cases)
        least = _least_proven(variance, images, self.tail)
        # half a case: preferences come in steps of one
        wins = np.minimum(cases * least + 0.5, cases)
        share = special.betainc(wins, cases - wins + 1, bounded)
        return np.asarray(special.ndtri(np.clip(share, 1e-12, 1 - 1e-12)))


@lru_cache(maxsize=256)  # asked for at each step of a search
def _least_proven(variance: float, images: float, tail: float) -> float:
    """Return the smallest preference that is proven at the level ``tail``; 1 if none
    is."""
    spread = variance * PREFERENCES * (1 - PREFERENCES) / images
    many = np.full(PREFERENCES.size, float(images))
    result = Spread(
        spread,
        many.astype(np.int64),
        many,
    )
    p = share_test(
        PREFERENCES,
        result,
        np.full(PREFERENCES.size, np.inf),
    )
    return float(PREFERENCES[p <= 2 * tail].min(initial=1.0))


def resolution(
    skill: Skill | None,
    trial: Trial | None,
    images: float,
) -> tuple[float | None, float | None]:
    """Return the smallest win rate that is separated with the stated power on so many
    images, and the difference in points; None if none is.
    """
    if skill is None or trial is None or images < LEAST_IMAGES:
        return None, None
    low = 0.0
    high = 0.5 if skill.scatter is None else WIDEST
    if trial.power(skill, high, images) < POWER:
        return None, None
    for _ in range(STEPS):
        middle = (low + high) / 2
        if trial.power(skill, middle, images) < POWER:
            low = middle
        else:
            high = middle
    rate, _, points = skill.at(high)
    return rate, None if math.isnan(points) else points


def correlation(judge: FloatArray, truth: FloatArray, pair: IntArray) -> float:
    """Return the correlation of judge and truth over images within pairs, 0 … 0.99."""
    count = np.maximum(np.bincount(pair), 1)
    of_judge = judge - divided(np.bincount(pair, judge), count)[pair]
    of_truth = truth - divided(np.bincount(pair, truth), count)[pair]
    below = float(np.sqrt((of_judge @ of_judge) * (of_truth @ of_truth)))
    if below <= 0:
        return 0.0
    return min(max(float(of_judge @ of_truth) / below, 0.0), 0.99)


# ---------------------------------------------------------------- further images


def further_images(
    sides: tuple[FloatArray, FloatArray],
    pairs: IntArray,
    images: IntArray,
    tail: float,
    freedom: int,
) -> list[tuple[int, int] | None]:
    """Return of each of ``pairs`` the range of further images after which judge and
    truth separate it in the same order: with a probability of ½, and of
    :data:`SETTLED`. None if all of :data:`TIMES` promise less.

    ``sides`` are z of judge and truth of all K pairs, which have ``images`` (K,) each
    and count as ``freedom`` independent ones.
    """
    judge, truth = sides
    order = np.sign(
        np.where(
            np.abs(truth) > np.abs(judge),
            truth,
            judge,
        )
    )
    chance = np.ones((pairs.size, TIMES.size))
    for z in sides:
        chance *= _proven_later(
            z,
            (z * order)[pairs],
            tail,
            freedom,
        )
    ranges: list[tuple[int, int] | None] = []
    for own, count in zip(
        chance,
        images[pairs].tolist(),
        strict=True,
    ):
        low, high = (
            TIMES[own >= least].min(initial=np.inf) for least in (0.5, SETTLED)
        )
        ranges.append(
            (_rounded(low * count), _rounded(high * count))
            if math.isfinite(high)
            else None
        )
    return ranges


def _proven_later(
    z: FloatArray,
    towards: FloatArray,
    tail: float,
    freedom: int,
) -> FloatArray:
    """Return how probably each of the values ``towards`` (U,) is above what is proven
    at the level ``tail`` after :data:`TIMES` more images, (U, T).

    ``z`` (K,) are the values of all pairs. A part of their variance is differences
    between pairs, and each part is as likely before the study: a value is drawn to 0
    where all are small, as the pair that looks clear by luck would not settle.
    """
    rest = 1 - PARTS
    size = float(z @ z) / max(1, int(np.count_nonzero(z)))
    likelihood: FloatArray = freedom / 2 * (np.log(rest) - rest * size)
    weight = np.exp(likelihood - likelihood.max())
    more = TIMES[:, None]
    mean = towards[:, None, None] * (1 + more * PARTS) / np.sqrt(1 + more)
    error = np.sqrt((more**2 * PARTS + more) / (1 + more))
    later = special.ndtr((mean - norm_isf(tail)) / error) @ weight
    return np.asarray(later / weight.sum())


def _rounded(number: float) -> int:
    """Return a number of images with two digits."""
    scale = int(10 ** max(0, len(str(math.ceil(number))) - 2))
    return math.ceil(number / scale) * scale
