"""Agreement between the orders of systems by judge and by truth, in closed form.

From sums over images: the difference of every two systems' means by judge and by truth, each
significant or not by Holm over all pairs; the rank sets of the judge; and as descriptions τ-b
(Kendall 1945) and the share of pairs in the right order (Kocmi et al. 2021). The bounds of both
count pairs: a pair that both the judge and the truth separate is certain, any other may go either
way. Nothing is drawn at random. Systems of different groups are never compared.

Favouritism is one regression of the judge's values on the truth, the margin, the task, the skill
shown on the image's other items, and an indicator of each system (``analysis/fits.py``). A judge
that errs rates the best too low and the worst too high; this is not favour, and neither is
erring more on the images where a system is shown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from visualjudge.analysis.estimate import (
    LEAST_IMAGES,
    LEVEL,
    Measure,
    holm,
    renumbered,
    sums as totals,
)
from visualjudge.analysis.fits import Fit, fit, interval, of_others, p_value
from visualjudge.analysis.statistics.ranks import RankSet, decided, rank_sets
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
class Sums:
    """Sums over each image's items of each system, images × systems: judge, truth, and the number
    of items.
    """

    judged: FloatArray
    true: FloatArray
    count: FloatArray


def image_sums(
    judged: FloatArray, true: FloatArray, system: IntArray, image: IntArray, systems: int
) -> Sums:
    """Return sums of (R,) items; items without a judge's value are left out."""
    kept = np.isfinite(judged) & np.isfinite(true)
    names, where = renumbered(image[kept])
    cells, size = where * systems + system[kept], names.size * systems
    parts = (judged[kept], true[kept], np.ones(int(kept.sum())))
    return Sums(*(totals(cells, part, size).reshape(names.size, systems) for part in parts))


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

    def gaps(self, means: FloatArray) -> FloatArray:
        """Return the difference of each pair; rounding errors count as 0."""
        first, second = self.twos
        return np.asarray(np.round(means[first] - means[second], 12))

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

    def _widened(self, covariance: FloatArray) -> FloatArray:
        """Return the covariance with the images' correction for small numbers."""
        scale = np.sqrt(self.held / np.maximum(self.held - 1, 1))
        return np.asarray(covariance * scale[:, None] * scale)

    @cached_property
    def _bounds(self) -> Interval | None:
        """Return the shares of pairs that are certainly in the right order, and not certainly in
        the wrong one.
        """
        if self.held.min(initial=self.images) < LEAST_IMAGES or not self.pairs:
            return None
        judge, truth = self.signs()
        product = judge * truth
        return float((product > 0).mean()), float((product >= 0).mean())

    @cached_property
    def tau_b(self) -> Measure:
        """Return τ-b; NaN if judge and truth have no differences."""
        a, b = np.sign(self.gaps(self.judged)), np.sign(self.gaps(self.true))
        below = float(np.sqrt(np.abs(a).sum() * np.abs(b).sum()))
        flat = not np.abs(a).any() and bool(np.abs(b).any())
        value = float((a * b).sum()) / below if below else 0.0 if flat else float("nan")
        ends = self._bounds
        if ends is None or not np.isfinite(value):
            return Measure(value, None)
        return Measure(value, (min(2 * ends[0] - 1, value), max(2 * ends[1] - 1, value)))

    @cached_property
    def pair_order(self) -> Measure:
        """The share of pairs in the right order, of those that the truth separates at all."""
        a, b = self.gaps(self.judged), self.gaps(self.true)
        told = b != 0
        right = np.where(a == 0, 0.5, np.sign(a) == np.sign(b))[told]
        value = float(right.mean()) if told.any() else float("nan")
        ends = self._bounds
        if ends is None or not told.any():
            return Measure(value, None)
        return Measure(value, (min(ends[0], value), max(ends[1], value)))

    @cached_property
    def ranks(self) -> tuple[RankSet | None, ...]:
        """The possible ranks of each system by the judge."""
        covariance, freedom = self._widened(self.judged_covariance), (self.held - 1)[:, None]
        return rank_sets(self.judged, covariance, freedom, self.group)


def system_agreement(sums: Sums, groups: IntArray | None = None) -> SystemAgreement | None:
    """Return the agreement; ``groups`` (S,) says which systems are comparable (None: all).

    None if no two systems are comparable, with fewer than two images, or if a system has no item.
    """
    images, systems = sums.count.shape
    group = np.zeros(systems, dtype=np.int64) if groups is None else groups
    alone = np.bincount(group).max(initial=0) < 2
    if alone or images < 2 or (sums.count.sum(0) == 0).any():
        return None
    count = sums.count.sum(0)
    judged, true = (table.sum(0) / count for table in (sums.judged, sums.true))
    of_judge, of_truth = (
        influence.T @ influence
        for influence in (
            (sums.judged - sums.count * judged) / count,
            (sums.true - sums.count * true) / count,
        )
    )
    shown = sums.count > 0
    held = [int(shown[:, group == own].any(1).sum()) for own in range(int(group.max()) + 1)]
    return SystemAgreement(
        judged, true, of_judge, of_truth, group, np.array(held, dtype=np.int64)[group], images
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
            weights = np.eye(size) - (same & alike) / (same & alike).sum(1, keepdims=True)
            found = self._adjusted(weights)
            spare = (same & alike).sum(1) - 1 >= np.maximum(2, same.sum(1) / 2)
            sure = [s for s in np.flatnonzero(alike & spare) if found[s].sure]
            if not sure:
                return found
            alike[max(sure, key=lambda s: abs(found[s].value))] = False

    def _adjusted(self, weights: FloatArray) -> tuple[Favour, ...]:
        found = self._contrasts(weights)
        p = holm([one.p for one in found])
        return tuple(replace(one, p=own) for one, own in zip(found, p, strict=True))

    def _contrasts(self, weights: FloatArray) -> list[Favour]:
        padded = np.zeros((len(weights), self.fit.coefficients.size))
        padded[:, self.first : self.first + weights.shape[1]] = weights
        values, variance = padded @ self.fit.coefficients, self.fit.variance(padded)
        found = zip(
            np.abs(weights).argmax(1), values.tolist(), variance.tolist(),
            np.maximum(self.fit.freedom(padded), 2.0).tolist(), strict=True,
        )  # fmt: skip
        out = list[Favour]()
        for source, value, spread, freedom in found:
            images = int(self.images[source])
            if images < LEAST_IMAGES or spread <= 1e-24:
                out.append(Favour(value, None, None if images < LEAST_IMAGES else 1.0))
                continue
            ends = interval(value, spread, freedom)
            out.append(Favour(value, ends, p_value(value, spread, freedom)))
        return out


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
    skill = [dummy * column for dummy in dummies for column in (np.ones(y.size), truth, margin)]
    plain = np.column_stack([*base, *skill])
    indicator = sparse.csr_array((np.ones(y.size), (np.arange(y.size), own)), (y.size, group.size))
    rest = fit(sparse.hstack([sparse.csr_array(plain), indicator]), y, where, link="identity")
    centre = truth - (totals(of_task, truth, tasks.size) / np.bincount(of_task))[of_task]
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
    base = np.linalg.qr(columns)[0]
    rows = np.eye(systems)[system]
    rest = rows - base @ (base.T @ rows)
    total = ((rows - rows.mean(0)) ** 2).sum(0)
    left = (rest**2).sum(0)
    return np.asarray(np.divide(left, total, out=np.zeros(systems), where=total > 0))
