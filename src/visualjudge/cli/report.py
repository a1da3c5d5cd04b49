"""``visualjudge report``: convert runs into tables, metrics.json and a page. The page
is in ``analysis/report``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from visualjudge.cli.console import (
    as_options,
    end_with,
    following,
    say,
    stages,
    unused_bar,
    write,
)
from visualjudge.cli.options import JsonFile, output
from visualjudge.core.errors import must_end_in
from visualjudge.core.escaping import for_csv
from visualjudge.core.output_files import OutputFile
from visualjudge.options import AnswerOptions

if TYPE_CHECKING:
    from visualjudge.analysis import Analysis

PAGES = (".html", ".htm")


def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders.", metavar="RUN...")
    ],
    options: AnswerOptions,
    out: Annotated[
        OutputFile | None,
        output(
            "Page; with --table .csv, .md or .tex.",
            metavar="FILE.html|.htm|.csv|.md|.tex",
        ),
    ] = None,
    summary: Annotated[
        OutputFile | None,
        output("One page to pass on.", metavar="FILE.html|.htm"),
    ] = None,
    json: JsonFile = None,
    csv: Annotated[
        Path | None,
        typer.Option(help="Write every table here.", metavar="FOLDER"),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            help="Write plots and tables for a paper here.", metavar="FOLDER"
        ),
    ] = None,
    table: Annotated[
        Literal["paper"] | None,
        typer.Option(
            help="Print judges by tasks, by subset and question type."
        ),
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Compare judges A and B first.", metavar="A B"),
    ] = None,
) -> None:
    """Measure how far a judge can be trusted: print a table, write metrics.json and a
    page.

    Example: visualjudge report runs/gpt runs/qwen --out report.html --json metrics.json
    """
    from visualjudge.analysis import analyse
    from visualjudge.analysis.figures.answer import tasks_table
    from visualjudge.analysis.plots.plot import Plot
    from visualjudge.analysis.report import (
        card,
        page,
        paper_tables,
        save_all,
        terminal,
        two_judges,
    )
    from visualjudge.analysis.report.table_forms import WRITERS
    from visualjudge.core.text_tables import folded

    if out is not None:
        must_end_in("--out", out.path, (*WRITERS,) if table else PAGES)
    with stages() as progress:
        analysis = analyse(runs, options=options, progress=progress)
        two = [two_judges.named_run(analysis, name) for name in compare or ()]
        progress("writing the report")
        tables = paper_tables.paper_tables(analysis) if table else []
        if out is not None:
            content = (
                WRITERS[out.path.suffix.lower()](tables)
                if table
                else page.html(analysis, (two[0], two[1]) if two else None)
            )
            write(out, content)
        if summary is not None:
            write(summary, page.html(analysis, summary=True))
        write(json, analysis.metrics if json else None)
        if csv is not None:
            _write_tables(analysis, csv)
        if figures is not None:
            say(*save_all.save_all(analysis, figures))
    judges = card.card_of(analysis).judges
    if two:
        difference = two_judges.differences(analysis, *two)
        print(as_options("\n".join(two_judges.opening_notes(analysis, *two))))
        if isinstance(difference, Plot):
            print(difference.finding)
    say(*unused_bar(options.bar, judges[0].models.shape))
    by_task = tasks_table([own for own in judges if own.models.pairs])
    notes = (
        line
        for figure in analysis.of_study
        for line in figure.sentences(analysis[figure])
    )
    parts = (
        terminal.text(analysis, [judge.sentence for judge in judges]),
        *map(folded, notes),
        by_task.text() if by_task.rows else "",
    )
    printed = (
        [f"{own.text()}\n" for own in tables] if table else filter(None, parts)
    )
    print(as_options("\n".join(printed)))
    following("card", *runs, *options.words)
    say(
        *analysis.warnings,
        *(line for judge in analysis.judges for line in judge.warnings),
    )
    end_with(line for judge in analysis.judges for line in judge.problems)


def _write_tables(analysis: Analysis, folder: Path) -> None:
    for name, frame in analysis.tables.items():
        file = OutputFile(folder / f"{name}.csv", "--csv")
        with file.scratch() as scratch:
            for_csv(frame).write_csv(scratch)
