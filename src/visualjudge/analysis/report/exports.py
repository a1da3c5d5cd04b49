"""Figures and tables for papers: each figure as SVG, PDF, PNG and CSV, each table as LaTeX,
Markdown and CSV.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from visualjudge.analysis import columns
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.comparison_columns import COMPARISON
from visualjudge.analysis.decisions.report_opening import opening
from visualjudge.analysis.figure_text import plain_name
from visualjudge.analysis.plots.figure import COLUMN_MM, LeftOut
from visualjudge.analysis.report.accuracy_plots import ranked
from visualjudge.analysis.report.plots import figures, not_drawn
from visualjudge.analysis.report.section import headline_grid
from visualjudge.core.atomic import write_text
from visualjudge.core.case_noun import IMAGE, in_cases_of
from visualjudge.core.text_tables import Table, markdown_text

MISSING = "PDF and PNG figures are left out: pip install 'visualjudge[figures]'"


@in_cases_of
def write_figures(analysis: Analysis, folder: Path) -> list[str]:
    """Write every figure of the study, captions.md and tables to ``folder``; return the lines to
    print.

    Each figure is ``NAME.svg``, ``NAME.pdf``, ``NAME.png`` and ``NAME.csv``, at the width of a page
    with two columns, and ``NAME-column`` at that of one column.
    """
    kinds = (".svg", ".csv", ".pdf", ".png") if find_spec("vl_convert") else (".svg", ".csv")
    found = figures(analysis)
    captions = ["# Captions", ""]
    left = not_drawn(analysis, found)
    for figure in found:
        if isinstance(figure, LeftOut):
            captions += [f"- **{figure.name}** is not drawn: {figure.reason}."] * (figure in left)
            continue
        captions += [
            f"- **{figure.name}**: {markdown_text(figure.finding)}. "
            f"{markdown_text(f'{figure.caption} {figure.reading}')}"
        ]
        for kind in kinds:
            figure.save(folder / f"{figure.name}{kind}")
            if kind != ".csv":
                figure.save(folder / f"{figure.name}-column{kind}", width_mm=COLUMN_MM)
    write_text(folder / "captions.md", "\n".join(captions) + "\n")
    for name, table in paper_tables(analysis):
        for k, part in enumerate(_parts(table), 1):
            write_text(folder / f"table-{name}{f'-{k}' if k > 1 else ''}.tex", part.latex())
        write_text(folder / f"table-{name}.md", table.markdown())
        write_text(folder / f"table-{name}.csv", table.csv())
    return [] if ".pdf" in kinds else [MISSING]


MOST_COLUMNS = 7
"""Maximum number of columns of a LaTeX table; further columns follow in another table."""


def _parts(table: Table) -> Iterator[Table]:
    """Split a table into tables of at most MOST_COLUMNS columns, each with the columns that
    identify the rows.
    """
    step = MOST_COLUMNS - table.keys
    for start in range(table.keys, len(table.columns), step):
        kept = [*range(table.keys), *range(start, min(start + step, len(table.columns)))]
        rows = tuple(tuple(row[k] for k in kept) for row in table.rows)
        numeric = table.numeric and tuple(table.numeric[k] for k in kept)
        yield replace(
            table, columns=tuple(table.columns[k] for k in kept), rows=rows, numeric=numeric
        )


def paper_tables(analysis: Analysis) -> Iterable[tuple[str, Table]]:
    """Return the tables of a paper by name: headline, checks, answers by task, accuracy by task and
    encoding, comparisons.
    """
    judges = [analysis.results.judges[i] for i in ranked(analysis)]
    found = opening(analysis)
    yield "headline", headline_grid(judges)
    yield "checks", found.table
    if found.tasks is not None:
        yield "answers", found.tasks
    for name, title in (
        ("by_task", "Task"),
        ("by_encoding", "Encoding"),
        ("by_error_type", "Error type"),
    ):
        rows = tuple(
            (judge.name, plain_name(cell.name), *columns.ACCURACY.cells(cell.accuracy))
            for judge in judges
            for cell in getattr(judge, name)
            if cell.accuracy.share.n
        )
        if rows:
            yield (
                name.removeprefix("by_"),
                Table(("Judge", title, *columns.ACCURACY.titles), rows, keys=2),
            )
    names = {judge.name for judge in judges}
    rows = tuple(
        tuple(COMPARISON.cells(r)) for r in analysis.results.comparisons if {r.a, r.b} <= names
    )
    if rows:
        yield "comparisons", Table(tuple(COMPARISON.titles), rows, keys=2)
    leans = tuple(
        (judge.name, *columns.PREFERENCE.cells(row))
        for judge in judges
        for row in judge.bias
        if analysis.case_noun == IMAGE or row.estimate.n
    )
    if leans:
        yield "leanings", Table(("Judge", *columns.PREFERENCE.titles), leans)
