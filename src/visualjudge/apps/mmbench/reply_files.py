"""Replies on disk: the journal, which is authoritative, and the results sheet of MMBench's server
(``.xlsx``).

The sheet is an export. All cells except ``index`` are written as text, so that "=1+1", "007" and
"None" are unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from visualjudge.apps.mmbench.table import Row, Table, whole_number
from visualjudge.core.atomic import atomic_path
from visualjudge.core.errors import DataError, InvalidRecord, Problem, RunError
from visualjudge.core.workbooks import workbook_rows
from visualjudge.formats.sample import read_table
from visualjudge.runs.journal import read_records

# Maximum number of characters in a workbook cell, counted in UTF-16 units as in spreadsheet
# programs.
CELL = 32_767
CUT = "… [cut here: {length} characters, whole in {whole}]"
_CUT = re.compile(r"… \[cut here: \d+ characters, whole in [^\]]*\]$")
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_SURROGATE = re.compile("[\ud800-\udfff]")


def columns(letters: Iterable[str]) -> list[str]:
    """Return the sheet's columns: always A to D, and further letters if present in the data."""
    wanted = sorted({*"ABCD", *letters})
    return ["index", "question", *wanted, "prediction", "category", "l2_category"]


def write_workbook(
    path: str | Path, rows: Iterable[tuple[Row, str]], letters: Iterable[str], *, whole: str
) -> int:
    """Write one line per row with its reply. Return the number of truncated cells.

    A text above 32,767 characters is truncated with a visible mark that names ``whole``, the file
    with the full text.

    Raises
    ------
    RunError
        If the file cannot be written.
    """
    import xlsxwriter
    from xlsxwriter.exceptions import FileCreateError

    names = columns(letters)
    cut = 0
    with atomic_path(path) as scratch, TemporaryDirectory() as parts:
        book = xlsxwriter.Workbook(str(scratch), {"constant_memory": True, "tmpdir": parts})
        sheet = book.add_worksheet("predictions")
        sheet.freeze_panes(1, 0)
        for place, name in enumerate(names):
            sheet.write_string(0, place, name)
        for line, (row, prediction) in enumerate(rows, 1):
            cut += _write_line(sheet, line, names, row, prediction, whole)
        try:
            book.close()
        except FileCreateError as error:
            raise RunError(f"{path}: cannot be written: {error}") from None
    return cut


def _write_line(
    sheet: Any, line: int, names: list[str], row: Row, prediction: str, whole: str
) -> int:
    texts = {
        **row.options,
        "question": row.question,
        "prediction": prediction,
        "category": row.category,
        "l2_category": row.l2_category,
    }
    cut = 0
    for place, name in enumerate(names):
        if name == "index":
            sheet.write_number(line, place, row.index)
        elif text := texts.get(name, ""):
            fitted = fit(text, whole)
            cut += len(fitted) != len(text)
            sheet.write_string(line, place, fitted)
    return cut


def fit(text: str, whole: str) -> str:
    """Return ``text`` as a cell can hold it: truncated with a mark if it is too long, lone
    surrogates replaced by U+FFFD.
    """
    clean = _SURROGATE.sub("\ufffd", text)
    if _units(clean) <= CELL:
        return clean
    mark = CUT.format(length=f"{len(text)}", whole=whole)
    return (
        clean.encode("utf-16-le")[: 2 * (CELL - _units(mark))].decode("utf-16-le", "ignore") + mark
    )


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def is_cut(text: str) -> bool:
    """Return whether a cell ends with the mark of a truncated text."""
    return bool(_CUT.search(text))


def read_workbook(path: str | Path) -> dict[int, Mapping[str, str]]:
    """Return the lines of a results sheet by index, with cells as text; a blank cell is ``""``.

    Raises
    ------
    DataError
        If the file is missing, is not a workbook, or lacks the column ``index`` or ``prediction``.
    InvalidRecord
        If an index is not an integer or is duplicated, or a prediction is a date.
    """
    file = Path(path)
    if file.suffix.lower() not in (".xlsx", ".xlsm"):
        raise DataError(
            f"{file}: must be a sheet that ends in .xlsx, .tsv or .json, or the .jsonl that "
            f"`mmbench infer` wrote, got {file.suffix or 'no ending'}"
        )
    rows = [
        {name.strip(): value for name, value in row.items()}
        for row in workbook_rows(file, formulas=True)
    ]
    return _by_index(file, list(next(filter(None, rows), {})), rows)


# Return the rows of a table with its header in line 1, without empty rows.
def _by_index(
    file: Path, names: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> dict[int, Mapping[str, str]]:
    for due in ("index", "prediction"):
        if due not in names:
            raise DataError(f"{file}: no column {due!r} (columns: {', '.join(names)[:300]})")
    found: dict[int, Mapping[str, str]] = {}
    for number, cells in enumerate(rows, 2):
        if all(value is None for value in cells.values()):
            continue
        index = _index(file, number, cells.get("index"))
        if index in found:
            raise _invalid(file, number, "index", f"{index} occurs twice")
        found[index] = {
            name: _text(file, number, name, value)
            for name, value in cells.items()
            if name != "index"
        }
    return found


def _index(file: Path, number: int, value: Any) -> int:
    if isinstance(value, str) and (index := whole_number(value)) is not None:
        return index
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value < 2**63
        and value == int(value)
    ):
        return int(value)
    raise _invalid(file, number, "index", f"{value!r} is not a whole number")


# Return a cell as text: a number as displayed, a formula as typed.
def _text(file: Path, number: int, name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), value)
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        return str(int(value)) if abs(value) < 1e300 and value == int(value) else repr(value)
    if name == "prediction":
        raise _invalid(file, number, name, f"must be text, got {type(value).__name__}")
    return str(value)


def _invalid(file: Path, number: int, column: str, reason: str) -> InvalidRecord:
    return InvalidRecord(Problem(str(file), f"line {number}", column, reason))


@dataclass(frozen=True)
class Predictions:
    """Replies by index; ``notes`` holds remarks for the reader."""

    replies: Mapping[int, str]
    notes: tuple[str, ...] = ()


def read_predictions(path: str | Path, table: Table | None = None) -> Predictions:
    """Read replies from a results sheet (``.xlsx``, ``.tsv`` or ``.json``, one per row) or the
    ``.jsonl`` of ``infer``.

    VLMEvalKit writes one of the three kinds of sheets, as its variable ``PRED_FORMAT`` states.

    Raises
    ------
    DataError
        If the file is missing or has a different format, or no reply is of the ``table``.
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(f"{file}: no such file")
    if file.suffix.lower() == ".jsonl":
        found = {index: record["prediction"] for index, record in replies(file).items()}
        _check_indexes(file, found, table)
        return Predictions(found)
    if file.suffix.lower() in (".tsv", ".json"):
        rows = read_table(file)
        lines = _by_index(file, list(rows[0]) if rows else [], rows)
    else:
        lines = read_workbook(file)
    found = {index: cells["prediction"] for index, cells in lines.items()}
    _check_indexes(file, found, table)
    return Predictions(found, tuple(_notes(file, found, lines, table)))


# Raise an error if no reply belongs to a row of the table.
def _check_indexes(file: Path, found: Mapping[int, str], table: Table | None) -> None:
    if table is not None and found and not any(index in table.by_index for index in found):
        raise DataError(
            f"{file}: index: must occur in {table.path}, such as {table.rows[0].index}; none of "
            f"the {len(found)} replies has one; the first index is {next(iter(found))}"
            if table.rows
            else f"{table.path}: has no rows"
        )


def replies(path: Path) -> dict[int, dict[str, Any]]:
    """Return the records of a journal with a reply, by index; the last one if a row was asked
    repeatedly.
    """
    found: dict[int, dict[str, Any]] = {}
    for number, record in enumerate(read_records(path), 1):
        index = record.get("index")
        if not isinstance(index, int):
            raise InvalidRecord(
                Problem(str(path), f"record {number}", "index", "must be an integer")
            )
        if isinstance(record.get("prediction"), str):
            found[index] = record
    return found


def _notes(
    file: Path,
    found: Mapping[int, str],
    lines: Mapping[int, Mapping[str, str]],
    table: Table | None,
) -> list[str]:
    notes = []
    cut = sum(map(is_cut, found.values()))
    if cut:
        notes.append(
            f"{file}: {cut} replies were cut to fit their cells; evaluate the .jsonl for the whole"
        )
    if table is not None:
        other = [
            i for i, cells in lines.items() if _other_question(cells.get("question"), table, i)
        ]
        if other:
            notes.append(
                f"{file}: {len(other)} rows ask another question than {table.path} (the first: "
                f"index {other[0]}); "
                "are these the replies to this table?"
            )
    return notes


def _other_question(question: str | None, table: Table, index: int) -> bool:
    row = table.by_index.get(index)
    if not question or row is None or is_cut(question):
        return False
    return question.split() != row.question.split()
