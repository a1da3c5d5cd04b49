"""Check how much memory the pages of a Parquet file need, from their headers, before any is
decompressed.

The file's footer states sizes too, but readers use the page headers, which therefore decide how
much memory a file needs. Footer and headers are structs of Thrift's compact protocol. Sources:
parquet.thrift of https://github.com/apache/parquet-format, thrift-compact-protocol.md of
https://github.com/apache/thrift.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

Struct = dict[int, Any]
UNPACKED, RATIO = 128 << 20, 16
"""Bytes that the pages of a row group unpack to, or that many times what they take in the file, if
that is more.
"""
MOST_VALUES = 1 << 24
"""Values of a row group, over all its columns."""
LONGEST_FOOTER = 8 << 20
MOST_PAGES = 100_000
_DEEPEST = 32
_MAGIC = b"PAR1"
_DELTA_BYTE_ARRAY = 7
"""An encoding of texts by what they share with the one before: what it unpacks to is in no
header.
"""


def check_parquet(path: Path) -> None:
    """Refuse a Parquet file with a row group that needs more memory than this module allows.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it exceeds a bound, or is not a Parquet file.
    """
    found = path.stat()
    _checked(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=256)
def _checked(path: Path, _changed: int, size: int) -> None:
    if size < 3 * len(_MAGIC):
        raise ValueError("it is too short")
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            _check(content)
    except (IndexError, KeyError, TypeError, AttributeError, RecursionError, struct.error) as error:
        raise ValueError("its footer, or the header of a page, cannot be read") from error


def _check(content: mmap.mmap) -> None:
    end = len(content) - 8
    (length,) = struct.unpack("<I", content[end : end + 4])
    if content[-4:] != _MAGIC or not 0 < length <= min(end, LONGEST_FOOTER):
        raise ValueError(f"it must end in a footer of at most {LONGEST_FOOTER >> 20} MiB")
    footer = _Thrift(content[end - length : end], 0).struct()
    groups = footer.get(4, [])
    if footer[3] != sum(group[3] for group in groups):
        raise ValueError("its footer must state the number of its rows")
    pages = 0
    for number, group in enumerate(groups):
        pages = _check_group(content, number, group, pages)


def _check_group(content: mmap.mmap, number: int, group: Struct, pages: int) -> int:
    packed = unpacked = values = 0
    for column in group[1]:
        rows = 0
        for header in _pages(content, column[3]):
            pages += 1
            packed, unpacked = packed + header[3], unpacked + header[2]
            told = header.get(5) or header.get(8) or header.get(7) or {1: 0}
            rows += 0 if 7 in header else told[1]
            values += told[1]
            _check_bound(number, "pages of the file", pages, MOST_PAGES)
            _check_bound(number, "values", values, MOST_VALUES)
            _check_bound(number, "bytes, unpacked", unpacked, max(UNPACKED, RATIO * packed))
            if told.get(4 if 8 in header else 2) == _DELTA_BYTE_ARRAY:
                raise ValueError(
                    "the encoding DELTA_BYTE_ARRAY is not read; write the file again without it"
                )
        if not 0 <= group[3] <= rows:
            raise ValueError(
                f"row group {number}: states {group[3]} rows, and a column has {rows} values"
            )
    return pages


def _check_bound(number: int, what: str, count: int, most: int) -> None:
    if count > most:
        raise ValueError(
            f"row group {number}: {what} must be at most {most:,}, got {count:,} or more"
        )


def _pages(content: mmap.mmap, column: Struct) -> Iterator[Struct]:
    """Yield the headers of a column's pages. Fields: 2 uncompressed size, 3 size in the file; 5 and
    8 data pages, 7 dictionary page.
    """
    place = min(offset for offset in (column[9], column.get(11)) if offset)
    end = place + column[7]
    if not 0 < place <= end <= len(content):
        raise ValueError("a column must lie inside the file")
    while place < end:
        reader = _Thrift(content, place)
        header = reader.struct()
        if not (header[2] >= 0 and 0 <= header[3] <= end - reader.place):
            raise ValueError("a page must lie inside its column")
        if any(told[1] < 0 for told in (header.get(k) for k in (5, 7, 8)) if told):
            raise ValueError("a page must not have fewer than 0 values")
        yield header
        place = reader.place + header[3]


class _Thrift:
    """Reads structs of the compact protocol as dicts, by field number."""

    def __init__(self, data: bytes | mmap.mmap, place: int) -> None:
        self._data = data
        self.place = place
        self._depth = 0

    def struct(self) -> Struct:
        """Return the struct that begins here."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("its footer, or the header of a page, is nested too deeply")
        found: Struct = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            found[field] = kind == 1 if kind in (1, 2) else self._value(kind)
        self._depth -= 1
        return found

    def _value(self, kind: int) -> Any:
        return _READERS[kind](self)

    def _byte(self) -> int:
        self.place += 1
        return self._data[self.place - 1]

    def _unsigned(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 0x80 and shift < 63:
            number |= (byte & 0x7F) << shift
            shift += 7
        return number | byte << shift

    def _signed(self) -> int:
        number = self._unsigned()
        return number >> 1 ^ -(number & 1)

    def _skip(self, count: int) -> None:
        if count > len(self._data) - self.place:
            raise ValueError("a text must lie inside the file")
        self.place += count

    def _list(self) -> list[Any]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._unsigned()
        if count > len(self._data) - self.place:
            raise ValueError("a list must lie inside the file")
        return [self._value(head & 15) for _ in range(count)]

    def _map(self) -> None:
        count = self._unsigned()
        kinds = self._byte() if count else 0
        for _ in range(min(count, len(self._data))):
            self._value(kinds >> 4)
            self._value(kinds & 15)


_READERS: dict[int, Callable[[_Thrift], Any]] = {
    1: _Thrift._byte,
    2: _Thrift._byte,
    3: _Thrift._byte,
    4: _Thrift._signed,
    5: _Thrift._signed,
    6: _Thrift._signed,
    7: lambda reader: reader._skip(8),
    8: lambda reader: reader._skip(reader._unsigned()),
    9: _Thrift._list,
    10: _Thrift._list,
    11: _Thrift._map,
    12: _Thrift.struct,
}
