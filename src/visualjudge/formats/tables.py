"""Tables, JSON, texts and pickles of strangers."""

from __future__ import annotations

import csv
import pickle
from codecs import BOM_UTF8
from collections.abc import Iterator
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visualjudge.core import jsons
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.jsons import DEEPEST_JSON, is_deep
from visualjudge.core.typed_records import Rows, record_of
from visualjudge.core.untrusted import read_file, text_lines

if TYPE_CHECKING:
    import polars as pl


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises
    ------
    DataError
        If there is no such file, or it is not JSON; the message names the line.
    """
    return jsons.lenient(
        read_file(path, "table").removeprefix(BOM_UTF8), str(path)
    )


class _DataOnly(pickle.Unpickler):
    """Unpickler of plain data. It rejects imported names, through which pickles could
    run code."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(
            f"it names {module}.{name}, which is not plain data"
        )


def read_pickle(path: Path) -> Any:
    """Read a pickle of plain data (lists, dicts, strings, numbers) without executing
    anything in it.

    Raises
    ------
    DataError
        If there is no such file, or it is larger than 1 GiB, is not a pickle, or
        contains more than plain data.
    """
    content = BytesIO(read_file(path, "table"))
    try:
        value = _DataOnly(content, encoding="latin1").load()
    except Exception as error:  # an unpickler of a damaged file raises anything
        raise DataError(
            f"{path}: must be a pickle of plain data: {error}"
        ) from None
    if is_deep(value):
        raise DataError(
            f"{path}: must be nested at most {DEEPEST_JSON} levels deep"
        )
    return value


def read_table(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a table with named columns: ``.csv``, ``.tsv``, ``.jsonl``, or
    ``.json`` (an array of objects).

    Raises
    ------
    DataError
        If the file is missing or malformed; the message names the line.
    """
    if path.suffix.lower() == ".json":
        content = read_json(path)
        rows = list(content.values()) if isinstance(content, dict) else content
        return record_of(Rows, rows, path)
    return list(table_rows(path))


def table_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a ``.csv``, ``.tsv`` or ``.jsonl`` file as they are read.

    Raises
    ------
    DataError
        As :func:`read_table` does.
    """
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        for number, line in enumerate(text_lines(path), 1):
            if line.strip():
                value = jsons.lenient(line, str(path), number)
                yield record_of(jsons.Json, value, f"{path}: line {number}")
    elif suffix in (".csv", ".tsv"):
        yield from _separated(path, "\t" if suffix == ".tsv" else ",")
    else:
        raise UsageError(
            f"{path}: a table must be a .csv, .tsv, .jsonl or .json file"
        )


def read_texts(path: Path) -> pl.DataFrame:
    """Read a ``.csv`` or ``.tsv`` file as a data frame of text.

    Raises
    ------
    DataError
        As :func:`read_table` does, or if it has no rows.
    """
    import polars as pl

    rows = list(table_rows(path))
    if not rows:
        raise DataError(f"{path}: has no rows")
    return pl.DataFrame(rows, infer_schema_length=None)


def read_text(path: Path) -> str:
    """Read a UTF-8 file, or a UTF-16 file that begins with a byte order mark, as
    Windows writes them.

    Raises
    ------
    DataError
        If there is no such file, or it has another encoding.
    """
    return "".join(text_lines(path))


def _separated(path: Path, delimiter: str) -> Iterator[dict[str, Any]]:
    lines = text_lines(path)
    header = next(lines, "")
    other = [
        sign
        for sign in ("\t", ";", ",")
        if sign in header and delimiter not in header
    ]
    table = csv.DictReader(
        chain([header], lines),
        delimiter=other[0] if other else delimiter,
        strict=True,
    )
    try:
        names = [name for name in table.fieldnames or () if name.strip()]
        if len(set(names)) < len(names):
            raise DataError(
                f"{path}: a header must name a column once, got {', '.join(names)}"
            )
        for number, row in enumerate(table, 2):
            if None in row or None in row.values():
                raise DataError(
                    f"{path}: row {number}: must have as many cells as the header"
                )
            yield row
    except csv.Error as error:
        raise DataError(f"{path}: is not a table: {error}") from None
