"""Write the files of a dataset: questions in either form, in file order, and the counts in
``dataset.json``.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from visualjudge import __version__
from visualjudge.core.atomic import write_json
from visualjudge.core.checksums import file_sha256
from visualjudge.core.records import Question
from visualjudge.dataset.folder import MEDIA, META, VERSION, QuestionForm
from visualjudge.dataset.json_form import BETWEEN, FIRST, LAST, QUESTIONS, question_to_wire
from visualjudge.dataset.parquet_form import write_index, write_shards
from visualjudge.dataset.predictions_file import PREDICTIONS
from visualjudge.dataset.question_storage import Record


def write_questions(
    root: Path,
    records: Iterable[Record],
    form: QuestionForm,
    ending: bytes = LAST,
    tick: Callable[[int], None] = lambda count: None,
) -> str:
    """Write ``records`` and then ``ending`` in one of the forms. Return the SHA-256 of the
    equivalent ``questions.json``.

    Parameters
    ----------
    tick
        Called with the number of questions taken so far.

    Raises
    ------
    DataError
        If a question cannot be read, or a Parquet column cannot hold a field.
    """
    digest = hashlib.sha256()

    def taken() -> Iterator[Record]:
        for count, (before, content) in enumerate(records, 1):
            digest.update(before + content)
            yield before, content
            tick(count)

    if form == "parquet":
        shards = write_shards(root, taken())
        digest.update(ending)
        write_index(root, shards, digest.hexdigest(), ending)
    else:
        with (root / QUESTIONS).open("wb") as file:
            file.writelines(chain.from_iterable(taken()))
            file.write(ending)
        digest.update(ending)
    return digest.hexdigest()


def write_dataset(stage: Path, questions: Sequence[Question], meta: Mapping[str, Any]) -> None:
    """Write existing questions and ``dataset.json``, and remove images that no question shows."""
    lines = (orjson.dumps(question_to_wire(question)) for question in questions)
    records = ((BETWEEN if k else FIRST, line) for k, line in enumerate(lines))
    write_questions(stage, records, "json", LAST if questions else FIRST + LAST)
    used = {path for question in questions for path in question.images}
    for path in list((stage / MEDIA).rglob("*")):
        if path.is_file() and path.relative_to(stage).as_posix() not in used:
            path.unlink()
    head = {"version": VERSION, "tool": {"name": "visualjudge", "version": __version__}}
    data = {QUESTIONS, PREDICTIONS} if (stage / PREDICTIONS).exists() else {QUESTIONS}
    files = {name: file_sha256(stage / name) for name in sorted({*data, *used})}
    write_json(stage / META, {**head, **meta, "counts": counts(questions), "files": files})


class Spool:
    """Store questions on disk as they come, and return them in order at the end. Needs memory for
    four numbers per question.

    Slot 2·place holds a question; slot 2·place + 1 holds it with its options reversed.
    """

    def __init__(self, stage: Path, count: int) -> None:
        self._path = stage / ".spool"
        self._file: BinaryIO = self._path.open("w+b")
        self._starts = array("q", bytes(16 * count))
        self._lengths = array("q", bytes(16 * count))
        self.count = 0

    def add(self, questions: Iterable[tuple[int, bytes, bytes | None]]) -> None:
        """Add questions: place, JSON, and the JSON with the options reversed."""
        for place, *forms in questions:
            for slot, content in enumerate(forms, 2 * place):
                if content is not None:
                    self._starts[slot] = self._file.tell()
                    self._lengths[slot] = len(content)
                    self._file.write(content)
            self.count += 1

    def records(self, order: Iterable[tuple[int, bool]]) -> Iterator[Record]:
        """Yield the questions in the form of ``questions.json``.

        ``order`` lists the places in file order, each with whether its options are reversed.
        """
        self._file.flush()
        for k, (place, turned) in enumerate(order):
            slot = 2 * place + turned
            self._file.seek(self._starts[slot])
            yield (BETWEEN if k else FIRST), self._file.read(self._lengths[slot])

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
        self._path.unlink()


def counts(items: Iterable[Any]) -> dict[str, Any]:
    """Return counts by task, encoding, question type and subset, for records with ``task``,
    ``question_type``, ``subset`` and ``stem`` or ``encoding``.
    """
    tasks, stems, cells, kinds, subsets = (Counter[str]() for _ in range(5))
    number = 0
    for number, row in enumerate(items, 1):  # noqa: B007  it is used below
        stem = getattr(row, "stem", None) or row.encoding
        tasks[row.task] += 1
        stems[stem] += 1
        cells[f"{row.task}/{stem}"] += 1
        kinds[row.question_type] += 1
        subsets.update(row.subset)
    return {
        "questions": number,
        "by_task": dict(tasks),
        "by_encoding": dict(sorted(stems.items())),
        "by_task_and_encoding": dict(cells),
        "by_question_type": dict(kinds),
        "by_subset": dict(sorted(subsets.items())),
    }
