"""``visualjudge report``: convert runs into tables, metrics.json and a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.options import JsonFile, output
from visualjudge.cli.output import end_with, following, say, stages, words_of, write
from visualjudge.core.escaping import for_csv
from visualjudge.core.outputs import OutputFile
from visualjudge.options import AnswerOptions


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    options: AnswerOptions,
    out: Annotated[
        OutputFile | None,
        output("Page, or .pdf (needs Chromium).", metavar="FILE.html|.htm|.pdf"),
    ] = None,
    summary: Annotated[
        OutputFile | None,
        output("One page to pass on.", metavar="FILE.html|.htm|.pdf"),
    ] = None,
    json: JsonFile = None,
    csv: Annotated[
        Path | None,
        typer.Option(help="Write every table and plot here.", metavar="FOLDER"),
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Begin with A against B.", metavar="A B"),
    ] = None,
) -> None:
    """Measure how far a judge can be trusted: print a table, write metrics.json and a page.

    Example: visualjudge report runs/gpt runs/qwen --out report.html --json metrics.json
    """
    from visualjudge.analysis import analyse
    from visualjudge.analysis.figures.answer import tasks_table
    from visualjudge.analysis.plots.plot import Plot
    from visualjudge.analysis.report.card import card_of
    from visualjudge.analysis.report.page import html, save_plots
    from visualjudge.analysis.report.paired import differences, named_run, opening_notes
    from visualjudge.analysis.report.printing import print_page
    from visualjudge.analysis.report.terminal import text

    with stages() as progress:
        analysis = analyse(runs, options=options, progress=progress)
        two = [named_run(analysis, name) for name in compare or ()]
        progress("writing the report")
        for place, of in (
            (out, {"compare": two or None}),
            (summary, {"summary": True}),
        ):
            if place is not None and place.path.suffix.lower() == ".pdf":
                print_page(html(analysis, **of), place)
            elif place is not None:
                write(place, html(analysis, **of))
        write(json, analysis.metrics)
        if csv is not None:
            for name, table in analysis.tables.items():
                table_file = OutputFile(csv / f"{name}.csv", "--csv")
                with table_file.scratch() as scratch:
                    for_csv(table).write_csv(scratch)
            save_plots(analysis, csv / "plots")
    judges = card_of(analysis).judges
    if two:
        difference = differences(analysis, *two)
        print("\n".join(opening_notes(analysis, *two)))
        if isinstance(difference, Plot):
            print(difference.finding)
    by_task = tasks_table(judges)
    answers = text(analysis, [judge.answer for judge in judges])
    notes = (
        line
        for figure in analysis.of_study
        for line in figure.sentences(analysis[figure])
    )
    parts = (answers, *notes, by_task.text() if by_task.rows else "")
    print("\n".join(filter(None, parts)))
    following("card", *runs, *words_of(options))
    found = analysis.metrics["judges"]
    say(
        *analysis.metrics["warnings"],
        *(line for judge in found for line in judge["warnings"]),
    )
    end_with(line for judge in found for line in judge["problems"])
