"""What must be known of the runs that a figure is made of: that one is not finished, or its
questions have changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from visualjudge.analysis.study_table import Run


@dataclass(frozen=True)
class Remarks:
    """Lines on runs; after ``problems`` a command ends with status 1, after ``warnings`` it does
    not.
    """

    warnings: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.warnings, *self.problems)


NO_REMARKS = Remarks()


def remarks_on(runs: Iterable[Run]) -> Remarks:
    """Those on ``runs``, in their order."""
    every = list(runs)
    return Remarks(
        tuple(line for run in every for line in run.warnings),
        tuple(line for run in every for line in run.problems),
    )
