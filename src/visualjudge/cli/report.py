"""``visualjudge report``: convert runs into tables, metrics.json and a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.cli.options import JsonFile, MovedDataset, TaskOption, WhereOption, conditions
from visualjudge.cli.output import end_with, following, say, working
from visualjudge.core.atomic import atomic_path, write_json, write_text
from visualjudge.core.errors import must_end_in
from visualjudge.core.text_tables import harmless

if TYPE_CHECKING:
    from visualjudge.analysis import Analysis

app = typer.Typer(pretty_exceptions_enable=False)


@app.command(
    epilog="Example: visualjudge report runs/gpt runs/qwen --out report.html --json metrics.json"
)
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    out: Annotated[
        Path | None, typer.Option(help="Page, .html or .pdf (needs Chromium).", metavar="FILE")
    ] = None,
    summary: Annotated[
        Path | None, typer.Option(help="One page to pass on, .html or .pdf.", metavar="FILE")
    ] = None,
    json: JsonFile = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write every table to this folder.", metavar="FOLDER")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Write every plot to this folder.", metavar="FOLDER")
    ] = None,
    compare: Annotated[
        tuple[str, str] | None, typer.Option(help="Begin with A against B.", metavar="A B")
    ] = None,
    dataset: MovedDataset = None,
    task: TaskOption = None,
    where: WhereOption = None,
) -> None:
    """Measure how far a judge can be trusted: print a table, write metrics.json and a page."""
    from visualjudge.analysis import analyse
    from visualjudge.analysis.decisions.report_opening import opening
    from visualjudge.analysis.plots.figure import Figure
    from visualjudge.analysis.report.exports import write_figures
    from visualjudge.analysis.report.page import html
    from visualjudge.analysis.report.paired import differences, named_run, opening_notes
    from visualjudge.analysis.report.terminal import text

    must_end_in("--out", out, (".html", ".htm", ".pdf"), bare=True)
    must_end_in("--summary", summary, (".html", ".htm", ".pdf"), bare=True)
    must_end_in("--json", json, [".json"], bare=True)
    part = conditions(task, where)
    with working("analysing") as working_on:
        analysis = analyse(runs, dataset=dataset, where=part, progress=working_on)
        two = (
            None
            if compare is None
            else (named_run(analysis, compare[0]), named_run(analysis, compare[1]))
        )
        working_on("writing the report")
        if out is not None:
            _write_page(out, html(analysis, two))
        if summary is not None:
            _write_page(summary, html(analysis, summary=True))
        if json is not None:
            write_json(json, analysis.metrics)
        if csv is not None:
            _write_tables(csv, analysis)
        if figures is not None:
            write_figures(analysis, figures)
    answers = opening(analysis)
    if two is not None:
        difference = differences(analysis, *two)
        typer.echo("\n".join(opening_notes(analysis, *two)))
        if isinstance(difference, Figure):
            typer.echo(difference.finding)
    typer.echo(text(analysis.results, answers.sentences))
    if answers.gamed:
        typer.echo(answers.gamed)
    if answers.tasks is not None:
        typer.echo(answers.tasks.text())
    following("card", *runs, *(word for condition in part for word in ("--where", condition)))
    _warn(analysis)


def _write_tables(folder: Path, analysis: Analysis) -> None:
    for name, table in analysis.tables.items():
        with atomic_path(folder / f"{name}.csv") as scratch:
            harmless(table).write_csv(scratch)


def _write_page(path: Path, page: str) -> None:
    from visualjudge.analysis.report.printing import print_page

    if path.suffix.lower() == ".pdf":
        print_page(page, path)
    else:
        write_text(path, page)


def _warn(analysis: Analysis) -> None:
    """Print warnings and problems on stderr, one line each; problems give exit status 1."""
    judges = analysis.metrics["judges"]
    say(*analysis.metrics["warnings"])
    say(*(line for judge in judges for line in judge["warnings"]))
    end_with(line for judge in judges for line in judge["problems"])
