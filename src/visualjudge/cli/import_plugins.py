"""Importers that plug-ins registered, as commands of ``visualjudge import``."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from visualjudge.cli.import_command import import_command
from visualjudge.cli.import_options import DetectorOptions, ImportOptions
from visualjudge.core.registry import added


class Formats(TyperGroup):
    """The project's import commands, and one for each importer that was registered."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *added("importer")]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name) or (_command(cmd_name) if cmd_name in added("importer") else None)


def _command(name: str) -> Any:
    from visualjudge.formats.importers import IMPORTERS, tasks_of
    from visualjudge.vision.metrics import metrics_of
    from visualjudge.vision.predictions import TYPES
    from visualjudge.vision.tasks import TASKS

    row = IMPORTERS[name]
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    epilog = f"Example: {row.example}" if row.example else None
    tasks = tasks_of(row)
    command = import_command(
        row.read,
        DetectorOptions if any(TYPES.find(kind).ranked is not None for kind in row.types) else ImportOptions,
        task=tasks[0] if len(tasks) == 1 else None,
        classed=any(TASKS[task].classed for task in tasks),
        measured=any(len(metrics_of(kind)) > 1 for kind in row.types),
    )
    app.command(name, help=row.help, epilog=epilog)(command)
    return typer.main.get_command(app)
