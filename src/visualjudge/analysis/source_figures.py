"""The sources as a judge ranks them, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass, replace

from visualjudge.analysis.statistics.ranks import RankSet
from visualjudge.analysis.value_and_interval import NOTHING, Ends, Estimate


@dataclass(frozen=True)
class SourceRow:
    """One source as ranked by the judge and by the truth; strengths are log odds with mean 0 in a
    component.
    """

    source: str
    group: str
    """The tasks in which it is compared, with a number if their sources fall into
    unconnected sets.
    """
    component: int
    """The number of the group."""
    strength: Estimate
    true_strength: float | None
    mean_score: float | None
    rank: int = 0
    true_rank: int = 0
    """0 if no truth is known."""
    bound: Ends | None = None
    """If the source never lost, or never won: the finite end of its interval, at 97.5 %."""
    rank_set: RankSet | None = None
    """The best and the worst rank that it may have at 95 %, for this source alone."""
    rank_set_all: RankSet | None = None
    """As ``rank_set``, but the sets of all sources of the group hold simultaneously at 95 %."""
    controlled: Estimate = NOTHING
    """The strength at equal covariates."""


@dataclass(frozen=True)
class Control:
    """The effect of one covariate in log odds, per typical difference in it."""

    group: str
    name: str
    effect: Estimate


@dataclass(frozen=True)
class Leaderboard:
    """The sources by group, strongest first.

    ``regularised`` states that some sources never lost to the others, or never won, so that the
    likelihood alone has no finite maximum. ``spearman`` and ``kendall_tau`` (of
    strengths and mean true scores) are given only if there is a single group.
    """

    rows: tuple[SourceRow, ...]
    n: int
    components: int
    regularised: bool
    ties: int
    spearman: float | None
    kendall_tau: float | None
    controls: tuple[Control, ...] = ()
    """Effects of the covariates that the controlled strengths control for."""

    def without_scores(self) -> Leaderboard:
        """Return the leaderboard without true scores, for a truth that only states which option is
        better.
        """
        return replace(self, rows=tuple(replace(row, mean_score=None) for row in self.rows))

    @property
    def groups(self) -> tuple[tuple[str, tuple[SourceRow, ...]], ...]:
        """Return each group's name and rows. Only the rows of a group have a common axis."""
        names = dict.fromkeys(row.group for row in self.rows)
        return tuple((name, tuple(row for row in self.rows if row.group == name)) for name in names)
