"""Column definitions: each figure once, with its form in files and in reports. Columns
that several figures share are in ``figures/columns.py``; drawing a table is in
``core/text_tables.py``.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Generic, TypeVar

import numpy as np

from visualjudge.analysis.figure_text import (
    NONE,
    number,
    percent,
    percents,
    points,
    span,
)
from visualjudge.core import text_tables
from visualjudge.core.jsons import Json

Row = TypeVar("Row")
Format = Callable[[Any], str]


@dataclass(frozen=True)
class Column:
    """One column.

    ``key`` is its name in files (None: only shown); ``get`` is the path of its value in
    the row, such as ``gap.n``, or a function of the row. ``title`` and ``show``, a
    format of the value, are for readers; ``shown`` is the path or function of the value
    that they see, if it is another. A column without a format, or of ``text``, is
    left-aligned.
    """

    key: str | None
    get: str | Callable[[Any], Any]
    title: str | None = None
    show: Format | None = None
    text: bool = False
    shown: str | Callable[[Any], Any] | None = None

    def value(self, row: object) -> Any:
        """Return the value for files."""
        return _of(row, self.get)

    def cell(self, row: object) -> str:
        """Return the value as readers see it."""
        return (self.show or str)(_of(row, self.shown or self.get))


def _of(row: object, get: str | Callable[[Any], Any]) -> Any:
    return get(row) if callable(get) else attrgetter(get)(row)


class Layout(Generic[Row]):
    """A table's columns, in order; reports show those that have a title."""

    def __init__(self, *columns: Column) -> None:
        self.columns = columns
        self.shown = [column for column in columns if column.title is not None]
        self.titles = [column.title or "" for column in self.shown]

    def json(self, row: Row) -> Json:
        """Return the row as stored in files."""
        return {
            column.key: plain(column.value(row))
            for column in self.columns
            if column.key is not None
        }

    def cells(self, row: Row) -> list[str]:
        """Return the row as shown in reports."""
        return [column.cell(row) for column in self.shown]


_AS_IT_IS = frozenset({str, int, bool, type(None)})


def plain(value: Any) -> Any:
    """``value`` with Python's own numbers in place of NumPy's, and None in place of NaN
    and infinity.
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
    return (
        None if isinstance(value, float) and not math.isfinite(value) else value
    )


def named(
    name: str, title: str, show: Format | None = None, text: bool = False
) -> Column:
    """Return the column of a field that has the same name in files."""
    return Column(name, name, title, show, text)


def figure(
    name: str,
    path: str,
    title: str | None = None,
    show: Callable[[float | None], str] = percent,
    *,
    ends: str | None = None,
    displayed: Callable[[Any], Any] | None = None,
) -> tuple[Column, ...]:
    """Return the columns of the estimate at ``path``: its value, its interval
    (``NAME_ci95``, or ``ends``), and why it has none.

    ``displayed`` returns the interval that readers see instead.
    """
    interval = f"{name}_ci95" if ends is None else ends
    spread = percents if show in (percent, points) else span
    both = None if title is None else "95 %"
    return (
        Column(name, f"{path}.value", title, show),
        Column(interval, f"{path}.interval", both, spread, shown=displayed),
        Column(f"{interval}_why", f"{path}.why"),
    )


def counts(path: str, noun: str = "Verdicts") -> tuple[Column, Column]:
    """Return the columns of the cases and images of the estimate at ``path``."""
    return (
        Column("n", f"{path}.n", noun, number),
        Column("images", f"{path}.images", "Images", number),
    )


def as_named(*names: str) -> tuple[Column, ...]:
    """Return a column in files for each field, under its own name."""
    return tuple(Column(name, name) for name in names)


def block(key: str, table: Layout[Any], path: str | None = None) -> Column:
    """Return the column of the record at ``path`` (default: ``key``) as an object."""
    get = attrgetter(path or key)
    return Column(key, lambda row: table.json(get(row)))


def blocks(key: str, table: Layout[Any], path: str | None = None) -> Column:
    """Return the column of the records at ``path`` (default: ``key``) as a list of
    objects."""
    get = attrgetter(path or key)
    return Column(key, lambda row: [table.json(one) for one in get(row)])


def inside(
    part: str | Callable[[Any], Any], columns: Iterable[Column]
) -> tuple[Column, ...]:
    """Return the columns of a part of a row as columns of the row."""

    def of_part(get: str | Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda row: _of(_of(row, part), get)

    return tuple(
        replace(
            column,
            get=of_part(column.get),
            shown=column.shown and of_part(column.shown),
        )
        for column in columns
    )


def of_row(title: str, show: Callable[[Any], str]) -> Column:
    """Return a column for readers only, made from the whole row."""
    return Column(None, lambda row: row, title, show)


EMPTY = frozenset(f"{NONE} ()")
"""Characters of an empty cell."""


def grid(
    columns: Layout[Row],
    rows: Iterable[Row],
    *,
    title: str = "",
    notes: Sequence[str] = (),
    keys: int = 1,
    hidden: Sequence[str] = (),
    hit: Callable[[Row], bool] = lambda _: False,
    link: Callable[[Row], str] = lambda _: "",
) -> text_tables.Table:
    """Return the rows under their column titles, without empty columns and those
    ``hidden``; ``hit`` marks rows, ``link`` gives the address of a row's verdicts, to
    which their number leads.
    """
    collected = list(rows)
    cells = [columns.cells(row) for row in collected]
    counted = [
        k
        for k, title in enumerate(columns.titles)
        if title.startswith("Verdicts")
    ]
    for row, shown in zip(collected, cells, strict=True):
        for k in counted:
            shown[k] = text_tables.Styled(shown[k], link=link(row))
    selected = [
        k
        for k, column in enumerate(columns.shown)
        if column.key not in hidden
        and (not cells or any(set(row[k]) - EMPTY for row in cells))
    ]
    return text_tables.Table(
        tuple(columns.titles[k] for k in selected),
        tuple(tuple(row[k] for k in selected) for row in cells),
        tuple(notes),
        title,
        keys,
        tuple(
            not (columns.shown[k].text or columns.shown[k].show is None)
            for k in selected
        ),
        frozenset(k for k, row in enumerate(collected) if hit(row)),
    )
