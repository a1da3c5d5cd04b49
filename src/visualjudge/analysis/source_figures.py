"""The sources as a judge ranks them, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass

from visualjudge.analysis.estimates import Estimate


@dataclass(frozen=True)
class SourceRow:
    """One source as the judge ranks it and as the truth does; strengths are log odds, mean 0 in a component."""

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


@dataclass(frozen=True)
class Leaderboard:
    """The sources by group, strongest first.

    ``regularised``: some source won or lost everything, so half a game is added in its group. ``log_tie``, ``spearman``
    and ``kendall_tau`` (of strengths and mean true scores) are of a single group.
    """

    rows: tuple[SourceRow, ...]
    n: int
    components: int
    regularised: bool
    ties: int
    log_tie: float | None
    spearman: float | None
    kendall_tau: float | None

    @property
    def groups(self) -> tuple[tuple[str, tuple[SourceRow, ...]], ...]:
        """Each group's name and rows: only these have a common axis."""
        names = dict.fromkeys(row.group for row in self.rows)
        return tuple((name, tuple(row for row in self.rows if row.group == name)) for name in names)
