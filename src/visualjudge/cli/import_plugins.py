"""Importers that plug-ins registered, as commands of ``visualjudge import``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_type_hints

import typer
from typer.core import TyperGroup

from visualjudge.cli.import_options import ImportOptions, with_options
from visualjudge.cli.import_run import run_import
from visualjudge.registry import added

if TYPE_CHECKING:
    from visualjudge.data.importers.catalogue import Importer

READ = ("task", "gt", "pred", "images")
"""The parameters that each reader has; further ones become options."""


class Formats(TyperGroup):
    """The project's import commands, and one for each importer that was registered."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *added("importer")]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name) or (_command(cmd_name) if cmd_name in added("importer") else None)


def _command(name: str) -> Any:
    from visualjudge.data.importers.catalogue import IMPORTERS

    row = IMPORTERS[name]
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    epilog = f"Example: {row.example}" if row.example else None
    app.command(name, help=row.help, epilog=epilog)(with_options(ImportOptions)(_importing(row)))
    return typer.main.get_command(app)


def _importing(row: Importer) -> Callable[..., None]:
    """A function with the options of the command as its parameters; ``with_options`` adds those of all imports."""

    def command(*, task: str, source: Any, out: Any, pred: Any, how: ImportOptions, **given: Any) -> None:
        run_import(task, out, source, pred, None, how, given["gt"], lambda one: row.read(task, pred=one, **given))

    parameters = _parameters(row)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _parameters(row: Importer) -> list[inspect.Parameter]:
    from visualjudge.cli import import_options as options
    from visualjudge.data.importers.catalogue import tasks_of

    tasks = tasks_of(row)
    only = tasks[0] if len(tasks) == 1 else inspect.Parameter.empty
    hints = get_type_hints(row.read, include_extras=True)
    shared = {
        "gt": (options.FilesOption, inspect.Parameter.empty),
        "images": (options.FilesOption, inspect.Parameter.empty),
        "source": (options.SourceOption, inspect.Parameter.empty),
        "out": (options.OutOption, inspect.Parameter.empty),
        "task": (options.TaskOption, only),
        "pred": (options.PredOption, None),
    }
    own = {p.name: (hints[p.name], p.default) for p in inspect.signature(row.read).parameters.values()}
    rest = {name: pair for name, pair in own.items() if name not in READ}
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in {**shared, **rest}.items()
    ]
