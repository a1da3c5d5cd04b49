"""Where each record of an annotations file lies, so that a file of any size is never in memory at once.

A scan maps the file into memory and yields one span of bytes a record; a span can be read again later, by another
process too. JSON arrays and JSON lines are scanned as they are; a parquet table is first spooled to JSON lines.
"""

from __future__ import annotations

import json
import mmap
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from visualjudge.errors import DataError

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_PARQUET_BATCH = 256
FORMATS = (".json", ".jsonl", ".parquet")


@dataclass(frozen=True, slots=True)
class Span:
    """The bytes ``start:stop`` of ``path``: one record."""

    path: str
    start: int
    stop: int

    def read(self) -> Any:
        """The JSON value in the span; NaN and infinity are let through, for a check to name their field.

        Raises
        ------
        DataError
            If the bytes are not JSON.
        """
        with Path(self.path).open("rb") as file:
            file.seek(self.start)
            return parsed(file.read(self.stop - self.start), Path(self.path).name)


def parsed(text: bytes, file: str) -> Any:
    """``text`` as JSON: quickly, and once more by the lenient parser where the quick one refuses (NaN)."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{file}: is not JSON: {error}") from None


def spans(path: Path) -> Iterator[tuple[Span, Any]]:
    """Each record of a ``.json`` or ``.jsonl`` file with its span, in the file's order.

    Raises
    ------
    DataError
        If the file is not a JSON array, or a line of it is not JSON.
    """
    scan = _lines if path.suffix == ".jsonl" else _array
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            if path.suffix == ".jsonl":
                return
            raise DataError(f"{path.name}: is empty, and should be a JSON array")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            for start, stop in scan(content, path.name):
                yield Span(str(path), start, stop), parsed(content[start:stop], path.name)


def _lines(content: mmap.mmap, name: str) -> Iterator[tuple[int, int]]:
    start, end = 0, len(content)
    while start < end:
        newline = content.find(b"\n", start)
        stop = end if newline < 0 else newline
        if content[start:stop].strip():
            yield start, stop
        start = stop + 1


def _array(content: mmap.mmap, name: str) -> Iterator[tuple[int, int]]:
    """Objects at depth 1 of an array: strings are skipped whole, so that only real braces are counted."""
    place = _opening(content, name)
    depth, start, first = 0, place, True
    for token in _TOKEN.finditer(content, place):
        mark = content[token.start() : token.start() + 1]
        if mark == b"{":
            if depth == 0:
                _check_gap(content[place : token.start()], name, place, first)
                start, first = token.start(), False
            depth += 1
        elif mark == b"}":
            depth -= 1
            if depth == 0:
                place = token.end()
                yield start, place
            if depth < 0:
                break
    if depth != 0:
        raise DataError(f"{name}: is not JSON: cut short, or a brace too many")
    if content[place:].strip() != b"]":
        raise DataError(f"{name}: is not a JSON array of objects: unexpected text at byte {place}")


def _opening(content: mmap.mmap, name: str) -> int:
    place = 3 if content[:3] == b"\xef\xbb\xbf" else 0
    while content[place : place + 1].isspace():
        place += 1
    if content[place : place + 1] != b"[":
        raise DataError(f"{name}: is not a JSON array (it begins with {content[place : place + 12]!r})")
    return place + 1


def _check_gap(gap: bytes, name: str, place: int, first: bool) -> None:
    if gap.strip() != (b"" if first else b","):
        raise DataError(f"{name}: is not a JSON array of objects: unexpected text at byte {place}")


def spool_parquet(path: Path) -> Path:
    """The rows of a parquet table as JSON lines in a temporary file; the caller removes it.

    A null is a field that is not there, at every depth: a parquet struct has the fields of all rows, so that a row
    cannot say the difference. A text in ``prediction`` or ``metadata`` is JSON.
    """
    import pyarrow
    import pyarrow.parquet as parquet

    with tempfile.NamedTemporaryFile("wb", prefix="visualjudge-", suffix=".jsonl", delete=False) as spool:
        try:
            table = parquet.ParquetFile(path)
            for batch in table.iter_batches(_PARQUET_BATCH):
                for row in batch.to_pylist():
                    spool.write(json.dumps(_row(row, path.name)).encode() + b"\n")
        except (pyarrow.ArrowException, OSError) as error:
            Path(spool.name).unlink(missing_ok=True)
            raise DataError(f"{path.name}: is not a parquet table: {' '.join(str(error).split())}") from None
    return Path(spool.name)


def _row(row: dict[str, Any], name: str) -> Any:
    for field in ("prediction", "metadata"):
        if isinstance(row.get(field), str):
            row[field] = parsed(row[field].encode(), f"{name}: {field}")
    return _without_nulls(row)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(item) for item in value]
    return value
