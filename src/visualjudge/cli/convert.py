"""``visualjudge convert``: a dataset or the verdicts of a run between JSON and Parquet."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.listing import following
from visualjudge.errors import UsageError

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

EPILOG = """Examples:

visualjudge convert dataset --to parquet --out dataset-parquet

visualjudge convert dataset-parquet --to json --out dataset

visualjudge convert runs/vlm --to parquet
"""


class FormName(StrEnum):
    """How a dataset keeps its questions, or a run its verdicts."""

    parquet = "parquet"
    json = "json"


@app.command(epilog=EPILOG)
def convert(
    dataset: Annotated[Path, typer.Argument(help="Dataset or run to convert.", show_default=False)],
    to: Annotated[FormName, typer.Option(help="Form to write.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="Folder of the new dataset.", show_default=False)] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing dataset at --out.")] = False,
) -> None:
    """Convert a dataset or a run between JSON and Parquet; converting back restores its file byte for byte.

    A dataset is written to --out: its images are hard links to those of DATASET if the file system supports them, else
    copies. A run is converted where it is: verdicts.jsonl is removed once verdicts.parquet holds all verdicts.
    """
    from visualjudge.dataset.folder import META
    from visualjudge.runs.folder import RUN

    if (dataset / RUN).is_file() and not (dataset / META).is_file():
        _convert_run(dataset, to, out)
    elif out is None:
        raise UsageError("--out must be given to convert a dataset")
    else:
        _convert_dataset(dataset, to, out, force)


def _convert_dataset(dataset: Path, to: FormName, out: Path, force: bool) -> None:
    from visualjudge.cli.progress import stages
    from visualjudge.dataset.convert import convert as convert_dataset

    with stages() as progress:
        count = convert_dataset(
            dataset, out, to.value, force=force, tick=lambda done, total: progress("converting", done, total)
        )
    print(f"{out}: {count} questions in the {to.value} form")
    following(f"validate {out}")


def _convert_run(run: Path, to: FormName, out: Path | None) -> None:
    from visualjudge.runs.folder import RunFolder

    if out is not None:
        raise UsageError(f"--out must not be given to convert a run, got {out}: {run} is converted where it is")
    folder = RunFolder(run)
    if to is FormName.parquet:
        folder.compact()
    else:
        folder.expand()
    print(folder.existing_verdicts_path())
    following(f"report {run}")
