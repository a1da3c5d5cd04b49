"""The command line: one file per sub-command, imported when called; errors become exit statuses
here.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import Annotated, Any, TextIO, cast

import typer

import visualjudge
from visualjudge.cli.help import WHOLE, all_options, write_commands
from visualjudge.cli.lazy import LazyCommands
from visualjudge.cli.output import say
from visualjudge.cli.terminal import PlainStream
from visualjudge.core.errors import UsageError, VisualJudgeError

COMMANDS = {
    "demo": "Run everything offline on real photographs",
    "init": "Create a commented project to start from",
    "doctor": "Check what works, what is missing, and what to do",
    "encodings": "List all encodings",
    "import": "Import ground truth and predictions",
    "perturb": "Make controlled errors from ground truth",
    "describe": "Summarize a data folder and plot its scores",
    "encode": "Show one prediction in one encoding",
    "gallery": "Write the page that shows every encoding",
    "plan": "Plan a study: images, pairs, cost and power",
    "build": "Build a judge dataset from a data folder",
    "prompts": "Write the pages that show every prompt",
    "validate": "Check a dataset against its checksums and all rules",
    "judge": "Ask a judge the questions of a dataset",
    "pipeline": "Judge image edits in a JSONL file",
    "report": "Measure how far a judge can be trusted",
    "card": "Check whether a judge can rank your models",
    "correct": "Correct a leaderboard of sources with a few labels",
    "label": "Draw the questions that people label next",
    "probe": "Build questions with irrelevant changes",
    "agreement": "Measure the agreement of judges and people",
    "studio": "Browse datasets and runs, collect human judgements",
    "adopt": "Convert verdicts of other tools into runs",
    "fetch": "Download images named by addresses",
    "atlas": "Measure published judges on local copies of benchmarks",
    "bench": "Convert published benchmarks into runs",
    "audit": "Find faults in a dataset",
    "mmbench": "Test a VLM with multiple choice",
    "convert": "Convert a dataset between JSON and Parquet",
    "export": "Export a dataset for other tools",
    "plugins": "List the installed plug-ins, try one, or start one",
}
MODULES = {"import": "import_"}  # a keyword cannot name a module


class Commands(LazyCommands):
    """Commands by name; the Typer ``app`` in ``visualjudge.cli.<name>`` is imported when called,
    not when listed.
    """

    def helps(self) -> Mapping[str, str]:
        return COMMANDS

    def made(self, name: str) -> Any:
        module = importlib.import_module(f"visualjudge.cli.{MODULES.get(name, name)}")
        return typer.main.get_command(module.app)

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = [*super().get_params(ctx), all_options()]
        for parameter in params:
            if parameter.name in ("install_completion", "show_completion"):
                parameter.hidden = WHOLE not in ctx.meta
        return params

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        write_commands(COMMANDS, formatter, whole=WHOLE in ctx.meta)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # Rich takes longer to import than most commands take to run
    help="Measure how far a vision-language model can be trusted as a judge.",
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"visualjudge {visualjudge.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """visualjudge."""


def run() -> None:
    """Entry point: 0 done, 1 something in the data or the run failed, 2 wrong usage, 130 Ctrl-C,
    143 SIGTERM.
    """
    signal.signal(signal.SIGTERM, _terminated)
    gc.set_threshold(
        50_000, 20, 20
    )  # garbage collection during imports takes 6 % of a command's time
    # The matrices here are small: a second thread of NumPy's BLAS mostly waits, and uses a core
    # meanwhile. Read when NumPy is imported, which is later.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with redirect_stdout(cast(TextIO, PlainStream(sys.stdout))):
            _app_and_output()
    except VisualJudgeError as error:
        say(error)
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except BrokenPipeError:
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except MemoryError:
        say("out of memory; fewer --workers or a lower --concurrency need less")
        sys.exit(1)
    except OSError as error:
        say(f"{error.filename or 'output'}: {error.strerror or error}")
        sys.exit(1)


def _terminated(number: int, frame: object) -> None:
    """Exit as after Ctrl-C, so that partial output is removed."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.exit(128 + number)


def _app_and_output() -> None:
    """Run the command and flush its output, since a full device is noticed only at the last
    write.
    """
    try:
        app()
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(
                os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
            )  # otherwise the interpreter fails on exit
            raise
