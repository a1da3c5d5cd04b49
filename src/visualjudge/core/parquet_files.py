"""Parquet files of any size, some rows at a time: read in parts, and written as their rows come; by
polars alone.
"""

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
    """The columns of a Parquet file and their types.

    Raises
    ------
    DataError
        If it is no Parquet file.
    """
    with readable(path):
        return _scan(path).collect_schema()


def parquet_metadata(path: Path) -> dict[str, str]:
    """The texts of a Parquet file's footer.

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
    """How many rows a Parquet file has, by its footer.

    Raises
    ------
    DataError
        If it is no Parquet file.
    """
    import polars as pl

    with readable(path):
        return int(_scan(path).select(pl.len()).collect().item())


def parquet_rows(path: Path, start: int, count: int) -> pl.DataFrame:
    """``count`` rows from ``start`` (0 or more) on; no more row groups are read than hold them.

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
    """The rows in their order, at most ``rows`` and 32 MiB at a time; a row group or two are in
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
    """``frame`` in parts of at most ``rows`` rows that become at most 32 MiB of Python objects, or
    are one row.

    A text that stands once in a file's dictionary may stand in every row, and takes no memory until
    then.

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
    """Write ``frames`` to ``path`` as they come, compressed with zstd; some row groups are in
    memory.

    What ``frames`` raises is raised. The bytes depend on the rows alone, not on how the frames cut
    them. Other readers see the types of Parquet itself: a list, not polars' list of 64-bit offsets,
    another type to ``datasets``.

    Parameters
    ----------
    schema
        Types by column, as each frame has them.
    metadata
        Texts of the file's footer, such as ``"huggingface"``.

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
    """Rename the footer's entry that states polars' types, by one of the same length."""
    with path.open("r+b") as file:
        file.seek(-8, os.SEEK_END)
        length = int.from_bytes(file.read(4), "little")
        start = file.seek(-8 - length, os.SEEK_END)
        footer = file.read(length)
        file.seek(start)
        file.write(footer.replace(b"ARROW:schema", b"polars.types", 1))


def _scan(path: Path) -> pl.LazyFrame:
    """The file of this very name: no pattern, no column out of a folder's name."""
    import polars as pl

    _check(path)
    return pl.scan_parquet(str(path) if far(path) else path, glob=False, hive_partitioning=False)


def _check(path: Path) -> None:
    """The bounds on memory; not of a file in an object store, where the header of each page would
    be a request.
    """
    if not far(path):
        check_parquet(path)


@contextmanager
def readable(path: Path, form: str = "a Parquet file", *also: type[Exception]) -> Iterator[None]:
    """Say of what polars, the disk or ``also`` raise that the file must be of this form.

    Raises
    ------
    DataError
        In place of what was raised.
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
