"""Read and write Parquet files, and read Arrow files of the ``datasets`` library, in
parts with polars. Tables that are *shown* are in ``text_tables.py``; tables of
strangers as rows, in ``formats/tables.py``.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TextIO

from visualjudge.core.errors import DataError, RunError
from visualjudge.core.untrusted import (
    BOUNDS,
    apart,
    check_file,
    read_file,
)

if TYPE_CHECKING:
    import polars as pl

# Maximum size of a part in bytes, unless it is a single row. A text stored once in a
# file's dictionary may occur in every row, but takes memory only when read.
BYTES_A_PART = 32 << 20
LARGEST_ROW = 256 << 20
CRLF = "\r\n"
# Most bytes of the texts of a stranger's table: these, or so many times those of its
# file.
MOST_TEXT = 256 << 20
MOST_RATIO = 64
BYTES_AN_ITEM = 32  # of a list, as an object of Python
_LONGEST_REASON = 200
_REMOTE = re.compile(r"(s3|gs|hf):/{1,2}(?=[^/])")


def is_remote(path: str | Path) -> bool:
    """Return whether ``path`` is the address of an object store or of the Hugging Face
    Hub, whose slashes ``pathlib`` may have merged. polars reads Parquet there.
    """
    return _REMOTE.match(os.fspath(path)) is not None


def scan(path: Path) -> pl.LazyFrame:
    """Return the rows of the Parquet file with exactly this name: no glob patterns, no
    columns from folder names.
    """
    import polars as pl

    if not is_remote(path):
        check_file(path, "parquet")
    source = _REMOTE.sub(r"\1://", os.fspath(path))
    return pl.scan_parquet(source, glob=False, hive_partitioning=False)


def tsv_writer(file: TextIO) -> Any:
    """Return a writer of rows that end in a line feed. A cell with a carriage return is
    quoted, which Python's does only for the characters of its own line end."""

    def write(row: str) -> int:
        return file.write(f"{row.removesuffix(CRLF)}\n")

    lines = SimpleNamespace(write=write)
    return csv.writer(lines, delimiter="\t", lineterminator=CRLF)


def table_metadata(path: Path) -> dict[str, str]:
    """Return the metadata of a ``.parquet`` file, such as ``"huggingface"``; of an
    ``.arrow`` file that ``datasets`` saved, the file ``dataset_info.json`` beside it.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    import polars as pl

    with readable(path):
        if path.suffix == ".parquet":
            return pl.read_parquet_metadata(path)
        info = path.with_name("dataset_info.json")
        return (
            {
                "huggingface": f'{{"info": {read_file(info, "manifest").decode()}}}'
            }
            if info.is_file()
            else {}
        )


def table_parts(path: Path, rows: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of a ``.parquet`` or ``.arrow`` file in order, at most ``rows``
    and 32 MiB at a time. Of an Arrow file, all rows are in memory.

    Raises
    ------
    DataError
        If it is not such a file.
    """
    import polars as pl

    with readable(path):
        if path.suffix == ".arrow":
            is_file = read_file(path, "parquet", size=6) == b"ARROW1"
            yield from _bounded(
                (pl.read_ipc if is_file else pl.read_ipc_stream)(path), rows
            )
            return
        for part in scan(path).collect_batches(
            chunk_size=rows, maintain_order=True
        ):
            yield from _bounded(part, rows)


def check_table(path: Path) -> None:
    """Refuse a ``.parquet`` or ``.arrow`` file of a stranger whose cells or texts would
    fill the memory: it is read once, apart, but for its images.

    Raises
    ------
    DataError
        If they would, or it cannot be read.
    """
    apart(_check_cells, path, "parquet")


def _check_cells(path: Path) -> None:
    import polars as pl
    import polars.selectors as select

    lengths = (
        select.by_dtype(pl.String, pl.Categorical)
        .cast(pl.String)
        .str.len_bytes()
    )
    sums = (
        lengths.cast(pl.Int64).sum(),
        select.list().list.len().cast(pl.Int64).sum() * BYTES_AN_ITEM,
    )
    with readable(path):
        # Arrow is in memory as a whole, which is bounded here.
        table = (
            pl.concat(table_parts(path, 100_000)).lazy()
            if path.suffix == ".arrow"
            else scan(path)
        )
        rows, *sizes = (
            table.select(pl.len(), *sums).collect(engine="streaming").row(0)
        )
        cells = rows * len(table.collect_schema())
    if cells > BOUNDS["parquet"].items:
        raise DataError(
            f"{path}: must have at most {BOUNDS['parquet'].items:,} cells, got "
            f"{cells:,}"
        )
    most = max(MOST_TEXT, MOST_RATIO * path.stat().st_size)
    if sum(sizes) > most:
        raise DataError(
            f"{path}: must have at most {most >> 20} MiB of texts and lists"
        )


def _bounded(frame: pl.DataFrame, rows: int) -> Iterator[pl.DataFrame]:
    for part in frame.iter_slices(rows):
        size = part.estimated_size()
        if size > BYTES_A_PART and part.height > 1:
            yield from _bounded(part, (part.height + 1) // 2)
        elif size > LARGEST_ROW:
            raise DataError(
                f"a row must take at most {LARGEST_ROW >> 20} MiB, got "
                f"{int(size) >> 20}"
            )
        else:
            yield part


def write_parquet(
    path: Path,
    frames: Iterable[pl.DataFrame],
    schema: Mapping[str, Any],
    *,
    rows_a_group: int,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write ``frames`` to ``path`` one after another, compressed with zstd, with a few
    row groups in memory.

    Exceptions raised by ``frames`` propagate. The bytes depend only on the rows, not on
    how they are split into frames. Other readers see Parquet's own list type instead of
    polars' list with 64-bit offsets, which ``datasets`` treats as a different type.

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
        # Polars may open a path late, after a frame has raised and the path has been
        # removed.
        with path.open("wb") as file:
            register_io_source(source, schema=dict(schema)).sink_parquet(
                file,
                compression="zstd",
                row_group_size=rows_a_group,
                metadata=footer,
            )
        _hide_arrow_schema(path)
    except KeyboardInterrupt as stop:
        # Polars raises one, and Python another for the same Ctrl-C, at its next call:
        # which is here, and not where the file is to be removed.
        raise KeyboardInterrupt(*stop.args) from None
    except (PolarsError, PanicException, OSError) as error:
        if raised:
            raise raised[0] from None
        raise RunError(
            f"{path.parent}: cannot be written: {_in_short(error)}"
        ) from None


def _hide_arrow_schema(path: Path) -> None:
    # The footer entry gets another name of the same length.
    with path.open("r+b") as file:
        file.seek(-8, os.SEEK_END)
        length = int.from_bytes(file.read(4), "little")
        start = file.seek(-8 - length, os.SEEK_END)
        footer = file.read(length)
        file.seek(start)
        file.write(footer.replace(b"ARROW:schema", b"polars.types", 1))


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Convert errors of polars and of the disk to a message that names the file.

    Raises
    ------
    DataError
        Instead of the original exception.
    """
    from polars.exceptions import PanicException, PolarsError

    forms = {".arrow": "an Arrow stream or file", ".parquet": "a Parquet file"}
    form = forms.get(path.suffix, "a table")
    try:
        yield
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except (PolarsError, PanicException, OSError, ValueError) as error:
        raise DataError(f"{path}: must be {form}: {_in_short(error)}") from None


def _in_short(error: BaseException) -> str:
    return " ".join(str(error).split("\n", 1)[0].split())[:_LONGEST_REASON]
