"""Options made from records. A command takes a record (:mod:`visualjudge.options`, or
one of those below) as one parameter; :func:`with_groups` turns its fields into Typer
options. The records of judging and building are in ``visualjudge/options.py``;
commands' own options stand in their files.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from types import GenericAlias, NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from visualjudge.core.errors import UsageError, one_of
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.output_files import OutputFile
from visualjudge.core.yamls import loads
from visualjudge.options import Options, nested, option

if TYPE_CHECKING:
    from visualjudge.runs.budget import Budget, Prices

Record = TypeVar("Record")


def output(
    help: str, *flags: str, metavar: str = "FILE", journal: bool = False
) -> Any:
    """Return the option of a file to write, whose annotation is :class:`OutputFile`."""
    return typer.Option(
        *flags,
        help=help,
        metavar=metavar,
        parser=lambda text: OutputFile(Path(text), journal=journal),
    )


JsonFile = Annotated[
    OutputFile | None,
    output("Write all numbers to this file.", "--json", metavar="FILE.json"),
]
PageFile = Annotated[
    OutputFile | None,
    output("Write a page to this file.", "--out", metavar="FILE.html"),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Replace files that visualjudge did not write, too."
    ),
]
MovedDataset = Annotated[
    Path | None,
    typer.Option(
        "--dataset", help="The dataset, if it has moved.", metavar="FOLDER"
    ),
]
SeedOption = Annotated[
    int, typer.Option("--seed", help="Random seed.", metavar="N")
]
SkipInvalid = Annotated[
    bool,
    typer.Option(
        "--skip-invalid", help="Exit with 0 if records were left out."
    ),
]


def pairs_of(
    stated: Iterable[str] | None, option: str, such: str = "prompt=text"
) -> dict[str, str]:
    """Return the values of an option ``NAME=VALUE``; the name ends at the last ``=`` of
    an ``--answer``, else at the first. ``such`` is an example.

    Raises
    ------
    UsageError
        If one has another form.
    """
    pairs: dict[str, str] = {}
    for item in stated or ():
        name, equals, value = (
            item.rpartition("=")
            if option == "--answer"
            else item.partition("=")
        )
        if not (name and equals and value):
            raise UsageError(
                f"{option} must be NAME=VALUE, such as {such}, got {item!r}"
            )
        pairs[name.strip()] = value
    return pairs


def settings(stated: Iterable[str] | None) -> Json:
    """Return the values of ``--set NAME=VALUE``; a value is read as in YAML.

    Raises
    ------
    UsageError
        If one has another form.
    """
    pairs = pairs_of(stated, "--set", "timeout=60")
    if not pairs:
        return {}
    import yaml

    try:
        return {
            name.replace("-", "_"): loads(text) for name, text in pairs.items()
        }
    except (yaml.YAMLError, ValueError, TypeError):
        raise UsageError(
            f"--set: a value must be a number or text, got {' '.join(stated or ())!r}"
        ) from None


def with_settings(
    record: Record, values: Json, *, alone: bool = False, key: str = "setting"
) -> Record:
    """Return the record with those of ``values`` that are its settings, which are taken
    out, or bounds of a record in it.

    Raises
    ------
    UsageError
        If a value has another type, or one is left and the record is ``alone`` with
        them.
    """
    from pydantic import TypeAdapter, ValidationError

    from visualjudge.core.typed_records import first_problem

    inner = list(nested(type(record)))
    known = _hints(type(record), key)
    changes: Json = {
        item.name: with_settings(
            getattr(record, item.name), values, key="least"
        )
        for item in inner
    }
    for name in known.keys() & values.keys():
        try:
            # JSON, because a strict check of Python's values takes no list for a tuple
            changes[name] = TypeAdapter(known[name]).validate_json(
                TypeAdapter(Any).dump_json(values.pop(name)), strict=True
            )
        except ValidationError as error:
            raise UsageError(
                f"--set {name} {first_problem(error, displayed=True)[1]}"
            ) from None
    if alone and values:
        names = [
            *known,
            *(
                name
                for item in inner
                for name in _hints(type(item.default), "least")
            ),
        ]
        raise UsageError(
            f"--set: must be {one_of(min(values), names)}, got {min(values)!r}"
        )
    return replace(record, **changes)  # type: ignore[type-var]


@dataclass(frozen=True, kw_only=True)
class ModelOptions(Options):
    """The model to ask, and its settings."""

    heading: ClassVar[str] = "Model"

    backend: str = option(
        "api", "api (default), google, anthropic, vllm, …", "NAME", quiet=True
    )
    model: str | None = option(None, "Name of the model on the server.", "NAME")
    base_url: str | None = option(None, "Address of the server.", "URL")
    api_key_env: str | None = option(
        None, "Variable that holds the API key.", "VAR"
    )
    max_tokens: int | None = option(
        None, "Maximum length of a reply, in tokens.", "N", least=1
    )
    effort: str | None = option(
        None, "Thinking: none, low, medium, high or N tokens.", "HOW"
    )
    set: tuple[str, ...] = option(
        (), "temperature, timeout, attempts, …", "NAME=…"
    )

    def config(self, stated: Fields | None = None, **defaults: Any) -> Json:
        """Return the client's fields without unset ones; ``stated`` are those of
        ``--set``, if some of them are not the client's.

        Raises
        ------
        UsageError
            If the variable of the API key is not set.
        """
        from visualjudge.clients.registry import key_from_environment

        fields_of = {
            **defaults,
            "backend": self.backend,
            "model_name": self.model,
            "base_url": self.base_url,
            "api_key": self.api_key_env
            and key_from_environment(self.api_key_env),
            "max_tokens": self.max_tokens,
            "effort": self.effort,
            **(settings(self.set) if stated is None else stated),
        }
        return {
            name: value
            for name, value in fields_of.items()
            if value is not None
        }

    def client(self, stated: Fields | None = None, **defaults: Any) -> Any:
        """Return what :func:`visualjudge.client` makes of these fields."""
        from visualjudge.apps.frontdoor.judge import client

        config = self.config(stated, **defaults)
        return client(model=config.pop("model_name", None), **config)


@dataclass(frozen=True, kw_only=True)
class PriceOptions(Options):
    """What tokens cost."""

    price: str | None = option(
        None, "Price per million tokens: 2.5/10.", "IN/OUT"
    )

    def prices(self) -> Prices:
        """Return the prices of prompt and reply tokens.

        Raises
        ------
        UsageError
            If ``--price`` is not two numbers, at least 0.
        """
        from visualjudge.runs.budget import Prices

        low, _, high = (self.price or "0/0").partition("/")
        try:
            return Prices(float(low), float(high))
        except ValueError:
            raise UsageError(
                f"--price must be IN/OUT, such as 2.5/10, got {self.price!r}"
            ) from None


@dataclass(frozen=True, kw_only=True)
class BudgetOptions(PriceOptions):
    """Limits on a run's spending; it stops before exceeding them."""

    max_calls: int | None = option(None, "Stop after N calls.", "N", least=1)
    max_cost: float | None = option(
        None, "Stop before this cost.", "COST", least=0
    )

    def budget(self, max_tokens: int | None = None) -> Budget:
        """Return the budget of limits and prices."""
        from visualjudge.runs.budget import Budget, Limits

        return Budget(
            Limits(self.max_calls, max_tokens, self.max_cost), self.prices()
        )


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with each parameter that is a record replaced by that record's
    options, and with ``--force`` if it writes files.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    @functools.wraps(command)
    def called(**values: Any) -> None:
        if forced:
            del values["force"]  # the class of the command reads it
        made = {name: _record(hint, values) for name, hint in groups.items()}
        command(**values, **made)

    forced = "force" not in hints and any(
        OutputFile in _types(h) for h in hints.values()
    )
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        parameters += (
            _parameters(groups[name])
            if name in groups
            else [parameter.replace(annotation=hints[name])]
        )
    if forced:
        parameters.append(
            inspect.Parameter(
                "force",
                inspect.Parameter.KEYWORD_ONLY,
                default=False,
                annotation=Force,
            )
        )
    keyword = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in parameters
    ]
    called.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    called.__annotations__ = {
        parameter.name: parameter.annotation for parameter in keyword
    }
    return called


def _types(hint: Any) -> tuple[Any, ...]:
    """Return the types of an annotation, without what else it says."""
    bare = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    return get_args(bare) or (bare,)


def _record(record: Any, values: Json) -> Any:
    inner = {
        item.name: _record(type(item.default), values)
        for item in nested(record)
    }
    for name in _hints(record, "help"):
        value = values.pop(name)
        if value is not None:
            inner[name] = tuple(value) if isinstance(value, list) else value
    return record(**inner)


def _hints(record: type[Any], key: str) -> Json:
    hints = get_type_hints(record)
    return {
        field.name: hints[field.name]
        for field in fields(record)
        if key in field.metadata
    }


def _parameters(record: Any) -> Iterator[inspect.Parameter]:
    hints = _hints(record, "help")
    for field in fields(record):
        metadata = field.metadata
        if is_dataclass(field.default):
            yield from _parameters(type(field.default))
        elif field.name in hints:
            yield parameter_of(
                field.name,
                metadata.get("kind") or hints[field.name],
                metadata.get("typed", field.default),
                flag=metadata.get("name") or field.name,
                help=metadata["help"],
                metavar=metadata["metavar"],
                show_default=not metadata.get("quiet"),
                rich_help_panel=getattr(record, "heading", None),
            )


def parameter_of(
    name: str,
    hint: Any,
    default: Any,
    *,
    flag: str | None = None,
    metavar: str | None = None,
    several: bool = False,
    **more: Any,
) -> inspect.Parameter:
    """Return the keyword that Typer makes an option of; a sequence, a mapping, or what
    is given ``several`` times, is a list, and None if it is left out.
    """
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    bare = kinds[0] if NoneType in get_args(hint) else hint
    listed = (
        several
        or get_origin(bare) in (Sequence, Mapping)
        or Ellipsis in get_args(bare)
    )
    if listed:
        needed = default is inspect.Parameter.empty and bare is hint
        bare = GenericAlias(list, bare if several else get_args(bare)[0])
        default = inspect.Parameter.empty if needed else None
    if bare is not bool and get_origin(bare) not in (Literal, tuple):
        metavar = metavar or name.rpartition("_")[2].upper()
    annotation = Annotated[  # type: ignore[valid-type]
        bare | None if default is None else bare,
        typer.Option(
            f"--{(flag or name).replace('_', '-')}", metavar=metavar, **more
        ),
    ]
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=annotation,
    )
