"""Read and write Parquet files of any size in parts, with polars.

The memory that a page needs is read from its header before it is decompressed. The file's footer
states sizes too, but readers rely on the page headers, so these are checked. Footer and headers are
structs of Thrift's compact protocol. Sources: parquet.thrift of
https://github.com/apache/parquet-format, thrift-compact-protocol.md of
https://github.com/apache/thrift.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visualjudge.core.errors import DataError, RunError
from visualjudge.core.object_stores import far

if TYPE_CHECKING:
    import polars as pl

_LONGEST_REASON = 200
BYTES_A_PART = 32 << 20
"""Maximum size of a part in bytes, unless it is a single row. Texts stored once in the file are
counted for each row.
"""
LARGEST_ROW = 64 << 20


def parquet_schema(path: Path) -> pl.Schema:
    """Return the columns of a Parquet file and their types.

    Raises
    ------
    DataError
        If it is not a Parquet file.
    """
    with readable(path):
        return _scan(path).collect_schema()


def parquet_metadata(path: Path) -> dict[str, str]:
    """Return the metadata in a Parquet file's footer.

    Raises
    ------
    DataError
        If it is not a Parquet file.
    """
    import polars as pl

    with readable(path):
        _check(path)
        return pl.read_parquet_metadata(path)


def parquet_height(path: Path) -> int:
    """Return the number of rows of a Parquet file, from its footer.

    Raises
    ------
    DataError
        If it is not a Parquet file.
    """
    import polars as pl

    with readable(path):
        return int(_scan(path).select(pl.len()).collect().item())


def parquet_rows(path: Path, start: int, count: int) -> pl.DataFrame:
    """Return ``count`` rows from row ``start`` (0 or more), reading only the row groups that hold
    them.

    Raises
    ------
    DataError
        If it is not a Parquet file.
    """
    with readable(path):
        return _scan(path).slice(start, count).collect()


def parquet_parts(
    path: Path, rows: int, columns: Sequence[str] | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the rows in order, at most ``rows`` and 32 MiB at a time, with one or two row groups in
    memory.

    Parameters
    ----------
    columns
        Columns to read; None = all.

    Raises
    ------
    DataError
        If it is not a Parquet file, or lacks a column.
    """
    with readable(path):
        wanted = _scan(path) if columns is None else _scan(path).select(columns)
        for part in wanted.collect_batches(chunk_size=rows, maintain_order=True):
            yield from bounded_slices(part, rows)


def bounded_slices(frame: pl.DataFrame, rows: int) -> Iterator[pl.DataFrame]:
    """Yield parts of ``frame`` with at most ``rows`` rows that take at most 32 MiB as Python
    objects; each has at least one row.

    A text stored once in a file's dictionary may occur in every row, but takes memory only when
    read.

    Raises
    ------
    DataError
        If a row takes more than 64 MiB.
    """
    for part in frame.iter_slices(rows):
        size = part.estimated_size()
        if size <= BYTES_A_PART:
            yield part
        elif part.height > 1:
            yield from bounded_slices(part, (part.height + 1) // 2)
        elif size <= LARGEST_ROW:
            yield part
        else:
            raise DataError(
                f"a row must take at most {LARGEST_ROW >> 20} MiB, got {int(size) >> 20}"
            )


def write_parquet(
    path: Path,
    frames: Iterable[pl.DataFrame],
    schema: Mapping[str, Any],
    *,
    rows_a_group: int,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write ``frames`` to ``path`` one after another, compressed with zstd, with a few row groups
    in memory.

    Exceptions raised by ``frames`` propagate. The bytes depend only on the rows, not on how they
    are split into frames. Other readers see Parquet's own list type instead of polars' list with
    64-bit offsets, which ``datasets`` treats as a different type.

    Parameters
    ----------
    schema
        Types by column; each frame must have them.
    metadata
        Metadata for the file's footer, such as ``"huggingface"``.

    Raises
    ------
    RunError
        If the file cannot be written.
    """
    from polars.exceptions import PanicException, PolarsError
    from polars.io.plugins import register_io_source

    raised: list[Exception] = []

    def source(*_: object) -> Iterator[pl.DataFrame]:
        try:
            yield from frames
        except Exception as error:
            raised.append(error)
            raise

    footer = None if metadata is None else dict(metadata)
    try:
        # Polars may open a path late, after a frame has raised and the path has been removed.
        with path.open("wb") as file:
            register_io_source(source, schema=dict(schema)).sink_parquet(
                file, compression="zstd", row_group_size=rows_a_group, metadata=footer
            )
        _hide_arrow_schema(path)
    except (PolarsError, PanicException, OSError) as error:
        if raised:
            raise raised[0] from None
        raise RunError(f"{path.parent}: cannot be written: {_in_short(error)}") from None


def _hide_arrow_schema(path: Path) -> None:
    """Hide polars' types from other readers by renaming their footer entry to a name of the same
    length.
    """
    with path.open("r+b") as file:
        file.seek(-8, os.SEEK_END)
        length = int.from_bytes(file.read(4), "little")
        start = file.seek(-8 - length, os.SEEK_END)
        footer = file.read(length)
        file.seek(start)
        file.write(footer.replace(b"ARROW:schema", b"polars.types", 1))


def _scan(path: Path) -> pl.LazyFrame:
    """Scan the file with exactly this name: no glob patterns, no columns from folder names."""
    import polars as pl

    _check(path)
    return pl.scan_parquet(str(path) if far(path) else path, glob=False, hive_partitioning=False)


def _check(path: Path) -> None:
    """Check the memory limits, except for an object store, where each page header would need a
    request.
    """
    if not far(path):
        check_parquet(path)


@contextmanager
def readable(path: Path, form: str = "a Parquet file", *also: type[Exception]) -> Iterator[None]:
    """Convert errors of polars, the disk or ``also`` to a message that states the required format.

    Raises
    ------
    DataError
        Instead of the original exception.
    """
    from polars.exceptions import PanicException, PolarsError

    failures: tuple[type[BaseException], ...] = (
        PolarsError,
        PanicException,
        OSError,
        ValueError,
        *also,
    )
    try:
        yield
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except failures as error:
        raise DataError(f"{path}: must be {form}: {_in_short(error)}") from None


def _in_short(error: BaseException) -> str:
    return " ".join(str(error).split("\n", 1)[0].split())[:_LONGEST_REASON]


Struct = dict[int, Any]
UNPACKED, RATIO = 128 << 20, 16
"""Maximum unpacked size of a row group's pages: this many bytes, or this many times their size in
the file, whichever is larger.
"""
MOST_VALUES = 1 << 24
"""Maximum number of values in a row group, over all columns."""
LONGEST_FOOTER = 8 << 20
MOST_PAGES = 100_000
_DEEPEST = 32
_MAGIC = b"PAR1"
_DELTA_BYTE_ARRAY = 7
"""An encoding that stores what a text shares with the previous one. No header states its unpacked
size.
"""


def check_parquet(path: Path) -> None:
    """Reject a Parquet file with a row group that needs more memory than this module allows.

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
            _check_page_sizes(content)
    except (IndexError, KeyError, TypeError, AttributeError, RecursionError, struct.error) as error:
        raise ValueError("its footer, or the header of a page, cannot be read") from error


def _check_page_sizes(content: mmap.mmap) -> None:
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
    """Yield the page headers of a column. Fields: 2 uncompressed size, 3 size in the file; 5 and 8
    data pages, 7 dictionary page.
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
    """Read structs of the compact protocol as dicts, keyed by field number."""

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
