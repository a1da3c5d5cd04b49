"""Importers of plug-ins: each becomes a command of ``visualjudge import``, and feeds ``visualjudge
perturb``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from visualjudge.core.registry import Registry
from visualjudge.formats.sample import Found
from visualjudge.vision.tasks import TASKS


@dataclass(frozen=True, slots=True)
class Importer:
    """One file format.

    Attributes
    ----------
    name
        Name of the command, such as "flow".
    read
        (task, gt, pred, images, *, ...) → an iterator of
        :class:`~visualjudge.formats.sample.Sample` and
        :class:`~visualjudge.core.errors.Problem`. ``gt``, ``pred`` and ``images`` are text as the
        user gave it; ``pred`` is None where the truth is its own prediction. Further keyword
        parameters become options of the command: each needs a type and a default; ``Annotated[T,
        typer.Option(help=…)]`` gives it a help text.
    types
        Names of the prediction types that it reads.
    help, example
        Shown by ``--help``.
    """

    name: str
    read: Callable[..., Found]
    types: tuple[str, ...]
    help: str
    example: str = ""


IMPORTERS: Registry[str, Importer] = Registry("importer", {})


def tasks_of(importer: Importer) -> list[str]:
    """The tasks that an importer can read."""
    return [task.name for task in TASKS.values() if task.type in importer.types]
