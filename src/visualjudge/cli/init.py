"""``visualjudge init``: a project to fill in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.output import following, shell


def init(
    folder: Annotated[
        Path,
        typer.Argument(help="Folder of the project; existing files are not replaced."),
    ],
) -> None:
    """Create a project: a data folder to fill, a commented config.yaml, and study.py, which runs
    it.

    Example: visualjudge init study
    """
    from visualjudge.apps.starting.project import write_project

    print("\n".join(map(str, write_project(folder))))
    following("import", "FORMAT", "--out", folder / "data")
    print(f"then: {shell('python', folder / 'study.py')}")
