"""Write the files of a dataset: questions in file order, images, and the counts in
``dataset.json``.
"""

from __future__ import annotations

import shutil
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from visualjudge import __version__
from visualjudge.core.atomic import write_json
from visualjudge.core.checksums import file_sha256
from visualjudge.core.image_storage import PACKED
from visualjudge.core.records import Question
from visualjudge.core.untrusted import open_file
from visualjudge.dataset.folder import MEDIA, META, VERSION
from visualjudge.dataset.json_form import LAST, QUESTIONS, question_json, write_questions
from visualjudge.dataset.parquet_form import write_packed
from visualjudge.dataset.predictions_file import PREDICTIONS

FORMS = ("json", "parquet")
MOST_IN_JSON = 100_000
"""Number of questions up to which a dataset is ``questions.json`` and ``media/`` by default."""


def form_for(count: int) -> str:
    return "json" if count <= MOST_IN_JSON else "parquet"


def write_dataset(stage: Path, questions: Sequence[Question], meta: Mapping[str, Any]) -> None:
    """Write existing questions and ``dataset.json``, and remove images that no question shows."""
    digest = write_questions(stage / QUESTIONS, map(question_json, questions))
    used = {path for question in questions for path in question.images}
    for path in list((stage / MEDIA).rglob("*")):
        if path.is_file() and path.relative_to(stage).as_posix() not in used:
            path.unlink()
    head = {"version": VERSION, "tool": {"name": "visualjudge", "version": __version__}}
    data = {PREDICTIONS} if (stage / PREDICTIONS).exists() else set()
    files = {name: file_sha256(stage / name) for name in {*data, *used}} | {QUESTIONS: digest}
    files = dict(sorted(files.items()))
    write_json(stage / META, {**head, **meta, "counts": counts(questions), "files": files})


def pack(root: Path) -> None:
    """Turn a dataset in the JSON form, just written, into ``dataset.parquet``."""
    media = sorted(path for path in (root / MEDIA).rglob("*") if path.is_file())
    files = [(path.relative_to(root).as_posix(), path) for path in (root / META, *media)]
    with open_file(root / QUESTIONS, "json") as lines:
        next(lines)
        questions = (line.rstrip(b",\n") for line in lines if line != LAST[1:])
        write_packed(root / PACKED, questions, files)
    (root / QUESTIONS).unlink()
    shutil.rmtree(root / MEDIA)


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

    def lines(self, order: Iterable[tuple[int, bool]]) -> Iterator[bytes]:
        """Yield the JSON of the questions.

        ``order`` lists the places in file order, each with whether its options are reversed.
        """
        self._file.flush()
        for place, turned in order:
            slot = 2 * place + turned
            self._file.seek(self._starts[slot])
            yield self._file.read(self._lengths[slot])

    def close(self) -> None:
        self._file.close()
        self._path.unlink()


def counts(items: Iterable[Any]) -> dict[str, Any]:
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
