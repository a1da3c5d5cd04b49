"""``visualjudge convert``: convert a dataset or a run's verdicts between JSON and Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.options import FormName, MediaName, ReplaceDataset
from visualjudge.cli.output import following, stages
from visualjudge.core.errors import UsageError
from visualjudge.core.plurals import pluralize

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

EPILOG = """Examples:

visualjudge convert dataset --to parquet --out dataset-parquet

visualjudge convert dataset-parquet --to json --out dataset

visualjudge convert dataset --media shards --out dataset-packed

visualjudge convert runs/vlm --to parquet
"""


@app.command(epilog=EPILOG)
def convert(
    dataset: Annotated[Path, typer.Argument(help="Dataset or run to convert.", show_default=False)],
    to: Annotated[
        FormName | None, typer.Option(help="Format of questions or verdicts.", show_default=False)
    ] = None,
    media: Annotated[
        MediaName | None,
        typer.Option(
            help="Format of a dataset's images: one file each, or tar shards.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the new dataset.", show_default=False)
    ] = None,
    force: ReplaceDataset = False,
) -> None:
    """Convert a dataset between JSON and Parquet, or images between files and tar shards;
    converting back restores every byte.

    A dataset is written to --out: its images are hard links to those of DATASET if the file system
    supports them, else copies.
    """
    from visualjudge.dataset.folder import META
    from visualjudge.runs.folder import RUN

    if (dataset / RUN).is_file() and not (dataset / META).is_file():
        raise UsageError(f"{dataset} is a run; runs are not converted")
    if out is None:
        raise UsageError("--out must be given to convert a dataset")
    _convert_dataset(dataset, to, media, out, force)


def _convert_dataset(
    dataset: Path, to: FormName | None, media: MediaName | None, out: Path, force: bool
) -> None:
    from visualjudge.core.object_stores import located
    from visualjudge.dataset.convert import convert as convert_dataset

    with stages() as progress:
        count = convert_dataset(
            dataset,
            out,
            to.value if to else None,
            media=media.value if media else None,
            force=force,
            tick=lambda done, total: progress("converting", done, total),
        )
    forms = [f"in the {to.value} form"] if to else []
    forms += [f"with images as {media.value}"] if media else []
    target = located(out)
    print(f"{target}: {pluralize(count, 'question')} {', '.join(forms)}")
    following("validate", target)
