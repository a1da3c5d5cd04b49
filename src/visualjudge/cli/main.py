"""The command line: one file per command, with a function of its name, imported when it is called;
errors become exit statuses here.
"""

from __future__ import annotations

import difflib
import gc
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TextIO, cast

import typer
from typer.core import TyperCommand, TyperGroup

import visualjudge
from visualjudge.cli.options import with_groups
from visualjudge.cli.output import CleanStream, guard, say
from visualjudge.clients.masked_secrets import environment_secrets
from visualjudge.core.errors import UsageError, VisualJudgeError
from visualjudge.core.registry import plugins_with_rows

PANELS = {
    "Data": {
        "demo": "Run everything offline on real photographs",
        "doctor": "Check what works, what is missing, and what to do",
        "init": "Create a commented project to start from",
        "import": "Import ground truth and predictions",
        "perturb": "Make controlled errors from ground truth",
        "describe": "Summarize and check a data folder or a dataset",
        "build": "Build a dataset of judge questions",
        "plan": "Plan a study: images, pairs, cost and power",
    },
    "Judge": {
        "judge": "Ask a judge the questions of a dataset",
        "probe": "Build questions with irrelevant changes",
        "pipeline": "Judge image edits in a JSONL file",
        "mmbench": "Test a VLM with multiple choice",
    },
    "Answer": {
        "report": "Measure how far a judge can be trusted",
        "card": "Answer: may I rank my models with this judge?",
        "label": "Draw the questions that people label next",
        "correct": "Correct a leaderboard with a few labels",
        "accept": "Accept or reject single predictions",
        "gate": "Check in CI that a judge is still the one that was tested",
    },
    "People and other tools": {
        "studio": "Browse datasets and runs, collect human judgements",
        "agreement": "Measure the agreement of judges and people",
        "adopt": "Convert verdicts and benchmarks of others into runs",
        "export": "Write a dataset in the format of another tool",
        "show": "Show encodings or plug-ins",
    },
}
COMMANDS = {name: text for panel in PANELS.values() for name, text in panel.items()}
MODULES = {"import": "import_"}  # a keyword cannot name a module
# Commands of earlier versions, with what replaces them.
RETIRED = {
    "atlas": "adopt --benchmark NAME",
    "audit": "describe DATASET",
    "batch": "judge --batch --resume",
    "bench": "adopt --benchmark NAME",
    "cascade": "accept",
    "convert": "export --format json, or --format dataset-parquet",
    "distill": "judge --backend local (no training of its own any more)",
    "drift": "gate check",
    "encode": "visualjudge.encode in Python",
    "encodings": "show encodings",
    "fetch": "adopt --fetch",
    "gallery": "tools/gallery.py in the repository",
    "plugins": "show plugins",
    "prompts": "tools/prompt_pages.py in the repository",
    "train-local": "tools/train_local.py in the repository",
    "tune": "report, which compares the encodings",
    "validate": "describe DATASET",
    "view": "studio",
}


def command_named(name: str) -> Any:
    """Return a command, or the group of its sub-commands."""
    module = importlib.import_module(f"visualjudge.cli.{MODULES.get(name, name)}")
    if hasattr(module, "app"):
        return typer.main.get_command(module.app)
    return command_of(name, getattr(module, name))


def command_of(name: str, function: Callable[..., None], **more: Any) -> Any:
    """Return the command that a function is, with each of its groups of options."""
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command(name, **more)(with_groups(function))
    return typer.main.get_command(app)


class LazyCommands(TyperGroup):
    """A group that lists its commands without importing them; subclasses name and make them."""

    def texts(self) -> dict[str, str]:
        """Return the help of each command by name."""
        raise NotImplementedError

    def made(self, name: str) -> Any:
        """Create the command."""
        raise NotImplementedError

    def panel(self, name: str) -> str | None:
        """Return the heading under which the help lists a command."""
        return next((title for title, commands in PANELS.items() if name in commands), None)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.texts())

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        if cmd_name not in self.texts():
            return None
        return TyperCommand(
            cmd_name, help=self.texts()[cmd_name], rich_help_panel=self.panel(cmd_name)
        )

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args[0] not in self.texts() and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], self.texts(), 1)
            hint = f"did you mean {close[0]}?" if close else f"one of: {', '.join(self.texts())}"
            raise UsageError(f"no command {args[0]!r}; {hint}")
        found, _, rest = super().resolve_command(ctx, args)
        command = self.made(str(found))
        command.name = found
        guard(command)
        return found, command, rest


class Commands(LazyCommands):
    """The commands of :data:`PANELS`."""

    def texts(self) -> dict[str, str]:
        return COMMANDS

    def made(self, name: str) -> Any:
        return command_named(name)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args[0] in RETIRED:
            raise UsageError(f"{args[0]} was removed in 1.1; use: {RETIRED[args[0]]}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            say(*stop.args)  # what it interrupted
            raise

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)
        for parameter in params:
            parameter.hidden |= "completion" in parameter.name
        return params


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Measure how far a vision-language model can be trusted as a judge.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"visualjudge {visualjudge.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """visualjudge."""


def run() -> None:
    """Entry point: 0 done, 1 something in the data or the run failed, 2 wrong usage, 130 Ctrl-C,
    143 SIGTERM.
    """
    signal.signal(signal.SIGTERM, _terminated)
    # garbage collection during imports takes 6 % of a command's time
    gc.set_threshold(50_000, 20, 20)
    # The matrices here are small: a second thread of NumPy's BLAS mostly waits, and uses a core
    # meanwhile. Read when NumPy is imported, which is later.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    masked = environment_secrets()
    sys.stdout, sys.stderr = (
        cast(TextIO, CleanStream(s, masked)) for s in (sys.stdout, sys.stderr)
    )
    if (status := _status()) == 130:
        os._exit(status)  # waits for no thread of what hangs
    sys.exit(status)


def _status() -> int:
    """Run the command and return its exit status; each error is one line on stderr."""
    click_error: Any = typer.BadParameter.__mro__[2]
    try:
        return _run_and_flush()
    except VisualJudgeError as error:
        say(error)
        return 2 if isinstance(error, UsageError) else 1
    except click_error as error:
        say(_usage(error))
        return 2
    except BrokenPipeError:
        return 1
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except MemoryError:
        say("out of memory; fewer --workers or a lower --concurrency need less")
        return 1
    except OSError as error:
        say(f"{error.filename or 'output'}: {error.strerror or error}")
        return 1
    except Exception as error:
        if not (names := plugins_with_rows()):
            raise
        where = traceback.extract_tb(error.__traceback__)[-1]
        say(
            f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno}); a row "
            f"of a plug-in may be the cause: {', '.join(names)} (show plugins)"
        )
        return 1


def _usage(error: Any) -> str:
    """Return an error of the option parser in one line, with the command whose help has more."""
    text = error.format_message().rstrip(".").replace("Value error, ", "")
    if "unexpected extra argument" in text:
        text += "; quote a pattern or a value with spaces, and repeat an option for each value"
    path = error.ctx.command_path if error.ctx else "visualjudge"
    return f"{text}; see {path} --help"


def _terminated(number: int, frame: object) -> None:
    """Exit as after Ctrl-C, so that partial output is removed."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.exit(128 + number)


def _run_and_flush() -> int:
    """Flush the output too, since a full device is noticed only at the last write."""
    try:
        return app(standalone_mode=False) or 0
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            # otherwise the interpreter fails on exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise
