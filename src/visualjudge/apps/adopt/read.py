"""First step: what users give as rows of cells, each with its place. Reading one file
is in ``files.py``; the next step is ``roles.py``.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from visualjudge.apps.adopt.adopted_question import UNIT, Scale
from visualjudge.apps.adopt.files import (
    PlacedRows,
    Records,
    check_rows,
    contents,
)
from visualjudge.apps.adopt.logs import log_of, rows_of
from visualjudge.apps.adopt.roles import NAMES
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.typed_records import Rows, record_of
from visualjudge.formats.tables import first_row


def read(table: Any, form: str | None) -> Records:
    """Return the rows of files, of a data frame, or of dictionaries.

    ``form`` names the log format of files; None: recognised.

    Raises
    ------
    UsageError
        If ``table`` is none of these, or the files differ in format or scale.
    DataError
        If a file cannot be read, or there are no rows.
    """
    if isinstance(table, pl.DataFrame):
        table = table.to_dicts()
    elif hasattr(table, "iterrows"):  # of pandas, which is not imported
        table = table.to_dict("records")
    if not (
        isinstance(table, str | Path | Iterable)
        and getattr(table, "ndim", 1) != 0
    ):
        raise UsageError(f"table must be files or rows, got {table!r:.40}")
    entries: list[Any] = (
        [table] if isinstance(table, str | Path) else list(table)
    )
    if not entries or not all(isinstance(row, str | Path) for row in entries):
        return _records(
            "table", _placed("table", record_of(Rows, entries, "table"))
        )
    paths = [Path(entry) for entry in entries]
    files = [_file(path, form) for path in paths]
    if len({scale for _, scale in files}) > 1:
        raise UsageError(
            "the files must have one format and scale; adopt them separately"
        )
    name = paths[0].name if len(paths) == 1 else f"{paths[0].name} and others"
    return _records(
        name, [row for rows, _ in files for row in rows], files[0][1]
    )


def _records(
    name: str,
    rows: PlacedRows,
    scale: Scale | None = None,
) -> Records:
    if not rows:
        raise DataError(f"{name}: has no rows")
    header: dict[str, bool] = {}
    for _, row in rows:
        for column, cell in row.items():
            nested = isinstance(cell, list | dict)
            header[column] = nested or header.get(column, False)
    check_rows(Path(name), 0, len(header))
    return Records(name, rows, scale, header)


def _placed(
    name: str,
    rows: Iterable[Mapping[str, Any]],
) -> PlacedRows:
    return [
        (f"{name}: row {k}", dict(row))
        for k, row in enumerate(rows, first_row(name))
    ]


def _file(
    path: Path,
    form: str | None,
) -> tuple[PlacedRows, Scale | None]:
    content = contents(path)
    log = log_of(path, content, form)
    cells = content if log is None else rows_of(log, path, content)
    rows = record_of(
        Rows, cells, path, hint="; a table is a list of objects, one a row"
    )
    check_rows(path, len(rows), max(map(len, rows), default=0))
    if log is None:
        return _placed(path.name, rows), None
    if not any(name in row for row in rows for name in NAMES["order"]):
        # Letters in a log are those of the prompt, in which option A comes first.
        rows = [{**row, "order": "AB"} for row in rows]
    has_replies = any("reply" in row for row in rows)
    scale = None if log.scale == UNIT and has_replies else log.scale
    return _placed(path.name, rows), scale
