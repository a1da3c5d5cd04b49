"""``visualjudge export``: write a dataset in the format of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.output import following, stages
from visualjudge.core.registry import added
from visualjudge.options import Choice

FORMATS = ", ".join(
    [
        "parquet, vlmevalkit, lmms-eval, trl, json, dataset-parquet",
        *added("export format"),
    ]
)


def export(
    dataset: Annotated[
        Path,
        typer.Argument(help="Dataset from `visualjudge build`.", metavar="DATASET"),
    ],
    out: Annotated[Path, typer.Option(help="File or folder to write.", metavar="PATH")],
    choice: Choice,
    form: Annotated[
        str, typer.Option("--format", help=f"Such as {FORMATS}.", metavar="NAME")
    ] = "parquet",
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite a file; write into a full folder."),
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N questions.", metavar="N")
    ] = None,
) -> None:
    """Write a dataset, or the questions chosen from it, in the format of another tool.

    Example: visualjudge export dataset --format vlmevalkit --out LMUData
    """
    from visualjudge.dataset.exports import export as export_dataset
    from visualjudge.dataset.folder import load_dataset

    read = load_dataset(dataset).choose(choice)[:limit]
    with stages() as progress:
        files = export_dataset(
            read,
            form,
            out,
            lambda done, total: progress(f"writing {form}", done, total),
            force=force,
        )
    print("\n".join(map(str, files)))
    if not read.labels_only:
        following("judge", dataset, "--model", "MODEL", "--out", "RUN")
