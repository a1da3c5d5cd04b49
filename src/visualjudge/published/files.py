"""Reading a benchmark's files: JSON and JSON lines, with the file and record named where they do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from visualjudge import jsons
from visualjudge.errors import DataError

LARGEST = 1 << 30
"""Bytes of one file."""


def records(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON array, or of JSON lines.

    Raises
    ------
    DataError
        If the file cannot be read, or a record is not an object.
    """
    found = list(_lines(path)) if path.suffix == ".jsonl" else document(path)
    if not isinstance(found, list):
        raise DataError(f"{path}: must hold an array of objects")
    for number, row in enumerate(found, 1):
        if not isinstance(row, dict):
            raise DataError(f"{path}: record {number}: must be an object")
    return found


def document(path: Path) -> Any:
    """The value of a JSON file.

    Raises
    ------
    DataError
        If the file cannot be read or is not JSON.
    """
    return _parsed(path, _bytes(path), "")


def _lines(path: Path) -> Iterator[Any]:
    for number, line in enumerate(_bytes(path).splitlines(), 1):
        if line.strip():
            yield _parsed(path, line, f"line {number}: ")


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"{path}: must have at most {LARGEST} bytes, got {path.stat().st_size}")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def _parsed(path: Path, content: bytes, where: str) -> Any:
    try:
        return jsons.loads(content)
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: {where}must be JSON: {error}") from None


def field(row: dict[str, Any], name: str, path: Path, number: int) -> Any:
    """A field that a record must have.

    Raises
    ------
    DataError
        If it lacks it.
    """
    if row.get(name) is None:
        raise DataError(f"{path}: record {number}: {name}: is missing")
    return row[name]


def one_of(row: dict[str, Any], name: str, path: Path, number: int, known: dict[str, str]) -> str:
    """The meaning of a field that must hold one of the ``known`` values.

    Raises
    ------
    DataError
        If it holds another.
    """
    value = field(row, name, path, number)
    if value not in known:
        raise DataError(f"{path}: record {number}: {name}: must be one of {', '.join(known)}, got {value!r}")
    return known[value]
