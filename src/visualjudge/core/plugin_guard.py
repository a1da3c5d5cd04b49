"""Guard the functions that a plug-in registers, so that their exceptions name the plug-in and the
row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from visualjudge.core.errors import PluginError, VisualJudgeError
from visualjudge.core.registry import registering

Row = TypeVar("Row")


class Guarded:
    """Call ``call``, and raise :class:`~visualjudge.core.errors.PluginError` for any exception that
    is not visualjudge's.

    Exceptions of visualjudge, such as ``DataError("field: reason")``, propagate unchanged. An
    iterator that ``call`` returns is guarded too.
    """

    def __init__(self, call: Callable[..., Any], name: str) -> None:
        functools.update_wrapper(self, call)
        self._call, self._name = call, name

    def __call__(self, *given: Any, **named: Any) -> Any:
        try:
            found = self._call(*given, **named)
        except VisualJudgeError:
            raise
        except Exception as error:  # plug-ins may raise anything
            raise self._fault(error) from error
        return self._each(found) if isinstance(found, Iterator) else found

    def _each(self, found: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from found
        except VisualJudgeError:
            raise
        except Exception as error:  # plug-ins may raise anything
            raise self._fault(error) from error

    def _fault(self, error: Exception) -> PluginError:
        return PluginError(f"{self._name}: {type(error).__name__}: {' '.join(str(error).split())}")


def guarded(call: Callable[..., Any], what: str) -> Guarded:
    """Return ``call``, guarded for the plug-in that is registering; ``what`` names the row, such as
    "encoding text_quad".
    """
    return Guarded(call, f"{registering()}, {what}")


def guarded_row(row: Row, what: str) -> Row:
    """Return a copy of a row, a frozen dataclass, with each function guarded; classes are left
    unchanged.
    """
    calls = {
        one.name: guarded(value, what)
        for one in fields(row)  # type: ignore[arg-type]
        if callable(value := getattr(row, one.name)) and not isinstance(value, type | Guarded)
    }
    return replace(row, **calls)  # type: ignore[type-var]
