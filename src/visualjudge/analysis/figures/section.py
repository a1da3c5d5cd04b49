"""A section of the report: a question, and what answers it. The page that holds the
sections is ``report/page.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from visualjudge.analysis.figure_text import NONE
from visualjudge.analysis.plots.plot import LeftOut, Plot
from visualjudge.core.text_tables import Table

if TYPE_CHECKING:
    from visualjudge.analysis.report.examples import Example

DASH = f"{NONE}: not computed, usually because there are too few images or answers."


@dataclass(frozen=True)
class Section:
    """A question and its answer: plots, their meaning, notes, examples, and folded
    tables."""

    anchor: str
    title: str
    why: str = ""
    asked: Sequence[Table] = ()
    """Its tables, including those without rows."""
    notes: Sequence[str] = ()
    plots: Sequence[Plot | LeftOut] = ()
    examples: Sequence[tuple[str, Sequence[Example]]] = ()
    folded: str = "Tables"
    """What its folded tables are called."""
    detail: bool = False
    """Whether it comes after the questions, among the details."""

    @property
    def tables(self) -> list[Table]:
        """Return the tables that have rows; those with a dash explain it."""
        return [
            replace(table, notes=(*table.notes, DASH))
            if any(
                str(cell).startswith(NONE) for row in table.rows for cell in row
            )
            else table
            for table in self.asked
            if table.rows
        ]

    def joined(self, other: Section) -> Section:
        """Return this section with what another adds to its question."""
        return replace(
            self,
            why=f"{self.why} {other.why}".strip(),
            asked=[*self.asked, *other.asked],
            notes=[*self.notes, *other.notes],
            plots=[*self.plots, *other.plots],
        )

    @property
    def filled(self) -> bool:
        """Return whether it has anything to show."""
        return any(isinstance(plot, Plot) for plot in self.plots) or bool(
            self.examples or self.tables
        )
