"""How an option is declared as a field of a record, and how a function takes a record's fields as
keywords. The command line makes options of them (:mod:`visualjudge.cli.options`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import Field, field, fields, is_dataclass
from typing import Any, TypeVar

from visualjudge.core.errors import UsageError

Result = TypeVar("Result")


def option(default: Any, help: str, metavar: str | None = None, **more: Any) -> Any:
    """Declare a field that has an option of its own on the command line.

    Parameters
    ----------
    help, metavar
        As the help shows them.
    more
        ``name`` of the option, if not the field's; ``least``, the smallest value; ``kind``, the
        type of what is typed, if not the field's; ``typed``, the default of the option, if not the
        field's; ``quiet`` leaves the default out of the help.
    """
    return field(default=default, metadata={"help": help, "metavar": metavar, **more})


def setting(default: Any, least: float | None = None) -> Any:
    """Declare a field that few need: on the command line it is given as ``--set NAME=VALUE``."""
    return field(default=default, metadata={"setting": True, "least": least})


class Options:
    """Base of the records: no number is below its bound."""

    def __post_init__(self) -> None:
        for one in fields(self):  # type: ignore[arg-type]
            value, least = getattr(self, one.name), one.metadata.get("least")
            if value is not None and least is not None and not value >= least:
                raise UsageError(f"{one.name} must be at least {least}, got {value}")


def nested(record: type[Any]) -> Iterator[Field[Any]]:
    """Yield the fields of a record that hold a record, whose fields are options too."""
    return (one for one in fields(record) if is_dataclass(one.default))


def keywords(record: type[Any]) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Give a function, in place of its parameter ``options`` (which still takes a record), the
    fields of ``record``, and of the records in it, as keywords.
    """
    inner: dict[str, Any] = {one.name: one.default for one in nested(record)}
    owners = {part.name: name for name, one in inner.items() for part in fields(one)}
    every = [*fields(record), *(part for one in inner.values() for part in fields(one))]
    kind = inspect.Parameter.KEYWORD_ONLY
    taken = [inspect.Parameter(x.name, kind, default=x.default, annotation=x.type) for x in every]

    def decorated(function: Callable[..., Result]) -> Callable[..., Result]:
        @functools.wraps(function)
        def called(*positional: Any, **given: Any) -> Result:
            if "options" in given:
                return function(*positional, **given)
            own = {one.name: given.pop(one.name) for one in every if one.name in given}
            parts = {name: own.pop(name) for name in owners if name in own}
            for name, value in parts.items():
                whole = own.get(owners[name], inner[owners[name]])
                own[owners[name]] = type(whole)(**{**vars(whole), name: value})
            return function(*positional, options=record(**own), **given)

        stated = inspect.signature(function)
        others = [one for one in stated.parameters.values() if one.name != "options"]
        parameters = sorted([*others, *taken], key=lambda parameter: parameter.kind)
        called.__signature__ = stated.replace(  # type: ignore[attr-defined]
            parameters=parameters
        )
        return called

    return decorated
