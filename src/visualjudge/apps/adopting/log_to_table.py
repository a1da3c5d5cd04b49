"""Logs of evaluation tools as tables of verdicts: what a format states, and how it is recognised.

The formats of Inspect, lmms-eval, promptfoo and others are in :mod:`.tool_logs`.

A format is a row of :data:`LOGS`; a plug-in adds one with
:func:`visualjudge.plugins.register_log_format`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from visualjudge.apps.adopting.answers import is_number
from visualjudge.apps.adopting.tables import read_table
from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.registry import Registry
from visualjudge.formats.sample import read_json

Scale = tuple[float, float]
UNIT: Scale = (0.0, 1.0)


class Log:
    """A file that may be a log. What is read of it to recognise it is kept.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = path.write_text('{"doc_id": 0, "target": "A"}\\n')
    >>> sorted(Log(path).columns)
    ['doc_id', 'target']
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.suffix = path.suffix.lower()

    @cached_property
    def document(self) -> Any:
        """The value of a ``.json`` file, the records of a ``.jsonl`` file; None for other files.

        Raises
        ------
        DataError
            If it is not JSON.
        """
        if self.suffix == ".json":
            return read_json(self.path)
        if self.suffix not in (".jsonl", ".ndjson"):
            return None
        return [
            parsed(line, f"{self.path}: line {number}")
            for number, line in enumerate(jsons.lines(self.path), 1)
            if line.strip()
        ]

    @cached_property
    def table(self) -> pl.DataFrame:
        """The file as a table."""
        return read_table(self.path)

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns, or of the fields of the first record or of the object."""
        if self.suffix in (".csv", ".tsv", ".parquet", ".xlsx", ".xls"):
            return frozenset(self.table.columns)
        found = self.document
        first = found[0] if isinstance(found, list) and found else found
        return frozenset(first) if isinstance(first, dict) else frozenset()

    def has(self, *names: str) -> bool:
        """Whether all of these columns are there."""
        return self.columns.issuperset(names)

    def records(self) -> list[dict[str, Any]]:
        """The rows of a table, of a JSON array or of JSON lines."""
        return self.table.to_dicts() if self.document is None else list(self.document)

    def fault(self, where: str, reason: str) -> DataError:
        """What is wrong with a part of the file, as an error to raise."""
        return DataError(f"{self.path}: {where}: {reason}")


@dataclass(frozen=True, slots=True)
class LogRows:
    """One verdict a row, in columns that are named as :data:`~.columns.ROLES` are, or by the log.

    ``scale``: least and greatest score; None: as ``--score-range`` says.
    """

    rows: list[dict[str, Any]]
    scale: Scale | None = None


@dataclass(frozen=True)
class LogFormat:
    """How to recognise and to read the log of a tool.

    Attributes
    ----------
    name
        As ``adopt --format`` names it.
    help
        What the file is.
    fits
        Whether a file is such a log.
    read
        Its verdicts. Fields of samples that the tool does not know itself (metadata) may be
        columns too, so that users can name one as the truth.
    """

    name: str
    help: str
    fits: Callable[[Log], bool]
    read: Callable[[Log], LogRows]


_HERE = "visualjudge.apps.adopting.tool_logs"
LOGS: Registry[str, LogFormat] = Registry(
    "log format",
    {
        "inspect": f"{_HERE}:INSPECT",
        "lmms-eval": f"{_HERE}:LMMS_EVAL",
        "vlmevalkit": f"{_HERE}:VLMEVALKIT",
        "promptfoo": f"{_HERE}:PROMPTFOO",
        "deepeval": f"{_HERE}:DEEPEVAL",
        "langsmith": f"{_HERE}:LANGSMITH",
        "phoenix": f"{_HERE}:PHOENIX",
    },
)


def find_format(log: Log, name: str | None) -> LogFormat | None:
    """The format of a file: the one of this ``name``, else the one that it fits; None: a table.

    Raises
    ------
    UnknownName
        If there is no format of this name.
    DataError
        If the file is not JSON although its name says so.
    """
    if name is not None:
        return None if name == "table" else LOGS.find(name)
    return next((form for form in LOGS.values() if form.fits(log)), None)


def parsed(text: bytes, where: str) -> Any:
    """The value of a JSON text, at most 100 levels deep; Python's NaN and Infinity may stand in it.

    Raises
    ------
    DataError
        If it is not JSON; ``where`` is the message's beginning.
    """
    try:
        return jsons.loads(text)
    except orjson.JSONDecodeError as error:
        reason = error.msg
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise DataError(f"{where}: is not JSON: {reason}") from None
    if jsons.is_deep(value):
        raise DataError(f"{where}: must be at most {jsons.DEEPEST_JSON} levels deep")
    return value


def log_row(known: Mapping[str, Any], *more: Any) -> dict[str, Any]:
    """A row of what a log ``known``-ly holds, and of the plain values of further objects.

    A further field whose name is taken is called ``metadata.NAME``.

    Examples
    --------
    >>> log_row({"item": "1", "reply": None}, {"item": "x", "human": 3, "tags": ["y"]})
    {'item': '1', 'metadata.item': 'x', 'human': 3}
    """
    row = {name: value for name, value in known.items() if value is not None}
    for fields in more:
        for name, value in fields.items() if isinstance(fields, dict) else ():
            if isinstance(value, str | int | float | bool):
                row[f"metadata.{name}" if name in known else name] = value
    return row


def at(value: Any, *paths: str) -> Any:
    """Return the first value found at one of the ``paths``, or None.

    A path is a name, or names and places in lists joined by dots, which may also be one name.

    Examples
    --------
    >>> at({"run": {"ids": [7]}, "a.b": 1}, "run.id", "run.ids.0"), at({"a.b": 1}, "a.b")
    (7, 1)
    """
    for path in paths:
        found = value
        for step in (path,) if isinstance(value, dict) and path in value else path.split("."):
            if isinstance(found, list):
                found = found[int(step)] if step.isdigit() and int(step) < len(found) else None
            else:
                found = found.get(step) if isinstance(found, dict) else None
        if found is not None:
            return found
    return None


def unit_of(values: Iterable[Any]) -> Scale | None:
    """0 to 1 where all ``values`` that there are lie there, or are true and false; else None.

    Examples
    --------
    >>> unit_of([0.5, "1", ""]), unit_of([3, 0.5])
    ((0.0, 1.0), None)
    """
    given = [value for value in values if value is not None and value != ""]
    return UNIT if all(is_number(one) and 0 <= float(one) <= 1 for one in given) else None


def text_of(content: Any) -> str | None:
    """The text of a message's content: text, or parts of which some have a text."""
    if isinstance(content, str):
        return content
    parts: Iterable[Any] = content if isinstance(content, list) else ()
    found = [
        text
        for part in parts
        if isinstance(part, dict) and isinstance(text := part.get("text", part.get("content")), str)
    ]
    return "\n".join(found) if found else None
