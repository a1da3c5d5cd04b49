"""Output shared by commands: JSON, problems, progress, and the suggested next command."""

from __future__ import annotations

import json
import shlex
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from visualjudge.cli.terminal import plain
from visualjudge.core.errors import Problem, RunError, summarized

if TYPE_CHECKING:
    from visualjudge.dataset.folder import Dataset
    from visualjudge.runs.job_runner import Stop

Result = TypeVar("Result")


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def print_json(rows: Iterable[Any]) -> None:
    """Print an array with one object per row."""
    print(json.dumps([*rows], indent=1, ensure_ascii=False))


def say(*lines: object) -> None:
    """Print warnings or errors on stderr, one per line."""
    for line in lines:
        print(plain(f"visualjudge: {' '.join(str(line).split())}"), file=sys.stderr)


@contextmanager
def warnings_told() -> Iterator[None]:
    """Print warnings raised within the block on stderr, one per line."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_: say(f"warning: {message}")
        yield


def end_with(problems: Iterable[object]) -> None:
    """Print ``problems``, and exit with status 1 if there are any."""
    every = list(problems)
    say(*every)
    if every:
        raise typer.Exit(1)


def tell(problems: Iterable[Problem]) -> None:
    """Print records that were left out on stderr, one line for each kind of problem."""
    for line in summarized(problems):
        print(plain(line), file=sys.stderr)


def unused(name: str) -> str:
    """Return ``name``, or the first of ``stem-2.csv``, ``stem-3.csv`` and so on that does not exist
    yet.
    """
    first = Path(name)
    others = (first.with_stem(f"{first.stem}-{number}") for number in count(2))
    return str(first if not first.exists() else next(path for path in others if not path.exists()))


def following(*words: object, title: str = "next") -> None:
    """Print the next command in shell syntax on stdout, since stderr is for problems."""
    typer.echo(f"{title}: {shell('visualjudge', *words)}")


def shell(*words: object) -> str:
    """Return the words of a command as a line to paste into a shell, with spaces and quotes in
    paths escaped.
    """
    return shlex.join(map(str, words))


def following_judge(dataset: Dataset, place: object, *options: str) -> None:
    """Suggest ``judge PLACE OPTIONS``, except for a benchmark's labels, which no judge can
    answer.
    """
    if not dataset.labels_only:
        following("judge", place, *options)


@contextmanager
def working(said: str) -> Iterator[Callable[[str], None]]:
    """Return a function that changes ``said``, which is shown while the block runs if stderr is a
    terminal.
    """
    if not sys.stderr.isatty():
        yield lambda said: None
        return
    from rich.console import Console

    with Console(stderr=True).status(said) as status:
        yield status.update


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """Return a callback for (stage, done, total), with a progress bar for each stage if stderr is a
    terminal.
    """
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    bars: dict[str, TaskID] = {}
    with Progress(*columns, console=console, transient=True) as progress:

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in bars:
                bars[stage] = progress.add_task(stage, total=total)
            progress.update(bars[stage], completed=done)

        yield tell


def interruptible(title: str, work: Callable[..., Awaitable[Result]], kept: str) -> Result:
    """Run ``work(on_event=listener, stop=stop)`` with a progress bar; the first Ctrl-C lets pending
    calls finish.

    Raises
    ------
    RunError
        If a second Ctrl-C cancels it; ``kept`` describes what was saved.
    """
    from visualjudge.runs.job_runner import run_until_stopped
    from visualjudge.runs.progress_display import Display

    async def main(stop: Stop) -> Result:
        with Display(title) as display:
            return await work(on_event=display.update, stop=stop)

    try:
        return run_until_stopped(main)
    except KeyboardInterrupt:
        raise RunError(f"cancelled; {kept}") from None
