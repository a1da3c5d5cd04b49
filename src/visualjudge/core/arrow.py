"""Read tables of the ``datasets`` library in parts, with polars: Arrow streams and files
(``save_to_disk``), and Parquet.

polars reads a whole stream at once and ignores its metadata. Each record batch is therefore passed
to polars as a separate stream. Source: https://arrow.apache.org/docs/format/Columnar.html, "IPC".
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from visualjudge.core.parquet_files import bounded_slices, parquet_metadata, parquet_parts, readable

if TYPE_CHECKING:
    import polars as pl

_MAGIC = b"ARROW1\0\0"
_CONTINUED = b"\xff\xff\xff\xff"
_END = _CONTINUED + bytes(4)
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3
_LONGEST_HEAD = 1 << 24
_FORM = ("an Arrow stream or file", OverflowError, struct.error)


@dataclass(frozen=True, slots=True)
class _Message:
    """One message: its kind, its header (a flatbuffer), and all its bytes."""

    kind: int
    head: bytes
    content: bytes


def table_metadata(path: Path) -> dict[str, str]:
    """Return the schema metadata of a ``.parquet`` or ``.arrow`` file, such as ``"huggingface"``.

    Raises
    ------
    DataError
        If it is not such a file.
    """
    return parquet_metadata(path) if path.suffix == ".parquet" else arrow_metadata(path)


def table_parts(path: Path, rows: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of a ``.parquet`` or ``.arrow`` file, at most ``rows`` and 32 MiB at a time.

    Raises
    ------
    DataError
        If it is not such a file.
    """
    return parquet_parts(path, rows) if path.suffix == ".parquet" else arrow_parts(path, rows)


def arrow_metadata(path: Path) -> dict[str, str]:
    """Return the schema metadata, such as ``"huggingface"``.

    Raises
    ------
    DataError
        If it is not an Arrow stream or file.
    """
    with readable(path, *_FORM), path.open("rb") as file:
        first = next(_messages(file), None)
        if first is None:
            raise ValueError("it is empty")
        schema = _Flat(first.head).table(2)
        pairs = schema.tables(2) if first.kind == _SCHEMA else []
        return {pair.text(0): pair.text(1) for pair in pairs}


def arrow_parts(path: Path, rows: int) -> Iterator[pl.DataFrame]:
    """Yield the rows in order, at most ``rows`` at a time, with one record batch in memory.

    Raises
    ------
    DataError
        If it is not an Arrow stream or file, or has a type that polars does not support.
    """
    import polars as pl

    before: list[bytes] = []
    with readable(path, *_FORM), path.open("rb") as file:
        for message in _messages(file):
            if message.kind == _BATCH:
                batch = pl.read_ipc_stream(io.BytesIO(b"".join((*before, message.content, _END))))
                yield from bounded_slices(batch, rows)
            elif message.kind in (_SCHEMA, _DICTIONARY):
                before.append(message.content)


def _messages(file: BinaryIO) -> Iterator[_Message]:
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    if file.read(len(_MAGIC)) != _MAGIC:
        file.seek(0)
    while (start := file.read(8)) not in (_END, b""):
        continued, length = struct.unpack("<4sI", start)
        if continued != _CONTINUED or length > min(size, _LONGEST_HEAD):
            raise ValueError("a message must start with a continuation mark and its length")
        head = file.read(length)
        message = _Flat(head)
        body = message.number(3, "<q")
        if not 0 <= body <= size - file.tell():
            raise ValueError("the file ends in the middle of a record batch")
        yield _Message(message.number(1, "<B"), head, start + head + file.read(body))


class _Flat:
    """A flatbuffer table; ``number``, ``table`` … read a field by its position."""

    def __init__(self, data: bytes, at: int | None = None) -> None:
        self._data = data
        self._at = self._unsigned(0) if at is None else at

    def _unsigned(self, at: int) -> int:
        return int(struct.unpack_from("<I", self._data, at)[0])

    def _place(self, field: int) -> int | None:
        fields = self._at - struct.unpack_from("<i", self._data, self._at)[0]
        (length,) = struct.unpack_from("<H", self._data, fields)
        if 4 + 2 * field >= length:
            return None
        (offset,) = struct.unpack_from("<H", self._data, fields + 4 + 2 * field)
        return self._at + offset if offset else None

    def number(self, field: int, form: str) -> int:
        """Return a number; 0 if the field is absent."""
        place = self._place(field)
        return 0 if place is None else int(struct.unpack_from(form, self._data, place)[0])

    def _target(self, field: int) -> int:
        place = self._place(field)
        if place is None:
            raise ValueError("a message lacks a field")
        return place + self._unsigned(place)

    def table(self, field: int) -> _Flat:
        """Return a nested table."""
        return _Flat(self._data, self._target(field))

    def tables(self, field: int) -> list[_Flat]:
        """Return a list of tables, empty if the field is absent."""
        if self._place(field) is None:
            return []
        start = self._target(field)
        places = range(
            start + 4, start + 4 + 4 * min(self._unsigned(start), len(self._data) // 4), 4
        )
        return [_Flat(self._data, place + self._unsigned(place)) for place in places]

    def text(self, field: int) -> str:
        """Return a text."""
        start = self._target(field)
        return self._data[start + 4 : start + 4 + self._unsigned(start)].decode("utf-8", "replace")
