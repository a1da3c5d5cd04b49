"""Replies on disk: the journal that is the record of truth, and reading either it or a workbook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visualjudge.apps.mmbench.table import Table
from visualjudge.apps.mmbench.workbook import is_cut, read_workbook
from visualjudge.core.errors import DataError, InvalidRecord, Problem
from visualjudge.runs.journal import read_records


@dataclass(frozen=True)
class Predictions:
    """Replies by index; ``notes`` says what a reader should know of them."""

    replies: Mapping[int, str]
    notes: tuple[str, ...] = ()


def read_predictions(path: str | Path, table: Table | None = None) -> Predictions:
    """The replies in a ``.xlsx`` (one a line) or in the ``.jsonl`` that ``infer`` writes.

    Raises
    ------
    DataError
        If the file is missing or is neither.
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(f"{file}: no such file")
    if file.suffix.lower() == ".jsonl":
        return Predictions({i: record["prediction"] for i, record in replies(file).items()})
    lines = read_workbook(file)
    found = {index: cells["prediction"] for index, cells in lines.items()}
    return Predictions(found, tuple(_notes(file, found, lines, table)))


def replies(path: Path) -> dict[int, dict[str, Any]]:
    """The records of a journal that hold a reply, by index; the last one where a row was asked again."""
    found: dict[int, dict[str, Any]] = {}
    for number, record in enumerate(read_records(path), 1):
        index = record.get("index")
        if not isinstance(index, int):
            raise InvalidRecord(Problem(str(path), f"record {number}", "index", "must be an integer"))
        if isinstance(record.get("prediction"), str):
            found[index] = record
    return found


def _notes(
    file: Path, found: Mapping[int, str], lines: Mapping[int, Mapping[str, str]], table: Table | None
) -> list[str]:
    notes = []
    cut = sum(map(is_cut, found.values()))
    if cut:
        notes.append(f"{file}: {cut} replies were cut to fit their cells; evaluate the .jsonl for the whole")
    if table is not None:
        other = [i for i, cells in lines.items() if _other_question(cells.get("question"), table, i)]
        if other:
            notes.append(
                f"{file}: {len(other)} rows ask another question than {table.path} (the first: index {other[0]}); "
                "are these the replies to this table?"
            )
    return notes


def _other_question(question: str | None, table: Table, index: int) -> bool:
    row = table.by_index.get(index)
    if not question or row is None or is_cut(question):
        return False
    return question.split() != row.question.split()
