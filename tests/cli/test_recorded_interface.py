"""What users and their programs rely on, recorded: options, arguments, the forms of files
that they write, each with its default and its bounds.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import TypeAdapter

import visualjudge as vj
from recording import check
from visualjudge import options
from visualjudge.apps.gate.lock import Lock
from visualjudge.apps.gate.score_lock import ScoreLock
from visualjudge.apps.pipelines.config import MetricConfig
from visualjudge.apps.pipelines.rows import RowFile
from visualjudge.cli.main import COMMANDS, command_named
from visualjudge.clients.registry import ClientConfig
from visualjudge.core.records import ImageRecord, Question
from visualjudge.data.folder import AnnotationWire
from visualjudge.dataset.predictions_file import StoredPrediction
from visualjudge.judges import module_schemas
from visualjudge.prompts.rubric import Criterion
from visualjudge.studio.stars_and_notes import Change

DECLARED = ("opts", "required", "multiple", "hidden", "show_default", "metavar")


def _commands(name: str, made: Any) -> Iterator[tuple[str, Any]]:
    below = getattr(made, "commands", {})
    for own, command_below in below.items():
        yield from _commands(f"{name} {own}", command_below)
    if not below:
        yield name, made


def _declared(option: Any) -> dict[str, Any]:
    """What a user sees of an option; typer has moved the bounds from the type of an
    option to the option."""
    row = {field: getattr(option, field, None) for field in DECLARED}
    for bound in ("min", "max"):
        row[bound] = getattr(getattr(option, "type", option), bound, None)
    return row | {"default": str(option.default)}


def test_every_option_has_its_names_default_and_bounds() -> None:
    declared = {
        f"{name} {option.name}".replace(" ", "."): _declared(option)
        for first in COMMANDS
        for name, made in _commands(first, command_named(first))
        for option in made.params
    }
    assert len(declared) > 250
    check("options", declared, depth=1)


def _arguments(function: Any) -> dict[str, Any]:
    return {
        name: [str(argument.kind), str(argument.default)]
        for name, argument in inspect.signature(function).parameters.items()
    }


def test_every_argument_and_setting_has_its_default_and_least() -> None:
    public = {name: getattr(vj, name) for name in vj.__all__}
    arguments = {
        name: _arguments(function)
        for name, function in public.items()
        if inspect.isroutine(function)
    }
    settings = {
        name: {
            one.name: [str(one.default), dict(one.metadata)]
            for one in fields(record)
        }
        for name, record in vars(options).items()
        if is_dataclass(record)
        and isinstance(record, type)
        and issubclass(record, options.Options)
    }
    assert len(arguments) > 20 and len(settings) > 9
    check("arguments", {**arguments, **settings}, depth=1)


FORMS = (
    Lock,
    ScoreLock,
    RowFile,
    MetricConfig,
    ClientConfig,
    AnnotationWire,
    ImageRecord,
    Question,
    StoredPrediction,
    Criterion,
    Change,
)


def test_every_form_of_a_file_has_its_fields_and_bounds() -> None:
    records = [
        record
        for record in vars(module_schemas).values()
        if inspect.isclass(record) and hasattr(record, "model_json_schema")
    ]
    check(
        "forms",
        {
            form.__name__: TypeAdapter(form).json_schema()
            for form in (*FORMS, *records)
        },
        depth=1,
    )
