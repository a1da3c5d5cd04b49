"""Files of tables, and data frames of other libraries, as polars data frames."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl

from visualjudge.core.errors import DataError, UsageError
from visualjudge.formats.sample import check_separated, read_text


def frame_of(table: Any) -> pl.DataFrame:
    """Convert a polars or pandas data frame, a mapping of columns, or a list of dictionaries to a
    polars data frame.
    """
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, Mapping):
        return pl.DataFrame(table, strict=False)
    if hasattr(table, "to_dict") and hasattr(table, "columns"):  # pandas, without importing it
        return pl.DataFrame(
            {str(column): table[column].tolist() for column in table.columns}, strict=False
        )
    return pl.DataFrame(list(table), infer_schema_length=None, strict=False)


def read_table(path: Path) -> pl.DataFrame:
    """Read a CSV, TSV, JSON, JSONL, Parquet or Excel file; cells of CSV and TSV are text.

    Raises
    ------
    UsageError
        If it has another extension, or the reader of Excel files is not installed.
    DataError
        If it cannot be read.
    """
    kind = path.suffix.lower()
    try:
        if kind in (".csv", ".tsv"):
            text = read_text(path)
            separator = separator_of(text.partition("\n")[0], kind)
            table = _separated(path, text, separator)
            check_separated(path, table.columns)
            return table
        if kind in (".jsonl", ".ndjson"):
            return pl.read_ndjson(path, infer_schema_length=None)
        if kind == ".json":
            return pl.read_json(path, infer_schema_length=None)
        if kind == ".parquet":
            return pl.read_parquet(path)
        if kind in (".xlsx", ".xls"):
            return pl.read_excel(path, engine="openpyxl" if kind == ".xlsx" else "calamine")
    except ModuleNotFoundError:
        raise UsageError(
            f"{path}: Excel files of this kind need fastexcel; run: pip install fastexcel"
        ) from None
    except (pl.exceptions.PolarsError, ValueError, OSError) as error:
        raise DataError(f"{path}: cannot be read: {' '.join(str(error).split())[:300]}") from None
    raise UsageError(f"{path}: must end in .csv, .tsv, .json, .jsonl, .parquet, .xlsx or .eval")


def separator_of(header: str, kind: str) -> str:
    """Return the cell separator: that of the file's extension, unless the header has only another
    one.
    """
    usual = "\t" if kind == ".tsv" else ","
    other = [sign for sign in ("\t", ";", ",") if sign in header]
    return usual if usual in header or not other else other[0]


def _separated(path: Path, text: str, separator: str) -> pl.DataFrame:
    """Parse a CSV or TSV file whose rows have at most as many cells as the header."""
    try:
        return pl.read_csv(StringIO(text), separator=separator, infer_schema=False)
    except pl.exceptions.ComputeError:
        rows = csv.reader(StringIO(text), delimiter=separator)
        width = len(next(rows))
        for number, row in enumerate(rows, 2):
            if len(row) > width:
                raise DataError(
                    f"{path}: row {number}: must have {width} cells, got {len(row)}; quote cells "
                    "that hold the separator"
                ) from None
        raise
