"""Rows of all questions beside rows of parts of them: a part that holds all questions says the same
once more.

Files keep such rows, so that a task is found by its name; reports and adjustments of p leave them
out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol, TypeVar

from visualjudge.analysis.figures import Above, Leak, Sensitivity
from visualjudge.analysis.statistics.jackknife import holm

ALL = "all"


class Scoped(Protocol):
    """A row of all questions (``scope`` "all") or of a part."""

    @property
    def scope(self) -> str:
        """What the row is of."""


Row = TypeVar("Row", bound=Scoped)


def originals(rows: Sequence[Row], verdicts: Callable[[Row], Hashable]) -> list[int]:
    """For each row the place of the row of all questions that is on the same ``verdicts``, else its
    own place.
    """
    whole = {verdicts(row): i for i, row in enumerate(rows) if row.scope == ALL}
    return [whole.get(verdicts(row), i) for i, row in enumerate(rows)]


def _distinct(rows: Sequence[Row], verdicts: Callable[[Row], Hashable]) -> list[Row]:
    return [
        row
        for i, (row, k) in enumerate(zip(rows, originals(rows, verdicts), strict=True))
        if i == k
    ]


def holm_apart(p_values: Sequence[float | None], places: Sequence[int]) -> list[float | None]:
    """Holm's adjustment over the rows that are their own originals; every other has the p of its
    original.
    """
    adjusted = holm(
        [p if i == k else None for i, (p, k) in enumerate(zip(p_values, places, strict=True))]
    )
    return [adjusted[k] for k in places]


def leak_verdicts(row: Leak) -> Hashable:
    """The rule and how many questions it applies to."""
    return row.rule, row.share.n


def leaks(rows: Sequence[Leak]) -> list[Leak]:
    """Rules, each once for the same questions."""
    return _distinct(rows, leak_verdicts)


def above_verdicts(row: Above) -> Hashable:
    """How many verdicts the gap is of, and how many have none beside them."""
    return row.gap.n, row.declined


def above(rows: Sequence[Above]) -> list[Above]:
    """Gaps to the baseline, each once for the same questions."""
    return _distinct(rows, above_verdicts)


def sensitivity(rows: Sequence[Sensitivity]) -> list[Sensitivity]:
    """Curves, each once for the same questions."""
    return _distinct(rows, lambda row: (row.against, row.jnd.n))
