"""The table with a row, or a column, for each judge. Its columns are in
``analysis/figures/judge_tables.py``; ``page.py`` puts it first.
"""

from collections.abc import Sequence

from visualjudge.analysis.figures.judge_tables import MOST_COLUMNS
from visualjudge.analysis.figures.section import Section
from visualjudge.analysis.results import (
    FACTS,
    Analysis,
    JudgeFigure,
    JudgeResult,
)
from visualjudge.analysis.table_layout import Column, Layout, grid, inside
from visualjudge.core.text_tables import Table

APART = (
    "The judges were not all asked the same questions: only the comparisons of two "
    "judges are on the same questions."
)


def headline_columns(analysis: Analysis) -> Layout[JudgeResult]:
    """Return the judge and the headline columns of every figure."""
    return Layout(
        *FACTS.shown,
        *(
            column
            for figure in analysis.of_judges
            for column in _columns(figure)
        ),
    )


def _columns(figure: JudgeFigure[object]) -> Sequence[Column]:
    if figure.headline is None:
        return ()
    return inside(lambda judge: judge[figure], figure.headline.columns)


def headline(judges: Sequence[JudgeResult], only: Sequence[str] = ()) -> Table:
    """Return the headline values that any judge has, ``only`` those of these titles: a
    column for each judge, or a row if they do not fit side by side.
    """
    table = grid(
        headline_columns(judges[0].analysis),
        judges,
        link=lambda judge: judge.address(type="pairwise"),
    )
    if len(judges) > MOST_COLUMNS:
        return table
    titles, *rows = zip(table.columns, *table.rows, strict=True)
    return Table(
        titles, tuple(row for row in rows if not only or row[0] in only)
    )


def headline_section(analysis: Analysis) -> Section:
    """Return the section of the headline of all judges."""
    return Section(
        "headline",
        "Headline figures",
        APART if len(set(analysis.asked_like)) > 1 else "",
        [headline(analysis.judges)],
        detail=True,
    )
