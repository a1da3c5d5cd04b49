"""Groups of options as parameters of a command: a frozen dataclass, or the options of judging.

A command is decorated with :func:`with_groups`, which shows Typer the fields of each group as options of their own,
those of a dataclass under the group's ``heading`` in ``--help``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, get_type_hints, is_typeddict

import typer

from visualjudge.judges.options import Option


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each parameter that is a group in the place of that group's options."""
    hints = get_type_hints(command, include_extras=True)
    shown = {name: list(_options(hint)) for name, hint in hints.items() if is_dataclass(hint) or is_typeddict(hint)}

    @functools.wraps(command)
    def called(**values: Any) -> None:
        made = {name: hints[name](**{one.name: values.pop(one.name) for one in own}) for name, own in shown.items()}
        command(**values, **made)

    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        parameters += shown.get(name) or [parameter.replace(annotation=hints[name])]
    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    called.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword}
    return called


def _options(group: Any) -> Iterator[inspect.Parameter]:
    kind = inspect.Parameter.KEYWORD_ONLY
    if is_typeddict(group):
        for name, hint in group.__annotations__.items():
            option: Option = hint.__metadata__[0]
            if option.help:
                flag = f"--{(option.flag or name).replace('_', '-')}"  # stated, or a bool would have --no-… too
                shown = typer.Option(flag, help=option.help, min=option.least)
                declared = Annotated[hint.__origin__, shown]  # type: ignore[name-defined]
                yield inspect.Parameter(name, kind, default=option.default, annotation=declared)
        return
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        hints[field.name].__metadata__[0].rich_help_panel = group.heading
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield inspect.Parameter(field.name, kind, default=default, annotation=hints[field.name])
