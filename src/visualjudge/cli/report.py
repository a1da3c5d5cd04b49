"""``visualjudge report``: convert runs into tables, metrics.json and a page."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.cli.options import JsonFile, MovedDataset, Task, Where, conditions
from visualjudge.cli.output import end_with, following, say, working
from visualjudge.core.atomic import atomic_path, write_json, write_text
from visualjudge.core.errors import UsageError, must_end_in
from visualjudge.core.text_tables import harmless

if TYPE_CHECKING:
    from visualjudge.analysis import Analysis

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class ReportFormat(StrEnum):
    """Formats of ``--out``."""

    html = "html"
    pdf = "pdf"


SUFFIXES = {
    ".html": ReportFormat.html,
    ".htm": ReportFormat.html,
    ".pdf": ReportFormat.pdf,
}


@app.command()
def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders from `visualjudge judge`.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--to",
            help="Write the report to this file, .html or .pdf (needs Chromium).",
        ),
    ] = None,
    json: JsonFile = None,
    format: Annotated[
        ReportFormat | None,
        typer.Option(help="Format of --out; default: that of its suffix, or html."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write every table as CSV to this folder.")
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(help="Write figures (SVG, CSV) and tables (CSV) to this folder."),
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Begin with the paired differences between judges A and B, and the answers that "
            "changed.",
        ),
    ] = None,
    dataset: MovedDataset = None,
    seed: Annotated[
        int,
        typer.Option(
            help="Seed of random draws: intervals of 75 % points, split of the images, order of "
            "sources."
        ),
    ] = 0,
    gap: Annotated[
        float,
        typer.Option(
            help="Difference between two judges, in points, for which the number of images "
            "needed is computed."
        ),
    ] = 5.0,
    baseline: Annotated[
        bool,
        typer.Option(
            "--baseline", help="Compare each judge with the local judge on the same pairs."
        ),
    ] = False,
    questions: Annotated[
        int,
        typer.Option(
            help="Number of the most informative questions on the page; 0: a few per judge."
        ),
    ] = 0,
    task: Task = None,
    where: Where = None,
) -> None:
    """Measure how far a judge can be trusted: print a table, write metrics.json and a
    self-contained page.

    Example: visualjudge report runs/gpt runs/qwen --out report.html --json metrics.json --csv
    tables
    """
    from visualjudge.analysis import analyse
    from visualjudge.analysis.decisions.report_opening import opening
    from visualjudge.analysis.plots.figure import Figure
    from visualjudge.analysis.report.exports import write_figures
    from visualjudge.analysis.report.paired import differences, in_common, named_run, tool_lines
    from visualjudge.analysis.report.terminal import text

    _check(gap, questions)
    shape = _format(out, format)
    must_end_in("--json", json, [".json"], bare=True)
    with working("analysing") as working_on, TemporaryDirectory() as scratch:
        more = _baseline(runs, dataset, Path(scratch)) if baseline else []
        part = conditions(task, where)
        analysis = analyse(
            [*runs, *more],
            dataset=dataset,
            seed=seed,
            gap=gap / 100,
            where=part,
            progress=working_on,
        )
        two = (
            None
            if compare is None
            else (named_run(analysis, compare[0]), named_run(analysis, compare[1]))
        )
        working_on("writing the report")
        _write(analysis, out, json, shape, csv, questions, two)
        if figures is not None:
            write_figures(analysis, figures)
    answers = opening(analysis)
    if two is not None:
        found = differences(analysis, *two)
        typer.echo(in_common(analysis, *two))
        if isinstance(found, Figure):
            typer.echo(found.finding)
        for line in tool_lines(analysis, two):
            typer.echo(line)
    typer.echo(text(analysis.results, answers.sentences))
    if answers.gamed:
        typer.echo(answers.gamed)
    if answers.tasks is not None:
        typer.echo(answers.tasks.text())
    following("card", *runs, *(word for said in part for word in ("--where", said)))
    _tell(analysis)


def _baseline(runs: list[Path], dataset: Path | None, scratch: Path) -> list[Path]:
    from visualjudge.runs.local_baseline import run_baselines

    return run_baselines(runs, scratch, dataset=dataset)


def _check(gap: float, questions: int) -> None:
    if not 0 < gap <= 100:
        raise UsageError(f"--gap must be above 0 and at most 100 points, got {gap:g}")
    if questions < 0:
        raise UsageError(f"--questions must be at least 0, got {questions}")


def _format(out: Path | None, format: ReportFormat | None) -> ReportFormat:
    """Return the format of ``--out``; refuse a name with another format's suffix, which may be a
    different kind of file.
    """
    fitting = [suffix for suffix, kind in SUFFIXES.items() if format in (None, kind)]
    must_end_in("--out", out, fitting, bare=True)
    return format or SUFFIXES.get("" if out is None else out.suffix.lower(), ReportFormat.html)


def _write(
    analysis: Analysis,
    out: Path | None,
    json: Path | None,
    format: ReportFormat,
    csv: Path | None,
    questions: int,
    compare: tuple[int, int] | None,
) -> None:
    from visualjudge.analysis.report.page import html
    from visualjudge.analysis.report.printing import print_page

    if out is not None and format is ReportFormat.pdf:
        print_page(html(analysis, questions, compare), out)
    elif out is not None:
        write_text(out, html(analysis, questions, compare))
    if json is not None:
        write_json(json, analysis.metrics)
    if csv is not None:
        for name, table in analysis.tables.items():
            with atomic_path(csv / f"{name}.csv") as scratch:
                harmless(table).write_csv(scratch)


def _tell(analysis: Analysis) -> None:
    """Print warnings and problems on stderr, one line each; problems give exit status 1."""
    judges = analysis.metrics["judges"]
    say(*analysis.metrics["warnings"])
    say(*(line for judge in judges for line in judge["warnings"]))
    end_with(line for judge in judges for line in judge["problems"])
