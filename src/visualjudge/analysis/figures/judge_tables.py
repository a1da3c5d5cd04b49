"""Tables with a column for each judge. The table of the report's head is in
``report/headline.py``.
"""

from collections.abc import Callable, Mapping, Sequence

from visualjudge.analysis.accuracy_cells import Cell
from visualjudge.analysis.figure_text import (
    NONE,
    many,
    percent,
    with_ends,
)
from visualjudge.analysis.results import JudgeFigure, JudgeResult
from visualjudge.analysis.value_and_interval import UNANSWERED
from visualjudge.core.addresses import NOT_RIGHT
from visualjudge.core.text_tables import Styled, Table

MOST_COLUMNS = 6


def by_rows(
    title: str,
    judges: Sequence[JudgeResult],
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
    judges: Sequence[JudgeResult],
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
    behind = f"{many(a.share.n, 'verdict')} on {many(a.share.images, 'image')}"
    if a.none:
        return Styled(NONE, below=f"{UNANSWERED} of {behind}")
    read = f"; {percent(a.failed / a.share.n)} no answer" if a.failed else ""
    return Styled(with_ends(a.share), below=f"{behind}{read}", link=link)
