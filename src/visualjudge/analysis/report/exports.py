"""Figures and tables for papers: each figure as SVG, PDF, PNG and CSV, each table as LaTeX,
Markdown and CSV.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from visualjudge.analysis import columns
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.comparison_columns import COMPARISON
from visualjudge.analysis.decisions.report_opening import opening
from visualjudge.analysis.plots.figure import LeftOut
from visualjudge.analysis.report.accuracy_plots import shown
from visualjudge.analysis.report.plots import figures
from visualjudge.core.atomic import write_text
from visualjudge.core.text_tables import Table, markdown_text

MISSING = "PDF and PNG figures are left out: pip install 'visualjudge[figures]'"


def write_figures(analysis: Analysis, folder: Path) -> list[str]:
    """Write every figure of the study, captions.md and tables to ``folder``; returns lines to tell.

    Each figure is ``NAME.svg``, ``NAME.pdf``, ``NAME.png`` and ``NAME.csv``, at the width of a page
    with two columns.
    """
    kinds = (".svg", ".csv", ".pdf", ".png") if find_spec("vl_convert") else (".svg", ".csv")
    found = figures(analysis)
    captions = ["# Captions", ""]
    for figure in found:
        if isinstance(figure, LeftOut):
            captions += [f"- **{figure.name}** is not drawn: {figure.reason}."]
            continue
        captions += [
            f"- **{figure.name}**: {markdown_text(figure.finding)}. {markdown_text(figure.caption)}"
        ]
        for kind in kinds:
            figure.save(folder / f"{figure.name}{kind}")
    write_text(folder / "captions.md", "\n".join(captions) + "\n")
    for name, table in paper_tables(analysis):
        write_text(folder / f"table-{name}.tex", table.latex())
        write_text(folder / f"table-{name}.md", table.markdown())
        write_text(folder / f"table-{name}.csv", table.csv())
    return [] if ".pdf" in kinds else [MISSING]


def paper_tables(analysis: Analysis) -> Iterable[tuple[str, Table]]:
    """The tables of a paper by name: headline, checks, answers by task, accuracy by task and
    encoding, comparisons.
    """
    judges = shown(analysis)
    found = opening(analysis)
    yield (
        "headline",
        Table(
            ("Judge", *columns.JUDGE.titles),
            tuple((j.name, *columns.JUDGE.cells(j)) for j in judges),
        ),
    )
    yield "checks", found.table
    if found.tasks is not None:
        yield "answers", found.tasks
    for name, title in (
        ("by_task", "Task"),
        ("by_encoding", "Encoding"),
        ("by_error_type", "Error type"),
    ):
        rows = tuple(
            (judge.name, cell.name, *columns.ACCURACY.cells(cell.accuracy))
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
    leans = tuple((j.name, *columns.PREFERENCE.cells(row)) for j in judges for row in j.bias)
    if leans:
        yield "leanings", Table(("Judge", *columns.PREFERENCE.titles), leans)
