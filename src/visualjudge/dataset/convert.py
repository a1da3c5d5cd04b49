"""A dataset from one form into the other: JSON or Parquet, with nothing lost on the way."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from visualjudge.confine import confined_path
from visualjudge.dataset.build import check_target
from visualjudge.dataset.folder import META, QUESTIONS
from visualjudge.dataset.json_form import JsonQuestions
from visualjudge.dataset.parquet_form import FOLDER, INDEX, ParquetQuestions
from visualjudge.dataset.shards import write_index, write_shards
from visualjudge.dataset.staging import staged
from visualjudge.errors import DataError, UsageError

Form = Literal["json", "parquet"]
Tick = Callable[[int, int], None]


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
    written = write_shards(stage, source.records(), lambda count: tick(count, len(source)))
    write_index(stage, written, source.digest, source.ending())
    return written.count
