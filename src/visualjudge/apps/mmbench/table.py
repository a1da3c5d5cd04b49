"""Tables of multiple-choice questions (MMBench's TSV), read as a stream, and the records of a run
on them.

Large tables are mostly base64 images. These stay in the file: a row stores the byte offset of its
record, and the image is read on demand. Cells are text: an option "None", "N/A" or "nan" is an
option; only an empty cell is missing.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from visualjudge.core.errors import DataError, InvalidRecord, Problem
from visualjudge.core.untrusted import open_file

# Maximum length of an image cell that holds another row's index, as VLMEvalKit reads published
# files.
REFERENCE_CELL = 64
# Maximum bytes of a line: an image of 64 MiB in base64, and texts.
LONGEST_LINE = 96 * 2**20
# Maximum characters of a record with quotes, which the csv module stores in four bytes each.
LARGEST_QUOTED = 48 * 2**20
_INDEX = re.compile(r"(\d{1,18})(?:\.0*)?")
_NO_HINT = frozenset(("", "nan", "none", "null", "n/a"))
_BOM = b"\xef\xbb\xbf"

# Index offset: a question's k-th rotation has the question's index plus k times this.
ROTATION = 1_000_000

Rules = Literal["strict", "vlmevalkit"]


@dataclass(frozen=True, slots=True)
class Row:
    """One question of a table. Cells are text as the file has it; a blank cell is ``""``.

    ``options`` maps the letter of each option that is not blank to its text, in letter order.
    ``image_index`` is the index whose image the row shares, None if the row holds its own;
    ``offset`` is the record's position in the file in bytes, ``line`` its first line, counted from
    1.
    """

    index: int
    question: str
    hint: str
    options: Mapping[str, str]
    answer: str
    category: str
    l2_category: str
    split: str
    image_index: int | None
    offset: int
    line: int

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


@dataclass(frozen=True, slots=True)
class Record:
    """One unparsed record of the file: its offset, its first line (from 1), and its cells."""

    offset: int
    line: int
    cells: list[str]
    # Why the cells cannot be used as they are.
    flaw: str | None = None


@dataclass(frozen=True)
class Table:
    """Rows of a TSV without images; ``problems`` lists the omitted records with reasons."""

    path: Path
    columns: tuple[str, ...]
    letters: tuple[str, ...]
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...] = ()
    by_index: dict[int, Row] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.by_index.update((row.index, row) for row in self.rows)

    def cells(self, row: Row) -> dict[str, str]:
        """Return every cell of one row by column, read from the file."""
        with open_file(self.path, "log") as file:
            file.seek(row.offset)
            record = next(_records(file, self.path, row.offset, row.line))
        return dict(zip(self.columns, record.cells, strict=True))

    def image_row(self, row: Row) -> Row:
        """Return the row that holds the image of ``row``: itself, or the one that its image cell
        points to.

        Raises
        ------
        InvalidRecord
            If the target row is missing, or rows point to one another in a cycle.
        """
        seen = {row.index}
        owner = row
        while owner.image_index is not None:
            target = owner.image_index
            if target not in self.by_index:
                raise self.invalid(
                    row,
                    "image",
                    f"points at the image of index {target}, which is not in the table",
                )
            if target in seen:
                raise self.invalid(
                    row, "image", f"points at index {target}, and the references form a circle"
                )
            seen.add(target)
            owner = self.by_index[target]
        return owner

    def image_cell(self, row: Row) -> str:
        """Return the base64 text of the row's image, wherever it is stored."""
        return self.cells(self.image_row(row))["image"]

    def invalid(self, row: Row, column: str, reason: str) -> InvalidRecord:
        """Return the error that names this row."""
        return InvalidRecord(
            Problem(f"{self.path}:{row.line}", f"index {row.index}", column, reason)
        )


def read_table(path: str | Path, *, progress: Callable[[int], None] | None = None) -> Table:
    """Read a TSV in one pass, keeping everything except the images.

    ``progress`` receives the bytes of each record. Columns named by one capital letter are options.
    An invalid record (wrong number of cells, missing or duplicate index, an answer that is not the
    letter of an option) is left out and listed in ``problems``.

    Raises
    ------
    DataError
        If the file is missing, is not UTF-8, or lacks the column ``index`` or ``question``.
    """
    file = Path(path)
    reader = _Reader(file)
    with open_file(file, "log") as stream:
        for record in _records(stream, file):
            reader.take(record)
            if progress is not None:
                progress(stream.tell())
    return reader.table()


def whole_number(cell: str) -> int | None:
    """Return the index that a cell states, as "7" or, as spreadsheets write it, "7.0"."""
    found = _INDEX.fullmatch(cell.strip())
    return int(found[1]) if found else None


class _Reader:
    """Turns records into rows; the first record is the header."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.columns: tuple[str, ...] = ()
        self.letters: tuple[str, ...] = ()
        self.at: dict[str, int] = {}
        self.rows: dict[int, Row] = {}
        self.problems: list[Problem] = []

    def take(self, record: Record) -> None:
        if not self.columns:
            self._header(record)
            return
        try:
            row = self._row(record)
            self._check(row)
        except InvalidRecord as error:
            self.problems.append(error.problem)
        else:
            self.rows[row.index] = row

    def table(self) -> Table:
        if not self.columns:
            raise DataError(
                f"{self.path}: must be a tab-separated table with a header line, got an empty file"
            )
        return Table(
            self.path, self.columns, self.letters, tuple(self.rows.values()), tuple(self.problems)
        )

    def _header(self, record: Record) -> None:
        cells = record.cells
        if record.flaw is not None:
            raise DataError(f"{self.path}:{record.line}: {record.flaw}")
        names = [cell.strip() for cell in cells]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise DataError(f"{self.path}: the header names column {twice[0]!r} twice")
        for due in ("index", "question"):
            if due not in names:
                hint = "; is it tab-separated?" if len(names) == 1 else ""
                raise DataError(
                    f"{self.path}: no column {due!r} (columns: {', '.join(names)[:300]}){hint}"
                )
        self.columns = tuple(names)
        self.letters = tuple(sorted(name for name in names if re.fullmatch("[A-Z]", name)))
        self.at = {name: place for place, name in enumerate(names)}

    def _row(self, record: Record) -> Row:
        cells = record.cells
        if record.flaw is not None:
            raise self._invalid(record, f"line {record.line}", "cells", record.flaw)
        if len(cells) != len(self.columns):
            reason = f"{len(cells)} cells where the header has {len(self.columns)} columns"
            raise self._invalid(record, f"line {record.line}", "cells", reason)
        index = self._index(record)
        options = {
            letter: text for letter in self.letters if (text := cells[self.at[letter]]).strip()
        }
        return Row(
            index=index,
            question=self._cell(cells, "question"),
            hint=self._hint(cells, "hint") or self._hint(cells, "context"),
            options=options,
            answer=self._cell(cells, "answer"),
            category=self._cell(cells, "category"),
            l2_category=self._cell(cells, "l2-category") or self._cell(cells, "l2_category"),
            split=self._cell(cells, "split"),
            image_index=self._image_index(record, index),
            offset=record.offset,
            line=record.line,
        )

    def _check(self, row: Row) -> None:
        record = Record(row.offset, row.line, [])
        name = f"index {row.index}"
        if row.index in self.rows:
            raise self._invalid(
                record, name, "index", f"is also the index of line {self.rows[row.index].line}"
            )
        if row.answer and row.answer not in row.options:
            letters = ", ".join(row.options) or "none"
            raise self._invalid(
                record,
                name,
                "answer",
                f"{row.answer[:40]!r} is not the letter of an option ({letters})",
            )

    def _cell(self, cells: Sequence[str], column: str) -> str:
        place = self.at.get(column)
        return "" if place is None else cells[place]

    def _hint(self, cells: Sequence[str], column: str) -> str:
        text = self._cell(cells, column)
        return "" if text.strip().lower() in _NO_HINT else text  # pandas writes a blank as "nan"

    def _index(self, record: Record) -> int:
        text = self._cell(record.cells, "index")
        index = whole_number(text)
        if index is None:
            raise self._invalid(
                record, f"line {record.line}", "index", f"{text[:40]!r} is not a whole number"
            )
        return index

    def _image_index(self, record: Record, index: int) -> int | None:
        cell = self._cell(record.cells, "image").strip()
        if not cell or len(cell) > REFERENCE_CELL:
            return None
        return whole_number(cell)

    def _invalid(self, record: Record, name: str, column: str, reason: str) -> InvalidRecord:
        return InvalidRecord(Problem(f"{self.path}:{record.line}", name, column, reason))


# Yield the records from the stream's position on; a quoted cell may contain tabs and line breaks. A
# line without quotes is split at its tabs, nine times as fast as the csv module, which reads the
# others.
def _records(stream: BinaryIO, path: Path, offset: int = 0, line: int = 1) -> Iterator[Record]:
    lines = _Lines(stream, offset, line)
    while (raw := lines.next()) is not None:
        begin, first = lines.begin, lines.number
        text = lines.text(raw)
        if not text.strip("\r\n") and lines.flaw is None:
            continue
        cells = _quoted(text, lines) if '"' in text else text.rstrip("\r\n").split("\t")
        yield Record(begin, first, cells, lines.taken_flaw())


class _Lines:
    """Lines of bytes, with the position and number of the last one returned."""

    def __init__(self, stream: BinaryIO, offset: int, line: int) -> None:
        self.stream = stream
        self.begin = self.end = offset
        self.number = line - 1
        self.flaw: str | None = None
        # Each line is a record: in a file with a quote that is never closed, no record goes on in
        # the next line.
        self.line_by_line = False

    def next(self) -> bytes | None:
        raw = self.stream.readline(LONGEST_LINE + 1)
        length = len(raw)
        if length > LONGEST_LINE:
            self.flaw = f"a line must have at most {LONGEST_LINE >> 20} MiB"
            while raw and not raw.endswith(b"\n"):
                raw = self.stream.readline(2**20)
                length += len(raw)
            raw = b"\n"
        self.begin, self.end = self.end, self.end + length
        self.number += 1
        return raw or None

    def back_to(self, end: int, number: int) -> None:
        """Continue after the line ``number``, which ends at byte ``end``."""
        self.stream.seek(end)
        self.begin = self.end = end
        self.number = number

    def text(self, raw: bytes) -> str:
        if self.begin == 0:
            raw = raw.removeprefix(_BOM)
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            self.flaw = f"not UTF-8 at byte {self.begin + error.start}"
            return raw.decode(errors="replace")

    def taken_flaw(self) -> str | None:
        """Return what was wrong with the lines since the last call."""
        flaw, self.flaw = self.flaw, None
        return flaw


# Return the cells of the record that begins with ``text``, by the rules of csv with double quotes.
# If a quote is never closed, the record is its first line, and is flawed.
def _quoted(text: str, lines: _Lines) -> list[str]:
    end, number, ended = lines.end, lines.number, False

    def feed() -> Iterator[str]:
        nonlocal ended
        size = len(text)
        if size <= LARGEST_QUOTED:
            yield text
        while (
            not lines.line_by_line and size <= LARGEST_QUOTED and (raw := lines.next()) is not None
        ):
            size += len(raw)
            yield lines.text(raw)
        ended = True

    csv.field_size_limit(sys.maxsize)
    try:
        cells = next(csv.reader(feed(), delimiter="\t"), [text])
    except csv.Error as error:
        lines.flaw = f"malformed quoted cell: {error}"
        return [text]
    if ended:
        lines.back_to(end, number)
        lines.line_by_line = True
        lines.flaw = (
            "a quoted cell that begins here is never closed, or not within "
            f"{LARGEST_QUOTED >> 20} MiB"
        )
        return [text]
    return cells
