"""Read and write Parquet files of any size in parts, with polars."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visualjudge.core.errors import DataError, RunError
from visualjudge.core.parquet_bounds import check_parquet
from visualjudge.core.remote import far

if TYPE_CHECKING:
    import polars as pl

_LONGEST_REASON = 200
BYTES_A_PART = 32 << 20
"""Bytes of a part of a table, texts that stand once in the file counted for each row, unless it is
one row.
"""
LARGEST_ROW = 64 << 20


def parquet_schema(path: Path) -> pl.Schema:
    """Return the columns of a Parquet file and their types.

    Raises
    ------
    DataError
        If it is no Parquet file.
    """
    with readable(path):
        return _scan(path).collect_schema()


def parquet_metadata(path: Path) -> dict[str, str]:
    """Return the metadata in a Parquet file's footer.

    Raises
    ------
    DataError
        If it is no Parquet file.
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
        If it is no Parquet file.
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
        If it is no Parquet file.
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
        Those to read; None: all.

    Raises
    ------
    DataError
        If it is no Parquet file, or a column is not in it.
    """
    with readable(path):
        wanted = _scan(path) if columns is None else _scan(path).select(columns)
        for part in wanted.collect_batches(chunk_size=rows, maintain_order=True):
            yield from bounded_slices(part, rows)


def bounded_slices(frame: pl.DataFrame, rows: int) -> Iterator[pl.DataFrame]:
    """Yield parts of ``frame`` with at most ``rows`` rows and 32 MiB as Python objects, but at
    least one row.

    A text stored once in a file's dictionary may be in every row, and takes memory only when it is
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

    Exceptions of ``frames`` are passed on. The bytes depend only on the rows, not on how they are
    split into frames. Other readers see Parquet's own types: a list, instead of polars' list with
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
        with path.open(
            "wb"
        ) as file:  # polars may open a path late, after a frame has raised and the path was removed
            register_io_source(source, schema=dict(schema)).sink_parquet(
                file, compression="zstd", row_group_size=rows_a_group, metadata=footer
            )
        _hide_arrow_schema(path)
    except (PolarsError, PanicException, OSError) as error:
        if raised:
            raise raised[0] from None
        raise RunError(f"{path.parent}: cannot be written: {_in_short(error)}") from None


def _hide_arrow_schema(path: Path) -> None:
    """Rename the footer's entry that states polars' types, to a name of the same length."""
    with path.open("r+b") as file:
        file.seek(-8, os.SEEK_END)
        length = int.from_bytes(file.read(4), "little")
        start = file.seek(-8 - length, os.SEEK_END)
        footer = file.read(length)
        file.seek(start)
        file.write(footer.replace(b"ARROW:schema", b"polars.types", 1))


def _scan(path: Path) -> pl.LazyFrame:
    """Scan the file of exactly this name: no glob pattern, no columns from folder names."""
    import polars as pl

    _check(path)
    return pl.scan_parquet(str(path) if far(path) else path, glob=False, hive_partitioning=False)


def _check(path: Path) -> None:
    """Check the bounds on memory; not for an object store, where each page header would be a
    request.
    """
    if not far(path):
        check_parquet(path)


@contextmanager
def readable(path: Path, form: str = "a Parquet file", *also: type[Exception]) -> Iterator[None]:
    """Turn errors of polars, the disk or ``also`` into a message that states the required format.

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
