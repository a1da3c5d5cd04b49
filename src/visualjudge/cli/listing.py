"""What commands print alike: JSON, problems, and the command to run next."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visualjudge.cli.terminal import plain
from visualjudge.core.errors import Problem, summarized

if TYPE_CHECKING:
    from visualjudge.dataset.folder import Dataset

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def print_json(rows: Iterable[Any]) -> None:
    """An array with one object per row."""
    print(json.dumps([*rows], indent=1, ensure_ascii=False))


def say(*lines: object) -> None:
    """Warnings, or what is wrong, on stderr, each in one line."""
    for line in lines:
        print(plain(f"visualjudge: {' '.join(str(line).split())}"), file=sys.stderr)


def end_with(problems: Iterable[object]) -> None:
    """Name ``problems``, and end the command with status 1 if there are any."""
    every = list(problems)
    say(*every)
    if every:
        raise typer.Exit(1)


def tell(problems: Iterable[Problem]) -> None:
    """Records that were left out, on stderr: a line for each kind of problem."""
    for line in summarized(problems):
        print(plain(line), file=sys.stderr)


def unused(name: str) -> str:
    """``name``, or the first of ``stem-2.csv``, ``stem-3.csv`` and so on that does not exist yet."""
    first = Path(name)
    others = (first.with_stem(f"{first.stem}-{number}") for number in count(2))
    return str(first if not first.exists() else next(path for path in others if not path.exists()))


def following(*words: object, title: str = "next") -> None:
    """Name the next command as a shell reads it, on stdout: stderr is for problems."""
    typer.echo(f"{title}: {shell('visualjudge', *words)}")


def shell(*words: object) -> str:
    """The words of a command as a line that can be pasted into a shell, spaces and quotes in paths included."""
    return shlex.join(map(str, words))


def following_judge(dataset: Dataset, place: object, *options: str) -> None:
    """Name ``judge PLACE OPTIONS`` next; of labels alone no judge can be asked, so there the import of replies."""
    if dataset.labels_only:
        name = dataset.benchmark.get("name", "NAME")
        following("bench", "import", name, "--from", "FOLDER", "--out", place, "--replies", "MODEL", "--force")
    else:
        following("judge", place, *options)
