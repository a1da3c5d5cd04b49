"""``visualjudge convert``: a dataset between its JSON and its Parquet form."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

EPILOG = """Examples:

visualjudge convert dataset --to parquet --out dataset-parquet

visualjudge convert dataset-parquet --to json --out dataset
"""


class FormName(StrEnum):
    """How a dataset keeps its questions."""

    parquet = "parquet"
    json = "json"


@app.command(epilog=EPILOG)
def convert(
    dataset: Annotated[Path, typer.Argument(help="Dataset to convert.", show_default=False)],
    to: Annotated[FormName, typer.Option(help="Form to write.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder of the new dataset.", show_default=False)],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing dataset at --out.")] = False,
) -> None:
    """Convert a dataset between its JSON and Parquet forms; converting back restores questions.json byte for byte.

    Images are hard links to those of DATASET if the file system supports them, else copies.
    """
    from visualjudge.cli.progress import stages
    from visualjudge.dataset.convert import convert as convert_dataset

    with stages() as progress:
        count = convert_dataset(
            dataset, out, to.value, force=force, tick=lambda done, total: progress("converting", done, total)
        )
    print(f"{out}: {count} questions in the {to.value} form")
