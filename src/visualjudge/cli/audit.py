"""``visualjudge audit``: find the faults of a dataset as a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.options import JsonFile
from visualjudge.cli.output import following, following_judge, stages
from visualjudge.cli.overwriting import PAGES
from visualjudge.core.atomic import write_json, write_text
from visualjudge.core.errors import must_end_in

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(epilog="Example:\n\nvisualjudge audit dataset --json audit.json --out audit.html")
def audit(
    dataset: Annotated[Path, typer.Argument(help="A dataset.", show_default=False)],
    json: JsonFile = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the page to this file, .html or .md.")
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(help="A dataset whose images must not occur in this one; may be repeated."),
    ] = None,
) -> None:
    """Find identical options, contradictory labels, near-duplicates, leaks, imbalance, unreadable
    images and questions that can be answered without the photograph.

    Exit status 1 if anything is found.
    """
    from visualjudge.apps.audit import audit as find
    from visualjudge.dataset.folder import load_dataset

    must_end_in("--out", out, PAGES)
    read = load_dataset(dataset)
    with stages() as progress:
        found = find(
            read,
            against=against or (),
            tick=lambda done, total: progress("reading images", done, total),
        )
    if json is not None:
        write_json(json, found.json())
    if out is not None:
        write_text(out, found.html() if out.suffix.lower() == ".html" else found.markdown())
    typer.echo(str(found))
    if found.findings and not read.labels_only:
        following("studio", dataset)
    else:
        following_judge(read, dataset, "--swap", "--out", "RUN")
    if found.findings:
        raise typer.Exit(1)
