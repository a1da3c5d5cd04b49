"""Replies on disk: the journal, which is authoritative, and the results sheet of
MMBench's server (``.xlsx``). Their text is read in ``reply_reading.py``.

The sheet is an export. All cells except ``index`` are written as text, so that "=1+1",
"007" and "None" are unchanged.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from visualjudge.apps.mmbench.table import Row, Table, whole_number
from visualjudge.core.errors import DataError, InvalidRecord, Problem, RunError
from visualjudge.core.escaping import SURROGATE
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.output_files import OutputFile
from visualjudge.core.workbooks import workbook_rows
from visualjudge.formats.tables import read_table
from visualjudge.runs.journal import read_records

# Maximum number of characters in a workbook cell, counted in UTF-16 units as in
# spreadsheet programs.
CELL = 32_767
CUT = "… [cut here: {length} characters, whole in {whole}]"
_CUT = re.compile(r"… \[cut here: \d+ characters, whole in [^\]]*\]$")
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")


def write_workbook(
    path: str | Path,
    rows: Iterable[tuple[Row, str]],
    letters: Iterable[str],
    *,
    whole: str,
) -> int:
    """Write one line per row with its reply. Return the number of truncated cells.

    A text above 32,767 characters is truncated with a visible mark that names
    ``whole``, the file with the full text.

    Raises
    ------
    RunError
        If the file cannot be written.
    """
    import xlsxwriter
    from xlsxwriter.exceptions import FileCreateError

    wanted = sorted(
        {*"ABCD", *letters}
    )  # always A to D, as MMBench's server expects
    names = ("question", *wanted, "prediction", "category", "l2_category")
    cut = 0
    with (
        OutputFile(Path(path), "`out`").scratch() as scratch,
        TemporaryDirectory() as parts,
    ):
        book = xlsxwriter.Workbook(
            str(scratch), {"constant_memory": True, "tmpdir": parts}
        )
        sheet = book.add_worksheet("predictions")
        sheet.freeze_panes(1, 0)
        for place, name in enumerate(("index", *names)):
            sheet.write_string(0, place, name)
        for line, (row, prediction) in enumerate(rows, 1):
            sheet.write_number(line, 0, row.index)
            texts = {
                **row.options,
                "category": row.category,
                "l2_category": row.l2_category,
                "question": row.question,
                "prediction": prediction,
            }
            for place, name in enumerate(names, 1):
                text = texts.get(name, "")
                fitted = fit(text, whole)
                cut += len(fitted) != len(text)
                if text:
                    sheet.write_string(line, place, fitted)
        try:
            book.close()
        except FileCreateError as error:
            raise RunError(f"{path}: cannot be written: {error}") from None
    return cut


def fit(text: str, whole: str) -> str:
    """Return ``text`` as a cell can hold it: truncated with a mark if it is too long,
    lone surrogates replaced by U+FFFD.
    """
    clean = SURROGATE.sub("\ufffd", text)
    units = clean.encode("utf-16-le")
    if len(units) <= 2 * CELL:
        return clean
    mark = CUT.format(length=len(text), whole=whole)
    end = 2 * CELL - len(mark.encode("utf-16-le"))
    return units[:end].decode("utf-16-le", "ignore") + mark


def is_cut(text: str) -> bool:
    """Return whether a cell ends with the mark of a truncated text."""
    return bool(_CUT.search(text))


def read_workbook(path: str | Path) -> list[Json]:
    """Return the lines of a results sheet, without empty ones.

    Raises
    ------
    DataError
        If the file is not a workbook.
    """
    file = Path(path)
    if file.suffix.lower() not in (".xlsx", ".xlsm"):
        raise DataError(
            f"{file}: must be a sheet (.xlsx, .tsv, .json) or the .jsonl that `mmbench "
            "infer` wrote"
        )
    return [
        {name.strip(): value for name, value in row.items()}
        for row in workbook_rows(file, formulas=True)
        if row
    ]


def _by_index(file: Path, rows: Iterable[Fields]) -> dict[int, dict[str, str]]:
    """Return the rows of a table by index, as text."""
    lines: dict[int, dict[str, str]] = {}
    for number, cells in enumerate(rows, 2):
        for due in ("index", "prediction"):
            if due not in cells:
                raise DataError(
                    f"{file}: no column {due!r} (columns: {', '.join(map(str, cells))[:300]})"
                )
        index = whole_number(str(cells["index"]))
        if index is None:
            raise _invalid(
                file, number, f"{cells['index']!r} is not a whole number"
            )
        if index in lines:
            raise _invalid(file, number, f"{index} occurs twice")
        lines[index] = {name: _text(value) for name, value in cells.items()}
    return lines


def _text(value: Any) -> str:
    """Return a cell as text: a number as displayed, a formula as typed."""
    if isinstance(value, str):
        return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), value)
    whole = isinstance(value, float) and value.is_integer()
    return "" if value is None else str(int(value) if whole else value)


def _invalid(file: Path, number: int, reason: str) -> InvalidRecord:
    return InvalidRecord(Problem(str(file), f"line {number}", "index", reason))


def read_predictions(
    path: str | Path, table: Table | None = None
) -> tuple[dict[int, str], list[str]]:
    """Read replies by index from a results sheet (``.xlsx``, ``.tsv`` or ``.json``, one
    per row) or the ``.jsonl`` of ``infer``; the second value is remarks for the reader.

    VLMEvalKit writes one of the three kinds of sheets, as its variable ``PRED_FORMAT``
    states.

    Raises
    ------
    DataError
        If the file is missing or has a different format, or no reply is of the
        ``table``.
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(
            f"{file}: "
            + ("is a folder; name a file" if file.is_dir() else "no such file")
        )
    if file.suffix.lower() == ".jsonl":
        lines = replies(file)
    else:
        lines = _by_index(
            file,
            read_table(file)
            if file.suffix.lower() in (".tsv", ".json")
            else read_workbook(file),
        )
    if not lines:
        raise DataError(
            f"{file}: must hold at least one reply, with index and prediction in "
            "each line (.jsonl) or object (.json), got none"
        )
    by_index = {
        index: str(cells["prediction"]) for index, cells in lines.items()
    }
    cut = sum(map(is_cut, by_index.values()))
    remarks = {
        f"{file}: {cut} replies were cut to fit their cells; evaluate the .jsonl for "
        "the whole": cut,
        f"{file}: prediction: must be a letter or a text, got a number in each reply; "
        "if they count options, write A, B, C, D": all(
            map(str.isdigit, by_index.values())
        )
        and table is not None
        and set(by_index.values()).isdisjoint(
            text for row in table.rows for text in row.options.values()
        ),
    }
    notes = [remark for remark, holds in remarks.items() if holds]
    if table is not None:
        notes += _other_questions(file, lines, table)
    return by_index, notes


def _other_questions(
    file: Path, lines: Mapping[int, Fields], table: Table
) -> list[str]:
    """Return a remark where rows ask other questions than the table; raise an error if
    no index is of the table."""
    known = [index for index in lines if index in table.by_index]
    if lines and not known:
        such = f", such as {table.rows[0].index}" if table.rows else ""
        raise DataError(
            f"{file}: index: must occur in {table.path}{such}; none of the "
            f"{len(lines)} replies has one; the first index is {next(iter(lines))}"
        )
    cells = (
        (
            index,
            str(lines[index].get(name) or ""),
            table.by_index[index].cells.get(name, ""),
        )
        for index in known
        for name in ("question", "answer")
    )
    other = [
        index
        for index, text, due in cells
        if text and due and not is_cut(text) and text.split() != due.split()
    ]
    if not other:
        return []
    return [
        f"{file}: {len(other)} questions or answers are not those of {table.path} (the "
        f"first: index {other[0]}); are these the replies to this table?"
    ]


def replies(path: Path) -> dict[int, Json]:
    """Return the records of a journal with a reply, by index; a row may be there twice
    with one reply.

    Raises
    ------
    InvalidRecord
        If an index is no whole number, or has two replies, as in the results of two
        models.
    """
    collected: dict[int, Json] = {}
    for number, record in enumerate(read_records(path), 1):
        index = record.get("index")
        if not isinstance(index, int):
            raise _invalid(path, number, f"must be an integer, got {index!r}")
        if isinstance(record.get("prediction"), str | float | int):
            first = collected.setdefault(index, record)
            if first["prediction"] != record["prediction"]:
                raise _invalid(
                    path,
                    number,
                    f"{index} has another reply above; a file must hold those of one "
                    "model",
                )
    return collected
