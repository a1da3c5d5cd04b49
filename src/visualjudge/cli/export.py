"""``visualjudge export``: a dataset for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

EPILOG = (
    "Examples:\n\n"
    "visualjudge export dataset --format parquet --out hub-folder\n\n"
    "visualjudge export dataset --format vlmevalkit --out LMUData\n\n"
    "visualjudge export dataset --format trl --out preferences.jsonl"
)


@app.command(epilog=EPILOG)
def export(
    dataset: Annotated[Path, typer.Argument(help="A dataset that visualjudge build has made")],
    out: Annotated[Path, typer.Option("--out", help="Folder (parquet, vlmevalkit) or file (sharegpt, trl)")],
    form: Annotated[str, typer.Option("--format", help="parquet, vlmevalkit, sharegpt or trl")] = "parquet",
) -> None:
    """Write a dataset in the format of another tool.

    parquet: Hugging Face datasets, pictures embedded. vlmevalkit: TSV tables. sharegpt, trl: JSONL to train judges.
    """
    from visualjudge.cli.progress import stages
    from visualjudge.dataset.exports import export as export_dataset
    from visualjudge.dataset.folder import load_dataset

    with stages() as progress:
        read = load_dataset(dataset)
        files = export_dataset(read, form, out, lambda done, total: progress(f"writing {form}", done, total))
    for file in files:
        print(file)
