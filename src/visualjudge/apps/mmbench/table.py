"""Tables of multiple-choice questions (MMBench's TSV), and the records of a run on
them. Images in it are in ``table_images.py``.

Cells are text: an option "None", "N/A" or "nan" is an option; only a blank cell is
missing.
"""

import csv
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from visualjudge.core.errors import DataError, InvalidRecord, Problem
from visualjudge.core.untrusted import text_lines

# Maximum length of an image cell that holds another row's index, as VLMEvalKit reads
# published files.
REFERENCE_CELL = 64
_INDEX = re.compile(r"(\d{1,18})(?:\.0*)?")
_NO_HINT = frozenset(("", "nan", "none", "null", "n/a"))

# Index offset: a question's k-th rotation has the question's index plus k times this.
ROTATION = 1_000_000

Rules = Literal["strict", "vlmevalkit"]
AnswerForm = Literal["letter", "letters", "list"]
"""How a table states the right options: as a letter, as letters (``AC``), or as a list
(``['A', 'C']``).
"""
_LETTERS = re.compile(r"[A-Z](?:[\s,;]*[A-Z])+")
_LIST = re.compile(r"""\[[\s'"]*[A-Z](?:[\s'",]*[A-Z])*[\s'"]*\]""")


@dataclass(frozen=True, slots=True)
class Row:
    """One question of a table, with its ``cells`` by column as the file has them.

    ``options`` maps the letter of each option that is not blank to its text, in letter
    order, and ``answer`` has the letters of all right options, in order. A missing cell
    is ``""``, and so is a hint "nan", as pandas writes a blank. ``line`` is the first
    line of the record, counted from 1.
    """

    index: int
    question: str
    hint: str
    options: Mapping[str, str]
    answer: str
    category: str
    l2_category: str
    split: str
    cells: Mapping[str, str]
    line: int
    answer_form: AnswerForm = "letter"

    @property
    def group(self) -> int:
        """The index of the question that this row is a rotation of."""
        return self.index % ROTATION

    @property
    def rotation(self) -> int:
        """Number of the rotation; 0 is the question itself."""
        return self.index // ROTATION


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """One row with its reply; ``prediction`` is None without a reply."""

    row: Row
    prediction: str | None
    extracted: str | None
    why: str
    hit: bool
    image: str = ""
    """What all rows about one image have in common."""


@dataclass(frozen=True)
class Table:
    """Rows of a TSV; ``problems`` lists the omitted records with reasons."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...] = ()

    @cached_property
    def by_index(self) -> Mapping[int, Row]:
        """The rows by index."""
        return {row.index: row for row in self.rows}

    def image_row(self, row: Row) -> Row:
        """Return the row that holds the image of ``row``: itself, or the one that its
        image cell points to.

        Raises
        ------
        InvalidRecord
            If the target row is missing, or rows point to one another in a cycle.
        """
        seen = {row.index}
        owner = row
        while (target := _reference(owner)) is not None:
            if target in seen or target not in self.by_index:
                reason = (
                    "and the references form a circle"
                    if target in seen
                    else "which is not in the table"
                )
                raise self.invalid(
                    row,
                    "image",
                    f"points at the image of index {target}, {reason}",
                )
            seen.add(target)
            owner = self.by_index[target]
        return owner

    def image_text(self, row: Row) -> str:
        """Return the cell that holds the image of the row's question, or the
        question's index where no image can be found."""
        try:
            owner = self.image_row(self.by_index.get(row.group, row))
        except InvalidRecord:
            owner = row
        return owner.cells.get("image", "").strip() or str(row.group)

    def invalid(self, row: Row, column: str, reason: str) -> InvalidRecord:
        """Return the error that names this row."""
        return _invalid(
            self.path, row.line, f"index {row.index}", column, reason
        )


def read_table(path: str | Path) -> Table:
    """Read a TSV with the quoting of CSV.

    Columns named by one capital letter are options. An invalid record (wrong number of
    cells, missing or duplicate index, an answer that is not the letter of an option) is
    left out and listed in ``problems``.

    Raises
    ------
    DataError
        If the file is missing, is not UTF-8, has a quote that is never closed, or lacks
        the column ``index`` or ``question``.
    """
    file = Path(path)
    if file.suffix.lower() in (".xls", ".xlsx"):
        raise DataError(
            f"{file}: must be a table separated by tabs, got a workbook; save it as "
            "text with tabs (.tsv)"
        )
    line = 1
    rows = dict[int, Row]()
    problems = list[Problem]()
    csv.field_size_limit(sys.maxsize)  # an image is a cell
    try:
        reader = csv.reader(text_lines(file), delimiter="\t", strict=True)
        columns = _header(file, next(reader, []))
        line = reader.line_num + 1
        for cells in reader:
            try:
                if cells:
                    row = _row(file, line, columns, cells, rows)
                    rows[row.index] = row
            except InvalidRecord as error:
                problems.append(error.problem)
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{file}:{line}: a quoted cell must be closed, with quotes inside doubled: "
            f"{error}"
        ) from None
    return Table(file, columns, tuple(rows.values()), tuple(problems))


def whole_number(cell: str) -> int | None:
    """Return the index that a cell states, as "7" or, as spreadsheets write it,
    "7.0"."""
    match = _INDEX.fullmatch(cell.strip())
    return int(match[1]) if match else None


def option_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns named by one capital letter, sorted."""
    return tuple(
        sorted(name for name in columns if re.fullmatch("[A-Z]", name))
    )


def _header(file: Path, cells: Sequence[str]) -> tuple[str, ...]:
    names = tuple(cell.strip() for cell in cells)
    if not names:
        raise DataError(
            f"{file}: must be a tab-separated table with a header line, got an empty "
            "file"
        )
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"{file}: the header names column {twice[0]!r} twice")
    for due in ("index", "question"):
        if due not in names:
            hint = "; is it tab-separated?" if len(names) == 1 else ""
            raise DataError(
                f"{file}: no column {due!r} (columns: {', '.join(names)[:300]}){hint}"
            )
    return names


def _row(
    file: Path,
    line: int,
    columns: Sequence[str],
    cells: Sequence[str],
    before: Mapping[int, Row],
) -> Row:
    if len(cells) != len(columns):
        raise _invalid(
            file,
            line,
            f"line {line}",
            "cells",
            f"{len(cells)} cells where the header has {len(columns)} columns",
        )
    named = dict(zip(columns, cells, strict=True))
    index = whole_number(named["index"])
    if index is None:
        raise _invalid(
            file,
            line,
            f"line {line}",
            "index",
            f"{named['index'][:40]!r} is not a whole number",
        )
    if index in before:
        raise _invalid(
            file,
            line,
            f"index {index}",
            "index",
            f"is also the index of line {before[index].line}",
        )
    options = {
        name: named[name]
        for name in option_columns(columns)
        if named[name].strip()
    }
    stated = named.get("answer", "")
    answer, form = _answer(stated)
    letters = {answer} - {""} if form == "letter" else set(answer)
    if not letters <= set(options) or len(letters) < len(answer):
        among = ", ".join(options) or "none: columns A, B, C … hold their texts"
        raise _invalid(
            file,
            line,
            f"index {index}",
            "answer",
            f"{stated[:40]!r} is not the letter of an option, or letters in order "
            f"({among})",
        )
    hints = (named.get(name, "") for name in ("hint", "context"))
    return Row(
        index=index,
        question=named["question"],
        hint=next(
            (text for text in hints if text.strip().lower() not in _NO_HINT), ""
        ),
        options=options,
        answer=answer,
        category=named.get("category", ""),
        l2_category=named.get("l2-category") or named.get("l2_category", ""),
        split=named.get("split", ""),
        cells=named,
        line=line,
        answer_form=form,
    )


def _answer(cell: str) -> tuple[str, AnswerForm]:
    """Return the letters of an answer and the form that states them. Letters without a
    list must be in order, because those of another order may be an order of the
    options. What has neither form is returned as it is."""
    letters = "".join(re.findall("[A-Z]", cell))
    ordered = "".join(sorted(letters))
    if _LIST.fullmatch(cell.strip()):
        return ordered, "list"
    alone = _LETTERS.fullmatch(cell.strip()) and letters == ordered
    return (letters, "letters") if alone else (cell, "letter")


def _reference(row: Row) -> int | None:
    """Return the index whose image a row shares, or None."""
    cell = row.cells.get("image", "").strip()
    return whole_number(cell) if len(cell) <= REFERENCE_CELL else None


def _invalid(
    file: Path, line: int, record: str, column: str, reason: str
) -> InvalidRecord:
    return InvalidRecord(Problem(f"{file}:{line}", record, column, reason))
