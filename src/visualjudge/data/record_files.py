"""Read the records of an annotations file: a JSON array, JSON lines or a Parquet table."""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.tables import table_parts
from visualjudge.core.untrusted import read_file

FORMATS = (".json", ".jsonl", ".parquet")
_ROWS = 256


def read_records(path: Path) -> list[Any]:
    """Return the records of a file in order. NaN and infinity are allowed, so that a later check
    can name their field. A line that is not JSON is a :class:`DataError` in its place.

    In a Parquet table, a null at any depth means a missing field, because a struct has the fields
    of all rows. Text in ``prediction`` or ``metadata`` is JSON.

    Raises
    ------
    DataError
        If the file cannot be read, or is not a JSON array.
    """
    if path.suffix == ".parquet":
        rows = (row for part in table_parts(path, _ROWS) for row in part.to_dicts())
        return [_without_nulls(_row(row, path.name)) for row in rows]
    if path.suffix == ".jsonl":
        lines = read_file(path, "json").removeprefix(BOM_UTF8).split(b"\n")
        return [_line(line, path.name) for line in lines if line.strip()]
    content = jsons.lenient(read_file(path, "json").removeprefix(BOM_UTF8), path.name)
    if not isinstance(content, list):
        hint = "; name it .jsonl if it has one record per line"
        raise DataError(
            f"{path.name}: must be a JSON array{hint if isinstance(content, dict) else ''}"
        )
    return content


def _line(line: bytes, name: str) -> Any:
    try:
        return jsons.lenient(line, name)
    except DataError as error:
        return error


def _row(row: dict[str, Any], name: str) -> dict[str, Any]:
    for field in ("prediction", "metadata"):
        if isinstance(row.get(field), str):
            row[field] = jsons.lenient(row[field], f"{name}: {field}")
    return row


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
