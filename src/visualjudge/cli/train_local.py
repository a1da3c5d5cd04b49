"""``visualjudge train-local``: train a local judge on predictions with known scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.options import JsonFile
from visualjudge.cli.output import stages

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(epilog="Example: visualjudge train-local data --out model.vj")
def train_local(
    data: Annotated[
        Path, typer.Argument(help="Data folder with scored predictions.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option(help="Model file to write, such as model.vj.", show_default=False)
    ],
    json: JsonFile = None,
) -> None:
    """Train the local judge on a data folder, and print its accuracy on held-out images.

    Use it with: visualjudge judge DATASET --backend local --model model.vj --out RUN
    """
    from visualjudge.cli.local_tables import finish_training
    from visualjudge.judges.local.training import train_on_folder

    with stages() as show:
        done = train_on_folder(data, show)
    finish_training(done, out, json)
