"""A section of the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from visualjudge.analysis.figures import JudgeResult
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.report.examples import Example
from visualjudge.analysis.report.grids import titled
from visualjudge.core.text_tables import Table

SHORT = 12
"""Rows of tables that need no click where they are all that a section has."""
PRINTED = 60
"""Rows of tables that are printed; longer ones are in the CSV."""


@dataclass(frozen=True)
class Section:
    """A question, and its answer: figures, what they mean, notes, examples, and tables one click
    away.
    """

    anchor: str
    title: str
    why: str
    asked: Sequence[Table] = ()
    """Its tables, also those without rows."""
    notes: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    more: Sequence[Figure] = ()
    """Further figures, one click away."""
    examples: Sequence[tuple[str, Sequence[Example]]] = ()
    open: bool = False
    """Whether its tables are open, whatever their length."""
    missing: str = ""
    """Why a question that every reader has is not answered; "" where it is."""
    detail: bool = False
    """Whether it stands after the questions, among the details."""

    @property
    def tables(self) -> list[Table]:
        """The tables that have rows."""
        return [table for table in self.asked if table.rows]

    @property
    def folded(self) -> list[tuple[str, str]]:
        """The title of each table, and the table without it."""
        return [(table.title, replace(table, title="").html()) for table in self.tables]

    @property
    def unfolded(self) -> bool:
        """Whether its tables are open: short ones are where nothing else answers the question."""
        rows = sum(len(table.rows) for table in self.tables)
        alone = not (self.figures or self.examples)
        return self.open or (alone and rows <= SHORT)

    @property
    def printed(self) -> bool:
        """Whether its tables are short enough for paper."""
        return sum(len(table.rows) for table in self.tables) <= PRINTED

    @property
    def told(self) -> bool:
        """Whether it has anything to show."""
        return bool(self.figures or self.more or self.examples or self.tables or self.missing)


def those_drawn(*found: Figure | LeftOut) -> list[Figure]:
    """The figures that have data."""
    return [figure for figure in found if isinstance(figure, Figure)]


def why_none(*found: Figure | LeftOut) -> str:
    """A sentence with the reason of the first figure where none is drawn, else ""."""
    if those_drawn(*found):
        return ""
    reason = next(one.reason for one in found if isinstance(one, LeftOut))
    return f"{reason[:1].upper()}{reason[1:]}."


def each(judges: Sequence[JudgeResult], make: Callable[[JudgeResult], Table]) -> list[Table]:
    """A table of each judge that has rows, under its name."""
    found = [titled(judge.name, make(judge)) for judge in judges]
    return [table for table in found if table.rows]
