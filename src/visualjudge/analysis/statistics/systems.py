"""Agreement between the orders of systems by judge and by truth, in closed form.

From sums over images: the difference of every two systems' means by judge and by truth, each
significant or not by Holm over all pairs; the rank sets of the judge; and as a description τ-b
(Kendall 1945). Its bounds count pairs: a pair that both the judge and the truth separate is
certain, any other may go either way. Nothing is drawn at random. Systems of different groups are
never compared.

Favouritism is one regression of the judge's values on the truth, the margin, the task, the skill
shown on the image's other items, and an indicator of each system (``analysis/fits.py``). A judge
that errs rates the best too low and the worst too high; this is not favour, and neither is
erring more on the images where a system is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from visualjudge.analysis.estimate import (
    LEAST_IMAGES,
    LEVEL,
    TAIL,
    divided,
    holm,
    renumbered,
    sums as totals,
    t_isf,
    t_sf,
)
from visualjudge.analysis.fits import Fit, fit, of_others
from visualjudge.analysis.statistics.ranks import RankSet, decided, rank_sets
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.records import FloatArray, IntArray

Interval = tuple[float, float]
KNOTS = (0.2, 0.4, 0.6, 0.8)
MOST_LEFT_OUT = 300
"""Images up to which each is left out: with as many regressors, the sandwich is too narrow."""


@dataclass(frozen=True)
class Favour:
    """How far the judge's values of one system lie above those of a fair judge; ``p`` is adjusted
    by Holm over systems.
    """

    value: float
    interval: Interval | None
    p: float | None

    @property
    def sure(self) -> bool:
        """Whether the system is significantly favoured or disfavoured."""
        return self.p is not None and self.p < LEVEL


@dataclass(frozen=True, eq=False)
class SystemAgreement:
    """``judged`` and ``true`` means (S,), with the covariances of their images, and what follows
    from them for systems of one group. ``held`` (S,) counts the images of each system's group.
    """

    judged: FloatArray
    true: FloatArray
    judged_covariance: FloatArray
    true_covariance: FloatArray
    group: IntArray
    held: IntArray
    images: int
    favours: tuple[Favour, ...] = ()

    @cached_property
    def twos(self) -> tuple[IntArray, IntArray]:
        """First and second systems of all pairs within groups."""
        first, second = np.triu_indices(self.group.size, 1)
        same = self.group[first] == self.group[second]
        return first[same], second[same]

    @property
    def pairs(self) -> int:
        """Number of pairs within groups."""
        return int(self.twos[0].size)

    def _widened(self, covariance: FloatArray) -> FloatArray:
        """Return the covariance with the images' correction for small numbers."""
        scale = np.sqrt(self.held / np.maximum(self.held - 1, 1))
        return covariance * scale[:, None] * scale

    def signs(self) -> tuple[FloatArray, FloatArray]:
        """Return, by judge and by truth, the sign of each pair's difference where it is significant
        by Holm over all pairs, else 0.
        """
        freedom = np.maximum(self.held - 1.0, 1.0)
        judge, truth = (
            decided(means, self._widened(covariance), freedom, self.group)[self.twos]
            for means, covariance in (
                (self.judged, self.judged_covariance),
                (self.true, self.true_covariance),
            )
        )
        return judge, truth

    @cached_property
    def tau_b(self) -> Estimate:
        """Return τ-b; None if the truth has no differences."""
        first, second = self.twos
        # rounding errors count as 0
        gaps = (
            np.round(one[first] - one[second], 12) for one in (self.judged, self.true)
        )
        a, b = map(np.sign, gaps)
        below = float(np.sqrt(np.abs(a).sum() * np.abs(b).sum()))
        value = float((a * b).sum()) / below if below else 0.0
        known, ends = bool(np.abs(b).any()), None
        if known and self.held.min() >= LEAST_IMAGES:
            judge, truth = self.signs()
            low, high = (
                float(part.mean()) for part in (judge * truth > 0, judge * truth >= 0)
            )
            ends = min(2 * low - 1, value), max(2 * high - 1, value)
        return Estimate(value if known else None, ends, self.pairs, self.images)

    @cached_property
    def ranks(self) -> tuple[RankSet | None, ...]:
        """The possible ranks of each system by the judge."""
        covariance, freedom = (
            self._widened(self.judged_covariance),
            (self.held - 1)[:, None],
        )
        return rank_sets(self.judged, covariance, freedom, self.group)


def system_agreement(
    judged: FloatArray,
    true: FloatArray,
    system: IntArray,
    image: IntArray,
    group: IntArray,
) -> SystemAgreement | None:
    """Return the agreement over (R,) items; those without a judge's value are left out. ``group``
    (S,) says which systems are comparable.

    None if no two systems are comparable, with fewer than two images, or if a system has no item.
    """
    kept, systems = np.isfinite(judged) & np.isfinite(true), group.size
    names, where = renumbered(image[kept])
    cells, shape = where * systems + system[kept], (names.size, systems)
    said, truth, count = (
        totals(cells, values, names.size * systems).reshape(shape)
        for values in (judged[kept], true[kept], np.ones(where.size))
    )
    each = count.sum(0)
    if np.bincount(group).max(initial=0) < 2 or names.size < 2 or (each == 0).any():
        return None
    means = said.sum(0) / each, truth.sum(0) / each
    influence = [
        (part - count * mean) / each
        for part, mean in zip((said, truth), means, strict=True)
    ]
    held = [
        int((count[:, group == own] > 0).any(1).sum())
        for own in range(int(group.max()) + 1)
    ]
    of_judge, of_truth = (one.T @ one for one in influence)
    return SystemAgreement(
        *means,
        of_judge,
        of_truth,
        group,
        np.array(held, dtype=np.int64)[group],
        names.size,
    )


# ---------------------------------------------------------------- favouritism


LEAST_APART = 0.15
"""Minimum share of a system's indicator that truth and margin do not explain."""


@dataclass(frozen=True, eq=False)
class FairFit:
    """Indicators of the systems in the regression of the judge's values, and what they are of."""

    fit: Fit
    first: int
    group: IntArray
    images: IntArray

    def favours(self) -> tuple[Favour, ...]:
        """Return each system's value above the mean of those of its group that are treated alike;
        with too few images it has no interval and no p.

        A favoured system would make the others look disfavoured. So the most deviant one leaves the
        mean, repeatedly, as long as one deviates and at least half of its group remains.
        """
        size = self.group.size
        same, alike = self.group[:, None] == self.group, np.ones(size, dtype=bool)
        while True:
            weights = np.eye(size) - (same & alike) / (same & alike).sum(
                1, keepdims=True
            )
            found = self._contrasts(weights)
            spare = (same & alike).sum(1) - 1 >= np.maximum(2, same.sum(1) / 2)
            sure = [s for s in np.flatnonzero(alike & spare) if found[s].sure]
            if not sure:
                return found
            alike[max(sure, key=lambda s: abs(found[s].value))] = False

    def _contrasts(self, weights: FloatArray) -> tuple[Favour, ...]:
        contrast = np.zeros((len(weights), self.fit.coefficients.size))
        contrast[:, self.first : self.first + len(weights)] = weights
        values, error = (
            contrast @ self.fit.coefficients,
            np.sqrt(self.fit.variance(contrast)),
        )
        freedom = np.maximum(self.fit.freedom(contrast), 2.0)
        certain, told = error <= 1e-12, self.images >= LEAST_IMAGES
        p = 2 * t_sf(np.abs(values) / np.where(certain, np.inf, error), freedom)
        adjusted = holm(
            [one if seen else None for one, seen in zip(p.tolist(), told, strict=True)]
        )
        reach = np.where(told & ~certain, t_isf(TAIL, freedom) * error, np.nan)
        rows = zip(values.tolist(), reach.tolist(), adjusted, strict=True)
        return tuple(
            Favour(v, (v - r, v + r) if r == r else None, p) for v, r, p in rows
        )


def fair_fit(
    judged: FloatArray,
    true: FloatArray,
    level: FloatArray,
    system: IntArray,
    item: IntArray,
    image: IntArray,
    task: IntArray,
    group: IntArray,
) -> FairFit | None:
    """Fit the judge's values of (R,) items; ``level`` is how good an item is, ``item`` the question
    that it belongs to, ``group`` (S,) the comparable systems. None without values.
    """
    kept = np.isfinite(judged) & np.isfinite(true) & np.isfinite(level)
    if not kept.any():
        return None
    y, truth, margin = judged[kept], true[kept], level[kept]
    own, where = system[kept], renumbered(image[kept])[1]
    tasks, of_task = renumbered(task[kept])
    base = [truth, margin]
    for knot in np.unique(np.quantile(margin, KNOTS)):
        base.append(np.maximum(margin - knot, 0.0))
    dummies = [of_task == k for k in range(tasks.size)]
    skill = [
        dummy * column
        for dummy in dummies
        for column in (np.ones(y.size), truth, margin)
    ]
    plain = np.column_stack([*base, *skill])
    indicator = sparse.csr_array(
        (np.ones(y.size), (np.arange(y.size), own)), (y.size, group.size)
    )
    rest = fit(
        sparse.hstack([sparse.csr_array(plain), indicator]), y, where, link="identity"
    )
    centre = (
        truth - (totals(of_task, truth, tasks.size) / np.bincount(of_task))[of_task]
    )
    shown = of_others(rest.residuals * centre, where, item[kept])
    offset = of_others(rest.residuals, where, item[kept])
    x = np.column_stack([plain, centre * shown, margin * shown, offset])
    design = sparse.hstack([sparse.csr_array(x), indicator])
    found = fit(design, y, where, link="identity", many=MOST_LEFT_OUT)
    met = np.unique(own + group.size * where) % group.size
    images = np.bincount(met, minlength=group.size)
    # where the truth nearly always prefers the same systems, favour cannot be told from skill
    apart = _unexplained(plain, own, group.size) >= LEAST_APART
    return FairFit(found, x.shape[1], group, np.where(apart, images, 0))


def _unexplained(columns: FloatArray, system: IntArray, systems: int) -> FloatArray:
    """Return the share of each system's indicator that the columns do not explain, (S,)."""
    rows = np.eye(systems)[system]
    shared = columns.T @ rows
    inverse = np.linalg.pinv(columns.T @ columns, rcond=1e-10, hermitian=True)
    total = ((rows - rows.mean(0)) ** 2).sum(0)
    left = rows.sum(0) - (shared * (inverse @ shared)).sum(0)
    return divided(left, total)
