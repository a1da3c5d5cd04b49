"""Find rows of a part that contains all questions and so repeats the row of all questions.

Files keep such rows so that a task can be found by its name; reports and adjustments of p leave
them out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol, TypeVar

from visualjudge.analysis.estimate import holm
from visualjudge.analysis.figures import Above, Leak, Sensitivity

ALL = "all"


class Scoped(Protocol):
    """A row of all questions (``scope`` "all") or of a part."""

    @property
    def scope(self) -> str:
        """The questions that the row covers."""


Row = TypeVar("Row", bound=Scoped)


def originals(rows: Sequence[Row], verdicts: Callable[[Row], Hashable]) -> list[int]:
    """Return, for each row, the index of the row of all questions that has the same ``verdicts``,
    else its own index.
    """
    whole = {verdicts(row): i for i, row in enumerate(rows) if row.scope == ALL}
    return [whole.get(verdicts(row), i) for i, row in enumerate(rows)]


def _distinct(rows: Sequence[Row], verdicts: Callable[[Row], Hashable]) -> list[Row]:
    return [
        row
        for i, (row, k) in enumerate(zip(rows, originals(rows, verdicts), strict=True))
        if i == k
    ]


def holm_apart(
    p_values: Sequence[float | None],
    places: Sequence[int],
    weights: Sequence[float] | None = None,
) -> list[float | None]:
    """Adjust p by Holm (with ``weights``, see :func:`.holm`) over the rows that are their own
    originals; every other row gets the p of its original.
    """
    apart = [p if i == k else None for i, (p, k) in enumerate(zip(p_values, places, strict=True))]
    adjusted = holm(apart, weights)
    return [adjusted[k] for k in places]


def leak_verdicts(row: Leak) -> Hashable:
    """Return the rule and the number of questions it applies to."""
    return row.rule, row.share.n


def leaks(rows: Sequence[Leak]) -> list[Leak]:
    """Return the rules without repeated rows."""
    return _distinct(rows, leak_verdicts)


def above_verdicts(row: Above) -> Hashable:
    """Return the number of verdicts in the gap and the number that the baseline declined."""
    return row.gap.n, row.declined


def above(rows: Sequence[Above]) -> list[Above]:
    """Return the gaps to the baseline without repeated rows."""
    return _distinct(rows, above_verdicts)


def sensitivity(rows: Sequence[Sensitivity]) -> list[Sensitivity]:
    """Return the curves without repeated rows."""
    return _distinct(rows, lambda row: (row.against, row.jnd.n))
