"""Write the files of a dataset: questions in file order, images, and the counts in
``dataset.json``, in a folder that takes its place in one step. Reading is in
``folder.py``.
"""

import shutil
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from visualjudge import __version__
from visualjudge.core.atomic import room_for, write_json
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import UsageError
from visualjudge.core.image_storage import PACKED
from visualjudge.core.locks import free, locked
from visualjudge.core.output_files import inputs_in
from visualjudge.core.parquet import is_remote
from visualjudge.core.records import Question
from visualjudge.core.untrusted import lines
from visualjudge.dataset.folder import MEDIA, META, VERSION
from visualjudge.dataset.json_form import (
    FIRST,
    LAST,
    QUESTIONS,
    question_json,
    write_questions,
)
from visualjudge.dataset.parquet_form import write_packed
from visualjudge.dataset.predictions_file import PREDICTIONS

FORMS = ("json", "parquet")
TOOL = {"name": "visualjudge", "version": __version__}
MOST_IN_JSON = 100_000
"""Number of questions up to which a dataset is ``questions.json`` and ``media/`` by
default."""


def write_dataset(
    stage: Path, questions: Sequence[Question], meta: Mapping[str, Any]
) -> None:
    """Write existing questions and ``dataset.json``, and remove images that no question
    shows."""
    digest = write_questions(stage / QUESTIONS, map(question_json, questions))
    used = {path for question in questions for path in question.images}
    for path in list((stage / MEDIA).rglob("*")):
        if path.is_file() and path.relative_to(stage).as_posix() not in used:
            path.unlink()
    data = {PREDICTIONS} if (stage / PREDICTIONS).exists() else set()
    files = {name: file_sha256(stage / name) for name in {*data, *used}} | {
        QUESTIONS: digest
    }
    write_json(
        stage / META,
        {
            "version": VERSION,
            "tool": TOOL,
            **meta,
            "counts": counts(questions),
            "files": dict(sorted(files.items())),
        },
    )


def pack(root: Path) -> None:
    """Turn a dataset in the JSON form, just written, into ``dataset.parquet``."""
    media = sorted(path for path in (root / MEDIA).rglob("*") if path.is_file())
    files = [
        (path.relative_to(root).as_posix(), path)
        for path in (root / META, *media)
    ]
    questions = (
        line.rstrip(b",\n")
        for line in lines(root / QUESTIONS, "json")
        if line not in (FIRST, LAST[1:])
    )
    write_packed(root / PACKED, questions, files)
    (root / QUESTIONS).unlink()
    shutil.rmtree(root / MEDIA)


class Spool:
    """Store the JSON of questions on disk as they come, and return each by its place.
    Needs memory for a number per question.
    """

    def __init__(self, stage: Path, count: int) -> None:
        self._file = TemporaryFile(dir=stage)  # noqa: SIM115  close() closes it
        self._starts = array("q", bytes(8 * count))
        self.count = 0
        self.close = self._file.close

    def add(self, questions: Iterable[tuple[int, bytes]]) -> None:
        for place, content in questions:
            self._starts[place] = self._file.tell()
            self._file.write(content + b"\n")
            self.count += 1

    def line(self, place: int) -> bytes:
        self._file.seek(self._starts[place])
        return self._file.readline().rstrip()


def counts(items: Iterable[Question]) -> dict[str, Any]:
    tasks, stems, cells, kinds, subsets = (Counter[str]() for _ in range(5))
    number = 0
    for number, row in enumerate(items, 1):  # noqa: B007  it is used below
        tasks[row.task] += 1
        stems[row.encoding] += 1
        cells[f"{row.task}/{row.encoding}"] += 1
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


def check_target(target: Path, force: bool) -> None:
    """Check whether a dataset may be written at ``target``.

    Raises
    ------
    UsageError
        If the target exists, unless it is an older dataset and ``force`` is given.
    """
    if is_remote(target):
        raise UsageError(
            f"`out` must be a local folder, got {target}; copy the folder with the "
            "store's own tool"
        )
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not force:
        raise UsageError(f"{target} already exists; `force` replaces a dataset")
    if not (target / META).is_file():
        raise UsageError(f"{target}: is not a dataset; it will not be replaced")


@contextmanager
def staged(target: Path, *sources: Path) -> Iterator[Path]:
    """Yield a folder next to ``target`` that is renamed to it if the block succeeds and
    removed otherwise.

    Its lock is released when the process ends, so a folder left by a killed process has
    a free lock and is removed by the next one. If a kill came between the two renames
    of a replacement, the older folder is restored.

    Raises
    ------
    UsageError
        If ``target`` is or holds an input of the command, or one of ``sources``.
    RunError
        If another process is writing ``target``.
    """
    if inputs := inputs_in(target, *sources):
        raise UsageError(
            f"`out`: {target} is or holds the input {inputs[0]}; name another folder"
        )
    stage, aside = (
        target.with_name(f".{target.name}.{kind}")
        for kind in ("partial", "replaced")
    )
    lock = locked(stage)
    try:
        if aside.exists() and not target.exists():
            aside.rename(target)
        _remove(stage, aside)
        with room_for(target):
            stage.mkdir()
            yield stage
        if target.exists():
            target.rename(aside)
        stage.rename(target)
        _remove(aside)
    finally:
        _remove(stage)
        free(stage, lock)


def _remove(*folders: Path) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
