"""Goals of a study: the assumptions about the judge, and the power of a design to reach the
goal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from scipy import stats

from visualjudge.analysis.decisions.checks import Thresholds
from visualjudge.apps.planning import judge_simulation
from visualjudge.apps.planning.judge_simulation import Design, JudgeModel, Pool, Power
from visualjudge.apps.planning.plan_inputs import Rate, Target
from visualjudge.core.errors import UsageError
from visualjudge.core.seeding import rng_for
from visualjudge.runs.budget import Prices

Goal = Literal["rank", "right"]
GOALS = get_args(Goal)
GOAL_CHECK: Mapping[str, str] = {
    "rank": "order_of_sources",
    "right": "macro_accuracy",
}
USUAL_LEAD = 0.1
"""Assumed accuracy of an unknown judge above the threshold."""
AT_THRESHOLD = 0.01
"""Distance from the threshold below which a share or τ-b is hardly ever settled."""


@dataclass(frozen=True)
class Terms:
    """Terms of a study: prices of tokens and labels, the rate of calls, and how people label.

    ``raters`` is the number of people who label each pair, 0 if the truth is known; ``rater_right``
    is the accuracy of one.
    """

    prices: Prices = field(default_factory=Prices)
    budget: float | None = None
    concurrency: int = 16
    calls_per_minute: float | None = None
    tokens_per_minute: float | None = None
    raters: int = 0
    rater_right: float = 1.0
    label_price: float = 0.0

    def __post_init__(self) -> None:
        if self.budget is not None and not self.prices.are_stated and not self.label_price:
            raise UsageError("--budget needs --price, or --label-price")
        if not 0.5 < self.rater_right <= 1:
            raise UsageError(
                f"--rater-right must be above 0.5 and at most 1, got {self.rater_right:g}"
            )
        for name in ("calls_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"--{name.replace('_', '-')} must be above 0, got {value:g}")

    @property
    def labels_wrong(self) -> float:
        """Share of pairs whose majority label names the worse option; ties are decided by
        chance.
        """
        if not self.raters:
            return 0.0
        half = self.raters / 2
        wrong = float(stats.binom.sf(np.floor(half), self.raters, 1 - self.rater_right))
        tie = (
            float(stats.binom.pmf(half, self.raters, 1 - self.rater_right))
            if half.is_integer()
            else 0.0
        )
        return wrong + tie / 2

    def minutes(self, calls: float, rate: Rate) -> float | None:
        """Return the longest of the times that the limits and the server allow; None if nothing is
        known.
        """
        found = []
        if self.calls_per_minute:
            found.append(calls / self.calls_per_minute)
        if self.tokens_per_minute:
            found.append(calls * (rate.tokens_in + rate.tokens_out) / self.tokens_per_minute)
        if rate.seconds is not None:
            found.append(calls * rate.seconds / self.concurrency / 60)
        return max(found) if found else None


@dataclass(frozen=True, eq=False)
class Question:
    """A precise goal: its assumptions, and the power of a design to reach it."""

    claim: str
    judge: JudgeModel
    reached: Callable[[Design, int], Power]


def question_of(
    target: Target, goal: Goal, effect: float | None, rules: Thresholds, terms: Terms, seed: int
) -> Question:
    """Return the goal with its assumptions.

    Raises
    ------
    UsageError
        If ``effect`` does not fit the goal, or the sources cannot be ranked.
    """
    pool, judge, wrong = target.pool, target.judge, terms.labels_wrong
    if effect is not None and goal != "rank" and not -1 < effect < 1:
        raise UsageError(
            f"--effect must be between 0 and 1 ({effect / 100:g} for {effect:g} points), got "
            f"{effect:g}"
        )

    def drawn(design: Design, count: int, **more: Any) -> Any:
        rng = rng_for(seed, "plan", goal, *map(int, asdict(design).values()))
        return judge_simulation.simulated(
            pool, judge, design, count, rng, labels_wrong=wrong, **more
        )

    check = GOAL_CHECK[goal]
    limit = rules.checks[check]
    if goal == "right":
        lead = effect if effect is not None or target.kind == "run" else USUAL_LEAD
        judge, truth, said = _right(
            pool, judge, None if lead is None else limit.value + lead, wrong
        )
    else:
        truth, said = _order(target, effect, seed)
    right_state = "pass" if limit.met_by(truth) else "fail"
    if abs(abs(truth) - limit.value) < AT_THRESHOLD:
        said += ", so close to the threshold that more images hardly help"
    claim = f"{said}; the goal is that the check says “{right_state}” (threshold {limit.value:g})"

    def reached(design: Design, count: int) -> Power:
        found: list[Any] = []
        for part in parts_of(design, count):
            found += judge_simulation.checked(drawn(design, part), rules, (check,))[check]
        widths = [row.interval[1] - row.interval[0] for row in found if row.interval is not None]
        states = [row.state for row in found]
        return judge_simulation.power_of([state == right_state for state in states], widths, states)

    return Question(claim, judge, reached)


def _right(
    pool: Pool, judge: JudgeModel, wanted: float | None, wrong: float
) -> tuple[JudgeModel, float, str]:
    """Return the judge at the required accuracy, and the effect of label errors."""
    share = judge.right(pool) if wanted is None else wanted
    if not 0.01 <= share <= 0.99:
        what = "threshold + --effect" if wanted is not None else "accuracy of the pilot"
        raise UsageError(f"{what} must be from 0.01 to 0.99, got {share:.2f}; change --effect")
    truth = share * (1 - wrong) + (1 - share) * wrong
    return judge.at(share, pool), truth, f"the judge is right {100 * truth:.3g} % of the time"


def _order(target: Target, effect: float | None, seed: int) -> tuple[float, str]:
    """Return the order that unlimited images would show."""
    if effect is not None:
        raise UsageError(
            "--effect cannot be used with --goal rank, which orders the sources in the data"
        )
    count = len(target.pool.sources)
    if count < 2:
        raise UsageError(f"{target.place}: must have at least two sources to rank, got {count}")
    rng = rng_for(seed, "population")
    truth = judge_simulation.population_tau(target.pool, target.judge, Design(1, 3), rng)
    held = "on unlimited images"
    return truth, f"the judge orders the {count} sources with τ-b {truth:.2f} {held}"


def parts_of(design: Design, count: int) -> list[int]:
    """Split ``count`` studies into parts that are drawn at once."""
    at_once = max(1, min(count, judge_simulation.MOST_CELLS // max(1, design.calls)))
    return [min(at_once, count - done) for done in range(0, count, at_once)]
