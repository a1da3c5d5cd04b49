"""``visualjudge describe``: count a data folder and plot its scores."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.errors import UsageError

if TYPE_CHECKING:
    from visualjudge.dataset.describe import Description, Slice

app = typer.Typer(add_completion=False)

IMAGES = (".png", ".svg", ".pdf")
WIDTH = 110
"""Columns of the table if the terminal is narrower, or if there is no terminal."""


@app.command(epilog="Example: visualjudge describe data --out scores.png --json description.json")
def describe(
    data: Annotated[Path, typer.Argument(help="Data folder.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="Image of scores and margins, .png, .svg or .pdf.")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="The same figures for programs.")] = None,
    task: Annotated[list[str] | None, typer.Option(help="Only this task; may be repeated.")] = None,
) -> None:
    """Count a data folder: annotations, images, groups, scores and margins by task, source and error type.

    Reads the records, not the predictions' files: visualjudge build checks those.
    """
    from visualjudge.atomic import atomic_path, write_json
    from visualjudge.data.folder import open_folder
    from visualjudge.dataset.describe import describe as describe_task
    from visualjudge.dataset.describe import plot

    if out is not None and out.suffix.lower() not in IMAGES:
        raise UsageError(f"--out: {out}: give a name that ends in {', '.join(IMAGES)}")
    with open_folder(data) as folder:
        tasks = [name for name in folder.tasks if not task or name in task]
        found = [describe_task(name, [entry.annotation for entry in folder.entries(name)]) for name in tasks]
        problems = list(folder.problems)
    _show(found)
    if out and found:
        with atomic_path(out) as scratch:
            plot(found, scratch)
    if json:
        write_json(json, {"tasks": [one.to_json() for one in found], "invalid_records": len(problems)})
    for problem in problems:
        print(" ".join(str(problem).split()), file=sys.stderr)
    if problems:
        raise typer.Exit(1)


def _show(found: list[Description]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    table.add_column("task / source / error type", no_wrap=True)
    for name in ("annotations", "images", "groups", "pairs", "score q1", "median", "q3", "margin"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found:
        _row(table, one.task, one.whole, style="bold")
        for heading, parts in (("source", one.by_source), ("error", one.by_error_type)):
            for part in parts if len(parts) > 1 else []:
                _row(table, f"  {heading} {part.name}", part)
    Console(width=max(Console().width, WIDTH)).print(table)
    for one in found:
        for threshold in one.thresholds:
            print(f"{one.task}: shown and scored: {threshold}")


def _row(table: object, name: str, part: Slice, style: str | None = None) -> None:
    from rich.table import Table

    assert isinstance(table, Table)
    row = part.row()
    counts = [str(row[key]) for key in ("annotations", "images", "groups", "pairs")]
    values = [row[key] for key in ("score_q1", "score_median", "score_q3", "margin_median")]
    table.add_row(name, *counts, *("–" if value is None else f"{value:.2f}" for value in values), style=style)
