"""Output shared by commands: problems, progress, the suggested next command, and checks of output
files before a command starts.

Text may contain names from strangers, so control characters are escaped.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import warnings
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, TypeVar, cast

import typer
from typer.core import TyperCommand

from visualjudge.core.atomic import write_json, write_text
from visualjudge.core.errors import Problem, UsageError, must_end_in, summarized
from visualjudge.core.plurals import pluralize

if TYPE_CHECKING:
    from visualjudge.options import Selection
    from visualjudge.runs.job_runner import Stop

Result = TypeVar("Result")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = {*range(32), *range(127, 160), *_BIDI, 0x2028, 0x2029} - {
    ord("\n"),
    ord("\t"),
}
_ESCAPED = {code: f"\\u{code:04x}" for code in _CONTROLS}
# The options that name an output in any command; some name a folder, which its writer checks.
OUTPUTS = ("out", "json", "summary")
# Files of which a folder of ours consists.
OURS = frozenset(
    (
        "dataset.json",
        "questions.json",
        "predictions.jsonl",
        "run.json",
        "verdicts.jsonl",
    )
)
# Suffixes of outputs that are files: their folder must exist.
FILES = frozenset(
    (
        ".csv",
        ".htm",
        ".html",
        ".json",
        ".jsonl",
        ".lock",
        ".pdf",
        ".svg",
        ".tsv",
        ".xlsx",
    )
)


def plain(text: str) -> str:
    r"""Escape each control character and change of direction in ``text`` as ``\u001b``, as
    in JSON.
    """
    return text.translate(_ESCAPED)


class CleanStream:
    """A text stream to which only what ``clean`` returns is written."""

    def __init__(self, stream: Any, clean: Callable[[str], str] = plain) -> None:
        self._stream, self._clean = stream, clean

    def write(self, text: str) -> int:
        self._stream.write(self._clean(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def print_json(rows: Iterable[Any]) -> None:
    """Print an array with one object per row."""
    print(json.dumps([*rows], indent=1, ensure_ascii=False))


def say(*lines: object) -> None:
    """Print warnings or errors on stderr, one per line."""
    for line in lines:
        print(plain(f"visualjudge: {' '.join(str(line).split())}"), file=sys.stderr)


def remark(notes: Mapping[str, object]) -> None:
    """Print those of the notes on stderr that hold."""
    say(*(note for note, holds in notes.items() if holds))


def end_with(problems: Iterable[object]) -> None:
    """Print ``problems``, and exit with status 1 if there are any."""
    every = list(problems)
    say(*every)
    if every:
        raise typer.Exit(1)


def tell(problems: Collection[Problem], *, skip: bool | None = None) -> None:
    """Print records that were left out on stderr, one line for each kind of problem, and with
    ``skip`` their number; exit with status 1 if there are any and they may not be skipped.
    """
    for line in summarized(problems):
        print(plain(line), file=sys.stderr)
    if problems and skip is not None:
        say(f"{pluralize(len(problems), 'invalid record')} left out")
        if not skip:
            raise typer.Exit(1)


def following(*words: object, title: str = "next") -> None:
    """Print the next command in shell syntax on stdout, since stderr is for problems."""
    typer.echo(f"{title}: {shell('visualjudge', *words)}")


def shell(*words: object) -> str:
    """Return the words of a command as a line to paste into a shell."""
    return shlex.join(map(str, words))


def words_of(part: Selection) -> list[str]:
    """Return the options that select the same questions."""
    named = {
        "--task": part.tasks,
        "--encoding": part.encodings,
        "--type": part.types,
        "--where": part.where,
    }
    return [
        word
        for name, values in named.items()
        for value in values
        for word in (name, value)
    ]


# ---------------------------------------------------------------- progress


@contextmanager
def stages() -> Iterator[Callable[..., None]]:
    """Return a callback for (stage, done, total), with a progress bar for each stage, or a spinner
    for one without a total, if stderr is a terminal.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import Progress, TaskID

    bars: dict[str, TaskID] = {}
    with Progress(console=Console(stderr=True), transient=True) as progress:

        def tell(stage: str, done: int = 0, total: int | None = None) -> None:
            if stage not in bars:
                bars[stage] = progress.add_task(stage, total=total)
            progress.update(bars[stage], completed=done)

        yield tell


def last_of(stage: str, states: Iterable[Result], first: Result) -> Result:
    """Return the last state, or ``first`` if there is none; meanwhile their number is shown."""
    with stages() as progress:
        for number, state in enumerate(states, 1):
            first = state
            progress(stage, number, number + 1)
    return first


def interruptible(title: str, work: Callable[..., Awaitable[Result]]) -> Result:
    """Run ``work(on_event=listener, stop=stop)`` with a progress bar; the first Ctrl-C lets pending
    calls finish, a second one cancels them.
    """
    from visualjudge.runs.job_runner import run_until_stopped
    from visualjudge.runs.progress_display import Display

    async def main(stop: Stop) -> Result:
        with Display(title) as display:
            return await work(on_event=display.update, stop=stop)

    return run_until_stopped(main)


# ---------------------------------------------------------------- output files


class Checked(TyperCommand):
    """A command that refuses an option given twice for one value, and an output that is an input,
    part of a folder of ours or of another format, before it starts; prints nothing that a terminal
    would obey, and each warning in a line.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        flags = [word.partition("=")[0] for word in args]
        for option in self.params:
            name = option.opts[0]
            if not option.multiple and name.startswith("--") and flags.count(name) > 1:
                raise UsageError(f"{name} takes one value, got {flags.count(name)}")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        _check_outputs(self, ctx.params)
        with (
            warnings.catch_warnings(),
            redirect_stdout(cast(TextIO, CleanStream(sys.stdout))),
        ):
            warnings.showwarning = lambda message, *_: say(f"warning: {message}")
            return super().invoke(ctx)


def write(path: Path | None, content: Any) -> None:
    """Write a text, or figures as JSON, to an output if it was asked for."""
    if path is not None:
        (write_text if isinstance(content, str) else write_json)(path, content)


def _check_outputs(command: Any, values: Mapping[str, Any]) -> None:
    options = {parameter.name: parameter for parameter in command.params}
    outputs = {name: Path(values[name]) for name in OUTPUTS if values.get(name)}
    inputs = [
        path
        for name in options
        if name not in OUTPUTS
        for path in _files(values.get(name))
    ]
    for name, path in outputs.items():
        option = options[name].opts[0]
        same = [options[n].opts[0] for n in outputs if n != name and outputs[n] == path]
        if same:
            raise UsageError(
                f"{option}: {path} is what {same[0]} writes; name another file"
            )
        if path.suffix.lower() in FILES and not path.parent.is_dir():
            raise UsageError(
                f"{option}: {path}: no folder {path.parent}; create it first"
            )
        if path.is_file():
            keep(option, path, inputs)
        if suffixes := re.findall(r"\.[a-z]+", options[name].metavar or ""):
            must_end_in(option, path, suffixes)


def keep(option: str, path: Path, inputs: Iterable[Path]) -> None:
    """Refuse a file that is an input or part of a folder of ours.

    Raises
    ------
    UsageError
        If the file is one of these.
    """
    if any(path.samefile(known) for known in inputs):
        raise UsageError(f"{option}: {path} is an input file; name another file")
    if path.name in OURS or path.resolve().parent.name == "annotations":
        raise UsageError(f"{option}: {path} is part of a dataset, run or data folder")


def _files(value: Any) -> Iterator[Path]:
    """Yield the files that an argument or option names, whatever its type."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from _files(one)
    elif (
        isinstance(value, str | Path)
        and len(str(value)) < 1000
        and "\0" not in str(value)
    ):
        yield from (path for path in [Path(value)] if path.is_file())
