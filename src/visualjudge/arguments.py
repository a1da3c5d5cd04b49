"""The arguments of the public functions, and of methods that users call, are checked
against their annotations, so that a wrong type is one line and not a wrong answer.
Options of commands are checked in ``cli/options.py``.
"""

import builtins
import functools
import inspect
import os
import re
import reprlib
import sys
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import visualjudge
from visualjudge.core.errors import UsageError, one_of
from visualjudge.core.escaping import SURROGATE

Function = TypeVar("Function", bound=Callable[..., Any])
Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Those without a name, and those with one."""
NO_PATH = re.compile(
    "[\0\ud800-\udbff\udd00-\udfff]|[^/]{256}|^.{4096}", re.DOTALL
)
"""What no name of a file contains: the system would refuse it in its own words."""
_TEXTS = {str: (str, SURROGATE), Path: (str | os.PathLike, NO_PATH)}
"""What a text may be, and what none contains; one that is annotated with more may."""
LARGEST = 2**63
"""Whole numbers from here on are in no file of ours."""


class ArgumentError(UsageError, TypeError):
    """A public function or method was given an argument of a wrong type or name."""


class _Names(dict[str, Any]):
    """The names of a module; those that only a type checker imports, and that are not
    public, stand for anything.
    """

    def __missing__(self, name: str) -> Any:
        public = name[:1].isupper() and name in visualjudge.__all__
        return getattr(visualjudge if public else builtins, name, Any)


def checked(function: Function, name: str = "") -> Function:
    """Return a function or method that refuses arguments of other types. Its messages
    begin with ``name``, or with its own name and its class.

    Raises
    ------
    ArgumentError
        When it is called, if it has no such argument, one is missing, or one has
        another type.
    """
    signature = inspect.signature(function)
    name = name or function.__qualname__.removesuffix(".__init__")

    @functools.cache
    def hints() -> dict[str, Any]:
        # At the first call: a method stands above some names of its annotations.
        names = _Names(
            {
                **vars(sys.modules.get("visualjudge.options", builtins)),
                **vars(sys.modules[function.__module__]),
            }
        )
        return {
            key: eval(item.annotation, names)
            if isinstance(item.annotation, str)
            else item.annotation
            for key, item in signature.parameters.items()
            if item.annotation is not item.empty
        }

    def prepared(positional: Any, named: Any) -> Arguments:
        try:
            bound = signature.bind(*positional, **named)
        except TypeError as error:
            raise ArgumentError(
                f"{name}: {_reason(str(error), signature)}"
            ) from None
        for values, key, parameter in _each(bound):
            hint = hints().get(parameter.name, Any)
            try:
                values[key] = _accepted(values[key], hint, parameter.default)
            except Exception:  # whatever the value's own methods raise, too
                got = " ".join(reprlib.repr(values[key]).split())
                raise ArgumentError(
                    f"{name}: {key} must be {_message(hint)}, got {got:.60}"
                ) from None
        return bound.args, bound.kwargs

    return prepared_by(prepared, function)


def prepared_by(
    prepare: Callable[[Any, Any], Arguments], function: Function
) -> Function:
    """Return a function or coroutine that is called with the arguments that ``prepare``
    makes of those stated.
    """

    @functools.wraps(function)
    def called(*positional: Any, **named: Any) -> Any:
        positional, named = prepare(positional, named)
        return function(*positional, **named)

    @functools.wraps(function)
    async def awaited(*positional: Any, **named: Any) -> Any:
        return await called(*positional, **named)

    is_awaited = inspect.iscoroutinefunction(function)
    return awaited if is_awaited else called  # type: ignore[return-value]


def _each(
    bound: inspect.BoundArguments,
) -> Iterator[tuple[dict[str, Any], str, inspect.Parameter]]:
    """Yield each argument: the dictionary that has it, its name, and the parameter."""
    for key, value in bound.arguments.items():
        parameter = bound.signature.parameters[key]
        is_named = parameter.kind is inspect.Parameter.VAR_KEYWORD
        values = value if is_named else bound.arguments
        for name in list(value) if is_named else [key]:
            yield values, name, parameter


def _accepted(value: Any, hint: Any, default: Any) -> Any:
    """Return an argument with Python's own numbers and texts."""
    # A field that takes several texts takes one, too.
    several = hint == tuple[str, ...] and isinstance(value, str | None)
    if not (value is default or several or _is(value, hint)):
        raise TypeError
    return value if hint is Any else _plain(value)


def _message(hint: Any) -> str:
    """Return a type as one writes it."""
    hint = hint.__origin__ if get_origin(hint) is Annotated else hint
    plain = isinstance(hint, type) and not get_args(hint)
    return (
        hint.__name__ if plain else re.sub(r"[\w.]+\.(\w+)", r"\1", str(hint))
    )


def _reason(message: str, signature: inspect.Signature) -> str:
    """Return the reason that Python gives, with the arguments that are known."""
    unknown = message.partition("unexpected keyword argument ")[2].strip("'")
    return (
        f"{message}; must be {one_of(unknown, list(signature.parameters))}"
        if unknown
        else message
    )


def _is(value: Any, hint: Any) -> bool:
    """Return whether a value is of an annotated type, or the annotation is none that we
    check."""
    kind = get_origin(hint) or hint
    inner = get_args(hint)
    if kind in (Union, UnionType):
        # A text is a path where both are asked for.
        return any(
            _is(value, item)
            for item in inner
            if item is not str or Path not in inner
        )
    if kind is Literal:
        return any(
            type(value) is type(item) and value == item for item in inner
        )
    if not getattr(value, "shape", (0,)):
        value = _plain(value)
    if kind in (int, float):
        is_whole = type(value) is int and abs(value) < LARGEST
        return is_whole or (kind is float and isinstance(value, float))
    if kind is Callable and inner and inner[0] is not Ellipsis:
        # A function of C states no parameters; a class of C, such as int, is none.
        with suppress(*[] if isinstance(value, type) else [ValueError]):
            inspect.signature(value).bind(*inner[0])  # or a TypeError
    if kind is Any or kind is Callable or getattr(kind, "_is_protocol", False):
        return kind is not Callable or callable(value)
    if kind is tuple and Ellipsis not in inner:
        return (
            _is_several(value, Sequence, ())
            and len(value) == len(inner)
            and all(map(_is, value, inner))
        )
    if kind in (tuple, list, Iterable, Collection, Sequence, Mapping):
        return _is_several(value, Collection if kind is tuple else kind, inner)
    if kind in _TEXTS:
        form, wrong = _TEXTS[kind]
        return isinstance(value, form) and not wrong.search(os.fsdecode(value))
    kind = hint.__origin__ if kind is Annotated else kind
    return not isinstance(kind, type) or isinstance(value, kind)


def _is_several(value: Any, kind: Any, inner: tuple[Any, ...]) -> bool:
    if hasattr(value, "tolist"):
        value = _plain(value) if value.ndim == 1 else None
    if isinstance(value, str | bytes | bytearray) or not isinstance(
        value, kind
    ):
        return False
    # an iterator would be used up
    if inner in ((), (Any,)) or isinstance(value, Iterator):
        return True
    if getattr(value, "ndim", 1) != 1:  # a data frame yields its names
        return False
    items = value.items() if kind is Mapping else ((item,) for item in value)
    return all(all(map(_is, row, inner)) for row in items)


def _plain(value: Any) -> Any:
    """Return numbers and texts of NumPy and pandas as Python's, also those in a
    list."""
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    is_array = hasattr(value, "ndim") and not hasattr(value, "hardmask")
    return getattr(value, "tolist", lambda: value)() if is_array else value
