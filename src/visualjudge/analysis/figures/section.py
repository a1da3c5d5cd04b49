"""A section of the report, and tables with a column for each judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from visualjudge.analysis.accuracy_cells import Cell
from visualjudge.analysis.figure_text import (
    NONE,
    many,
    number,
    percent,
    with_ends,
)
from visualjudge.analysis.plots.plot import LeftOut, Plot
from visualjudge.analysis.value_and_interval import UNANSWERED
from visualjudge.core.addresses import NOT_RIGHT
from visualjudge.core.text_tables import Styled, Table

if TYPE_CHECKING:
    from visualjudge.analysis.figures.figure import JudgeFigure
    from visualjudge.analysis.report.examples import Example
    from visualjudge.analysis.results import JudgeResult

DASH = f"{NONE}: not computed, usually because there are too few images or answers."
MOST_COLUMNS = 6
Judges = Sequence["JudgeResult"]


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

    @property
    def filled(self) -> bool:
        """Return whether it has anything to show."""
        drawn = any(isinstance(plot, Plot) for plot in self.plots)
        return drawn or bool(self.examples or self.tables)


def by_rows(
    title: str,
    judges: Judges,
    result: Mapping[tuple[str, str], str],
    missing: str = "not asked",
) -> Table:
    """Return text cells, ``found[row, judge]`` or ``missing``, with a column for each
    judge, or a row if they do not fit side by side and outnumber the rows.
    """
    names = dict.fromkeys(row for row, _ in result)
    table = [
        (title, *(judge.name for judge in judges)),
        *(
            (name, *(result.get((name, j.name), missing) for j in judges))
            for name in names
        ),
    ]
    if names and len(judges) > max(MOST_COLUMNS, len(names)):
        table = list(zip(*table, strict=True))
    return Table(table[0], tuple(table[1:]), numeric=(False,) * len(table[0]))


def across(
    title: str,
    judges: Judges,
    figure: JudgeFigure[tuple[Cell, ...]],
    label: Callable[[str], str],
) -> Table:
    """Return accuracy with a row for each cell and a column for each judge: share,
    interval, images, unread replies. A single row is left out, because it would repeat
    the headline.
    """
    collected = {
        (label(cell.name), judge.name): _accuracy(
            cell, judge.address(NOT_RIGHT, **dict(cell.keys))
        )
        for judge in judges
        for cell in judge[figure]
        if cell.accuracy.share.n
    }
    several = len({row for row, _ in collected}) > 1
    return by_rows(title, judges, collected if several else {})


def _accuracy(cell: Cell, link: str) -> str:
    a = cell.accuracy
    behind = f"{number(a.share.n)} on {many(a.share.images, 'image')}"
    if a.none:
        return Styled(NONE, below=f"{UNANSWERED} of {behind}")
    read = f"; {percent(a.failed / a.share.n)} no answer" if a.failed else ""
    return Styled(with_ends(a.share), below=f"{behind}{read}", link=link)
