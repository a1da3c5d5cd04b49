"""What commands that list things share: ``--json``, and the command to run next."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def print_json(rows: Iterable[Any]) -> None:
    """An array with one object per row."""
    print(json.dumps([*rows], indent=1, ensure_ascii=False))


def following(command: str) -> None:
    """Name the next command, on stdout: stderr is for problems."""
    typer.echo(f"next: visualjudge {command}")
