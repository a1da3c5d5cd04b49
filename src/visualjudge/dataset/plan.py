"""Plan a build: check every record of a data folder, sample the questions, and divide
the work by image. The draw is in ``sampling.py``, the drawing in ``render.py``; how
many images a *study* needs, in ``apps/planning``.
"""

import sys
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from visualjudge.core.errors import DataError, Problem
from visualjudge.core.records import (
    Annotation,
    ImageRecord,
    Question,
    QuestionType,
)
from visualjudge.core.workers import Workers
from visualjudge.data.folder import DataFolder, check_entry
from visualjudge.dataset.photograph_stand_in import StandIn
from visualjudge.dataset.sampling import Stems, sample
from visualjudge.options import Caps
from visualjudge.vision.encode import encodings
from visualjudge.vision.raster.images import check_image, read_rgb
from visualjudge.vision.raster.masks import mask_from_png
from visualjudge.vision.tasks import TASKS

CHUNK = 32
TYPES: tuple[QuestionType, ...] = ("pairwise", "ranking", "scoring")
Progress = Callable[[str, int, int], None]
"""Called with a stage's name, the amount done and the total."""
Labels = tuple[str, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Job:
    """All work on one image: its questions with their positions in the dataset, what
    they show, by task and ``annotation_id``, and its record for each task.
    """

    image_id: str
    questions: tuple[tuple[int, Question], ...]
    entries: Mapping[tuple[str, str], Annotation]
    images: Mapping[str, ImageRecord]
    stand_in: StandIn | None = None
    """Shown instead of the image's photographs; None = the photographs."""

    @property
    def record(self) -> str:
        return f"image {self.image_id}"


@dataclass(frozen=True, slots=True)
class TaskRecords:
    """A task's records without the invalid ones."""

    name: str
    entries: tuple[Annotation, ...]
    images: Mapping[str, ImageRecord]


def read_tasks(
    folder: DataFolder,
    tasks: Sequence[str],
    workers: Workers,
    progress: Progress,
) -> list[TaskRecords]:
    """Return the valid annotations of each of ``tasks``; the others are added to
    ``folder.problems``.
    """
    root = str(folder.root)
    unusable = _unusable_images(folder, tasks, workers)
    read = [
        (name, _with_images(name, folder, unusable), folder.images(name))
        for name in tasks
    ]
    chunks = (
        [(note, images.get(note.image_id)) for note in chunk]
        for _, entries, images in read
        for chunk in _chunks(entries, CHUNK)
    )
    total = sum(len(entries) for _, entries, _ in read)
    checked = _each(
        workers.map(partial(_check_entries, root), chunks), progress, total
    )
    return [
        TaskRecords(name, tuple(_valid(entries, checked, folder)), images)
        for name, entries, images in read
    ]


def _each(
    results: Iterable[list[Problem | Labels]], progress: Progress, total: int
) -> Iterator[Problem | Labels]:
    for done, result in enumerate(chain.from_iterable(results), 1):
        progress("checking records", done, total)
        yield result


def _check_entries(
    root: str, chunk: Sequence[tuple[Annotation, ImageRecord | None]]
) -> list[Problem | Labels]:
    return [
        check_entry(entry, image, root, fast=True) for entry, image in chunk
    ]


def _check_images(root: str, paths: Sequence[str]) -> list[tuple[str, str]]:
    bad = []
    for path in paths:
        try:
            check_image(Path(root) / path)
        except DataError as error:
            bad.append((path, str(error).replace(f"{root}/", "")))
    return bad


def _unusable_images(
    folder: DataFolder, tasks: Sequence[str], workers: Workers
) -> dict[tuple[str, str], str]:
    """Return, by task and image_id, why images that a record needs cannot be used: they
    cannot be decoded, or their id means another image in an earlier task, or is the
    same name of a file as another id. Each id has one original.
    """
    needed = list[tuple[str, str, ImageRecord]]()
    for task in tasks:
        used = {note.image_id for note in folder.entries(task)}
        needed += [
            (task, image_id, record)
            for image_id, record in folder.images(task).items()
            if image_id in used
        ]
    paths = sorted({path for _, _, record in needed for path in _files(record)})
    check = partial(_check_images, str(folder.root))
    bad = dict(chain.from_iterable(workers.map(check, _chunks(paths, CHUNK))))
    unusable: dict[tuple[str, str], str] = {}
    first: dict[str, tuple[str, str, ImageRecord]] = {}
    for task, image_id, record in needed:
        if reasons := [bad[path] for path in _files(record) if path in bad]:
            unusable[task, image_id] = reasons[0]
        elif TASKS[task].sourced:
            known = first.setdefault(
                _as_file_name(image_id), (image_id, task, record)
            )
            if clash := _clash(image_id, record, *known, folder.root):
                unusable[task, image_id] = clash
    return unusable


def _clash(
    image_id: str,
    record: ImageRecord,
    name: str,
    task: str,
    known: ImageRecord,
    root: Path,
) -> str | None:
    if name != image_id:
        return f"{image_id!a} and {name!a} are one name of a file; give it another id"
    if not _same_original(known, record, root):
        return (
            f"{image_id!r} is another image or mask in images/{task}.json; give it "
            "an id of its own"
        )
    return None


def _with_images(
    task: str, folder: DataFolder, unusable: Mapping[tuple[str, str], str]
) -> list[Annotation]:
    """Return the entries whose images can be used; the others are recorded as
    problems."""
    selected = []
    for note in folder.entries(task):
        if (reason := unusable.get((task, note.image_id))) is not None:
            folder.problems.append(
                Problem(note.file, note.annotation_id, "image_id", reason)
            )
        else:
            selected.append(note)
    return selected


def _files(record: ImageRecord) -> list[str]:
    return [
        path
        for path in (record.file, record.mask, record.control)
        if path is not None
    ]


def sample_tasks(
    tasks: Sequence[TaskRecords],
    subsets: Sequence[str],
    caps: Caps,
    seed: int,
    stems: Callable[[str], Stems] | None = None,
) -> list[Question]:
    """Return the questions of all tasks in the dataset's order: by task, type,
    encoding, image and annotations.
    """
    cells: dict[tuple[int, int, int], list[Question]] = defaultdict(list)
    rows = [row for name in TASKS for row in encodings(name)]
    place = {(row.task, row.stem): k for k, row in enumerate(rows)}
    order = {name: k for k, name in enumerate(TASKS)}
    for task in tasks:
        for item in sample(
            task.name,
            task.entries,
            (stems or stems_of)(task.name),
            subsets,
            caps,
            seed,
        ):
            cells[
                order[task.name],
                TYPES.index(item.question_type),
                place[task.name, item.encoding],
            ].append(item)
    return [
        item
        for cell in sorted(cells)
        for item in sorted(
            cells.pop(cell),
            key=lambda item: (item.image_id, sorted(item.annotation_ids)),
        )
    ]


def stems_of(task: str) -> Stems:
    rows = encodings(task)
    return Stems(
        base=tuple(row.stem for row in rows if row.is_base_ablation),
        final=tuple(row.stem for row in rows if row.is_final),
    )


def jobs_of(
    items: Sequence[Question], tasks: Sequence[TaskRecords]
) -> Iterator[Job]:
    """Return the work by image. Images with most work come first, so that no worker
    ends with a long one.
    """
    by_image: dict[str, array[int]] = defaultdict(lambda: array("q"))
    for k, item in enumerate(items):
        by_image[item.image_id].append(k)
    entries = {
        (task.name, note.annotation_id): note
        for task in tasks
        for note in task.entries
    }
    images = {task.name: task.images for task in tasks}
    for image_id in sorted(
        by_image, key=lambda name: (-len(by_image[name]), name)
    ):
        questions = tuple((k, items[k]) for k in by_image[image_id])
        needed = sorted(
            {
                (item.task, name)
                for _, item in questions
                for name in item.annotation_ids
            }
        )
        records = {
            task: images[task][image_id]
            for task in sorted({task for task, _ in needed})
            if image_id in images[task]
        }
        yield Job(
            image_id, questions, {key: entries[key] for key in needed}, records
        )


def _valid(
    entries: Sequence[Annotation],
    checked: Iterator[Problem | Labels],
    folder: DataFolder,
) -> Iterator[Annotation]:
    """Yield the valid ones of ``entries`` with their labels, taking one result per
    record from ``checked``."""
    labels: dict[object, set[str]] = defaultdict(set)
    valid = []
    for entry, result in zip(
        entries, islice(checked, len(entries)), strict=True
    ):
        if isinstance(result, Problem):
            folder.problems.append(result)
            continue
        valid.append(entry)
        labels[_compared(entry)].update(result)
    for entry in valid:
        shared = tuple(sorted(labels[_compared(entry)]))
        yield replace(entry, labels=shared)


def _compared(note: Annotation) -> object:
    return note.image_id, note.class_of_interest


def _as_file_name(image_id: str) -> str:
    # File systems treat any Unicode form, and on macOS and Windows either case, as one
    # name.
    name = unicodedata.normalize("NFC", image_id)
    return name.casefold() if sys.platform in ("darwin", "win32") else name


def _same_original(a: ImageRecord, b: ImageRecord, root: Path) -> bool:
    if (a.file, a.mask) == (b.file, b.mask):
        return True
    if (a.mask is None) != (b.mask is None):
        return False
    if not np.array_equal(
        read_rgb(root / str(a.file)), read_rgb(root / str(b.file))
    ):
        return False
    return a.mask is None or np.array_equal(
        mask_from_png(root / a.mask).dense(),
        mask_from_png(root / str(b.mask)).dense(),
    )


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
