"""Agreement between the orders of systems by judge and by truth.

Computed from sums over images: τ-b between the systems' means by judge and by truth, the share of
pairs of systems in the right order, soft pairwise accuracy, which systems are favoured, and the
smallest true gap that is ordered correctly. Systems of different groups are never compared: each
figure is over all pairs within groups. Intervals resample images jointly for judge, truth and all
groups. If nothing varied, each item counts as a case (Clopper & Pearson), or fewer if errors are
seen to cluster in images.

Sources: Kendall 1945; Kocmi et al. 2021, "To ship or not to ship" (pairwise accuracy of systems);
Thompson et al. 2024; Hesterberg 2015 (widened quantiles); Holm 1979.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from visualjudge.analysis.estimate import norm_sf, renumbered, t_isf, t_sf
from visualjudge.analysis.statistics.image_sums import Sums, image_sums, resampled_rows
from visualjudge.analysis.statistics.ranks import RankSet, rank_sets
from visualjudge.core.records import BoolArray, FloatArray, IntArray
from visualjudge.core.seeding import rng_for

Interval = tuple[float, float]
Pairs = tuple[IntArray, IntArray]
"""First and second systems of all pairs."""
PART = 2_000_000
STEP = 128
"""Number of draws at a time, so that the tables of 200 pairs fit in the processor's cache."""
ROUNDING = 1e-13
"""A variance of a difference below this share of the two variances is rounding."""
MOST_PAIRS = 5_000
"""Maximum number of pairs of systems; more are sampled at random for resampling."""
LEAST_IMAGES = 5
ORDERED = 0.95
PROJECTED = 400
"""Number of draws from which τ-b with more images is projected."""
LEAST_GROUP, MOST_GROUPS = 20, 12


@dataclass(frozen=True)
class Measured:
    """A figure and its 95 % interval (None with fewer than 5 images)."""

    value: float
    interval: Interval | None


@dataclass(frozen=True)
class Favour:
    """How far the judge's mean of one system lies above that of a fair judge; ``p`` is adjusted by
    Holm over systems.
    """

    value: float
    interval: Interval | None
    p: float | None

    @property
    def sure(self) -> bool:
        """Whether the system is significantly favoured or disfavoured."""
        return self.p is not None and self.p < 0.05


@dataclass(frozen=True, eq=False)
class SystemAgreement:
    """``judged`` and ``true`` means (S,), the agreement of their orders over ``pairs`` pairs, and
    the rank sets by the judge.

    ``smallest_gap`` is the smallest difference of true means from which on every pair is ordered
    correctly in 95 % of resamples; None if not even the widest pair is.
    """

    judged: FloatArray
    true: FloatArray
    tau_b: Measured
    pair_order: Measured
    spa: Measured
    ranks: tuple[RankSet | None, ...]
    favours: tuple[Favour, ...]
    smallest_gap: float | None
    images: int
    pairs: int
    order: Order


@dataclass(frozen=True, eq=False)
class Order:
    """Resampled means behind τ-b, from which its interval with more images is projected.

    ``judged`` and ``true`` are draws × systems, the sample itself first; ``images`` and ``cases``
    are the effective numbers behind the interval.
    """

    judged: FloatArray
    true: FloatArray
    pairs: Pairs
    images: float
    cases: float

    def tau_b(self, times: float = 1.0, spread: float = 1.0) -> Measured:
        """Return τ-b as it would be with ``times`` as many images and the same means: deviations
        of the resampled means shrink with the square root of the number of images. ``spread``
        multiplies them.
        """
        scale = spread / times**0.5
        judged, true = (table[0] + scale * (table - table[0]) for table in (self.judged, self.true))
        return _measured(
            _tau(judged, true, self.pairs), times * self.images, times * self.cases, -1.0
        )


def fair_judge(
    judged: FloatArray,
    true: FloatArray,
    level: FloatArray,
    part: IntArray,
    reference: BoolArray | None = None,
) -> FloatArray:
    """Return the values that a judge of the same skill, blind to systems, would give to (R,) items
    that are ``true`` and of ``level``.

    This is the judge's own mean by truth and level in each ``part`` (task), over the rows of
    ``reference`` (None: all). A judge that errs rates the best too low and the worst too high; this
    is not favour, and neither is erring more in one task than in another. A part without a row of
    ``reference`` uses the mean of all its rows. If the judge's values depend on the truth alone, as
    for a judge that is always right, they are those of a fair judge.
    """
    kept = np.isfinite(judged) & np.isfinite(true) & np.isfinite(level)
    out = np.full(judged.shape, np.nan)
    for own in np.unique(part):
        rows = kept & (part == own)
        used = rows if reference is None or not (rows & reference).any() else rows & reference
        if used.any():
            out[rows] = _mean_at((true[rows], level[rows]), judged[used], (true[used], level[used]))
    return out


def _mean_at(
    at: tuple[FloatArray, FloatArray], values: FloatArray, seen: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """Return the mean of ``values`` near each truth and level: linear in both, plus lines in the
    level through the residual means of at most 12 groups of equal size. Group means alone would be
    flat beyond the outermost group and make the best system look favoured; without the truth, the
    step of the answer where options are equal would become a slope.
    """
    centred = np.column_stack([column - column.mean() for column in seen])
    slopes = np.linalg.lstsq(centred, values - values.mean(), rcond=1e-9)[0]
    rest = values - np.column_stack(seen) @ slopes
    known, level = seen[1], at[1]
    groups = int(np.clip(known.size // LEAST_GROUP, 1, MOST_GROUPS))
    edges = (
        np.unique(np.quantile(known, np.linspace(0, 1, groups + 1)[1:-1]))
        if groups > 1
        else np.array([])
    )
    which = renumbered(np.searchsorted(edges, known, side="left"))[1]
    count = np.bincount(which)
    knots, means = np.bincount(which, known) / count, np.bincount(which, rest) / count
    centre = float((rest - np.interp(known, knots, means)).mean())
    return np.asarray(np.column_stack(at) @ slopes + np.interp(level, knots, means) + centre)


def fair_reference(
    judged: FloatArray,
    true: FloatArray,
    level: FloatArray,
    system: IntArray,
    image: IntArray,
    groups: IntArray,
    part: IntArray,
) -> FloatArray:
    """Return :func:`fair_judge` from the systems that are treated alike; ``groups`` (S,) says which
    are comparable.

    A favoured system raises the judge's mean at its level, which would make the others there look
    disfavoured. So the most deviant system is left out of the reference, repeatedly, as long as one
    deviates and at least half of its group remains.
    """
    reference = np.ones(groups.size, dtype=bool)
    while True:
        fair = fair_judge(judged, true, level, part, reference[system])
        sums = image_sums(judged, true, system, image, groups.size, fair=fair)
        if sums.count.shape[0] < LEAST_IMAGES or (sums.count.sum(0) == 0).any():
            return fair
        favours = _favours(sums, groups)
        sure = [
            s
            for s in _left_out_next(reference, groups)
            if (p := favours[s].p) is not None and p < 0.05
        ]
        if not sure:
            return fair
        reference[max(sure, key=lambda s: abs(favours[s].value))] = False


def _left_out_next(reference: BoolArray, groups: IntArray) -> list[int]:
    """Return the systems of ``reference`` that can be left out while two, and half, of their group
    remain.
    """
    size, left = np.bincount(groups), np.bincount(groups, reference)
    spare = left - 1 >= np.maximum(2, size / 2)
    return [int(s) for s in np.flatnonzero(reference & spare[groups])]


def system_agreement(
    sums: Sums, groups: IntArray | None = None, *, seed: int = 0
) -> SystemAgreement | None:
    """Return all figures; ``groups`` (S,) says which systems are comparable (None: all).

    None if no two systems are comparable, with fewer than two images, or if a system has no item.
    """
    images, systems = sums.count.shape
    group = np.zeros(systems, dtype=np.int64) if groups is None else groups
    pairs = _inside(group)
    if not pairs[0].size or images < 2 or (sums.count.sum(0) == 0).any():
        return None
    rows, weights = resampled_rows(sums, seed)
    judged, true = _means(rows.judged, rows.count, weights), _means(rows.true, rows.count, weights)
    some = _some(pairs, seed)
    tau, order = (_resampled(figure, judged, true, pairs, some) for figure in (_tau, _order))
    spa = _spa(rows, some, judged, true, weights)
    held = _images_of(sums.count, group)
    counted = _effective(held, group, pairs, images)
    cases = counted * _cases_per_image(sums)
    influence = _influence(sums.judged, sums.count, judged[0])
    influence = influence * np.sqrt(held / np.maximum(held - 1, 1))
    return SystemAgreement(
        judged[0],
        true[0],
        _measured(tau, counted, cases, -1.0),
        _measured(order, counted, cases, 0.0),
        _measured(spa, counted, cases, 0.0),
        rank_sets(judged[0], influence.T @ influence, (held - 1)[:, None], group),
        _favours(sums, group),
        _smallest_gap(judged, true, some),
        images,
        int(pairs[0].size),
        Order(judged[: PROJECTED + 1], true[: PROJECTED + 1], some, counted, cases),
    )


def tau_agreements(studies: Sequence[Sums], weights: FloatArray) -> list[Measured | None]:
    """Return only τ-b of :func:`system_agreement`, for many studies with the same number of images;
    all systems are comparable.

    None if a study has fewer than two systems or images, or a system without an item. ``weights``
    come from :func:`resampled_images`. Images without items are left out.
    """
    joined = (
        np.hstack([getattr(one, name) for one in studies]) for name in ("judged", "true", "count")
    )
    judged, true, count = (weights @ table for table in joined)
    width, out = studies[0].count.shape[1], list[Measured | None]()
    pairs = _inside(np.zeros(width, dtype=np.int64))
    for k, one in enumerate(studies):
        images, own = int((one.count.sum(1) > 0).sum()), slice(k * width, (k + 1) * width)
        if width < 2 or images < 2 or (one.count.sum(0) == 0).any():
            out.append(None)
            continue
        below = count[:, own]
        means = [
            np.divide(table[:, own], below, out=np.full(below.shape, np.nan), where=below > 0)
            for table in (judged, true)
        ]
        tau = _tau(means[0], means[1], pairs)
        out.append(_measured(tau, float(images), images * _cases_per_image(one), -1.0))
    return out


def _inside(group: IntArray) -> Pairs:
    """Return all pairs of systems within a group."""
    first, second = np.triu_indices(group.size, 1)
    same = group[first] == group[second]
    return first[same], second[same]


def _some(pairs: Pairs, seed: int) -> Pairs:
    """Return all pairs, or as many as are used in resamples."""
    if pairs[0].size <= MOST_PAIRS:
        return pairs
    kept = np.sort(
        rng_for(seed, "pairs", pairs[0].size).choice(pairs[0].size, MOST_PAIRS, replace=False)
    )
    return pairs[0][kept], pairs[1][kept]


def _resampled(
    figure: Callable[[FloatArray, FloatArray, Pairs], FloatArray],
    judged: FloatArray,
    true: FloatArray,
    pairs: Pairs,
    some: Pairs,
) -> FloatArray:
    """Return a figure for all draws. For the sample itself it covers all pairs; the deviations of
    draws are over ``some``.
    """
    draws = figure(judged, true, some)
    if some is pairs:
        return draws
    own = figure(judged[:1], true[:1], pairs)[0]
    return np.asarray(draws + (own - draws[0]))


def _images_of(count: FloatArray, group: IntArray) -> IntArray:
    """Return how many images show each system's group (S,)."""
    return np.array(
        [int((count[:, group == own] > 0).any(1).sum()) for own in group], dtype=np.int64
    )


def _effective(held: IntArray, group: IntArray, pairs: Pairs, images: int) -> float:
    """Return the number of images behind a mean over pairs: 1 / Σ (share of the group's pairs)² /
    its images, at most all images.

    A group with most pairs but few images must not gain precision from the images of other groups.
    """
    of_pair = group[pairs[0]]
    total = sum(
        ((of_pair == own).mean()) ** 2 / held[group == own][0] for own in np.unique(of_pair)
    )
    return min(float(images), 1 / float(total))


def _means(sums: FloatArray, counts: FloatArray, weights: FloatArray) -> FloatArray:
    below = weights @ counts
    return np.asarray(
        np.divide(weights @ sums, below, out=np.full(below.shape, np.nan), where=below > 0)
    )


def _differences(means: FloatArray, pairs: Pairs) -> FloatArray:
    """Return the differences of the two systems, draws × pairs; rounding errors count as 0."""
    first, second = pairs
    return np.asarray(np.round(means[:, first] - means[:, second], 12))


def _tau(judged: FloatArray, true: FloatArray, pairs: Pairs) -> FloatArray:
    a, b = np.sign(_differences(judged, pairs)), np.sign(_differences(true, pairs))
    with np.errstate(invalid="ignore", divide="ignore"):
        below = np.sqrt(np.nansum(np.abs(a), 1) * np.nansum(np.abs(b), 1))
        return np.asarray(
            np.where(below > 0, np.nansum(a * b, 1) / below, np.where(_flat(a, b), 0.0, np.nan))
        )


def _flat(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return where a judge ties all systems and so orders none of them."""
    return np.asarray((np.nansum(np.abs(a), 1) == 0) & (np.nansum(np.abs(b), 1) > 0))


def _order(judged: FloatArray, true: FloatArray, pairs: Pairs) -> FloatArray:
    a, b = _differences(judged, pairs), _differences(true, pairs)
    told = np.isfinite(a) & np.isfinite(b) & (b != 0)
    right = np.where(a == 0, 0.5, (np.sign(a) == np.sign(b)).astype(float))
    return _mean_where(right, told)


def _mean_where(values: FloatArray, told: BoolArray) -> FloatArray:
    """Return the mean of each row where ``told``; NaN if nothing is."""
    count = told.sum(1)
    total = np.where(told, values, 0.0).sum(1)
    return np.asarray(np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0))


def _influence(sums: FloatArray, counts: FloatArray, means: FloatArray) -> FloatArray:
    """Return the contribution of each image to each mean, images × systems."""
    return np.asarray((sums - counts * means) / np.maximum(counts.sum(0), 1))


def _spa(
    sums: Sums, pairs: Pairs, judged: FloatArray, true: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return the soft pairwise accuracy of D draws, from the p-values by judge and by truth that
    the first of two systems is better, with clustered errors.

    NaN for a draw that has no image of any pair.
    """
    steps = [slice(start, start + STEP) for start in range(0, len(weights), STEP)]
    p = [
        np.concatenate(
            [
                _first_is_worse(table, sums.count, means[0], means[step], weights[step], pairs)
                for step in steps
            ]
        )
        for table, means in ((sums.judged, judged), (sums.true, true))
    ]
    apart = np.abs(p[0] - p[1])
    return np.asarray(1 - _mean_where(apart, np.isfinite(apart)))


def _first_is_worse(
    table: FloatArray,
    count: FloatArray,
    sample: FloatArray,
    means: FloatArray,
    weights: FloatArray,
    pairs: Pairs,
) -> FloatArray:
    """Return the one-sided p-values that the first of two systems is better, draws × pairs.

    The variance of a difference of means is multiplied out, so that each part is a product of
    ``weights`` with a table of images, and no table has images, draws and pairs. The sample's own
    means are subtracted first: what is left over is small.
    """
    first, second = pairs
    below, rest = np.maximum(weights @ count, 1e-9), table - count * sample
    moved = means - sample
    own, cross = np.zeros((3, *means.shape)), np.zeros((4, means.shape[0], first.size))
    step = max(1, PART // max(first.size, means.shape[1]))
    for start in range(0, count.shape[0], step):
        part = slice(start, start + step)
        x, n, taken = rest[part], count[part], weights[:, part]
        for k, product in enumerate((x * x, x * n, n * n)):
            own[k] += taken @ product
        for k, (one, other) in enumerate(((x, x), (x, n), (n, x), (n, n))):
            cross[k] += taken @ (one[:, first] * other[:, second])
    spread = (own[0] - 2 * moved * own[1] + moved**2 * own[2]) / below**2
    a, b = moved[:, first], moved[:, second]
    shared = cross[0] - b * cross[1] - a * cross[2] + a * b * cross[3]
    both = spread[:, first] + spread[:, second]
    squares = both - 2 * shared / (below[:, first] * below[:, second])
    error = np.sqrt(np.where(squares > ROUNDING * both, squares, 0.0))
    gap = means[:, first] - means[:, second]
    certain = np.where(gap == 0, 0.0, np.sign(gap) * 40.0)
    return np.asarray(norm_sf(np.divide(gap, error, out=certain, where=error > 1e-12)))


def _cases_per_image(sums: Sums) -> float:
    """Return how many independent errors an image could contain: its items, each of two systems,
    divided by the errors' design effect.

    If errors do not visibly cluster in images, or there are none, each item could go wrong by
    itself.
    """
    count, missed = sums.count.sum(1), np.abs(sums.judged - sums.true).sum(1)
    share = float(missed.sum() / count.sum())
    variance = (
        float(((missed - share * count) ** 2).sum())
        / count.sum() ** 2
        * count.size
        / max(count.size - 1, 1)
    )
    effect = max(1.0, variance * count.sum() / (share * (1 - share))) if 0 < share < 1 else 1.0
    return max(1.0, float(count.mean()) / 2 / effect)


def _measured(draws: FloatArray, images: float, cases: float, floor: float) -> Measured:
    """Return the figure of the first draw, which is the sample itself; ``floor`` is the smallest
    possible value, and 1 the largest.
    """
    value, seen = float(draws[0]), draws[1:][np.isfinite(draws[1:])]
    if images < LEAST_IMAGES or seen.size < 100 or not np.isfinite(value):
        return Measured(value, None)
    reach = float(t_isf(0.025, images - 1)) * np.sqrt(images / (images - 1))
    tail = float(norm_sf(reach))
    low, high = (float(x) for x in np.quantile(seen, [tail, 1 - tail]))
    edge = (1 - floor) * (1 - 0.025 ** (1 / cases))
    flat = high - low < 1e-12  # no image differs: an item that was not drawn may
    if flat or value >= 1 - 1e-12:
        low = min(low, max(floor, value - edge))
    if flat or value <= floor + 1e-12:
        high = max(high, min(1.0, value + edge))
    return Measured(value, (min(max(low, floor), value), max(min(high, 1.0), value)))


def _favours(sums: Sums, group: IntArray) -> tuple[Favour, ...]:
    """Return the favour of each system, from the images that show it; with too few images it has no
    interval and no ``p``.

    Its standard error is at least that of the same number of items of its group, in case none of
    its own went wrong.
    """
    gap = (sums.judged - sums.fair).sum(0) / sums.count.sum(0)
    images = (sums.count > 0).sum(0)
    enough = images >= LEAST_IMAGES
    free = np.where(enough, images - 1, 1)
    squares, items = (
        (_influence(sums.judged - sums.fair, sums.count, gap) ** 2).sum(0),
        sums.count.sum(0),
    )
    pooled = np.bincount(group, squares * items**2) / np.bincount(group, items)
    error = np.sqrt(np.maximum(squares, pooled[group] / items) * (free + 1) / free)
    known = enough & (error > 1e-12)
    p = np.where(known, 2 * t_sf(np.abs(gap) / np.where(known, error, 1), free), 1.0)
    reach = t_isf(0.025, free) * error
    adjusted = np.ones(gap.size)
    adjusted[enough] = _holm(p[enough])
    return tuple(
        Favour(
            float(gap[s]),
            (float(gap[s] - reach[s]), float(gap[s] + reach[s])) if known[s] else None,
            float(adjusted[s]) if enough[s] else None,
        )
        for s in range(gap.size)
    )


def _holm(p: FloatArray) -> FloatArray:
    order = np.argsort(p, kind="stable")
    out = np.empty(p.size)
    out[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)))
    return out


def _smallest_gap(judged: FloatArray, true: FloatArray, pairs: Pairs) -> float | None:
    known = _differences(true, pairs)[0]
    gaps = np.abs(known)
    right = (np.sign(_differences(judged, pairs)[1:]) == np.sign(known)).mean(0)
    wrong = gaps[(right < ORDERED) & (gaps > 0)]
    above = gaps[gaps > (wrong.max() if wrong.size else 0.0)]
    return float(above.min()) if above.size else None


def contrast(sums: Sums) -> Favour | None:
    """Return how much more the judge favours the second of two systems than the first.

    The error of each is at least that expected from both together for a system with as many items
    in its images: a judge that has not erred on one of them still may.
    """
    images = int((sums.count > 0).sum(0).min(initial=sums.count.shape[0]))
    if images < LEAST_IMAGES:
        return None
    gap = (sums.judged - sums.fair).sum(0) / sums.count.sum(0)
    influence = _influence(sums.judged - sums.fair, sums.count, gap)
    own = influence[:, 1] - influence[:, 0]
    size, items, squares = (sums.count**2).sum(0), sums.count.sum(0), (influence**2).sum(0)
    least = (squares * items**2).sum() / size.sum() * size / items**2
    error = float(
        np.sqrt((own @ own + np.maximum(least - squares, 0.0).sum()) * images / (images - 1))
    )
    value = float(gap[1] - gap[0])
    if error < 1e-12:
        return Favour(value, None, None)
    reach = float(t_isf(0.025, images - 1)) * error
    return Favour(
        value, (value - reach, value + reach), float(2 * t_sf(abs(value) / error, images - 1))
    )
