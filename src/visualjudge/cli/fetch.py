"""``visualjudge fetch``: download images from their addresses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.options import ReplaceDataset
from visualjudge.cli.output import end_with, following, stages
from visualjudge.core.plurals import pluralize

EPILOG = """Examples:

visualjudge fetch data

visualjudge fetch questions.json --out dataset
"""
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(epilog=EPILOG)
def fetch(
    data: Annotated[
        Path,
        typer.Argument(help="Data folder, or questions: JSON or Parquet.", show_default=False),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Dataset to write, if DATA holds questions.", show_default=False),
    ] = None,
    most_gb: Annotated[float, typer.Option(min=0, help="Stop after this many gigabytes.")] = 20.0,
    allow_private_urls: Annotated[
        bool,
        typer.Option(
            "--allow-private-urls", help="Permit http:// and addresses of the local network."
        ),
    ] = False,
    force: ReplaceDataset = False,
) -> None:
    """Download images that DATA names by https:// or hf:// addresses.

    A data folder is completed in place: files go to files/fetched, and the image indexes and
    records then name them. Questions become a dataset. A second run fetches only what is missing
    or has another checksum.
    """
    from visualjudge.apps.adopting.fetching import fetch as fetched

    with stages() as progress:
        done = fetched(
            data,
            out,
            allow_private=allow_private_urls,
            most_gb=most_gb,
            force=force,
            tick=lambda count, total: progress("fetching", count, total),
        )
    print(
        f"{pluralize(done.downloaded, 'file')} fetched ({done.bytes / 1e6:.1f} MB), "
        f"{done.kept} there already"
    )
    if not done.downloaded and not done.kept and not done.failed:
        print(f"{data}: names no https:// or hf:// address")
    end_with(done.failed)
    following("build", data) if out is None else following("judge", out)
