"""``visualjudge describe``: count a data folder and plot its scores."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.cli.options import JsonFile
from visualjudge.cli.output import following, say
from visualjudge.core.atomic import atomic_path, write_json
from visualjudge.core.errors import UsageError, must_end_in
from visualjudge.core.text_tables import Table

if TYPE_CHECKING:
    from visualjudge.dataset.describe import Description, Slice

app = typer.Typer(add_completion=False)

IMAGES = (".png", ".svg", ".pdf")


@app.command(epilog="Example: visualjudge describe data --out scores.png --json description.json")
def describe(
    data: Annotated[Path, typer.Argument(help="Data folder.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Plot scores and margins to this file, .png, .svg or .pdf (needs Matplotlib)."
        ),
    ] = None,
    json: JsonFile = None,
    task: Annotated[list[str] | None, typer.Option(help="Only this task; may be repeated.")] = None,
) -> None:
    """Summarize a data folder: annotations, images, groups, scores and margins by task, source
    and error type.

    Reads only the records; visualjudge build also checks the prediction files.
    """
    from visualjudge.data.equal_sources import equal_sources
    from visualjudge.data.folder import DataFolder
    from visualjudge.dataset.describe import describe as describe_task, plot

    must_end_in("--out", out, IMAGES)
    if (data / "dataset.json").is_file():
        raise UsageError(
            f"{data} must be a data folder, got a dataset; `visualjudge audit` reads it"
        )
    with DataFolder(data) as folder:
        tasks = [name for name in folder.tasks if not task or name in task]
        found = [
            describe_task(name, [entry.annotation for entry in folder.entries(name)])
            for name in tasks
        ]
        equal = [told for name in tasks for told in equal_sources(folder, name)]
        problems = list(folder.problems)
    if out and found:
        with atomic_path(out) as scratch:
            plot(found, scratch)
    if json:
        write_json(
            json, {"tasks": [one.to_json() for one in found], "invalid_records": len(problems)}
        )
    _show(found)
    for problem in problems:
        print(" ".join(str(problem).split()), file=sys.stderr)
    compared = [one.task for one in found if one.whole.row()["pairs"]]
    if found and not compared:
        why = "; ".join(equal) or (
            "import a second --source into this folder, or make controlled errors with "
            "`visualjudge perturb`"
        )
        print(f"no two predictions can be compared: {why}; single scores can be asked")
        following("build", data, "--out", "DATASET")
    else:
        say(*(f"warning: {told}" for told in equal))
        named = ("--task", compared[0]) if len(compared) > 1 else ()
        following("plan", data, *named, "--goal", "right", "--json", "plan.json")
    if problems:
        raise typer.Exit(1)


def _show(found: list[Description]) -> None:
    columns = (
        "Task",
        "Source / error",
        "Annotations",
        "Images",
        "Groups",
        "Pairs",
        "Q1",
        "Median",
        "Q3",
        "Margin",
    )
    rows = []
    for one in found:
        rows.append(_row(one.task, "all", one.whole))
        for heading, parts in (("source", one.by_source), ("error", one.by_error_type)):
            rows += [
                _row(one.task, f"{heading} {part.name}", part) for part in parts if len(parts) > 1
            ]
    notes = [
        f"{one.task}: shown and scored: {threshold}"
        for one in found
        for threshold in one.thresholds
    ]
    print(Table(columns, tuple(rows), tuple(notes), keys=2).text())


def _row(task: str, name: str, part: Slice) -> tuple[str, ...]:
    row = part.row()
    counts = [str(row[key]) for key in ("annotations", "images", "groups", "pairs")]
    values = [row[key] for key in ("score_q1", "score_median", "score_q3", "margin_median")]
    return (task, name, *counts, *("–" if value is None else f"{value:.2f}" for value in values))
