"""A section of the report and its tables: rows with one list of columns, and cells with a column
for each judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from visualjudge.analysis import table_layout
from visualjudge.analysis.columns import JUDGE
from visualjudge.analysis.figure_text import (
    DASH,
    NONE,
    NOT_ASKED,
    SETS,
    many,
    names_of,
    number,
    percent,
    percents,
)
from visualjudge.analysis.figures import Cell, JudgeResult
from visualjudge.analysis.plots.figure import Figure, LeftOut
from visualjudge.analysis.report.examples import Example
from visualjudge.analysis.value_and_interval import UNANSWERED
from visualjudge.core.text_tables import Styled, Table

SHORT = 12
"""Tables of up to this many rows are open if they are all that a section has."""
PRINTED = 60
"""Maximum number of printed rows; longer tables are in the CSV."""


@dataclass(frozen=True)
class Section:
    """A question and its answer: figures, their meaning, notes, examples, and folded tables."""

    anchor: str
    title: str
    why: str
    asked: Sequence[Table] = ()
    """Its tables, including those without rows."""
    notes: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    more: Sequence[Figure] = ()
    """Further figures, folded."""
    examples: Sequence[tuple[str, Sequence[Example]]] = ()
    open: bool = False
    """Whether its tables are open regardless of their length."""
    missing: str = ""
    """Why a question of general interest is not answered; "" if it is."""
    detail: bool = False
    """Whether it comes after the questions, among the details."""

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
    def folded(self) -> list[tuple[str, str]]:
        """Return the title of each table, and the table without it."""
        return [(table.title, replace(table, title="").html()) for table in self.tables]

    @property
    def summary(self) -> str:
        """Return the label of the tables: their number and, of up to four, their titles."""
        found = self.tables
        named = [table.title for table in found if table.title]
        count = "Table" if len(found) == 1 else f"{len(found)} tables"
        return f"{count}: {', '.join(named)}" if 0 < len(named) == len(found) <= 4 else count

    @property
    def unfolded(self) -> bool:
        """Return whether its tables are open: short ones are if nothing else answers the
        question.
        """
        rows = sum(len(table.rows) for table in self.tables)
        alone = not (self.figures or self.examples)
        return self.open or (alone and rows <= SHORT)

    @property
    def printed(self) -> bool:
        """Return whether its tables are short enough for paper."""
        return sum(len(table.rows) for table in self.tables) <= PRINTED

    @property
    def explanation(self) -> str:
        """Return the text that explains its figures, examples and tables, "" if there are none."""
        return self.why if self.figures or self.more or self.examples or self.tables else ""

    @property
    def told(self) -> bool:
        """Return whether it has anything to show."""
        return bool(self.figures or self.more or self.examples or self.tables or self.missing)


def those_drawn(*found: Figure | LeftOut) -> list[Figure]:
    """Return the figures that have data."""
    return [figure for figure in found if isinstance(figure, Figure)]


def why_none(*found: Figure | LeftOut) -> str:
    """Return a sentence with the first figure's reason if none is drawn, else ""."""
    if those_drawn(*found):
        return ""
    reason = next(one.reason for one in found if isinstance(one, LeftOut))
    return f"{reason[:1].upper()}{reason[1:]}."


def each(judges: Sequence[JudgeResult], make: Callable[[JudgeResult], Table]) -> list[Table]:
    """Return the non-empty table of each judge, under its name."""
    found = [titled(judge.name, make(judge)) for judge in judges]
    return [table for table in found if table.rows]


Row = TypeVar("Row")


def titled(title: str, table: Table) -> Table:
    """Return the table with a title."""
    return replace(table, title=title)


def grid(
    columns: table_layout.Table[Row],
    rows: Iterable[Row],
    *,
    hit: Callable[[Row], bool] = lambda _: False,
) -> Table:
    """Return the rows under their column titles, without empty columns; ``hit`` marks rows."""
    found = list(rows)
    cells = [columns.cells(row) for row in found]
    kept = [k for k in range(len(columns.shown)) if any(set(row[k]) - EMPTY for row in cells)]
    return Table(
        tuple(columns.titles[k] for k in kept),
        tuple(tuple(row[k] for k in kept) for row in cells),
        numeric=tuple(not columns.shown[k].text for k in kept),
        marked=frozenset(k for k, row in enumerate(found) if hit(row)),
    )


EMPTY = frozenset(f"{NONE} ()")
"""Characters of an empty cell."""
READ = "of the replies read"


def headline_grid(judges: Sequence[JudgeResult]) -> Table:
    """Return the headline values, a column for each judge, with their intervals.

    Rows that no judge has are left out; rows about read replies appear only if some replies were
    not read.
    """
    figures = list(zip(*(JUDGE.cells(judge) for judge in judges), strict=True))
    rows: list[tuple[str, ...]] = []
    for k, (title, cells) in enumerate(zip(JUDGE.titles, figures, strict=True)):
        if title == "95 %":
            name, *values = rows.pop()
            both = (v if e == NONE else f"{v} ({e})" for v, e in zip(values, cells, strict=True))
            rows.append((name, *both))
        elif set(cells) != {NONE} and not (title.endswith(READ) and cells in figures[:k]):
            rows.append((title, *cells))
    return _by_judge(["Figure"], judges, rows)


def across(
    title: str,
    judges: Sequence[JudgeResult],
    cells: Callable[[JudgeResult], Iterable[Cell]],
    label: Callable[[str], str] = str,
) -> Table:
    """Return accuracy with a row for each cell and a column for each judge: share, interval,
    images, unread replies.

    A single row is left out, because it would repeat the headline.
    """
    by_judge = [
        {cell.name: cell for cell in cells(judge) if cell.accuracy.share.n} for judge in judges
    ]
    names = list(dict.fromkeys(name for found in by_judge for name in found))
    rows = [(label(name), *(_accuracy(found.get(name)) for found in by_judge)) for name in names]
    return _by_judge([title], judges, rows if len(rows) > 1 else [])


def range_text(label: str) -> str:
    """Return the label of a range in words: "0.5-1" as "0.5 to 1"."""
    return label.replace("-", " to ")


def _accuracy(cell: Cell | None) -> str:
    if cell is None:
        return NOT_ASKED
    a = cell.accuracy
    behind = f"{number(a.share.n)} on {many(a.share.images, 'image')}"
    if a.none:
        asked = f"{UNANSWERED} of {behind}"
        return Styled(NONE, below=asked)
    spread = percents(a.share.interval) if a.share.interval else a.share.why
    read = (
        ""
        if not a.failed
        else f"; {percent(a.failed / a.share.n)} no answer, of the rest {percent(a.parsed.value)}"
    )
    return Styled(percent(a.share.value), below=f"{spread}; {behind}{read}")


def by_rows(
    titles: Sequence[str],
    judges: Sequence[JudgeResult],
    found: Mapping[str, Mapping[str, str]],
    missing: str = NOT_ASKED,
) -> Table:
    """Return text cells, ``found[row][judge]`` or ``missing``, with a column for each judge."""
    rows = [
        (name, *(cells.get(judge.name, missing) for judge in judges))
        for name, cells in found.items()
    ]
    return _by_judge(titles, judges, rows, numeric=False)


def _by_judge(
    titles: Sequence[str],
    judges: Sequence[JudgeResult],
    rows: Sequence[tuple[str, ...]],
    *,
    numeric: bool = True,
) -> Table:
    """Return a table with a column for each judge, or a row for each judge if they do not fit side
    by side and outnumber the rows.
    """
    notes = (SETS,) if len({judge.asked_like for judge in judges}) > 1 else ()
    if len(judges) > max(MOST_COLUMNS, len(rows)):
        turned = tuple(
            (name, *(row[k] for row in rows))
            for k, name in enumerate(names_of(judges), len(titles))
        )
        columns = ("Judge", *(row[0] for row in rows))
        return Table(columns, turned, notes, numeric=(False, *[numeric] * len(rows)))
    sides = (*[False] * len(titles), *[numeric] * len(judges))
    return Table((*titles, *names_of(judges)), tuple(rows), notes, numeric=sides)


MOST_COLUMNS = 6
