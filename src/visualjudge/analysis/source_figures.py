"""The sources as a judge ranks them, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass, replace

from visualjudge.analysis.statistics.ranks import RankSet
from visualjudge.analysis.value_and_interval import NOTHING, Ends, Estimate

IN_MATRIX = 30
"""Of how many sources, the first of their group, every two have a difference; beyond them, each and
the next.
"""


@dataclass(frozen=True)
class SourceRow:
    """One source as the judge ranks it and as the truth does; strengths are log odds, mean 0 in a
    component.
    """

    source: str
    group: str
    """The tasks that it is compared in; a number where the sources of these fall apart."""
    component: int
    """The number of the group."""
    strength: Estimate
    true_strength: float | None
    mean_score: float | None
    rank: int = 0
    true_rank: int = 0
    bound: Ends | None = None
    """Where the source never lost, or never won: the end on the side that is not open, at 97.5
    %.
    """
    rank_set: RankSet | None = None
    """The best and the worst rank that it may have at 95 %, of this source alone."""
    rank_set_all: RankSet | None = None
    """As ``rank_set``, but the sets of all sources of the group hold at once in 95 %."""
    controlled: Estimate = NOTHING
    """The strength at equal covariates."""


@dataclass(frozen=True)
class Contrast:
    """How far ``above`` is above ``below``, in log odds; ``p`` is two-sided, of no difference,
    unadjusted.
    """

    group: str
    above: str
    below: str
    difference: Estimate
    p: float | None


@dataclass(frozen=True)
class Control:
    """What one covariate adds to the log odds, of a usual difference of it."""

    group: str
    name: str
    effect: Estimate


@dataclass(frozen=True)
class Leaderboard:
    """The sources by group, strongest first; ``contrasts``: every two of the first 30 of a group,
    and beyond them each source and the next.

    ``regularised``: some sources never lost to the others, or never won, so that the likelihood
    alone has no finite maximum. ``log_tie``, ``spearman`` and ``kendall_tau`` (of strengths and
    mean true scores) are of a single group.
    """

    rows: tuple[SourceRow, ...]
    n: int
    components: int
    regularised: bool
    ties: int
    log_tie: float | None
    spearman: float | None
    kendall_tau: float | None
    contrasts: tuple[Contrast, ...] = ()
    dispersion: float | None = None
    """How many games go together, in a single group: the penalty is as many times its usual
    size.
    """
    controls: tuple[Control, ...] = ()
    """What the controlled strengths of the rows are controlled for."""

    def without_scores(self) -> Leaderboard:
        """The same where the truth states only which option is better."""
        return replace(self, rows=tuple(replace(row, mean_score=None) for row in self.rows))

    @property
    def groups(self) -> tuple[tuple[str, tuple[SourceRow, ...]], ...]:
        """Each group's name and rows: only these have a common axis."""
        names = dict.fromkeys(row.group for row in self.rows)
        return tuple((name, tuple(row for row in self.rows if row.group == name)) for name in names)
