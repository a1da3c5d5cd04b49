"""What commands print: problems, progress, the suggested next command; and checks of
output files before a command starts. Options are in ``options.py``; how output files
are written is in ``core/output_files.py``.

Text may contain names from strangers, so control characters are escaped.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import warnings
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    TextIO,
    TypeVar,
    cast,
)

import typer
from typer.core import TyperCommand

from visualjudge.core.errors import (
    DataError,
    Problem,
    UsageError,
    must_end_in,
    summarized,
)
from visualjudge.core.escaping import SURROGATE, for_terminal
from visualjudge.core.output_files import OutputFile, together
from visualjudge.core.plurals import pluralize
from visualjudge.core.text_tables import folded

if TYPE_CHECKING:
    from visualjudge.runs.job_runner import Stop

Result = TypeVar("Result")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
# Suffixes of outputs that are files: their folder must exist.
FILES = frozenset(
    (
        ".csv",
        ".htm",
        ".html",
        ".json",
        ".jsonl",
        ".lock",
        ".md",
        ".pdf",
        ".svg",
        ".tex",
        ".tsv",
        ".xlsx",
    )
)


class CleanStream:
    """A text stream to which only what ``clean`` returns is written."""

    def __init__(
        self, stream: Any, clean: Callable[[str], str] = for_terminal
    ) -> None:
        self._stream = stream
        self._clean = clean

    def write(self, text: str) -> int:
        self._stream.write(self._clean(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


SIGNS = {
    "green": r"✓|\bpasses\b|separated, right\b|^Yes\b",
    "red": r"✗|\bfails\b|separated, wrong\b|^No\b",
    "yellow": r"^ +\?|\bundecided\b|not separated\b",
    "bold": r"^[^:]+: (?:Yes|No|In part|Not \w+)[^.]*",
    "cyan": r"^(?:next|or)[^:]*: .*",
}
"""Colours of what is proven, disproven and open, of answers, and of the next command."""


def in_colour(text: str) -> str:
    """Return ``text`` with the colours that the terminal has; without a terminal, such
    as in the demo's buffer, as it is.
    """
    if not sys.stdout.isatty():
        return for_terminal(text)
    from rich.console import Console
    from rich.text import Text

    styled = Text(for_terminal(text))
    for style, pattern in SIGNS.items():
        styled.highlight_regex(f"(?m){pattern}", style)
    console = Console(file=sys.__stdout__, highlight=False)
    with console.capture() as captured:
        console.print(styled, end="", soft_wrap=True)
    return captured.get()


def print_json(rows: Iterable[Any]) -> None:
    """Print an array with one object per row."""
    print(json.dumps([*rows], indent=1, ensure_ascii=False))


FIELD = re.compile(r"`(\w+)(=[^`\s]+)?`")
"""How messages name a field of a function: `` `top_k` ``, `` `mode=text` ``."""
OPTIONS = {
    **{
        name: f"--{name}"
        for name in ("fetch", "force", "format", "out", "resume")
    },
    **{
        name: f"--set {name}"
        for name in (
            *("accept_changes", "attempts", "cache_dir", "encoding_groups"),
            "extra_body",
            *("encoding_pairs", "form", "longest_wait", "max_side"),
            *("max_tokens_total", "max_tool_calls", "min_margin", "mode"),
            *("per_group", "ranking_groups", "repeats", "retries"),
            "scoring_groups",
        )
    },
    "allow_outside": "--allow-outside",
    "answers": "--answer",
    "api_key": "--api-key-env VARIABLE",
    "columns": "--column",
    "extractor": "--extractor-model",
    "prices": "--price",
    "score_range": "--score-range",
    "tasks": "--task",
    "types": "--type",
}
"""Of fields that are no option of the command, or have another name there."""


def as_options(text: str) -> str:
    """Return a message with the options of the running command in place of the fields
    that it names."""
    return FIELD.sub(_option, text)


def _option(field: re.Match[str]) -> str:
    name, value = field.groups("")
    option = Checked.options.get(name) or OPTIONS.get(name)
    return field[0] if option is None else option + value


def say(*lines: object) -> None:
    """Print warnings or errors on stderr, one per line."""
    for line in lines:
        _print_problem(f"visualjudge: {' '.join(str(line).split())}")


def _print_problem(line: str) -> None:
    """Print a line on stderr; a terminal would break it within a word."""
    text = for_terminal(as_options(line))
    print(folded(text) if sys.stderr.isatty() else text, file=sys.stderr)


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
    """Print records that were left out on stderr, one line for each kind of problem,
    and with ``skip`` their number; exit with status 1 if there are any and they may not
    be skipped.
    """
    for line in summarized(problems):
        _print_problem(line)
    if problems and skip is not None:
        say(f"{pluralize(len(problems), 'invalid record')} left out")
        if not skip:
            raise typer.Exit(1)


def unused_bar(bar: tuple[str, ...], shape: str) -> list[str]:
    """Return a note if thresholds are stated for named models."""
    return [
        "--bar has no effect: models are named, so pairs of them are tested"
    ] * (bool(bar) and shape == "named_pairs")


def following(*words: object, title: str = "next") -> None:
    """Print the next command in shell syntax on stdout, since stderr is for
    problems."""
    typer.echo(f"{title}: {shell('visualjudge', *words)}")


def shell(*words: object) -> str:
    """Return the words of a command as a line to paste into a shell."""
    return shlex.join(map(str, words))


# ---------------------------------------------------------------- progress


@contextmanager
def stages() -> Iterator[Callable[..., None]]:
    """Return a callback for (stage, done, total), with a progress bar for each stage,
    or a spinner for one without a total, if stderr is a terminal.
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
    """Return the last state, or ``first`` if there is none; meanwhile their number is
    shown."""
    with stages() as progress:
        for number, state in enumerate(states, 1):
            first = state
            progress(stage, number, number + 1)
    return first


def interruptible(title: str, work: Callable[..., Awaitable[Result]]) -> Result:
    """Run ``work(on_event=listener, stop=stop)`` with a progress bar; the first Ctrl-C
    lets pending calls finish, a second one cancels them.
    """
    from visualjudge.runs import job_runner, progress_display

    async def main(stop: Stop) -> Result:
        with progress_display.Display(title) as display:
            return await work(on_event=display.update, stop=stop)

    return job_runner.run_until_stopped(main)


# ---------------------------------------------------------------- output files


class Described:
    """Parameters whose help shows what is typed, and no type of Python."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in params:
            parameter.hidden |= "completion" in parameter.name
            parameter.display_type_rich = partial(_typed, parameter)
        return params


def _typed(parameter: Any, ctx: Any) -> str:
    """Return what stands for the value of an option; nothing for flags and
    arguments."""
    if getattr(parameter, "is_flag", True):
        return ""
    choices = parameter.display_type(ctx).strip("<>")
    return str(
        parameter.metavar
        or (choices if "|" in choices else parameter.name.upper())
    )


class Checked(Described, TyperCommand):
    """A command that refuses an option given twice for one value, and an output that
    may not be written or is of another format, before it starts; its outputs come
    together or not at all. Prints nothing that a terminal would obey, and each warning
    in a line.
    """

    options: ClassVar[dict[str, str]] = {}
    """Those of the running command, by the field that each sets."""
    failed: ClassVar[int] = 1
    """Exit status of the running command if the data or it failed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        flags = [word.partition("=")[0] for word in args]
        Checked.options = {
            str(option.name): option.opts[0]
            for option in self.params
            if option.opts[0].startswith("--")
        }
        for option in self.params:
            name = option.opts[0]
            if (
                not option.multiple
                and name.startswith("--")
                and flags.count(name) > 1
            ):
                raise UsageError(
                    f"{name} takes one value, got {flags.count(name)}"
                )
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> None:
        values = ctx.params
        outputs = {
            option: replace(values[option.name], option=option.opts[0])
            for option in self.params
            if isinstance(values.get(option.name), OutputFile)
        }
        values |= {option.name: output for option, output in outputs.items()}
        stated = [
            (option, text)
            for option in self.params
            for text in _texts(values.get(option.name))
        ]
        for option, text in stated:
            if SURROGATE.search(str(text)) and not _is_there(text):
                raise UsageError(
                    f"{option.opts[0]} must be text in UTF-8, got {text!r:.80}"
                )
        inputs = [
            Path(text)
            for option, text in stated
            if option.name != "out"
            and _is_there(text)
            # a text that names a folder may be a task
            and (isinstance(text, Path) or Path(text).is_file())
        ]
        ended: typer.Exit | None = None
        with (
            warnings.catch_warnings(),
            redirect_stdout(cast(TextIO, CleanStream(sys.stdout, in_colour))),
            together(inputs, force=values.get("force", False)) as replaced,
        ):
            warnings.showwarning = lambda message, *_: say(
                f"warning: {message}"
            )
            _check_outputs(outputs)
            try:
                super().invoke(ctx)
            except typer.Exit as status:  # done, with something to tell
                ended = status
            except DataError as error:
                if any(_is_absent(text, error) for _, text in stated):
                    raise UsageError(str(error)) from None
                raise
        say(*replaced)
        if ended is not None:
            raise ended


def write(output: OutputFile | None, content: Any) -> None:
    """Write a text, or figures as JSON, to an output if it was asked for."""
    if output is not None:
        output.write(content)


def _check_outputs(outputs: Mapping[Any, OutputFile]) -> None:
    options: dict[Path, str] = {}
    for option, output in outputs.items():
        name = output.option
        path = output.path
        if other := options.get(path.resolve()):
            raise UsageError(
                f"{name}: {path} is what {other} writes; name another file"
            )
        options[path.resolve()] = name
        if path.suffix.lower() in FILES and not path.parent.is_dir():
            raise UsageError(
                f"{name}: {path}: no folder {path.parent}; create it first"
            )
        output.check()
        if suffixes := re.findall(r"\.[a-z]+", option.metavar or ""):
            must_end_in(name, path, suffixes)


def _texts(value: Any) -> Iterator[str | Path]:
    """Yield the texts and paths of an argument or option, whatever its type."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str | Path) and not isinstance(value, OutputFile):
        yield value


def _is_there(text: str | Path) -> bool:
    with suppress(OSError, ValueError):  # too long, or no path at all
        return Path(text).exists()
    return False


def _is_absent(text: str | Path, error: DataError) -> bool:
    """Return whether an error says that what the command line names is not there."""
    return (
        str(error).startswith((f"{text}: ", f"{text} is "))
        and "no such" in str(error)
        and not _is_there(text)
    )
