"""Average of what people would say, from few labels and many predictions of a judge.
The leaderboard that it corrects is in ``decisions/correct.py``.

:func:`pooled_means` estimates the means of many systems at once, from one pool of
partly labelled items: θ_s = λ · mean(f over the pool of s) + Σ w (y − λ f) over its
labels, with weights w ∝ 1/π, where π is the probability that an item is labelled. θ is
unbiased whatever the judge's bias; a good judge (λ near 1) makes its interval narrow,
and a useless one (λ = 0) leaves the mean of the labels. This is PPI++ if all π are
equal, and the active estimator of Zrnic and Candès otherwise. All systems share one λ:
it changes the width of the intervals, never the target. Errors are clustered by image
over the whole pool, so that two systems seen on the same images are compared as a pair.

:func:`rank_sets`: a system ranks below those that are above it by more than chance, and
above those that are below it; the ranks between remain possible. Each set contains its
system's rank with a probability of 95 %. A set misses only if a difference is decided in
the wrong direction, and at most one direction of each comparison is wrong: of the
2 (S − 1) one-sided hypotheses about a system, at most S − 1 are true, so Holm's steps
start at 5 % / (S − 1) one-sided (Shaffer 1986). Two-sided steps would miss half as often
as stated. If systems are truly equal, any order of them is correct.

Sources: Angelopoulos, Bates, Fannjiang, Jordan & Zrnic 2023, "Prediction-powered
inference"; Angelopoulos, Duchi & Zrnic 2023, "PPI++" (λ); Zrnic & Candès 2024, "Active
statistical inference"; Hájek 1971 (weights that sum to one); Bell & McCaffrey 2002
(residuals over √(1 − h)); Satterthwaite 1946; Mogstad, Romano, Shaikh & Wilhelm 2024,
"Inference for ranks"; Holm 1979; Shaffer 1986.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from visualjudge.analysis.estimate import (
    LEVEL,
    divided,
    renumbered,
    t_isf,
    t_sf,
)
from visualjudge.core.records import BoolArray, FloatArray, IntArray

Interval = tuple[float, float]


LEAST_IMAGES = 3
"""Minimum number of labelled images for an interval."""
ROUNDING = 1e-9
"""Standard error up to which values are equal."""
ADDED = 4.0
"""Labels that are added to the variance of each system, because few labels show too
little spread (Agresti and Coull 1998): of shares, 2 wins and 2 losses; of other labels,
with the spread of all systems; with that of its own labels where they equal the judge's
values exactly, as that few labels show no error does not prove that there is none.
"""


@dataclass(frozen=True, eq=False)
class PooledMeans:
    """Means of S systems: ``naive`` (the judge's mean), ``values`` (corrected; NaN with
    too few labels) and ``labels``, each of shape (S,).

    ``covariance`` (S, S) is that of the values, and ``label_covariance`` the part that
    more labels would reduce. ``freedom`` (S, S) has the degrees of freedom of the
    differences, and of the values on the diagonal. ``effective_labels`` (S,) is the
    number of labels that would be as precise without the judge. ``balance_p`` is the
    p-value of the hypothesis that the judge's mean is the same on labelled items as on
    all.
    """

    naive: FloatArray
    values: FloatArray
    covariance: FloatArray
    label_covariance: FloatArray
    freedom: FloatArray
    labels: IntArray
    label_images: IntArray
    effective_labels: FloatArray
    lam: float
    balance_p: float | None

    def interval(self, system: int) -> tuple[float, float] | None:
        """Return the 95 % interval by Student's t; None if the value or its spread is
        unknown."""
        error = float(np.sqrt(self.covariance[system, system]))
        if not np.isfinite(self.values[system]) or not error > ROUNDING:
            return None
        reach = float(t_isf(0.025, self.freedom[system, system])) * error
        return float(self.values[system]) - reach, float(
            self.values[system]
        ) + reach


def pooled_means(
    f: FloatArray,
    y: FloatArray,
    system: IntArray,
    clusters: IntArray,
    *,
    probability: FloatArray | None = None,
    lam: float | None = None,
    shares: bool = False,
) -> PooledMeans:
    """Return the corrected means of S systems.

    Parameters
    ----------
    f
        (R,) the judge's prediction for every item of the pool.
    y
        (R,) the labels, at least one; NaN where undefined.
    system
        (R,) the system of each item, 0..S−1.
    clusters
        (R,) the image of each item.
    probability
        (R,) probability with which each labelled item was chosen; None or NaN: equal
        within its system.
    lam
        Weight of the judge, 0..1; None: the value of minimum variance.
    shares
        Whether labels are shares of wins, 0 to 1, whose spread follows from their mean.
    """
    labelled = np.isfinite(y)
    image = renumbered(clusters)[1]
    images = int(image.max()) + 1
    systems = int(system.max()) + 1
    cells = image * systems + system
    label = np.where(labelled, y, 0.0)

    def total(values: FloatArray | BoolArray) -> FloatArray:
        return np.asarray(np.bincount(system, values, systems), dtype=float)

    def by_image(values: FloatArray) -> FloatArray:
        flat = np.bincount(cells, values, images * systems)
        return np.asarray(flat, dtype=float).reshape(images, systems)

    counts = np.maximum(total(np.ones(y.size)), 1)
    naive = total(f) / counts
    chances = np.full(y.size, np.nan) if probability is None else probability
    chances = np.where(
        np.isfinite(chances),
        chances,
        (total(labelled) / counts)[system],
    )
    raw = np.where(
        labelled,
        1 / np.where(labelled, chances, 1.0),
        0.0,
    )
    weight = divided(raw, total(raw)[system])  # 1/π over its sum in the system
    held = by_image(weight)
    label_images = np.asarray((held > 0).sum(0), dtype=np.int64)
    enough = label_images >= LEAST_IMAGES
    leverage = np.sqrt(np.maximum(1 - held, 1e-9))

    def mean(values: FloatArray) -> FloatArray:
        # the sum of the weights is 1, but for rounding: equal labels have exactly
        # their value
        return divided(total(values * weight), total(weight), np.nan)

    def label_part(values: FloatArray) -> FloatArray:
        centred = np.nan_to_num(values - mean(values)[system])
        return np.where(enough, by_image(weight * centred) / leverage, 0.0)

    everything = np.where(
        enough,
        by_image((f - naive[system]) / counts[system]),
        0.0,
    )
    truth = label_part(label)
    answers = label_part(f)
    spent = int(lam is None)
    turned = answers - everything
    if lam is None:
        gain = divided((truth * turned).sum(), (turned * turned).sum(), 0.0)
        lam = float(np.clip(gain, 0, 1))
    residual = truth - lam * answers
    labels = residual.T @ residual
    rest = lam * everything
    alone = (truth * truth).sum(0)
    share = (held * held).sum(0)  # 1 / Kish's number of labelled images
    more = 1 + ADDED * share
    far = np.nan_to_num(mean(label) - 0.5) ** 2 / more if shares else 0.0

    def with_added(own: FloatArray, least: FloatArray) -> FloatArray:
        """Return variances with added labels of the spread of all systems."""
        typical = own[enough].sum() / max(share[enough].sum(), 1e-12) + far
        prior = np.maximum(typical * share, least)
        return np.asarray(
            np.maximum(own, (own + ADDED * share * prior) / more), dtype=float
        )

    exact = np.nan_to_num(mean((label == f).astype(float)))
    labels[np.diag_indices_from(labels)] = with_added(
        np.diag(labels), exact * alone
    )
    cross = rest.T @ residual
    covariance = (
        labels + cross + cross.T + rest.T @ rest * images / max(images - 1, 1)
    )
    covariance[np.diag_indices_from(covariance)] = np.maximum(
        np.diag(covariance), 1e-3 * np.diag(labels)
    )
    return PooledMeans(
        naive,
        np.where(
            enough,
            lam * naive + mean(label - lam * f),
            np.nan,
        ),
        covariance,
        labels,
        _freedom(
            covariance,
            labels,
            1 / np.maximum(share, 1e-12),
            images,
            spent,
        ),
        total(labelled).astype(np.int64),
        label_images,
        divided(with_added(alone, alone), np.diag(covariance), np.nan)
        * label_images,
        lam,
        _balance(
            (mean(f) - naive)[enough],
            turned[:, enough],
            held[:, enough],
        ),
    )


def _freedom(
    covariance: FloatArray,
    labels: FloatArray,
    effective: FloatArray,
    images: int,
    spent: int,
) -> FloatArray:
    """Return Satterthwaite's degrees of freedom of each value (diagonal) and each
    difference; ``effective`` (S,) is Kish's number of labelled images, ``spent`` 1 if λ
    was estimated.
    """

    def of_differences(matrix: FloatArray) -> FloatArray:
        own = np.diag(matrix)
        out = own[:, None] + own[None, :] - 2 * matrix
        out[np.diag_indices_from(out)] = own
        return np.maximum(out, 0.0)

    first = np.minimum(effective[:, None], effective[None, :]) - 1.0 - spent
    own = of_differences(labels)
    total = of_differences(covariance)
    rest = np.maximum(total - own, 0.0)
    below = own**2 / np.maximum(first, 1) + rest**2 / max(images - 1, 1)
    result = divided((own + rest) ** 2, below, 1.0)
    return np.maximum(np.minimum(result, images - 1.0), np.maximum(first, 1))


def _balance(
    gaps: FloatArray, influence: FloatArray, held: FloatArray
) -> float | None:
    """Return the p-value of the hypothesis that the judge's mean on the weighted
    labelled items equals its mean on the pool, for all systems in one test.
    """
    error = float(np.sqrt((influence.sum(1) ** 2).sum()))
    freedom = int((held.sum(1) > 0).sum()) - 1
    return (
        float(2 * t_sf(abs(gaps.sum()) / error, freedom))
        if error > 0 and freedom > 0
        else None
    )


RankSet = tuple[int, int]


def rank_sets(
    values: ArrayLike,
    covariance: ArrayLike,
    freedom: ArrayLike,
    groups: IntArray | None = None,
) -> tuple[RankSet | None, ...]:
    """Return the best and the worst rank (1 = highest value) of each of S systems
    within its group.

    A set is None if the system's value is NaN or the system is alone in its group. A
    system with value NaN may have any rank, which widens the sets of the others. A
    difference without spread decides nothing.

    Parameters
    ----------
    values
        (S,) estimates; NaN if unknown.
    covariance
        (S, S) of the estimates.
    freedom
        Degrees of freedom of the differences: one number, or (S, S).
    groups
        (S,) group numbers; None: one group.
    """
    means = np.asarray(values, float)
    spread = np.asarray(covariance, float)
    free = np.broadcast_to(np.asarray(freedom, float), spread.shape)
    group = np.zeros(means.size, dtype=np.int64) if groups is None else groups
    variance = np.diag(spread)[:, None] + np.diag(spread)[None, :] - 2 * spread
    sets: list[RankSet | None] = []
    for i in range(means.size):
        beside = (group == group[i]) & (np.arange(means.size) != i)
        if not np.isfinite(means[i]) or not beside.any():
            sets.append(None)
            continue
        others = np.flatnonzero(np.isfinite(means) & beside)
        differ = _decided(
            means[others] - means[i],
            variance[others, i],
            free[others, i],
        )
        above = int((differ > 0).sum())
        below = int((differ < 0).sum())
        sets.append((1 + above, int(beside.sum()) + 1 - below))
    return tuple(sets)


def _decided(
    difference: FloatArray, variance: FloatArray, freedom: FloatArray
) -> FloatArray:
    """Return +1 where a difference is significantly positive, −1 where negative, 0
    where open, by Shaffer's steps over all of them, one-sided: a wrong direction is the
    only error.
    """
    known = (variance > ROUNDING**2) & (freedom > 0)
    safe = np.where(known, variance, 1.0)
    p = np.where(
        known,
        special.stdtr(
            np.maximum(freedom, 1), -np.abs(difference) / np.sqrt(safe)
        ),
        1.0,
    )
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty(p.size)
    adjusted[order] = steps
    return np.where(adjusted < LEVEL, np.sign(difference), 0.0)
