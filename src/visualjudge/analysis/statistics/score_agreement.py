"""Scores of a judge beside true scores: order, bias and error, with the image as the
unit. The range of true scores behind a score is in ``score_ranges.py``; whether the
scores may be used, in ``score_bar.py``.

Every figure is a value and the part that each group of images has in it (the value less
the value without the group), so differences of judges and means over tasks add group by
group. Variance is that of the delete-one-group jackknife (CR3), Student's t has Kish's
effective number of groups, less one, as degrees of freedom; correlations have Fisher's
z scale. A correlation of scores that are all alike orders nothing: it is unknown, and 0
where it enters a mean or a group's part.

The best constant is the median of the true scores, which no other constant beats in
mean absolute error. Its error is measured on the same items, which favours the
constant. ``gain`` is its error less the judge's.

Sources: Spearman 1904; Fisher 1921; Willmott & Matsuura 2005 (mean absolute error);
Bell & McCaffrey 2002 (CR3); Kott 2001 (groups); Kish 1965 (effective number).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from visualjudge.analysis import estimate
from visualjudge.analysis.statistics.correlation import (
    GROUPS,
    Weighted,
    left_out,
    weighted_pearson,
    weighted_spearman,
)
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.records import BoolArray, FloatArray, IntArray

ALIKE = "all scores are alike"


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure and its parts by group of images, (groups,): the value less that without
    the group, and the items of the group (0 where it has none). ``value`` is NaN where
    it is unknown. A correlation has the ``leverage`` of each group: its part of the
    variance of the true scores. ``of`` returns the ends of its interval.
    """

    value: float
    parts: FloatArray
    items: FloatArray
    images: int
    leverage: FloatArray | None = None
    of: Callable[..., estimate.Ends] = estimate.mean_ends

    def __sub__(self, other: Figure) -> Figure:
        """Return the difference of two figures of the same items."""
        return Figure(
            self.value - other.value,
            self.parts - other.parts,
            self.items,
            self.images,
        )

    @property
    def spread(self) -> estimate.Spread:
        """Variance, groups and their effective number, as arrays of one."""
        held = self.items > 0
        return estimate.spread(self.parts[held], self.items[held])

    @property
    def p(self) -> float | None:
        """The two-sided p of 0; None where it is unknown."""
        result = float(estimate.test(np.array([self.value]), self.spread)[0])
        return result if np.isfinite(result) else None

    @property
    def estimate(self) -> Estimate:
        """The value with its 95 % interval."""
        return self.at_tail(estimate.TAIL)

    def at_tail(self, tail: float) -> Estimate:
        """Return the value with an interval that has ``tail`` beyond each end."""
        n = round(float(self.items.sum()))
        if not np.isfinite(self.value):
            return Estimate(None, None, n, self.images, ALIKE)
        result = self.spread
        low, high = (
            float(end[0])
            for end in self.of(np.array([self.value]), result, tail)
        )
        unmoved = result.enough[0] and result.variance[0] < estimate.TINY
        if (
            self.leverage is not None
            and unmoved
            and abs(self.value) > 1 - estimate.TINY
        ):
            # as many images may be the other way round as may be unseen
            few = estimate.spread(self.leverage, self.leverage).effective[0]
            reach = 2 * float(1 - tail ** (1 / few))
            low, high = (
                max(-1.0, self.value - reach),
                min(1.0, self.value + reach),
            )
        if np.isfinite(low) and np.isfinite(high):
            return Estimate(self.value, (low, high), n, self.images)
        return Estimate(
            self.value,
            None,
            n,
            self.images,
            estimate.ALL_ALIKE if result.enough[0] else estimate.too_few(),
        )


def weighted_mean(figures: Sequence[Figure], images: int) -> Figure:
    """Return the mean of figures of different items, such as those of tasks, by their
    items, which are of so many ``images``; a figure that is unknown counts as 0.
    """
    items = np.sum([figure.items for figure in figures], axis=0)
    weights = [float(figure.items.sum() / items.sum()) for figure in figures]
    pairs = list(zip(weights, figures, strict=True))
    value = sum(w * float(np.nan_to_num(figure.value)) for w, figure in pairs)
    parts = np.sum([w * figure.parts for w, figure in pairs], axis=0)
    return Figure(value, parts, items, images)


def image_groups(image: IntArray) -> IntArray:
    """Return the group of each item, from 0, given its image: each image is one, up to
    200; of more, images in ascending order are dealt into 200, so that the order of the
    items does not matter.
    """
    place = np.unique(image, return_inverse=True)[1]
    return np.asarray(place % GROUPS, dtype=np.int64)


def mean_of(
    values: FloatArray, group: IntArray, groups: int, images: int
) -> Figure:
    """Return the mean of (n,) values, given the group of images of each, from 0."""
    total = estimate.sums(group, values, groups)
    n = estimate.sums(group, np.ones(values.size), groups)
    value = float(values.mean())
    without = estimate.divided(
        total.sum() - total,
        n.sum() - n,
        value,
    )
    return Figure(value, value - without, n, images)


@dataclass(frozen=True, eq=False)
class Scores:
    """A judge's scores and the true ones of (n,) items on one scale, with the image of
    each item and its group (:func:`image_groups`, of all tasks and judges alike).
    ``step`` is one step of the scale.
    """

    judged: FloatArray
    true: FloatArray
    image: IntArray
    group: IntArray
    groups: int
    step: float

    @cached_property
    def images(self) -> int:
        """Number of images."""
        return int(np.unique(self.image).size)

    @cached_property
    def items(self) -> FloatArray:
        """Items of each group, (groups,)."""
        return np.asarray(np.bincount(self.group, minlength=self.groups), float)

    @cached_property
    def error(self) -> FloatArray:
        """The judge's score less the true one, (n,)."""
        return self.judged - self.true

    @cached_property
    def constant(self) -> float:
        """The best constant: the median of the true scores."""
        return float(np.median(self.true))

    def mean(self, values: FloatArray) -> Figure:
        """Return the mean of (n,) values."""
        return mean_of(values, self.group, self.groups, self.images)

    def share(self, which: BoolArray) -> Estimate:
        """Return the share of items ``which``, (n,)."""
        numbers = estimate.renumbered(self.image)[1]
        count = np.bincount(numbers).astype(float)
        return estimate.shares(
            estimate.sums(numbers, which.astype(float), count.size), count
        )[0]

    def _correlation(self, weighted: Weighted) -> Figure:
        held, place = estimate.renumbered(self.group)
        value, without = left_out(self.judged, self.true, place, weighted)
        parts = np.zeros(self.groups)
        parts[held] = np.nan_to_num(value - np.nan_to_num(without))
        leverage = estimate.sums(
            self.group, (self.true - self.true.mean()) ** 2, self.groups
        )
        return Figure(
            value,
            parts,
            self.items,
            self.images,
            leverage,
            estimate.correlation_ends,
        )

    @cached_property
    def spearman(self) -> Figure:
        """Rank correlation with the truth."""
        return self._correlation(weighted_spearman)

    @cached_property
    def pearson(self) -> Figure:
        """Product-moment correlation with the truth."""
        return self._correlation(weighted_pearson)

    @cached_property
    def bias(self) -> Figure:
        """Mean difference: positive where the judge is lenient."""
        return self.mean(self.error)

    @cached_property
    def mae(self) -> Figure:
        """Mean absolute error."""
        return replace(self.mean(np.abs(self.error)), of=estimate.positive_ends)

    @cached_property
    def constant_mae(self) -> Figure:
        """Mean absolute error of the best constant."""
        return self.mean(np.abs(self.true - self.constant))

    @cached_property
    def gain(self) -> Figure:
        """Error of the best constant less that of the judge."""
        return self.constant_mae - self.mae

    @property
    def exact(self) -> Estimate:
        """Share that is off by less than half a step."""
        return self.share(estimate.exact(self.error, self.step))

    @property
    def within_one(self) -> Estimate:
        """Share within one step of the truth."""
        return self.share(estimate.within(self.error, self.step))

    @property
    def usual(self) -> float:
        """The score that the judge gives most often (the lowest of several)."""
        values, times = np.unique(self.judged, return_counts=True)
        return float(values[times.argmax()])

    @property
    def saturation(self) -> Estimate:
        """Share of the score that the judge gives most often."""
        return self.share(self.judged == self.usual)


def of_items(scores: Scores, which: BoolArray) -> Scores:
    """Return the scores of the items ``which``, (n,), alone."""
    selected = {name: getattr(scores, name)[which] for name in _COLUMNS}
    return replace(scores, **selected)


_COLUMNS = ("judged", "true", "image", "group")
