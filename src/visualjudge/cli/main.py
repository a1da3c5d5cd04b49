"""The command line: one sub-command a file, imported only when it is called; errors become exit statuses here."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import visualjudge
from visualjudge.cli.help import plain
from visualjudge.errors import UsageError, VisualJudgeError

COMMANDS = {
    "demo": "From photographs to a judged report, offline, in under two minutes",
    "init": "A commented project: data folder, config.yaml, script",
    "doctor": "What works here, what is missing, and what to do",
    "encodings": "List the catalogue of encodings",
    "import": "Ground truth and a model's output into a data folder",
    "perturb": "Controlled errors of a named type from ground truth alone",
    "describe": "Count a data folder and plot its scores",
    "encode": "Show one prediction in one encoding",
    "gallery": "Write the page that shows every encoding",
    "build": "A data folder into a judge dataset",
    "prompts": "Write the pages that show every prompt",
    "validate": "Recompute every checksum and rule of a dataset",
    "judge": "Put a dataset's questions to a judge",
    "batch": "The batches of a run: how they stand, fetch, cancel",
    "train-local": "Train the local judge on scored predictions",
    "distill": "Teach the local judge the verdicts of a run",
    "pipeline": "Judge modules over JSONL rows",
    "report": "How far the judge can be trusted: tables, metrics.json, report.html",
    "card": "May I rank my models with this judge? Checks that pass, fail or are not shown",
    "correct": "A leaderboard of sources from judge verdicts and a few labels",
    "label": "What to label next, with the probability of each draw",
    "probe": "Questions that test what a judge must not care about",
    "drift": "Has the judge changed? A test that holds however often one looks",
    "cascade": "When a cheap judge's answer stands, and when to ask the better one",
    "agreement": "Judge against people, people against people",
    "studio": "Browse datasets and runs, compare predictions, let people judge",
    "view": "Another name of studio",
    "tune": "The best encoding for a judge, measured on images it was not chosen on",
    "bench": "Published benchmarks as datasets, published replies as runs",
    "audit": "Find what is wrong with a dataset as a benchmark",
    "mmbench": "Multiple choice for the model itself",
    "convert": "A dataset between its JSON and its Parquet form",
    "export": "A dataset for other tools",
    "plugins": "List the installed plug-ins",
}
MODULES = {"import": "import_", "train-local": "train_local"}  # a keyword cannot name a module


class LazyCommands(TyperGroup):
    """Commands by name: ``visualjudge.cli.<name>`` holds a Typer ``app``, imported when called, not when listed."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        text = COMMANDS.get(cmd_name)
        return None if text is None else TyperCommand(cmd_name, help=text, short_help=text)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        assert name is not None  # an unknown name has ended in a usage error
        module = importlib.import_module(f"visualjudge.cli.{MODULES.get(name, name)}")
        command = typer.main.get_command(module.app)
        command.name = name
        plain(command)
        return name, command, rest


app = typer.Typer(
    cls=LazyCommands,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # Rich takes longer to import than most commands take to run
    help="Build judge questions from vision predictions, put them to a VLM, and measure how far it can be trusted.",
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"visualjudge {visualjudge.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """visualjudge."""


def run() -> None:
    """Entry point: 0 done, 1 something in the data or the run failed, 2 wrong usage."""
    try:
        _app_and_output()
    except UsageError as error:
        _say(error)
        sys.exit(2)
    except VisualJudgeError as error:
        _say(error)
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except MemoryError:
        print(
            "visualjudge: out of memory; fewer --workers or a lower --concurrency need less",
            file=sys.stderr,
        )
        sys.exit(1)
    except OSError as error:
        print(f"visualjudge: {error.filename or 'output'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(1)


def _app_and_output() -> None:
    """The command, and what it printed: a full device shows only when the last of it is written."""
    try:
        app()
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter fails at its exit
            raise


def _say(error: VisualJudgeError) -> None:
    line = " ".join(str(error).split())
    print(f"visualjudge: {line}", file=sys.stderr)
