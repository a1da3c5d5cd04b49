"""A dataset from one form into the other: JSON or Parquet, with nothing lost on the way."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import orjson

from visualjudge.atomic import write_json
from visualjudge.confine import confined_path
from visualjudge.dataset.build import check_target
from visualjudge.dataset.folder import META, QUESTIONS
from visualjudge.dataset.json_form import BETWEEN, FIRST, JsonQuestions
from visualjudge.dataset.parquet_form import FOLDER, INDEX, VERSION, ParquetQuestions, question_of, schema
from visualjudge.dataset.question_wire import question_from_wire, question_to_wire
from visualjudge.dataset.staging import staged
from visualjudge.errors import DataError, UsageError
from visualjudge.records import Question

ROWS_A_GROUP, GROUPS_A_SHARD = 2048, 64
Form = Literal["json", "parquet"]
Tick = Callable[[int, int], None]
Record = tuple[bytes, bytes]


def convert(
    dataset: str | Path, out: str | Path, to: Form, *, force: bool = False, tick: Tick = lambda done, total: None
) -> int:
    """Write the dataset in the other form at ``out``; the number of its questions.

    ``questions.json`` comes back from the Parquet form byte for byte, however it was laid out. All other files are the
    same ones (hard links where the file system has them, else copies).

    Parameters
    ----------
    dataset, out
        Folders; ``out`` must not exist, or be an older dataset and ``force`` be given.
    tick
        Called with the number of questions written and of all.

    Raises
    ------
    UsageError
        If there is no dataset, it has the form already, or ``out`` is taken.
    DataError
        If a question cannot be read or a Parquet column cannot hold a field.
    """
    root, target = Path(dataset), Path(out)
    check_target(target, force)
    _check_source(root, to)
    with staged(target) as stage:
        _link_others(root, stage)
        return _to_parquet(root, stage, tick) if to == "parquet" else _to_json(root, stage, tick)


def _check_source(root: Path, to: Form) -> None:
    forms: dict[Form, bool] = {"json": (root / QUESTIONS).is_file(), "parquet": (root / INDEX).is_file()}
    if not (root / META).is_file() or not any(forms.values()):
        raise UsageError(f"{root} is not a dataset: {QUESTIONS} or {INDEX}, and {META}, must be there")
    if forms[to]:
        raise UsageError(f"{root}: has the {to} form already")


def _link_others(root: Path, stage: Path) -> None:
    for folder, _, names in os.walk(root):
        here = Path(folder).relative_to(root)
        for name in names:
            relative = (here / name).as_posix()
            if relative != QUESTIONS and here.as_posix() != FOLDER:
                _link(confined_path(root, relative), stage / relative)


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        target.hardlink_to(source.resolve())
    except OSError:
        shutil.copyfile(source, target)


def _to_json(root: Path, stage: Path, tick: Tick) -> int:
    stored = ParquetQuestions(root)
    digest = hashlib.sha256()
    with (stage / QUESTIONS).open("wb") as file:
        for number, part in enumerate(stored.json()):
            file.write(part)
            digest.update(part)
            tick(min(number // 2, len(stored)), len(stored))
    if digest.hexdigest() != stored.digest:
        raise DataError(f"{root / INDEX}: questions_sha256 is not that of the questions in the shards")
    return len(stored)


def _to_parquet(root: Path, stage: Path, tick: Tick) -> int:
    source = JsonQuestions(root / QUESTIONS)
    (stage / FOLDER).mkdir()
    writer = _Writer(stage / FOLDER)
    records = source.records()
    while group := list(islice(records, ROWS_A_GROUP)):
        writer.add(group)
        tick(writer.count, len(source))
    writer.close()
    index = {
        "version": VERSION,
        "questions": writer.count,
        "questions_sha256": source.digest,
        "plain": writer.plain,
        "after": source.ending().hex(),
        "shards": writer.shards,
    }
    write_json(stage / INDEX, index)
    return writer.count


class _Writer:
    """Shards of at most ``GROUPS_A_SHARD`` row groups, one after another."""

    def __init__(self, folder: Path) -> None:
        self.count = 0
        self.plain = True
        """Whether the columns alone give every question."""
        self.shards: dict[str, str] = {}
        self._folder = folder
        self._groups = 0
        self._open: Any = None

    def add(self, records: Sequence[Record]) -> None:
        """One more row group."""
        import pyarrow.parquet as pq

        if self._groups % GROUPS_A_SHARD == 0:
            self.close()
            self._path = self._folder / f"part-{self._groups // GROUPS_A_SHARD:05d}.parquet"
            self._open = pq.ParquetWriter(self._path, schema(), compression="zstd")
        rows = _table(self._rows(records)).to_pylist()
        for row, (_, content) in zip(rows, records, strict=True):
            self._keep_what_differs(row, content)
        self._open.write_table(_table(rows), row_group_size=ROWS_A_GROUP)
        self._groups += 1
        self.count += len(records)

    def _rows(self, records: Sequence[Record]) -> list[dict[str, Any]]:
        rows = []
        for number, (before, content) in enumerate(records, self.count):
            usual = BETWEEN if number else FIRST
            question = question_from_wire(orjson.loads(content), number)
            rows.append({**_row(question), "json": None, "before": None if before == usual else before})
        return rows

    def _keep_what_differs(self, row: dict[str, Any], content: bytes) -> None:
        """The bytes of a question stay with it where its columns do not give them back."""
        try:
            given = question_of(row)
            same = orjson.dumps(question_to_wire(given)) == content
            self.plain = self.plain and (same or given == question_from_wire(orjson.loads(content)))
        except (DataError, ValueError, TypeError):
            same = self.plain = False
        if not same:
            row["json"] = content

    def close(self) -> None:
        """Finish the shard that is being written."""
        if self._open is not None:
            self._open.close()
            with self._path.open("rb") as file:
                self.shards[self._path.name] = hashlib.file_digest(file, "sha256").hexdigest()
            self._open = None


def _row(question: Question) -> dict[str, Any]:
    wire = orjson.loads(orjson.dumps(question_to_wire(question)))
    answer = question.answer if isinstance(question.answer, str) else orjson.dumps(question.answer).decode()
    return {**wire, "answer": answer}


def _table(rows: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    try:
        return pa.Table.from_pylist(rows, schema=schema())
    except (pa.ArrowException, TypeError, ValueError) as error:
        ids = f"{rows[0]['id']} to {rows[-1]['id']}"
        raise DataError(f"{QUESTIONS}: questions {ids}: a column cannot hold a field: {error}") from None
