"""Locate each record of an annotations file, so that files of any size can be read without loading
them.

A scan maps the file into memory and yields one span of bytes per record. A span can be read again
later, also by another process. JSON arrays and JSON lines are scanned directly; a parquet table is
first converted to JSON lines.
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

from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.jsons import LONGEST_RECORD
from visualjudge.core.tables import table_parts
from visualjudge.core.untrusted import open_file

# A string or a brace. An unclosed string extends to the end, so that no byte is scanned twice.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}]', re.DOTALL)
_BLANK = re.compile(rb"\s*+")
_COMMA = re.compile(rb"\s*+,\s*+")
_END = re.compile(rb"\s*+\]\s*+")
_BOM = b"\xef\xbb\xbf"
_PARQUET_BATCH = 256
# Maximum size of a Parquet table's rows as JSON: this many bytes, or this many times the file's
# size, whichever is larger.
LARGEST_SPOOL, SPOOL_RATIO = 256 << 20, 64
FORMATS = (".json", ".jsonl", ".parquet")


@dataclass(frozen=True, slots=True)
class Span:
    """The bytes ``start:stop`` of ``path``: one record."""

    path: str
    start: int
    stop: int

    def read(self) -> Any:
        """Return the JSON value in the span. NaN and infinity are allowed, so that a later check
        can name their field.

        Raises
        ------
        DataError
            If the bytes are not JSON.
        """
        with open_file(Path(self.path), "json") as file:
            file.seek(self.start)
            return jsons.lenient(file.read(self.stop - self.start), Path(self.path).name)


def spans(path: Path) -> Iterator[tuple[Span, Any]]:
    """Yield each record of a ``.json`` or ``.jsonl`` file with its span, in order.

    Anything else is yielded as a :class:`DataError` in its place: an invalid record, text between
    two records, a truncated last record.

    Raises
    ------
    DataError
        If the file is empty or does not begin as a JSON array.
    """
    scan = _lines if path.suffix == ".jsonl" else _array
    with open_file(path, "json") as file:
        if path.stat().st_size == 0:
            if path.suffix == ".jsonl":
                return
            raise DataError(f"{path.name}: must be a JSON array, got an empty file")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            for start, stop, flaw in scan(content, path.name):
                if stop - start > LONGEST_RECORD:
                    flaw = (
                        f"{path.name}: a record must have at most {LONGEST_RECORD >> 20} MiB, "
                        f"got {stop - start >> 20}"
                    )
                found = _tried(content[start:stop], path.name) if flaw is None else DataError(flaw)
                yield Span(str(path), start, stop), found


def _tried(text: bytes, file: str) -> Any:
    try:
        return jsons.lenient(text, file)
    except DataError as error:
        return error


# Start and end of a record, and why it is invalid, if it is.
Place = tuple[int, int, str | None]


def _lines(content: mmap.mmap, name: str) -> Iterator[Place]:
    start, end = 3 if content[:3] == _BOM else 0, len(content)
    while start < end:
        newline = content.find(b"\n", start)
        stop = end if newline < 0 else newline
        if not _BLANK.fullmatch(content, start, stop):
            yield start, stop, None
        start = stop + 1


# Yield objects at depth 1 of an array, skipping strings, so that only structural braces are
# counted.
def _array(content: mmap.mmap, name: str) -> Iterator[Place]:
    place = _opening(content, name)
    depth, start, gap = 0, place, _BLANK
    for token in _TOKEN.finditer(content, place):
        mark = content[token.start() : token.start() + 1]
        if mark == b"{":
            if depth == 0:
                start = token.start()
                if not gap.fullmatch(content, place, start):
                    yield place, start, _unexpected(name, place)
                gap = _COMMA
            depth += 1
        elif mark == b"}" and depth:
            depth -= 1
            if depth == 0:
                place = token.end()
                yield start, place, None
    if depth:
        yield start, len(content), f"{name}: is not JSON: cut short at the end of the file"
    elif not _END.fullmatch(content, place):
        yield place, len(content), _unexpected(name, place)


def _unexpected(name: str, place: int) -> str:
    return f"{name}: is not a JSON array of objects: unexpected text at byte {place}"


def _opening(content: mmap.mmap, name: str) -> int:
    place = 3 if content[:3] == _BOM else 0
    place = _BLANK.match(content, place).end()  # type: ignore[union-attr]
    if content[place : place + 1] != b"[":
        hint = (
            "; name it .jsonl if it has one record per line"
            if content[place : place + 1] == b"{"
            else ""
        )
        raise DataError(
            f"{name}: is not a JSON array (it begins with {content[place : place + 12]!r}){hint}"
        )
    return place + 1


def spool_parquet(path: Path) -> Path:
    """Write the rows of a parquet table as JSON lines to a temporary file, which the caller
    removes.

    At every depth, a null means a missing field, because a parquet struct has the fields of all
    rows. Text in ``prediction`` or ``metadata`` is JSON.
    """
    with tempfile.NamedTemporaryFile(
        "wb", prefix="visualjudge-", suffix=".jsonl", delete=False
    ) as spool:
        try:
            for part in table_parts(path, _PARQUET_BATCH):
                for row in part.to_dicts():
                    spool.write(json.dumps(_row(row, path.name)).encode() + b"\n")
                    _check_spooled(spool.tell(), path)
        except DataError as error:
            Path(spool.name).unlink(missing_ok=True)
            raise DataError(str(error).replace(str(path), path.name)) from None
    return Path(spool.name)


def _check_spooled(size: int, path: Path) -> None:
    most = max(LARGEST_SPOOL, SPOOL_RATIO * path.stat().st_size)
    if size > most:
        raise DataError(f"{path}: its rows must take at most {most >> 20} MiB as JSON")


def _row(row: dict[str, Any], name: str) -> Any:
    for field in ("prediction", "metadata"):
        if isinstance(row.get(field), str):
            row[field] = jsons.lenient(row[field].encode(), f"{name}: {field}")
    return _without_nulls(row)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(item) for item in value]
    return value
