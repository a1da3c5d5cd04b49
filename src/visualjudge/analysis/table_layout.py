"""Column definitions: each figure once, with its form in files and in reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Generic, TypeVar

import numpy as np

from visualjudge.analysis.figure_text import number, percent, percents, points, span
from visualjudge.analysis.value_and_interval import COLUMN, Estimate

Row = TypeVar("Row")
Json = dict[str, Any]


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column. ``key`` is its name in files (None: only shown), and ``get`` returns the value
    for files; ``title`` and ``show`` are for readers.
    """

    key: str | None
    get: Callable[[Row], Any]
    title: str | None = None
    show: Callable[[Row], str] | None = None
    text: bool = False
    """Whether it contains words and is left-aligned."""


@dataclass(frozen=True)
class Table(Generic[Row]):
    """A table's columns, in order."""

    columns: tuple[Column[Row], ...]

    @property
    def shown(self) -> tuple[Column[Row], ...]:
        """The columns that reports show."""
        return tuple(column for column in self.columns if column.title is not None)

    @property
    def titles(self) -> list[str]:
        """Return the headings of the shown columns."""
        return [column.title or "" for column in self.shown]

    def json(self, row: Row) -> Json:
        """Return the row as stored in files."""
        return {
            column.key: plain(column.get(row)) for column in self.columns if column.key is not None
        }

    def cells(self, row: Row) -> list[str]:
        """Return the row as shown in reports."""
        return [column.show(row) if column.show else str(column.get(row)) for column in self.shown]


_AS_IT_IS = frozenset({str, int, bool, type(None)})


def plain(value: Any) -> Any:
    """``value`` with Python's own numbers in place of NumPy's, and None in place of NaN and
    infinity.
    """
    kind = type(value)
    if kind is float:
        return value if math.isfinite(value) else None
    if kind in _AS_IT_IS:  # most values: the checks below take far longer
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def figure(
    name: str,
    get: Callable[[Row], Estimate],
    title: str | None = None,
    show: Callable[[float | None], str] = percent,
    *,
    ends: str | None = None,
    shown: Callable[[Row], Estimate] | None = None,
) -> tuple[Column[Row], ...]:
    """Return the columns of an estimate: its value, its interval (``NAME_ci95``, or ``ends``), and
    why it has none.

    ``shown`` returns the estimate that readers see instead.
    """
    seen = shown or get
    interval = f"{name}_ci95" if ends is None else ends
    spread = percents if show in (percent, points) else span
    both = None if title is None else "95 %"
    return (
        Column(name, lambda row: get(row).value, title, lambda row: show(seen(row).value)),
        Column(
            interval, lambda row: get(row).interval, both, lambda row: spread(seen(row).interval)
        ),
        Column(f"{interval}_why", lambda row: get(row).why),
    )


def declared(record: type[Any]) -> tuple[Column[Any], ...]:
    """Return the columns that the fields of a record declare in their metadata
    (:func:`visualjudge.analysis.value_and_interval.column`), in order.
    """
    found: list[Column[Any]] = []
    for one in (one for one in fields(record) if COLUMN in one.metadata):
        get, title = attrgetter(one.name), one.metadata[COLUMN]
        if one.type in ("Estimate", "Share"):
            found += figure(one.name, get, title, percent if one.type == "Share" else number)
        else:
            found.append(Column(one.name, get, title))
    return tuple(found)
