"""A section of the report and its tables: rows with one list of columns, and cells with a column
for each judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from visualjudge.analysis.columns import JUDGE
from visualjudge.analysis.figure_text import (
    DASH,
    NONE,
    NOT_ASKED,
    many,
    number,
    percent,
    with_ends,
)
from visualjudge.analysis.figures import Cell, JudgeResult
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.report.examples import Example
from visualjudge.analysis.value_and_interval import UNANSWERED
from visualjudge.core.text_tables import Styled, Table

MOST_OPEN = 16
"""Number of rows of a section's tables that are not folded."""
MOST_PRINTED = 60
"""Number of rows of a section's tables that are printed on paper; longer tables are in the CSV."""


@dataclass(frozen=True)
class Section:
    """A question and its answer: plots, their meaning, notes, examples, and folded tables."""

    anchor: str
    title: str
    why: str = ""
    asked: Sequence[Table] = ()
    """Its tables, including those without rows."""
    notes: Sequence[str] = ()
    plots: Sequence[Figure | LeftOut] = ()
    examples: Sequence[tuple[str, Sequence[Example]]] = ()
    detail: bool = False
    """Whether it comes after the questions, among the details."""

    @property
    def figures(self) -> list[Figure]:
        """Return the plots that have data."""
        return [plot for plot in self.plots if isinstance(plot, Figure)]

    @property
    def tables(self) -> list[Table]:
        """Return the tables that have rows; those with a dash explain it."""
        return [
            replace(table, notes=(*table.notes, DASH))
            if any(str(cell).startswith(NONE) for row in table.rows for cell in row)
            else table
            for table in self.asked
            if table.rows
        ]

    @property
    def missing(self) -> str:
        """Return why nothing is drawn, as a sentence; "" if something is."""
        reasons = [plot.reason for plot in self.plots if isinstance(plot, LeftOut)]
        return f"{reasons[0][:1].upper()}{reasons[0][1:]}." if reasons and not self.figures else ""

    @property
    def printed(self) -> bool:
        """Return whether its tables are short enough for paper."""
        return sum(len(table.rows) for table in self.asked) <= MOST_PRINTED

    @property
    def brief(self) -> bool:
        """Return whether its tables are all that it shows and need not be folded."""
        beside = self.figures or self.examples or self.detail
        return not beside and sum(len(table.rows) for table in self.asked) <= MOST_OPEN

    @property
    def filled(self) -> bool:
        """Return whether it has anything to show."""
        return bool(self.figures or self.examples or self.tables)


def each(judges: Sequence[JudgeResult], make: Callable[[JudgeResult], Table]) -> list[Table]:
    """Return the table of each judge, under its name."""
    return [replace(make(judge), title=judge.name) for judge in judges]


def headline_grid(judges: Sequence[JudgeResult], titles: Sequence[str] = ()) -> Table:
    """Return the headline values that any judge has, a column for each judge; with ``titles`` only
    these.
    """
    cells = zip(JUDGE.titles, *(JUDGE.cells(judge) for judge in judges), strict=True)
    known = [row for row in cells if set(row[1:]) != {NONE}]
    return by_judge(["Figure"], judges, [row for row in known if not titles or row[0] in titles])


def across(
    title: str,
    judges: Sequence[JudgeResult],
    cells: Callable[[JudgeResult], Iterable[Cell]],
    label: Callable[[str], str] = str,
) -> Table:
    """Return accuracy with a row for each cell and a column for each judge: share, interval,
    images, unread replies. A single row is left out, because it would repeat the headline.
    """
    found = {
        (label(cell.name), judge.name): _accuracy(cell)
        for judge in judges
        for cell in cells(judge)
        if cell.accuracy.share.n
    }
    several = len({row for row, _ in found}) > 1
    return by_rows([title], judges, found if several else {})


def _accuracy(cell: Cell) -> str:
    a = cell.accuracy
    behind = f"{number(a.share.n)} on {many(a.share.images, 'image')}"
    if a.none:
        return Styled(NONE, below=f"{UNANSWERED} of {behind}")
    read = f"; {percent(a.failed / a.share.n)} no answer" if a.failed else ""
    return Styled(with_ends(a.share), below=f"{behind}{read}")


def by_rows(
    titles: Sequence[str],
    judges: Sequence[JudgeResult],
    found: Mapping[tuple[str, str], str],
    missing: str = NOT_ASKED,
) -> Table:
    """Return text cells, ``found[row, judge]`` or ``missing``, with a column for each judge."""
    names = dict.fromkeys(row for row, _ in found)
    rows = [(name, *(found.get((name, judge.name), missing) for judge in judges)) for name in names]
    return by_judge(titles, judges, rows, numeric=False)


def by_judge(
    titles: Sequence[str],
    judges: Sequence[JudgeResult],
    rows: Sequence[tuple[str, ...]],
    *,
    numeric: bool = True,
) -> Table:
    """Return a table with a column for each judge, or a row for each judge if they do not fit side
    by side and outnumber the rows.
    """
    table = (tuple(titles) + tuple(judge.name for judge in judges), *rows)
    if rows and len(judges) > max(MOST_COLUMNS, len(rows)):
        table = tuple(zip(*table, strict=True))
    return Table(table[0], table[1:], numeric=(False, *[numeric] * (len(table[0]) - 1)))


MOST_COLUMNS = 6
