"""The command line: one file per command, with a function of its name, imported when it
is called; errors become exit statuses here. What commands print is in ``console.py``.
"""

import gc
import importlib
import inspect
import io
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from threading import Timer
from typing import Annotated, Any, TextIO, cast

import typer
from typer.core import TyperCommand, TyperGroup

import visualjudge
from visualjudge.cli.console import Checked, CleanStream, Described, say
from visualjudge.cli.options import with_groups
from visualjudge.clients.masked_secrets import environment_secrets
from visualjudge.core.errors import UsageError, VisualJudgeError, one_of
from visualjudge.core.registry import plugins_with_rows

PANELS = {
    "Data": {
        "demo": "Answer for four detectors, offline, in a minute",
        "doctor": "Check what works, what is missing, and what to do",
        "init": "Say what a folder has, and the commands of its study",
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
COMMANDS = {
    name: text for panel in PANELS.values() for name, text in panel.items()
}
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
    "mmbench report": "mmbench eval --out FILE.html",
    "plugins": "show plugins",
    "prompts": "tools/prompt_pages.py in the repository",
    "train-local": "tools/train_local.py in the repository",
    "tune": "report, which compares the encodings",
    "validate": "describe DATASET",
    "view": "studio",
}


class Group(Described, TyperGroup):
    """Commands of which a misspelt one is answered with the one meant, a retired one
    with its successor.
    """

    def resolve_command(
        self, ctx: Any, args: list[str]
    ) -> tuple[str | None, Any, list[str]]:
        name = args[0]
        known = self.list_commands(ctx)
        path = f"{ctx.info_name} {name}" if ctx.parent else name
        if path in RETIRED:
            raise UsageError(f"{path} was removed in 1.1; use: {RETIRED[path]}")
        if name not in known and not name.startswith("-"):
            raise UsageError(
                f"no command {name!r}; must be {one_of(name, known)}"
            )
        return super().resolve_command(ctx, args)


def command_of(
    commands: Mapping[str, Callable[..., None]],
    cls: type[Group] = Group,
    **group: Any,
) -> Any:
    """Return the command that a function is, or the group of several."""
    app = typer.Typer(
        cls=cls,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        **group,
    )
    for name, function in commands.items():
        # a break within a paragraph is one of the source
        app.command(
            name,
            cls=Checked,
            help=re.sub(
                r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(function) or ""
            ),
        )(with_groups(function))
    return typer.main.get_command(app)


def command_named(name: str) -> Any:
    """Return a command, or the group of its sub-commands."""
    # a keyword cannot name a module
    module = importlib.import_module(
        f"visualjudge.cli.{'import_' if name == 'import' else name}"
    )
    return getattr(module, "app", None) or command_of(
        {name: getattr(module, name)}
    )


class Commands(Group):
    """The commands of :data:`PANELS`, listed without importing them."""

    def texts(self) -> dict[str, str]:
        return COMMANDS

    def made(self, name: str) -> Any:
        return command_named(name)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.texts())

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        panel = next(
            (title for title, names in PANELS.items() if cmd_name in names),
            None,
        )
        text = self.texts().get(cmd_name)
        return (
            TyperCommand(cmd_name, help=text, rich_help_panel=panel)
            if text
            else None
        )

    def resolve_command(
        self, ctx: Any, args: list[str]
    ) -> tuple[str | None, Any, list[str]]:
        result, _, rest = super().resolve_command(ctx, args)
        command = self.made(str(result))
        command.name = result
        return result, command, rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            say(
                *stop.args,
                "cancelled; a run of judge, mmbench, pipeline continues with --resume",
            )
            sys.stdout.flush()
            os._exit(130)  # waits for no thread of what hangs


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Measure how far a vision-language model can be trusted as a judge.",
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.")
    ] = False,
) -> None:
    if version:
        print(f"visualjudge {visualjudge.__version__}")
        raise typer.Exit


def run() -> None:
    """Entry point: 0 done, 1 something in the data or the run failed, 2 wrong usage,
    130 Ctrl-C, 143 SIGTERM.
    """
    signal.signal(signal.SIGTERM, _terminated)
    sys.unraisablehook = _sent_again
    # as mypy does: collection takes 6 % of a command's time
    gc.set_threshold(200_000, 20, 20)
    # The matrices here are small: a second thread of NumPy's BLAS mostly waits, and
    # uses a core meanwhile. Read when NumPy is imported, which is later.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Files and pipes are UTF-8, as all files that commands write: on Windows they would
    # be in the system's encoding, which has no "≥". A terminal keeps its own.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                encoding=None if stream.isatty() else "utf-8",
                errors="backslashreplace",
            )
    sys.stdout, sys.stderr = (
        cast(TextIO, CleanStream(stream, environment_secrets()))
        for stream in (sys.stdout, sys.stderr)
    )
    sys.exit(_status())


def _status() -> int:
    """Run the command and return its exit status; each error is one line on stderr."""
    click_error: Any = typer.BadParameter.__mro__[2]
    Checked.failed = 1
    try:
        return _run_and_flush()
    except VisualJudgeError as error:
        say(error)
        return 2 if isinstance(error, UsageError) else Checked.failed
    except click_error as error:
        say(
            f"{_misused(error)}; see "
            f"{error.ctx.command_path if error.ctx else 'visualjudge'} --help"
        )
        return 2
    except (BrokenPipeError, typer.Abort):
        pass
    except MemoryError:
        say("out of memory; fewer --workers or a lower --concurrency need less")
    except OSError as error:
        say(f"{error.filename or 'output'}: {error.strerror or error}")
    except Exception as error:
        if not (names := plugins_with_rows()):
            raise
        say(
            f"{type(error).__name__}: {error}; a row of a plug-in may be the cause: "
            f"{', '.join(names)} (show plugins)"
        )
    return Checked.failed


def _misused(error: Any) -> str:
    """Return what is wrong with a command line: of a value, which option it is of, what
    it must be, and what it is."""
    if hasattr(error.__cause__, "errors"):
        from visualjudge.core.typed_records import first_problem

        reason = re.sub(
            r"^.* is not one of (.*)\.",
            r"must be one of \1",
            first_problem(error.__cause__, displayed=True)[1],
        )
        return f"{error.param.opts[0]} {reason}"
    text: str = error.format_message().rstrip(".")
    if "unexpected extra argument" in text:
        text += (
            "; quote values with spaces, repeat an option for each value, give "
            "flags none"
        )
    elif "No such option" in text and any(
        o.name == "set" for o in error.ctx.command.params
    ):
        text += "; a setting without an option of its own is given as --set NAME=VALUE"
    elif "No such option" in text and isinstance(error.ctx.command, Commands):
        text += (
            f"; options follow a name, such as {error.ctx.info_name} "
            f"{next(iter(error.ctx.command.texts()))}"
        )
    return text or "a command is missing"


def _terminated(number: int, frame: object) -> None:
    # exit as after Ctrl-C, so that partial output is removed
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.exit(128 + number)


def _sent_again(lost: Any) -> None:
    """Send a signal again whose exception nobody could raise, since it arrived while
    native code called back: at a weak reference's end, in a check of a library."""
    signals = {SystemExit: signal.SIGTERM, KeyboardInterrupt: signal.SIGINT}
    if lost.exc_type in signals:
        signal.signal(signal.SIGTERM, _terminated)
        Timer(0.05, os.kill, (os.getpid(), signals[lost.exc_type])).start()
    else:
        sys.__unraisablehook__(lost)


def _run_and_flush() -> int:
    # flush the output too, since a full device is noticed only at the last write
    try:
        return app(standalone_mode=False) or 0
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            # otherwise the interpreter fails on exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise
