"""Guard the functions that a plug-in registers, so that their exceptions name the plug-in and the
row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any, TypeVar

from visualjudge.core.errors import PluginError, VisualJudgeError
from visualjudge.core.registry import registering

Row = TypeVar("Row")


class Guarded:
    """Call ``call``, and raise :class:`~visualjudge.core.errors.PluginError` for any exception that
    is not visualjudge's, also for ``sys.exit``.

    Exceptions of visualjudge, such as ``DataError("field: reason")``, propagate unchanged. An
    iterator that ``call`` returns is guarded too.
    """

    def __init__(self, call: Callable[..., Any], name: str) -> None:
        functools.update_wrapper(self, call)
        self._call, self._name = call, name

    def __call__(self, *args: Any, **named: Any) -> Any:
        with _faults_of(self._name):
            result = self._call(*args, **named)
        return self._each(result) if isinstance(result, Iterator) else result

    def _each(self, results: Iterator[Any]) -> Iterator[Any]:
        with _faults_of(self._name):
            yield from results


@contextmanager
def _faults_of(name: str) -> Iterator[None]:
    try:
        yield
    except VisualJudgeError:
        raise
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped in {name}") from None
    except (Exception, SystemExit) as error:  # plug-ins may raise anything
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise PluginError(f"{name}: {reason}") from error


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
