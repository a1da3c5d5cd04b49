"""``visualjudge prompts``: write pages that show every kind of question as the judge reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.output import stages

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command(epilog="Example:\n\nvisualjudge prompts dataset --out docs/prompts")
def prompts(
    dataset: Annotated[Path, typer.Argument(help="Dataset from visualjudge build.")],
    out: Annotated[Path, typer.Option("--out", help="Folder of the pages.")],
) -> None:
    """Write a page per task with one question of each encoding and type, and its images."""
    from visualjudge.dataset.folder import load_dataset
    from visualjudge.dataset.prompt_pages import write_pages

    with stages() as progress:
        pages = write_pages(
            load_dataset(dataset), out, lambda done, total: progress("writing pages", done, total)
        )
    print(f"{len(pages)} pages in {out}")
