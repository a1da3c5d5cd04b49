"""The alternative annotator test: may a judge replace a person?

Each person is left out in turn; on that person's items, the judge and the person are both scored
against the other people. ω, the winning rate, is the share of people over whom the judge's
advantage is significant, given an allowance ε for its lower cost; ρ, the advantage probability, is
the mean probability that the judge is at least as close to the others.

The published test counts items as independent. Items of the same image are not: if images are
given, a second test leaves out each image in turn, and both results are returned.

Source: Calderon, Reichart & Dror 2025, "The alternative annotator test for LLM-as-a-judge"
(nitaytech/AltTest); Benjamini & Yekutieli 2001; Bell & McCaffrey 2002 (clusters, as in
:mod:`visualjudge.analysis.estimate`); Johnson 1978, "Modified t tests" (skewness: rare
images on which the person is ahead).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from visualjudge.analysis import estimate
from visualjudge.analysis.estimate import t_sf
from visualjudge.analysis.statistics.argument_checks import risk
from visualjudge.core.errors import UsageError
from visualjudge.core.records import IntArray

Interval = tuple[float, float]
Metric = Callable[[Any, Sequence[Any]], float]
LEAST_ITEMS = 30


@dataclass(frozen=True)
class AgainstPerson:
    """Result of the judge against one person: the advantage ρ over ``items`` items, the p-value of
    the test, and whether the judge won.

    ``p`` and ``won`` treat items as independent, as published; ``p_by_image`` and ``won_by_image``
    are clustered by image, and None if no images were given.
    """

    person: str
    items: int
    advantage: float
    p: float
    won: bool
    images: int | None = None
    p_by_image: float | None = None
    won_by_image: bool | None = None


@dataclass(frozen=True)
class AltTest:
    """Result of the test: ``value`` is ω (the judge passes at ω ≥ 0.5), ``advantage`` is ρ, and
    ``left_out`` names the people with too few items.

    ``by_image`` is ω of the tests clustered by image; None if no images were given.
    """

    value: float
    advantage: float
    people: tuple[AgainstPerson, ...]
    epsilon: float
    left_out: tuple[str, ...] = ()
    by_image: float | None = None

    @property
    def omega(self) -> float:
        """ω, the winning rate."""
        return self.value

    @property
    def rho(self) -> float:
        """ρ, the average advantage probability."""
        return self.advantage

    @property
    def passed(self) -> bool:
        """Whether ω ≥ 0.5, the source's criterion."""
        return self.value >= 0.5


def accuracy(answer: Any, others: Sequence[Any]) -> float:
    """Return the share of the others who gave the same answer."""
    return float(np.mean([answer == other for other in others]))


def neg_rmse(answer: float, others: Sequence[float]) -> float:
    """Return minus the root mean squared distance to the others' numbers."""
    return -float(np.sqrt(np.mean([(answer - other) ** 2 for other in others])))


METRICS: Mapping[str, Metric] = {"accuracy": accuracy, "neg_rmse": neg_rmse}


def alt_test(
    human: Mapping[str, Mapping[str, Any]],
    judge: Mapping[str, Any],
    *,
    epsilon: float = 0.2,
    metric: str | Metric = "accuracy",
    q: float = 0.05,
    least_items: int = LEAST_ITEMS,
    images: Callable[[Any], Any] | None = None,
) -> AltTest:
    """Test ``judge`` (item → answer) against ``human`` (person → item → answer).

    Parameters
    ----------
    epsilon
        Extra cost of a person's answer, in probability. The source advises 0.2 for experts, 0.15
        for trained people, and 0.1 for crowd workers.
    metric
        ``accuracy`` (labels), ``neg_rmse`` (numbers), or a function (answer, others' answers) →
        larger is better.
    q
        False discovery rate over people (Benjamini and Yekutieli).
    least_items
        Minimum number of a person's items that the judge and another person also answered; people
        with fewer are left out.
    images
        The image of each item; if None, only the published test is computed.

    Raises
    ------
    UsageError
        If the metric is unknown, ``epsilon`` is outside 0..1, or nobody has enough items.
    """
    score = METRICS.get(metric) if isinstance(metric, str) else metric
    if score is None:
        raise UsageError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")
    if epsilon:
        risk("epsilon", epsilon)
    wins = {person: _indicators(person, human, judge, score) for person in human}
    kept = [person for person, (_, ours, _) in wins.items() if len(ours) >= max(2, least_items)]
    if not kept:
        most = max((len(ours) for _, ours, _ in wins.values()), default=0)
        raise UsageError(
            f"human must have a person with at least {least_items} items in common, got {most} "
            "at most"
        )
    tests = [_p_value(*wins[person][1:], epsilon) for person in kept]
    rejected = benjamini_yekutieli(tests, q)
    rows = [
        AgainstPerson(person, len(wins[person][1]), float(np.mean(wins[person][1])), p, won)
        for person, p, won in zip(kept, tests, rejected, strict=True)
    ]
    by_image = None
    if images is not None:
        codes = [
            np.unique([str(images(item)) for item in wins[person][0]], return_inverse=True)[1]
            for person in kept
        ]
        clustered = [
            _p_by_image(*wins[person][1:], epsilon, code)
            for person, code in zip(kept, codes, strict=True)
        ]
        sure = benjamini_yekutieli(clustered, q)
        found = zip(rows, codes, clustered, sure, strict=True)
        rows = [
            replace(row, images=int(code.max()) + 1, p_by_image=p, won_by_image=won)
            for row, code, p, won in found
        ]
        by_image = float(np.mean(sure))
    advantage = float(np.mean([row.advantage for row in rows]))
    left_out = tuple(person for person in human if person not in kept)
    return AltTest(float(np.mean(rejected)), advantage, tuple(rows), epsilon, left_out, by_image)


def _indicators(
    person: str, human: Mapping[str, Mapping[str, Any]], judge: Mapping[str, Any], score: Metric
) -> tuple[list[Any], list[int], list[int]]:
    """Compare judge and person on the items that both and somebody else answered: 1 where each is
    at least as close as the other.
    """
    items, judged, own = [], [], []
    for item, answer in human[person].items():
        others = [
            answers[item] for name, answers in human.items() if name != person and item in answers
        ]
        if item not in judge or not others:
            continue
        theirs, hers = score(judge[item], others), score(answer, others)
        items.append(item)
        judged.append(int(theirs >= hers))
        own.append(int(hers >= theirs))
    return items, judged, own


def _p_value(judged: list[int], own: list[int], epsilon: float) -> float:
    """Return the p-value of a one-sided t-test that the person's advantage over the judge is below
    ε.
    """
    difference = np.subtract(own, judged)
    if np.ptp(difference) == 0:  # no spread: the value decides, as in the t-test's limit
        return 0.0 if difference[0] < epsilon else 1.0
    from scipy import stats  # takes half a second to import

    return float(stats.ttest_1samp(difference, epsilon, alternative="less").pvalue)


def _p_by_image(judged: list[int], own: list[int], epsilon: float, image: IntArray) -> float:
    """Return :func:`_p_value` clustered by image; 1 with too few images.

    If the person is ahead in no image, p is at least the probability of this outcome at an
    advantage of ε.
    """
    ahead = np.subtract(own, judged).astype(float)
    count = int(image.max()) + 1
    size, total = (
        estimate.sums(image, np.ones(ahead.size), count),
        estimate.sums(image, ahead, count),
    )
    if count < estimate.LEAST_IMAGES:
        return 1.0
    mean = float(ahead.mean())
    without = (total.sum() - total) / (size.sum() - size)
    influence = mean - without
    found = estimate.spread(influence, size)
    skew = float((influence**3).sum() / max(float((influence**2).sum()), estimate.TINY) ** 1.5)
    error = float(np.sqrt(max(float(found.variance[0]), epsilon * (1 - epsilon) / ahead.size)))
    if error < estimate.TINY:
        return 0.0 if mean < epsilon else 1.0
    t = (mean - epsilon) / error
    if t < 0:  # at most at t = 3: beyond it the correction would reverse
        t = min(0.0, t + max(skew, 0.0) * (2 * min(t * t, 9.0) + 1) / 6)
    p = float(t_sf(-t, float(found.df[0])))
    return p if (ahead > 0).any() or not epsilon else max(p, (1 - epsilon) ** count)


def benjamini_yekutieli(p_values: Sequence[float], q: float) -> list[bool]:
    """Return which hypotheses are rejected at false discovery rate ``q``, under any dependence."""
    from scipy import stats  # takes half a second to import

    p = np.asarray(p_values, float)
    adjusted = stats.false_discovery_control(p, method="by")
    return [bool(value <= q) for value in adjusted]
