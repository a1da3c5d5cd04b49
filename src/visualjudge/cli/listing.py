"""What commands that list things share: ``--json``, and the command to run next."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def print_json(rows: Iterable[Any]) -> None:
    """An array with one object per row."""
    print(json.dumps([*rows], indent=1, ensure_ascii=False))


def unused(name: str) -> str:
    """``name``, or the first of ``stem-2.csv``, ``stem-3.csv`` and so on that does not exist yet."""
    first = Path(name)
    others = (first.with_stem(f"{first.stem}-{number}") for number in count(2))
    return str(first if not first.exists() else next(path for path in others if not path.exists()))


def following(command: str) -> None:
    """Name the next command, on stdout: stderr is for problems."""
    typer.echo(f"next: visualjudge {command}")
