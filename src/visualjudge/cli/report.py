"""``visualjudge report``: convert runs into tables, metrics.json and a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.cli.options import JsonFile
from visualjudge.cli.output import end_with, following, say, words_of, working
from visualjudge.core.atomic import atomic_path, write_json, write_text
from visualjudge.core.text_tables import harmless
from visualjudge.options import MeasureOptions

if TYPE_CHECKING:
    from visualjudge.analysis import Analysis


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    options: MeasureOptions,
    out: Annotated[
        Path | None,
        typer.Option(help="Page, or .pdf (needs Chromium).", metavar="FILE.html|.htm|.pdf"),
    ] = None,
    summary: Annotated[
        Path | None,
        typer.Option(help="One page to pass on.", metavar="FILE.html|.htm|.pdf"),
    ] = None,
    json: JsonFile = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write every table and plot here.", metavar="FOLDER")
    ] = None,
    compare: Annotated[
        tuple[str, str] | None, typer.Option(help="Begin with A against B.", metavar="A B")
    ] = None,
) -> None:
    """Measure how far a judge can be trusted: print a table, write metrics.json and a page.

    Example: visualjudge report runs/gpt runs/qwen --out report.html --json metrics.json
    """
    from visualjudge.analysis import analyse
    from visualjudge.analysis.decisions.card import card_of, gamed, tasks_table
    from visualjudge.analysis.plots.figure import Figure
    from visualjudge.analysis.report.page import html
    from visualjudge.analysis.report.paired import differences, named_run, opening_notes
    from visualjudge.analysis.report.terminal import text

    with working("analysing") as working_on:
        analysis = analyse(runs, options=options, progress=working_on)
        a, b = (named_run(analysis, name) for name in compare) if compare else (None, None)
        two = None if a is None or b is None else (a, b)
        working_on("writing the report")
        if out is not None:
            _write_page(html(analysis, two), out)
        if summary is not None:
            _write_page(html(analysis, summary=True), summary)
        if json is not None:
            write_json(json, analysis.metrics)
        if csv is not None:
            _write_tables(analysis, csv)
    judges = card_of(analysis).judges
    if two is not None:
        difference = differences(analysis, *two)
        typer.echo("\n".join(opening_notes(analysis, *two)))
        if isinstance(difference, Figure):
            typer.echo(difference.finding)
    typer.echo(text(analysis.results, [judge.answer for judge in judges]))
    if warning := gamed(analysis):
        typer.echo(warning)
    if (by_task := tasks_table(judges)).rows:
        typer.echo(by_task.text())
    following("card", *runs, *words_of(options))
    found = analysis.metrics["judges"]
    say(*analysis.metrics["warnings"], *(line for judge in found for line in judge["warnings"]))
    end_with(line for judge in found for line in judge["problems"])


def _write_tables(analysis: Analysis, folder: Path) -> None:
    from visualjudge.analysis.report.exports import write_figures

    for name, table in analysis.tables.items():
        with atomic_path(folder / f"{name}.csv") as scratch:
            harmless(table).write_csv(scratch)
    write_figures(analysis, folder / "plots")


def _write_page(page: str, out: Path) -> None:
    from visualjudge.analysis.report.printing import print_page

    if out.suffix.lower() == ".pdf":
        print_page(page, out)
    else:
        write_text(out, page)
