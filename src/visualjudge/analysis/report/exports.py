"""Figures and tables for papers: each figure as SVG and CSV, each table as CSV."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from visualjudge.analysis import columns
from visualjudge.analysis.analysing import Analysis
from visualjudge.analysis.comparison_columns import COMPARISON
from visualjudge.analysis.decisions.report_opening import opening
from visualjudge.analysis.figure_text import plain_name
from visualjudge.analysis.plots.figure import LeftOut
from visualjudge.analysis.report.accuracy_plots import ranked
from visualjudge.analysis.report.plots import figures, not_drawn
from visualjudge.analysis.report.section import headline_grid
from visualjudge.core.atomic import write_text
from visualjudge.core.text_tables import Table, markdown_text


def write_figures(analysis: Analysis, folder: Path) -> None:
    """Write every figure of the study, captions.md and tables to ``folder``."""
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
        for kind in (".svg", ".csv"):
            figure.save(folder / f"{figure.name}{kind}")
    write_text(folder / "captions.md", "\n".join(captions) + "\n")
    for name, table in paper_tables(analysis):
        write_text(folder / f"table-{name}.csv", table.csv())


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
        (judge.name, *columns.PREFERENCE.cells(row)) for judge in judges for row in judge.bias
    )
    if leans:
        yield "leanings", Table(("Judge", *columns.PREFERENCE.titles), leans)
