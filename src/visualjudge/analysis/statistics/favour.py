"""How far a judge's values of a model lie above those of a fair judge. Preferences for
a position or a feature are in ``figures/bias.py``.

Where the truth is exact, favouritism is one regression of the judge's values on the
truth, the margin, the task, the skill shown on the image's other items, and an
indicator of each system (``analysis/fits.py``). A judge that errs rates the best too
low and the worst too high; this is not favour, and neither is erring more on the images
where a system is shown. Items of the same pair in another encoding are not other items.

Where the truth comes from people, its noise reads as favour: then only judge minus
truth is measured, without a test.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from visualjudge.analysis.estimate import (
    LEVEL,
    TAIL,
    divided,
    holm,
    mean_ends,
    ratio,
    renumbered,
    sums as totals,
    t_isf,
    t_sf,
)
from visualjudge.analysis.fits import (
    Fit,
    beside,
    effective,
    fit,
    indicator,
    of_others,
)
from visualjudge.core.records import BoolArray, FloatArray, IntArray

Interval = tuple[float, float]
KNOTS = (0.2, 0.4, 0.6, 0.8)
LEAST_INFORMATIVE = 10
"""Minimum effective number of images that tell favour from skill."""


@dataclass(frozen=True)
class Favour:
    """How far the judge's values of one system lie above those of a fair judge; ``p``
    is adjusted by Holm over systems, None without a test.
    """

    value: float
    interval: Interval | None
    p: float | None

    @property
    def sure(self) -> bool:
        """Whether the system is significantly favoured or disfavoured."""
        return self.p is not None and self.p < LEVEL


def means_by_image(
    values: FloatArray, system: IntArray, image: IntArray, systems: int
) -> tuple[FloatArray, tuple[FloatArray, FloatArray], IntArray]:
    """Return the mean of the known values of each system over images, each of which
    weighs the same, its interval, and its number of images, (S,) each.
    """
    known = np.isfinite(values)
    images = int(image.max(initial=0)) + 1
    cells, place = renumbered(system[known] * images + image[known])
    top = totals(place, values[known], cells.size)
    mean = top / np.bincount(place, minlength=cells.size)
    value, result = ratio(mean, np.ones(cells.size), cells // images, systems)
    return value, mean_ends(value, result), result.images


def above_truth(
    judged: FloatArray,
    true: FloatArray,
    system: IntArray,
    image: IntArray,
    systems: int,
) -> tuple[Favour, ...]:
    """Return judge minus truth of each system, with its interval and no test."""
    value, ends, _ = means_by_image(judged - true, system, image, systems)
    rows = zip(value.tolist(), *(end.tolist() for end in ends), strict=True)
    return tuple(
        Favour(v, (low, high) if low == low else None, None)
        for v, low, high in rows
    )


LEAST_APART = 0.15
"""Minimum share of a system's indicator that truth and margin do not explain."""


@dataclass(frozen=True, eq=False)
class FairFit:
    """Indicators of the systems in the regression of the judge's values, and what they
    are of: the ``design`` and the ``image`` of each item, and the systems that skill
    does not explain.
    """

    fit: Fit
    first: int
    group: IntArray
    design: Any
    image: IntArray
    apart: BoolArray

    def favours(self, level: float = 1.0) -> tuple[Favour, ...]:
        """Return each system's value above the mean of those of its group that are
        treated alike; with too few images it has no interval and no p. Its tests have
        the part ``level`` of 5 %.

        A favoured system would make the others look disfavoured. So the most deviant
        one leaves the mean, repeatedly, as long as one deviates and at least half of
        its group remains.
        """
        size = self.group.size
        same = self.group[:, None] == self.group
        alike = np.ones(size, dtype=bool)
        while True:
            weights = np.eye(size) - (same & alike) / (same & alike).sum(
                1, keepdims=True
            )
            result = self._contrasts(weights, level)
            spare = (same & alike).sum(1) - 1 >= np.maximum(2, same.sum(1) / 2)
            sure = [s for s in np.flatnonzero(alike & spare) if result[s].sure]
            if not sure:
                return result
            alike[max(sure, key=lambda s: abs(result[s].value))] = False

    def _contrasts(
        self, weights: FloatArray, level: float
    ) -> tuple[Favour, ...]:
        contrast = np.zeros((len(weights), self.fit.coefficients.size))
        contrast[:, self.first : self.first + len(weights)] = weights
        values = contrast @ self.fit.coefficients
        error = np.sqrt(self.fit.variance(contrast))
        alone = self.design @ (self.fit.alone @ contrast.T)
        images = np.array([effective(each, self.image) for each in alone.T])
        freedom = np.maximum(images - 1, 1.0)
        certain = error <= 1e-12
        estimable = self.apart & (images >= LEAST_INFORMATIVE)
        p = 2 * t_sf(np.abs(values) / np.where(certain, np.inf, error), freedom)
        p = np.minimum(p / level, 1.0)
        adjusted = holm(
            [
                x if known else None
                for x, known in zip(p.tolist(), estimable, strict=True)
            ]
        )
        reach = np.where(
            estimable & ~certain, t_isf(TAIL, freedom) * error, np.nan
        )
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
    """Fit the judge's values of (R,) items; ``level`` is how good an item is, ``item``
    the pair of predictions that it belongs to, in any encoding, ``group`` (S,) the
    comparable systems. None without values.
    """
    selected = np.isfinite(judged) & np.isfinite(true) & np.isfinite(level)
    if not selected.any():
        return None
    y = judged[selected]
    truth = true[selected]
    margin = level[selected]
    own = system[selected]
    where = renumbered(image[selected])[1]
    tasks, of_task = renumbered(task[selected])
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
    shown = indicator(own, group.size)
    rest = fit(beside(plain, shown), y, where, link="identity")
    centre = (
        truth
        - (totals(of_task, truth, tasks.size) / np.bincount(of_task))[of_task]
    )
    pair = item[selected]
    skill_of_others = _expected(rest.residuals * centre, where, pair, own)
    offset = _expected(rest.residuals, where, pair, own)
    x = np.column_stack(
        [plain, centre * skill_of_others, margin * skill_of_others, offset]
    )
    design = beside(x, shown)
    fitted = fit(design, y, where, link="identity")
    # where the truth nearly always prefers the same systems, favour cannot be told from
    # skill
    apart = _unexplained(plain, own, group.size) >= LEAST_APART
    return FairFit(fitted, x.shape[1], group, design, where, apart)


def _expected(
    values: FloatArray, image: IntArray, item: IntArray, system: IntArray
) -> FloatArray:
    """Return what the image's other items, and the images on which a system is shown,
    say of the ``values`` of each item, (R,).

    A few items measure an image's skill with error. Their mean alone would leave a
    system that is shown on hard images disfavoured, the more clearly the more images
    there are; so it is drawn to the system's mean by its reliability (regression
    calibration: Carroll, Ruppert, Stefanski & Crainiceanu 2006).
    """
    seen = of_others(values, image, item)
    count = np.bincount(system)
    usual = divided(np.bincount(system, seen), count)[system]
    own = values - divided(np.bincount(system, values), count)[system]
    apart = seen - usual
    total = float(apart @ apart)
    reliable = float(apart @ own) / total if total > 0 else 0.0
    return usual + min(max(reliable, 0.0), 1.0) * apart


def _unexplained(
    columns: FloatArray, system: IntArray, systems: int
) -> FloatArray:
    """Return the share of each system's indicator that the columns do not explain,
    (S,)."""
    rows = np.eye(systems)[system]
    shared = columns.T @ rows
    inverse = np.linalg.pinv(columns.T @ columns, rcond=1e-10, hermitian=True)
    total = ((rows - rows.mean(0)) ** 2).sum(0)
    left = rows.sum(0) - (shared * (inverse @ shared)).sum(0)
    return divided(left, total)
