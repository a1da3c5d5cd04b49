"""Tables of the page: rows of one list of columns, and cells with a column for each judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from markupsafe import Markup

from visualjudge.analysis.columns import JUDGE
from visualjudge.analysis.figure_text import NONE, many, names_of, number, percent, percents
from visualjudge.analysis.figures import UNANSWERED, Cell, JudgeResult
from visualjudge.analysis.table_layout import Table

Row = TypeVar("Row")


@dataclass(frozen=True)
class GridRow:
    """One row: its cells, and whether it is marked."""

    cells: Sequence[str | Markup]
    hit: bool = False


@dataclass(frozen=True)
class Grid:
    """A table as the template draws it; ``numeric[i]``: column i is set to the right."""

    titles: Sequence[str]
    numeric: Sequence[bool]
    rows: Sequence[GridRow]
    mixed: bool = False
    """Whether it has columns of judges that were not asked the same questions."""


def grid(
    table: Table[Row], rows: Iterable[Row], *, hit: Callable[[Row], bool] = lambda _: False
) -> Grid:
    """The rows under their table's titles; ``hit`` marks rows."""
    numeric = [not column.text for column in table.shown]
    return Grid(table.titles, numeric, [GridRow(table.cells(row), hit(row)) for row in rows])


def headline_grid(judges: Sequence[JudgeResult]) -> Grid:
    """The judges' headline figures that any of them has, a column a judge."""
    columns = [JUDGE.cells(judge) for judge in judges]
    rows = [
        GridRow([title, *(column[k] for column in columns)])
        for k, title in enumerate(JUDGE.titles)
        if any(column[k] != NONE for column in columns)
    ]
    return _by_judge(["Figure"], judges, rows)


def across(
    title: str,
    judges: Sequence[JudgeResult],
    cells: Callable[[JudgeResult], Iterable[Cell]],
    label: Callable[[str], str | Markup] = str,
) -> Grid:
    """Accuracy of cells, a row a cell and a column a judge: share, interval, images, what was not
    read.

    A single row would say again what the headline says: there is none then.
    """
    by_judge = [
        {cell.name: cell for cell in cells(judge) if cell.accuracy.share.n} for judge in judges
    ]
    names = list(dict.fromkeys(name for found in by_judge for name in found))
    rows = [
        GridRow([label(name), *(_accuracy(found.get(name)) for found in by_judge)])
        for name in names
    ]
    return _by_judge([title], judges, rows if len(rows) > 1 else [])


def breakable(name: str) -> Markup:
    """A name that breaks after underscores, and only there."""
    return Markup("_<wbr>").join(name.split("_"))


def _accuracy(cell: Cell | None) -> str | Markup:
    if cell is None:
        return NONE
    a = cell.accuracy
    if a.none:
        return Markup("{}<br><small>{} of {} on {}</small>").format(
            NONE, UNANSWERED, number(a.share.n), many(a.share.images, "image")
        )
    spread = percents(a.share.interval) if a.share.interval else a.share.why
    read = (
        ""
        if not a.failed
        else f"; {percent(a.failed / a.share.n)} no answer, of the rest {percent(a.parsed.value)}"
    )
    return Markup("{}<br><small>{}; {} on {}{}</small>").format(
        percent(a.share.value), spread, number(a.share.n), many(a.share.images, "image"), read
    )


def by_rows(
    titles: Sequence[str],
    judges: Sequence[JudgeResult],
    found: Mapping[str, Mapping[str, str | Markup]],
) -> Grid:
    """Text cells: ``found[row][judge]``, a column a judge."""
    rows = [
        GridRow([name, *(cells.get(judge.name, NONE) for judge in judges)])
        for name, cells in found.items()
    ]
    return _by_judge(titles, judges, rows, numeric=False)


def _by_judge(
    titles: Sequence[str],
    judges: Sequence[JudgeResult],
    rows: Sequence[GridRow],
    *,
    numeric: bool = True,
) -> Grid:
    """A table with a column a judge; of more judges than fit beside each other, and than rows, with
    a row a judge.
    """
    if len(judges) > max(MOST_COLUMNS, len(rows)):
        turned = [
            GridRow([name, *(row.cells[k] for row in rows)])
            for k, name in enumerate(names_of(judges), len(titles))
        ]
        numbers = [False, *[numeric] * len(rows)]
        return Grid(["Judge", *(row.cells[0] for row in rows)], numbers, turned, _mixed(judges))
    return Grid(
        [*titles, *names_of(judges)],
        [*[False] * len(titles), *[numeric] * len(judges)],
        rows,
        _mixed(judges),
    )


MOST_COLUMNS = 6


def _mixed(judges: Sequence[JudgeResult]) -> bool:
    return len({judge.asked_like for judge in judges}) > 1
