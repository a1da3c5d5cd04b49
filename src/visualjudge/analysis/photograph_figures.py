"""What a judge gains from the photograph, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from visualjudge.analysis.value_and_interval import Estimate, Share

MARGIN = 0.15
"""A gain below this is too small to matter, as for probes that change the images."""
LEAST_QUESTIONS = 40
Need = Literal["needed", "not_needed", "not_shown"]


@dataclass(frozen=True)
class Without:
    """The same pairs without their photograph: accuracy with it, without it, and the paired
    difference.
    """

    seen: Share
    blind: Share
    gain: Estimate
    inner: tuple[float, float] | None
    """The 90 % interval of ``gain``."""
    questions: int


@dataclass(frozen=True)
class Photograph:
    """What a judge gains from the photograph, over ``grey`` and over ``other`` photographs; None:
    was not asked.
    """

    task: str
    """``all`` for all tasks together."""
    grey: Without | None
    other: Without | None

    @property
    def asked(self) -> tuple[Without, ...]:
        """What was shown in place of the photograph, grey first."""
        return tuple(part for part in (self.grey, self.other) if part is not None)

    @property
    def first(self) -> Without:
        """The one whose gain tables have."""
        return self.asked[0]

    @property
    def least(self) -> Estimate:
        """The smaller gain: a judge that needs the photograph has one over both."""
        return min((part.gain for part in self.asked), key=lambda gain: gain.value or 0.0)

    @property
    def questions(self) -> int:
        """The number of questions, the smaller one of the two."""
        return min(part.questions for part in self.asked)

    @property
    def state(self) -> Need:
        """Whether the judge needs the photograph."""
        if self.questions < LEAST_QUESTIONS:
            return "not_shown"
        if any(part.inner is not None and part.inner[1] < MARGIN for part in self.asked):
            return "not_needed"
        lower = [(part.gain.interval or (None,))[0] for part in self.asked]
        return "needed" if all(low is not None and low > 0 for low in lower) else "not_shown"


@dataclass(frozen=True)
class PhotographNeed:
    """The same of all tasks together and of each."""

    all: Photograph
    by_task: tuple[Photograph, ...]
