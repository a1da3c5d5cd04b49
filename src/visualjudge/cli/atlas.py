"""``visualjudge atlas``: published judges on published benchmarks, as a static site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.output import say

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(
    epilog="Example:\n\nvisualjudge atlas GenAI-Bench/results JudgeBench/outputs --out site"
)
def atlas(
    clones: Annotated[
        list[str],
        typer.Argument(
            help="Local copies of benchmarks: FOLDER, or NAME=FOLDER (see `bench list`).",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the site.", show_default=False)],
) -> None:
    """Measure every judge whose published replies are in local copies of benchmarks; nothing is
    downloaded.
    """
    from datetime import UTC, datetime

    from visualjudge.apps.published.atlas import atlas as measured, write_atlas

    rows = measured(clones, say)
    write_atlas(rows, out, datetime.now(UTC).date())
    typer.echo(
        f"{out / 'index.html'}: {len(rows)} rows; figures in atlas.json, atlas.csv and atlas.svg"
    )
