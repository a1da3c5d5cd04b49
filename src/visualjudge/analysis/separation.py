"""Which models does the judge separate, which does the truth, and do the two differ?
The one family of tests of a study. Ranks, states and plots follow from it, in
``decisions/``; comparisons of two *judges* are in ``figures/comparisons.py``.

A pair of models is compared by *how often the first is better, over images*: each image
weighs the same, whatever the number of its questions. Of each pair three differences
are tested by image: the judge's preference and the truth's against ½, and the judge's
less the truth's. Each is adjusted by Holm over all pairs of the table. States, rank
sets, the bounds of τ-b, favouritism, the answer and the marks of plots are read from
these tests; nothing else decides whether two models differ.

Preferences are those of the questions that compare the two models (a share with Korn
and Graubard's interval), or of two strengths (Bradley and Terry's model with errors
clustered by image), where their standard error is smaller, a test by image at 5 % does
not reject them for this pair, and the pair's own questions do not prove the opposite:
for judge and truth each, so that the truth is the same beside every judge.

The resolution (:mod:`visualjudge.analysis.resolution`) has the level of a pair that is
clearer than the other open ones.

Sources: Korn & Graubard 1998; Bradley & Terry 1952; Holm 1979; McNemar 1947; Lachin
2011 (sample sizes); Shaffer 1980 (directions after two-sided tests).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import special

from visualjudge.analysis.estimate import (
    LEAST_IMAGES,
    LEVEL,
    TAIL,
    Spread,
    divided,
    gap_p,
    holm,
    norm_isf,
    ratio,
    renumbered,
    share_ends,
    share_test,
    sums,
    t_isf,
    t_sf,
    test,
)
from visualjudge.analysis.fits import Fit, fit, indicator
from visualjudge.analysis.resolution import (
    Skill,
    Trial,
    correlation,
    further_images,
    resolution,
    skill_of,
)
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.records import BoolArray, FloatArray, IntArray

PairState = Literal["right", "wrong", "undecided", "close", "unknown"]
AnswerState = Literal["yes", "in_part", "no", "too_few"]
Side = Literal["judge", "truth"]
Basis = Literal["questions", "strengths"]
BASES: tuple[Basis, Basis] = ("questions", "strengths")
Ends = tuple[float, float]
Model = tuple[str, str]
"""A model with the group in which it is compared: (group, name)."""
Ranks = tuple[int, int, int]
"""The rank of a model, and the best and the worst that the tests leave to it."""
CHUNK = 512
"""Number of pairs whose images are in memory at a time."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons of two models on one image, R rows: the models (places in ``names``;
    only those of one group are compared), the image, the preferences for the first by
    judge and by truth (1, ½, 0; NaN where unknown), and the difference of their true
    scores (NaN where unknown).
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
class Cells:
    """The comparisons of pair ``pair`` on image ``image`` as one mean each, C rows
    sorted by pair; ``twos`` (K, 2) are the models of each pair, ``images`` (K,) its
    number of images. ``gap`` is judge minus truth, of the questions whose truth is known.
    """

    rows: Comparisons
    twos: IntArray
    pair: IntArray
    image: IntArray
    judge: FloatArray
    truth: FloatArray
    gap: FloatArray
    difference: FloatArray

    @property
    def images(self) -> IntArray:
        """Number of images of each pair."""
        return np.bincount(self.pair, minlength=len(self.twos))


@dataclass(frozen=True, eq=False)
class Preferences:
    """How often the first of two models is preferred, by pair (K,), its 95 % interval,
    the standard error of its log-odds (infinite if unknown), and p of ½; NaN where
    unknown.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    error: FloatArray
    p: FloatArray

    @cached_property
    def order(self) -> IntArray:
        """1 where the first model is preferred and −1 where the second is, after Holm's
        adjustment, else 0.
        """
        return _signs_of(self.value - 0.5, self.p)

    @cached_property
    def z(self) -> FloatArray:
        """The normal quantiles of p with the sign of the preference; 0 where
        unknown."""
        size = norm_isf(np.maximum(self.p, 1e-300) / 2)
        return np.asarray(np.nan_to_num(np.sign(self.value - 0.5) * size))

    def turned(self, where: BoolArray) -> Preferences:
        """Return how often the second model is preferred in the pairs of ``where``."""
        return Preferences(
            np.where(where, 1 - self.value, self.value),
            np.where(where, 1 - self.high, self.low),
            np.where(where, 1 - self.low, self.high),
            self.error,
            self.p,
        )

    def ends(self, k: int) -> Ends | None:
        """Return the interval of pair ``k``, or None."""
        if math.isnan(self.p[k]):
            return None
        return float(self.low[k]), float(self.high[k])


@dataclass(frozen=True)
class PairOfModels:
    """Two models by judge and by truth, the better one by truth first.

    ``judge`` and ``truth`` are win rates of the first, over images. ``judge_order`` and
    ``truth_order`` are 1 where the first is proven to be preferred, −1 where the second
    is, else 0. ``needs_images`` is the range of further images that would probably
    separate the two, None if no number can be promised. ``mean_difference`` is that of
    the true scores, in points, and ``conflict`` whether it is proven to have the
    opposite sign of the truth's win rate. ``by`` and ``truth_by`` say what the two
    win rates are of.
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
    mean_difference: float | None = None
    by: Basis = "questions"
    truth_by: Basis = "questions"
    judge_order: int = 0
    truth_order: int = 0
    conflict: bool = False


@dataclass(frozen=True)
class PairsOfModels:
    """All pairs of one judge, and its resolution: the smallest win rate at which a pair
    is separated, and with twice the images; the same as a difference of mean scores, in
    points, where no pair has a conflict. None if no win rate is resolved.
    """

    pairs: tuple[PairOfModels, ...]
    resolution: float | None
    resolution_twice: float | None
    images: int
    resolution_points: float | None

    @property
    def tau_b(self) -> Estimate:
        """Kendall's τ-b of the orders by judge and by truth over the pairs; None if the
        truth has no order. Its ends count pairs that judge and truth separate in the
        same or in opposite orders.
        """
        known = [pair for pair in self.pairs if pair.truth is not None]
        judge = np.sign([round(pair.judge - 0.5, 12) for pair in known])
        truth = np.sign(
            [round((pair.truth or 0.5) - 0.5, 12) for pair in known]
        )
        below = float(np.sqrt(np.abs(judge).sum() * np.abs(truth).sum()))
        value = float((judge * truth).sum()) / below if below else 0.0
        if not truth.any():
            return Estimate(
                None,
                None,
                len(known),
                self.images,
            )
        proven = np.array(
            [pair.judge_order * pair.truth_order for pair in known]
        )
        low = float((proven > 0).mean())
        high = float((proven >= 0).mean())
        ends = min(2 * low - 1, value), max(2 * high - 1, value)
        return Estimate(
            value,
            ends,
            len(known),
            self.images,
        )

    def order(self, by: Side) -> dict[Model, float]:
        """Return how often each (group, model) is preferred by the judge or by truth,
        as the mean over its pairs, the best first; empty where it is not known.

        Models are in descending order, but for those that are separated otherwise: none
        comes before one that is separated above it.
        """
        return self._ordered(by)[0]

    def ranks(self, by: Side = "judge") -> dict[Model, Ranks]:
        """Return the rank of each (group, model) in the :meth:`order` of its group, and
        the best and the worst that the tests leave to it. Equal means have one rank.

        A model ranks below those that are separated above it, and above those that are
        separated below it.
        """
        order, place, above = self._ordered(by)
        ranks: dict[Model, Ranks] = {}
        for model, mean in order.items():
            own = [
                share
                for (group, _), share in order.items()
                if group == model[0]
            ]
            k = place[model]
            best = 1 + int(above[:, k].sum())
            worst = len(own) - int(above[k].sum())
            rank = min(max(1 + own.index(mean), best), worst)
            ranks[model] = rank, best, worst
        return ranks

    def _ordered(
        self, by: Side
    ) -> tuple[dict[Model, float], dict[Model, int], BoolArray]:
        """Return the :meth:`order`, and what :meth:`_separated` says of it."""
        means: dict[Model, list[float]] = {}
        for pair in self.pairs:
            share = pair.judge if by == "judge" else pair.truth
            if share is not None:
                means.setdefault((pair.group, pair.a), []).append(share)
                means.setdefault((pair.group, pair.b), []).append(1 - share)
        # without what rounding adds, so that equal means are equal
        each = {
            model: round(sum(own) / len(own), 12)
            for model, own in means.items()
        }
        place, above = self._separated(by)
        left = sorted(each, key=lambda model: -each[model])
        ordered: dict[Model, float] = {}
        while left:
            rest = [place[model] for model in left]
            under = above[np.ix_(rest, rest)].any(0)
            best = left.pop(int(under.argmin()))
            ordered[best] = each[best]
        return ordered, place, above

    def _separated(self, by: Side) -> tuple[dict[Model, int], BoolArray]:
        """Return the number of each (group, model), and whether the first of two is
        separated above the second. Two models that no question compares are apart if a
        chain of separated pairs leads from one to the other.
        """
        sides = [
            (pair.group, name)
            for pair in self.pairs
            for name in (pair.a, pair.b)
        ]
        place = {model: k for k, model in enumerate(dict.fromkeys(sides))}
        above = np.zeros((len(place), len(place)), dtype=bool)
        met = np.eye(len(place), dtype=bool)
        for pair in self.pairs:
            a = place[pair.group, pair.a]
            b = place[pair.group, pair.b]
            met[a, b] = met[b, a] = True
            order = pair.judge_order if by == "judge" else pair.truth_order
            above[a, b] = order > 0
            above[b, a] = order < 0
        while not met.all():
            further = (above @ above) & ~met & ~above
            if not further.any():
                break
            above |= further
        # chains that contradict each other prove nothing
        return place, above & ~(above & above.T)


NO_PAIRS = PairsOfModels((), None, None, 0, None)


def separate(rows: Comparisons) -> PairsOfModels:
    """Return each pair of models by judge and truth, and the resolution."""
    cells = cells_of(rows)
    judged, true, by, differ = _compared(cells)
    images = cells.images
    states = _states(judged, true, differ)
    means, mean_order = _mean_differences(cells)
    conflict = mean_order * true.order < 0
    # the level in Holm's procedure of a pair that is clearer than the other open ones
    tail = TAIL / max(1, int((judged.order == 0).sum()))
    undecided = np.flatnonzero(states == "undecided")
    # the level of the side with more open pairs
    strict = TAIL / max(
        1, *((side.order == 0).sum() for side in (judged, true))
    )
    freedom = len(rows.names) - len(set(rows.groups))
    further = further_images(
        (judged.z, true.z),
        undecided,
        images,
        strict,
        freedom,
    )
    needed = dict(zip(undecided.tolist(), further, strict=True))
    turned = (
        np.where(
            np.isnan(true.value),
            judged.value,
            true.value,
        )
        < 0.5
    )
    order = np.where(turned, -1, 1)
    twos = np.where(
        turned[:, None],
        cells.twos[:, ::-1],
        cells.twos,
    )
    judged = judged.turned(turned)
    true = true.turned(turned)
    pairs = tuple(
        PairOfModels(
            rows.names[a],
            rows.names[b],
            float(judged.value[k]),
            judged.ends(k),
            None if math.isnan(true.value[k]) else float(true.value[k]),
            true.ends(k),
            str(states[k]),  # type: ignore[arg-type]
            needed.get(k),
            int(images[k]),
            rows.groups[a],
            None if math.isnan(means[k]) else float(means[k] * order[k]),
            BASES[int(by[0][k])],
            BASES[int(by[1][k])],
            int(judged.order[k]),
            int(true.order[k]),
            bool(conflict[k]),
        )
        for k, (a, b) in enumerate(twos.tolist())
    )
    typical = float(np.mean(images)) if images.size else 0.0
    skill = _skill(cells)
    trial = _trial(
        cells,
        _variance_per_image(judged, images),
        _variance_per_image(true, images),
        tail,
    )
    once, points = resolution(skill, trial, typical)
    twice, _ = resolution(skill, trial, 2 * typical)
    return PairsOfModels(
        pairs,
        once,
        twice,
        int(np.unique(rows.image).size),
        None if conflict.any() else points,
    )


def cells_of(rows: Comparisons) -> Cells:
    """Return the mean of the comparisons of each pair on each image."""
    two = rows.first.astype(np.int64) * max(1, len(rows.names)) + rows.second
    codes, pair = np.unique(two, return_inverse=True)
    images = int(rows.image.max(initial=0)) + 1
    cells, place = renumbered(pair.ravel() * images + rows.image)
    twos = np.column_stack(np.divmod(codes, max(1, len(rows.names))))
    columns = (
        _means(values, place, cells.size)
        for values in (
            rows.judge,
            rows.truth,
            rows.judge - rows.truth,
            rows.difference,
        )
    )
    return Cells(
        rows,
        twos,
        cells // images,
        cells % images,
        *columns,
    )


def _means(values: FloatArray, place: IntArray, count: int) -> FloatArray:
    """Return the mean of the known values by place, (K,); NaN without any."""
    known = np.isfinite(values)
    top = sums(place[known], values[known], count)
    return divided(
        top,
        sums(
            place[known],
            np.ones(known.sum()),
            count,
        ),
        np.nan,
    )


def _signs_of(value: FloatArray, p: FloatArray) -> IntArray:
    """Return the signs that are significant after Holm's adjustment over known p, else
    0."""
    adjusted = holm([None if math.isnan(x) else x for x in p.tolist()])
    proven = np.array(
        [x is not None and x < LEVEL for x in adjusted], dtype=bool
    )
    return np.where(
        proven,
        np.sign(np.nan_to_num(value)),
        0,
    ).astype(np.int64)


def _states(
    judged: Preferences, true: Preferences, differ: IntArray
) -> FloatArray:
    """Return the state of each pair; ``differ`` is the proven sign of judge minus
    truth."""
    unknown = np.isnan(true.value)
    agree = judged.order * true.order
    invented = (
        (judged.order != 0) & (true.order == 0) & (differ == judged.order)
    )
    close = (judged.order == 0) & (true.order == 0) & (differ == 0)
    return np.select(
        [
            unknown,
            agree > 0,
            (agree < 0) | invented,
            close,
        ],
        ["unknown", "right", "wrong", "close"],
        "undecided",
    )


# ---------------------------------------------------------------- preferences


@dataclass(frozen=True, eq=False)
class _Strengths:
    """Strengths of the models of one group, and how far each image moved them (images,
    models)."""

    fit: Fit
    moved: FloatArray

    def moved_share(self, twos: IntArray, value: FloatArray) -> FloatArray:
        """Return how far each image moved the preferences ``value`` of pairs, (images,
        K)."""
        log_odds = self.moved[:, twos[:, 0]] - self.moved[:, twos[:, 1]]
        return log_odds * (value * (1 - value))


def _compared(
    cells: Cells,
) -> tuple[Preferences, Preferences, list[BoolArray], IntArray]:
    """Return the preferences of judge and truth, where each is by strengths, and the
    proven sign of their difference: by strengths where both are.
    """
    outcomes = cells.judge, cells.truth
    direct = [_by_questions(cells, outcome) for outcome in outcomes]
    strong = [np.full((5, len(cells.twos)), np.nan) for _ in outcomes]
    rejected = [np.zeros(len(cells.twos), dtype=bool) for _ in outcomes]
    gap = _differences(cells)
    fitted_gap = np.full_like(gap, np.nan)
    groups = np.unique(cells.rows.groups, return_inverse=True)[1]
    for group in range(int(groups.max(initial=-1)) + 1):
        places = np.flatnonzero(groups[cells.twos[:, 0]] == group)
        fits = [_strengths(cells, outcome, places) for outcome in outcomes]
        for table, result in zip(strong, fits, strict=True):
            if result is not None:
                table[:, places] = _by_strengths(result, cells.twos[places])
        for start in range(0, len(places), CHUNK):
            part = places[start : start + CHUNK]
            far = []
            for result, outcome, table, misfit in zip(
                fits, outcomes, strong, rejected, strict=True
            ):
                if result is not None:
                    share = result.moved_share(cells.twos[part], table[0, part])
                    far.append(share)
                    misfit[part] = _rejected(
                        cells,
                        outcome,
                        part,
                        table[0],
                        share,
                    )
            if len(far) == 2:
                images = cells.images[part]
                found_spread = Spread(
                    ((far[0] - far[1]) ** 2).sum(0),
                    images,
                    images.astype(float),
                )
                value = strong[0][0, part] - strong[1][0, part]
                fitted_gap[:, part] = value, test(value, found_spread)
    by = [
        _by_fit(own, other) & ~misfit
        for own, other, misfit in zip(direct, strong, rejected, strict=True)
    ]
    judged, true = (
        Preferences(*np.where(chosen, other, own))
        for own, other, chosen in zip(direct, strong, by, strict=True)
    )
    differ = _signs_of(*np.where(by[0] & by[1], fitted_gap, gap))
    return judged, true, by, differ


def _by_fit(own: FloatArray, fitted: FloatArray) -> BoolArray:
    """Return where a preference by strengths is the more precise one, and the pair's
    own questions do not prove the opposite.
    """
    against = (own[0] - 0.5) * (fitted[0] - 0.5) < 0
    proven = Preferences(*own).order != 0
    return np.asarray((fitted[ERROR] < own[ERROR]) & ~(against & proven))


ERROR = 3
"""Row of the standard errors among the columns of :class:`Preferences`."""


def _by_questions(cells: Cells, outcome: FloatArray) -> FloatArray:
    """Return the columns of :class:`Preferences`, from the questions that compare two
    models."""
    known = np.isfinite(outcome)
    count = len(cells.twos)
    value, result = ratio(
        outcome[known],
        np.ones(known.sum()),
        cells.pair[known],
        count,
    )
    many = np.full(count, np.inf)
    low, high = share_ends(value, result, many)
    p = share_test(value, result, many)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(result.variance) / (value * (1 - value))
    error = np.where(
        np.isfinite(error) & (result.variance > 0),
        error,
        np.inf,
    )
    mask = np.where(result.enough, 1.0, np.nan)
    return np.array(
        [
            value,
            low * mask,
            high * mask,
            error,
            p * mask,
        ]
    )


def _differences(cells: Cells) -> FloatArray:
    """Return judge minus truth of each pair by its own questions, and its p, (2, K)."""
    known = np.isfinite(cells.gap)
    count = len(cells.twos)
    pair = cells.pair[known]
    ones = np.ones(known.sum())
    value, result = ratio(cells.gap[known], ones, pair, count)
    apart = sums(pair, cells.gap[known] ** 2, count)
    p = gap_p(
        value,
        result,
        apart,
        sums(pair, ones, count),
    )
    return np.array([value, np.where(result.enough, p, np.nan)])


def _strengths(
    cells: Cells, outcome: FloatArray, places: IntArray
) -> _Strengths | None:
    """Fit the strengths of one group, whose pairs are ``places``; None where they add
    nothing: in a group of two models, or with too few images.
    """
    selected = np.isfinite(outcome) & np.isin(cells.pair, places)
    names = np.unique(cells.image[selected])
    if len(places) < 2 or names.size < LEAST_IMAGES:
        return None
    models = len(cells.rows.names)
    first, second = cells.twos[cells.pair[selected]].T
    design = indicator(first, models) - indicator(second, models)
    fitted = fit(
        design,
        outcome[selected],
        cells.image[selected],
        penalised=True,
    )
    moved = np.zeros((int(cells.image.max()) + 1, models))
    moved[names] = fitted.moved
    return _Strengths(fitted, moved)


def _by_strengths(result: _Strengths, twos: IntArray) -> FloatArray:
    """Return the columns of :class:`Preferences` of pairs by their strengths."""
    models = np.eye(result.fit.coefficients.size)
    contrast = models[twos[:, 0]] - models[twos[:, 1]]
    value = contrast @ result.fit.coefficients
    variance = result.fit.variance(contrast)
    freedom = max(result.fit.kish - 1, 1.0)
    error = np.where(
        variance > 0,
        np.sqrt(variance),
        np.inf,
    )
    reach = t_isf(TAIL, freedom) * error
    p = 2 * t_sf(np.abs(value) / error, freedom)
    shares = special.expit([value, value - reach, value + reach])
    return np.array([*shares, error, p])


def _rejected(
    cells: Cells,
    outcome: FloatArray,
    pairs: IntArray,
    value: FloatArray,
    moved: FloatArray,
) -> BoolArray:
    """Return in which of ``pairs`` a test by image rejects the preferences ``value``
    (of all pairs) by strengths, which each image ``moved`` so far: those by the pair's
    questions less these.
    """
    selected = np.isfinite(outcome) & np.isin(cells.pair, pairs)
    column = np.searchsorted(pairs, cells.pair[selected])
    images = np.bincount(column, minlength=pairs.size)
    own = divided(
        sums(column, outcome[selected], pairs.size),
        images,
        np.nan,
    )
    far = -moved
    scale = np.sqrt(np.maximum(images * (images - 1.0), 1.0))
    far[cells.image[selected], column] += (
        outcome[selected] - own[column]
    ) / scale[column]
    result = Spread(
        (far**2).sum(0),
        images,
        images.astype(float),
    )
    p = test(own - value[pairs], result)
    return np.asarray(
        (images >= LEAST_IMAGES) & (np.nan_to_num(p, nan=1.0) < LEVEL)
    )


def _mean_differences(cells: Cells) -> tuple[FloatArray, IntArray]:
    """Return the mean difference of the true scores over images, (K,), and its proven
    sign; NaN and 0 where only preferences are known.
    """
    count = len(cells.twos)
    known = np.isfinite(cells.difference)
    if not _graded(cells.rows.difference):
        return np.full(count, np.nan), np.zeros(count, dtype=np.int64)
    value, result = ratio(
        cells.difference[known],
        np.ones(known.sum()),
        cells.pair[known],
        count,
    )
    return value, _signs_of(
        value,
        np.where(
            result.enough,
            test(value, result),
            np.nan,
        ),
    )


def _graded(difference: FloatArray) -> bool:
    """Return whether differences say more than which of two is better."""
    size = np.abs(difference[np.isfinite(difference)])
    return np.unique(size[size > 0]).size > 1


# ---------------------------------------------------------------- power


def _variance_per_image(result: Preferences, images: IntArray) -> float | None:
    """Return the variance that one image contributes to a preference, over p(1 − p):
    the median of the half of the pairs that are closest to ½; None if no pair has one.
    """
    known = np.isfinite(result.error) & np.isfinite(result.value)
    if not known.any():
        return None
    value = result.value[known]
    variance = result.error[known] ** 2
    each = images[known] * variance * value * (1 - value)
    apart = np.abs(value - 0.5)
    return float(np.median(each[apart <= np.median(apart)]))


def _trial(
    cells: Cells,
    judged: float | None,
    true: float | None,
    tail: float,
) -> Trial | None:
    """Return how a pair is tested; ``judged`` and ``true`` are the variances per
    image."""
    if judged is None or true is None:
        return None
    known = np.isfinite(cells.judge) & np.isfinite(cells.truth)
    pair = renumbered(cells.pair[known])[1]
    shared = correlation(
        cells.judge[known],
        cells.truth[known],
        pair,
    )
    return Trial(judged, true, shared, tail)


def _skill(cells: Cells) -> Skill | None:
    """Return the judge's rates of right answers; several comparisons of two models on
    one image weigh as one.
    """
    rows = cells.rows
    graded = _graded(rows.difference)
    difference = rows.difference if graded else 2 * rows.truth - 1
    known = np.isfinite(difference) & np.isfinite(rows.judge)
    two = rows.first[known] * len(rows.names) + rows.second[known]
    pair = renumbered(two)[1]
    image = rows.image[known].astype(np.int64)
    cell = renumbered(pair * (int(image.max(initial=0)) + 1) + image)[1]
    cases = 1 / np.bincount(cell)[cell]
    judge = rows.judge[known]
    first_better = difference[known] > 0
    right = np.where(first_better, judge, 1 - judge)
    return skill_of(
        difference[known],
        right,
        cases,
        pair,
        graded=graded,
    )
