"""Logs of evaluation tools as tables of verdicts: definition and detection of log formats.

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
    """A file that may be a log. Content read for detection is kept.

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
        """Return the value of a ``.json`` file or the records of a ``.jsonl`` file; None for other
        files.

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
        """Return the file as a table."""
        return read_table(self.path)

    @property
    def columns(self) -> frozenset[str]:
        """Return the names of the columns, or of the fields of the first record or of the
        object.
        """
        if self.suffix in (".csv", ".tsv", ".parquet", ".xlsx", ".xls"):
            return frozenset(self.table.columns)
        found = self.document
        first = found[0] if isinstance(found, list) and found else found
        return frozenset(first) if isinstance(first, dict) else frozenset()

    def has(self, *names: str) -> bool:
        """Return whether all of these columns exist."""
        return self.columns.issuperset(names)

    def records(self) -> list[dict[str, Any]]:
        """Return the rows of a table, of a JSON array or of JSON lines."""
        return self.table.to_dicts() if self.document is None else list(self.document)

    def fault(self, where: str, reason: str) -> DataError:
        """Return an error about a part of the file, to be raised."""
        return DataError(f"{self.path}: {where}: {reason}")


@dataclass(frozen=True, slots=True)
class LogRows:
    """One verdict per row, in columns named as in :data:`~.columns.ROLES` or as in the log.

    ``scale`` is the lowest and highest score; None = as given by ``--score-range``.
    """

    rows: list[dict[str, Any]]
    scale: Scale | None = None


@dataclass(frozen=True)
class LogFormat:
    """Definition of a log format: how to detect and read it.

    Attributes
    ----------
    name
        Name for ``adopt --format``.
    help
        Description of the file.
    fits
        Returns whether a file has this format.
    read
        Returns the verdicts. Metadata fields of samples may be columns too, so that users can name
        one as the truth.
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
        "pipeline": "visualjudge.apps.adopting.pipeline_results:PIPELINE",
    },
)


def find_format(log: Log, name: str | None) -> LogFormat | None:
    """Return the format called ``name``, or else the one that the file fits; None for a plain
    table.

    Raises
    ------
    UnknownName
        If no format has this name.
    DataError
        If the file is not JSON despite its extension.
    """
    if name is not None:
        return None if name == "table" else LOGS.find(name)
    return next((form for form in LOGS.values() if form.fits(log)), None)


def parsed(text: bytes, where: str) -> Any:
    """Parse JSON at most 100 levels deep; NaN and Infinity are accepted, as in Python.

    Raises
    ------
    DataError
        If it is not JSON; the message begins with ``where``.
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
    """Return a row of the ``known`` fields and the plain values of further objects.

    A further field whose name is taken becomes ``metadata.NAME``.

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

    A path is a name, or names and list indices joined by dots. A dotted path may also be a single
    name.

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
    """Return the scale 0 to 1 if all values present are within it or are booleans, else None.

    Examples
    --------
    >>> unit_of([0.5, "1", ""]), unit_of([3, 0.5])
    ((0.0, 1.0), None)
    """
    given = [value for value in values if value is not None and value != ""]
    return UNIT if all(is_number(one) and 0 <= float(one) <= 1 for one in given) else None


def text_of(content: Any) -> str | None:
    """Return the text of a message's content: a text, or the texts of its parts."""
    if isinstance(content, str):
        return content
    parts: Iterable[Any] = content if isinstance(content, list) else ()
    found = [
        text
        for part in parts
        if isinstance(part, dict) and isinstance(text := part.get("text", part.get("content")), str)
    ]
    return "\n".join(found) if found else None
