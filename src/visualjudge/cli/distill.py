"""``visualjudge distill``: train a local judge to imitate the judge of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.options import JsonFile, MovedDataset
from visualjudge.cli.output import stages

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(epilog="Example: visualjudge distill runs/gpt-4o --out student.vj")
def distill(
    run: Annotated[Path, typer.Argument(help="Folder of a run.", show_default=False)],
    out: Annotated[
        Path, typer.Option(help="Model file to write, such as student.vj.", show_default=False)
    ],
    dataset: MovedDataset = None,
    json: JsonFile = None,
) -> None:
    """Train the local judge on the verdicts of another judge, and print its agreement on held-out
    images.

    Use it with: visualjudge judge DATASET --backend local --model student.vj --out RUN
    """
    from visualjudge.cli.local_tables import finish_training
    from visualjudge.runs.distilling import distill as learn

    with stages() as show:
        done = learn(
            run, dataset=dataset, progress=lambda k, total: show("reading questions", k, total)
        )
    finish_training(done, out, json, "agrees")
