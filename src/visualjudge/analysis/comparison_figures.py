"""What is known of two judges beside each other, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass

from visualjudge.analysis.value_and_interval import Ends, Estimate

NO_PROOF = "baseline below chance"
UNDECIDED = "undecided"
LEVEL = 0.05


@dataclass(frozen=True)
class Above:
    """How far a judge is above the local baseline on the questions that it did not decline; ``gap``
    = judge less it.
    """

    baseline: str
    scope: str
    """``all``, ``task`` or ``error_type``."""
    value: str
    gap: Estimate
    p: float | None
    declined: int
    """Verdicts of the judge that have none of the baseline beside them."""
    chance: float
    """What guessing gets of the judge's questions."""
    baseline_right: float | None = None
    """Share of these verdicts in which the baseline is right."""
    p_holm: float | None = None
    """``p`` by Holm over the tasks and error types; None of all questions, which are no one of
    several.
    """

    @property
    def below_chance(self) -> bool:
        """Whether the baseline is right less often than a guess: to be above it proves nothing."""
        return self.baseline_right is not None and self.baseline_right < self.chance

    @property
    def standing(self) -> str:
        """What the interval shows; of one of several tasks or error types, the adjusted test must
        show it too.
        """
        low, high = self.gap.interval or (None, None)
        if low is None or high is None:
            return "cannot be told"
        if self.p_holm is not None and self.p_holm >= LEVEL:
            return UNDECIDED
        if low > 0:
            return NO_PROOF if self.below_chance else "better"
        return "worse" if high < 0 else UNDECIDED


@dataclass(frozen=True)
class TaskGap:
    """The same two judges in one task; ``p_holm``: by Holm over all tasks and pairs of judges."""

    task: str
    gap: Estimate
    p: float | None
    p_holm: float | None = None


@dataclass(frozen=True)
class Comparison:
    """Two judges on the questions, orders and repeats that both answered; ``gap`` = a less b."""

    a: str
    b: str
    questions: int
    verdicts: int
    accuracy_a: float | None
    accuracy_b: float | None
    gap: Estimate
    p: float | None
    only_a_right: int | None
    only_b_right: int | None
    design_effect: float | None
    needed: int | None
    """Verdicts that would show the gap seen (5 %, power 80 %)."""
    more_needed: int | None
    asked_gap: float
    """The gap that ``images_needed`` is for."""
    images_needed: int | None
    images_range: Ends | None
    more_images: int | None
    p_holm: float | None = None
    by_task: tuple[TaskGap, ...] = ()
    """The gap in each task of the common questions."""


@dataclass(frozen=True)
class RaterChecks:
    """How a rater did on what was asked to check them. ``turned``: repeats that were shown in the
    other order.
    """

    rater: str
    known: int
    known_right: int
    repeats: int
    same: int
    turned: int
    same_turned: int


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's α among judges that were asked the same questions."""

    kind: str
    level: str
    names: tuple[str, ...]
    alpha: Estimate
