"""The alternative annotator test: may a judge replace a person? How well raters agree
is in ``rater_agreement.py``.

Each person is left out in turn; on that person's items, the judge and the person are
both scored against the other people. ω, the winning rate, is the share of people over
whom the judge's advantage is significant, given an allowance ε for its lower cost; ρ,
the advantage probability, is the mean probability that the judge is at least as close
to the others.

The published test counts items as independent. Items of the same image are not: a
second test leaves out each image in turn, and both results are returned.

Source: Calderon, Reichart & Dror 2025, "The alternative annotator test for
LLM-as-a-judge" (nitaytech/AltTest); Benjamini & Yekutieli 2001; Bell & McCaffrey 2002
(clusters, as in :mod:`visualjudge.analysis.estimate`); Johnson 1978, "Modified t tests"
(skewness: rare images on which the person is ahead).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from visualjudge.analysis import estimate
from visualjudge.core.errors import UsageError
from visualjudge.core.records import IntArray

Item = TypeVar("Item", bound=Hashable)
LEAST_ITEMS = 30
RATE = 0.05
"""Minimum number of items of a person, and false discovery rate over people."""


@dataclass(frozen=True)
class AltTest:
    """ω of the tests as published and clustered by image (the judge passes at 0.5), ρ,
    and the number of people with enough items.
    """

    omega: float
    by_image: float
    advantage: float
    people: int


def alt_test(
    human: Mapping[str, Mapping[Item, float]],
    judge: Mapping[Item, float],
    images: Callable[[Item], Hashable],
    *,
    epsilon: float = 0.2,
    nominal: bool = False,
) -> AltTest:
    """Test ``judge`` (item → answer) against ``human`` (person → item → answer).

    Parameters
    ----------
    images
        The image of each item.
    epsilon
        Extra cost of a person's answer, in probability. The source advises 0.2 for
        experts, 0.15 for trained people, and 0.1 for crowd workers.
    nominal
        Whether answers are alike or not; otherwise they are numbers, compared by their
        distance.

    Raises
    ------
    UsageError
        If nobody has enough items.
    """
    compared = [_indicators(person, human, judge, nominal) for person in human]
    selected = [own for own in compared if len(own[0]) >= LEAST_ITEMS]
    if not selected:
        most = max((len(items) for items, _, _ in compared), default=0)
        raise UsageError(
            f"human must have a person with at least {LEAST_ITEMS} items in common, "
            f"got {most} at most"
        )
    published = [_p_value(judged, own, epsilon) for _, judged, own in selected]
    clustered = []
    for items, judged, own in selected:
        image = np.unique(
            [str(images(item)) for item in items], return_inverse=True
        )[1]
        clustered.append(_p_by_image(judged, own, epsilon, image))
    advantage = float(np.mean([np.mean(judged) for _, judged, _ in selected]))
    return AltTest(
        _rejected(published), _rejected(clustered), advantage, len(selected)
    )


def closeness(answer: float, others: Sequence[float], nominal: bool) -> float:
    """Return the share of the others who gave the same answer, or minus the root mean
    squared distance to their numbers.
    """
    if nominal:
        return float(np.mean([answer == other for other in others]))
    return -float(np.sqrt(np.mean([(answer - other) ** 2 for other in others])))


def _indicators(
    person: str,
    human: Mapping[str, Mapping[Item, float]],
    judge: Mapping[Item, float],
    nominal: bool,
) -> tuple[list[Item], list[int], list[int]]:
    """Compare judge and person on the items that both and somebody else answered: 1
    where each is at least as close as the other.
    """
    items = []
    judged = []
    own = []
    for item, answer in human[person].items():
        others = [
            answers[item]
            for name, answers in human.items()
            if name != person and item in answers
        ]
        if item not in judge or not others:
            continue
        theirs, hers = (
            closeness(entry, others, nominal) for entry in (judge[item], answer)
        )
        items.append(item)
        judged.append(int(theirs >= hers))
        own.append(int(hers >= theirs))
    return items, judged, own


def _p_value(judged: list[int], own: list[int], epsilon: float) -> float:
    """Return the p-value of a one-sided t-test that the person's advantage over the
    judge is below ε.
    """
    difference = np.subtract(own, judged)
    if (
        np.ptp(difference) == 0
    ):  # no spread: the value decides, as in the t-test's limit
        return 0.0 if difference[0] < epsilon else 1.0
    from scipy import stats  # takes half a second to import

    return float(
        stats.ttest_1samp(difference, epsilon, alternative="less").pvalue
    )


def _p_by_image(
    judged: list[int], own: list[int], epsilon: float, image: IntArray
) -> float:
    """Return :func:`_p_value` clustered by image; 1 with too few images.

    If the person is ahead in no image, p is at least the probability of this outcome at
    an advantage of ε.
    """
    ahead = np.subtract(own, judged).astype(float)
    count = int(image.max()) + 1
    size = estimate.sums(image, np.ones(ahead.size), count)
    total = estimate.sums(image, ahead, count)
    if count < estimate.LEAST_IMAGES:
        return 1.0
    mean = float(ahead.mean())
    without = (total.sum() - total) / (size.sum() - size)
    influence = mean - without
    dispersion = estimate.spread(influence, size)
    skew = float(
        (influence**3).sum()
        / max(float((influence**2).sum()), estimate.TINY) ** 1.5
    )
    error = float(
        np.sqrt(
            max(
                float(dispersion.variance[0]),
                epsilon * (1 - epsilon) / ahead.size,
            )
        )
    )
    if error < estimate.TINY:
        return 0.0 if mean < epsilon else 1.0
    t = (mean - epsilon) / error
    if t < 0:  # at most at t = 3: beyond it the correction would reverse
        t = min(0.0, t + max(skew, 0.0) * (2 * min(t * t, 9.0) + 1) / 6)
    p = float(estimate.t_sf(-t, float(dispersion.df[0])))
    return (
        p
        if (ahead > 0).any() or not epsilon
        else max(p, (1 - epsilon) ** count)
    )


def _rejected(p_values: Sequence[float]) -> float:
    """Return the share of hypotheses that are rejected, under any dependence (Benjamini
    and Yekutieli).
    """
    from scipy import stats  # takes half a second to import

    adjusted = stats.false_discovery_control(
        np.asarray(p_values, float), method="by"
    )
    return float(np.mean(adjusted <= RATE))
