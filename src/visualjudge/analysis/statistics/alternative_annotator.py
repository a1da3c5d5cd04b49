"""The alternative annotator test: may a judge take a person's place?

Each person is left out in turn; on the items of that person, the judge and the person are scored against the others.
ω, the winning rate, is the share of people over whom the judge's advantage is significant, given ε for its lower
cost; ρ, the advantage probability, is the mean probability that the judge is at least as near to the others.

Source: Calderon, Reichart & Dror 2025, "The alternative annotator test for LLM-as-a-judge" (nitaytech/AltTest);
Benjamini & Yekutieli 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from visualjudge.analysis.statistics.arguments import risk
from visualjudge.core.errors import UsageError

Interval = tuple[float, float]
Metric = Callable[[Any, Sequence[Any]], float]
LEAST_ITEMS = 30


@dataclass(frozen=True)
class AgainstPerson:
    """The judge against one person: ``advantage`` (ρ) on ``items`` items, the test's p, and whether it was won."""

    person: str
    items: int
    advantage: float
    p: float
    won: bool


@dataclass(frozen=True)
class AltTest:
    """``value`` is ω (the judge passes at ω ≥ 0.5), ``advantage`` is ρ; ``left_out``: people with too few items."""

    value: float
    advantage: float
    people: tuple[AgainstPerson, ...]
    epsilon: float
    left_out: tuple[str, ...] = ()

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
    """Share of the others who gave this very answer."""
    return float(np.mean([answer == other for other in others]))


def neg_rmse(answer: float, others: Sequence[float]) -> float:
    """Minus the root mean squared distance to the others' numbers."""
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
) -> AltTest:
    """Test ``judge`` (item → answer) against ``human`` (person → item → answer).

    Parameters
    ----------
    epsilon
        What a person's answer costs more than the judge's, in probability: 0.2 for experts, 0.15 for trained people,
        0.1 for crowd workers (the source's advice).
    metric
        ``accuracy`` (labels), ``neg_rmse`` (numbers), or a function (answer, others' answers) → larger is better.
    q
        False discovery rate over people, by Benjamini and Yekutieli.
    least_items
        People with fewer items that the judge and another person answered too are left out.

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
    kept = [person for person, (ours, _) in wins.items() if len(ours) >= max(2, least_items)]
    if not kept:
        most = max((len(ours) for ours, _ in wins.values()), default=0)
        raise UsageError(f"human must have a person with at least {least_items} items in common, got {most} at most")
    tests = [_p_value(*wins[person], epsilon) for person in kept]
    rejected = benjamini_yekutieli(tests, q)
    rows = tuple(
        AgainstPerson(person, len(wins[person][0]), float(np.mean(wins[person][0])), p, won)
        for person, p, won in zip(kept, tests, rejected, strict=True)
    )
    advantage = float(np.mean([row.advantage for row in rows]))
    return AltTest(float(np.mean(rejected)), advantage, rows, epsilon, tuple(p for p in human if p not in kept))


def _indicators(
    person: str, human: Mapping[str, Mapping[str, Any]], judge: Mapping[str, Any], score: Metric
) -> tuple[list[int], list[int]]:
    """On every item that the person, the judge and somebody else answered: who is at least as near as the other."""
    judged, own = [], []
    for item, answer in human[person].items():
        others = [answers[item] for name, answers in human.items() if name != person and item in answers]
        if item not in judge or not others:
            continue
        theirs, hers = score(judge[item], others), score(answer, others)
        judged.append(int(theirs >= hers))
        own.append(int(hers >= theirs))
    return judged, own


def _p_value(judged: list[int], own: list[int], epsilon: float) -> float:
    """One-sided t-test of: the person's advantage over the judge is below ε."""
    difference = np.subtract(own, judged)
    if np.ptp(difference) == 0:  # no spread: decided by the value itself, as the t-test's limit
        return 0.0 if difference[0] < epsilon else 1.0
    return float(stats.ttest_1samp(difference, epsilon, alternative="less").pvalue)


def benjamini_yekutieli(p_values: Sequence[float], q: float) -> list[bool]:
    """Which hypotheses are rejected at false discovery rate ``q`` under any dependence."""
    p = np.asarray(p_values, float)
    adjusted = stats.false_discovery_control(p, method="by")
    return [bool(value <= q) for value in adjusted]
