"""The tables of a paper: a row for each judge and a column for each task, one table for
each subset and type of question. How a table is written as LaTeX is in
``table_forms.py``; all files for a paper are written by ``save_all.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from visualjudge.analysis.accuracy_cells import accuracy_cells
from visualjudge.analysis.figure_text import (
    NONE,
    number,
    percent,
    percents,
    plain_name,
    span,
)
from visualjudge.analysis.ranking_and_scoring import (
    ranking_cells,
    scoring_cells,
)
from visualjudge.analysis.report.headline import APART
from visualjudge.analysis.results import Analysis, JudgeResult
from visualjudge.analysis.value_and_interval import ALL, Ends, Estimate, unknown
from visualjudge.core.text_tables import Styled, Table
from visualjudge.options import SUBSETS
from visualjudge.vision.tasks import TASKS

Cells = dict[str, Estimate]
"""Estimates by task; that of all tasks is named "all"."""
NO_SUBSET = "no subset"
BELOW = (
    "Below each value, its 95 % interval, clustered by image. –: not asked, no answer "
    "to any, or too few images for an interval."
)


@dataclass(frozen=True)
class QuestionType:
    """What is measured of the questions of a type; ``cells`` reads it from a table of
    answers, in each cell of the named columns.
    """

    name: str
    title: str
    cells: Callable[[pl.DataFrame, Sequence[str]], Cells]
    show: Callable[[float | None], str]
    ends: Callable[[Ends | None], str]
    note: str


def _accuracy(table: pl.DataFrame, by: Sequence[str]) -> Cells:
    return {
        cell.name: cell.accuracy.shown for cell in accuracy_cells(table, by)
    }


def _tau(table: pl.DataFrame, by: Sequence[str]) -> Cells:
    return {name: row.tau for name, row in ranking_cells(table, by).items()}


def _rho(table: pl.DataFrame, by: Sequence[str]) -> Cells:
    return {
        name: row.spearman for name, row in scoring_cells(table, by).items()
    }


READ = "Replies that could not be read are left out."
TYPES = (
    QuestionType(
        "pairwise",
        "pairs, right answers",
        _accuracy,
        percent,
        percents,
        "A reply that could not be read counts as wrong.",
    ),
    QuestionType("ranking", "rankings, mean τ-b", _tau, number, span, READ),
    QuestionType("scoring", "scores, Spearman’s ρ", _rho, number, span, READ),
)


def paper_tables(analysis: Analysis) -> list[Table]:
    """Return a table for each subset and type of question that a judge was asked, the
    subsets of the judge dataset first. All have the same columns.
    """
    subsets = _subsets(analysis.study.questions)
    tasks = _tasks(analysis)
    tables = (
        _table(analysis, name, kind, tasks)
        for name in subsets
        for kind in TYPES
    )
    return [table for table in tables if table is not None]


def _tasks(analysis: Analysis) -> list[str]:
    """Return the tasks that a judge was asked, in the order of the judge dataset."""
    asked = {
        task
        for judge in analysis.judges
        for task in judge.joined["task"].unique()
    }
    known = [task for task in TASKS if task in asked]
    return [*known, *sorted(asked - {*known})]


def _subsets(table: pl.DataFrame) -> list[str]:
    names = (
        table["subset"].explode().cast(pl.String).fill_null(NO_SUBSET).unique()
    )
    return sorted(names, key=lambda name: (name not in SUBSETS, name))


def _asked(judge: JudgeResult, subset: str, kind: QuestionType) -> pl.DataFrame:
    lists = pl.col("subset").cast(pl.List(pl.String))
    empty = lists.list.len().fill_null(0) == 0
    inside = empty if subset == NO_SUBSET else lists.list.contains(subset)
    return judge.joined.filter(inside, kind=kind.name)


def _table(
    analysis: Analysis, subset: str, kind: QuestionType, tasks: list[str]
) -> Table | None:
    collected = {
        judge: _cells(judge, _asked(judge, subset, kind), kind)
        for judge in analysis.judges
    }
    if not any(collected.values()):
        return None
    columns = [*tasks, ALL] if len(tasks) > 1 else tasks
    rows = (
        (judge.title, *(_cell(cells.get(name), kind) for name in columns))
        for judge, cells in collected.items()
    )
    apart = len(set(analysis.asked_like)) > 1
    return Table(
        ("Judge", *map(plain_name, columns)),
        tuple(rows),
        (BELOW, kind.note, *([APART] if apart else [])),
        f"{subset}: {kind.title}",
        numeric=(False, *[True] * len(columns)),
    )


def _cells(
    judge: JudgeResult, table: pl.DataFrame, kind: QuestionType
) -> Cells:
    by_task = kind.cells(table, ("task",))
    overall = {name or ALL: row for name, row in kind.cells(table, ()).items()}
    cells = by_task | overall
    if "truth" in judge.has:
        return cells
    return {name: unknown(estimate) for name, estimate in cells.items()}


def _cell(estimate: Estimate | None, kind: QuestionType) -> str:
    if estimate is None or estimate.value is None:
        return NONE
    return Styled(kind.show(estimate.value), below=kind.ends(estimate.interval))
