"""Questions without end: controlled errors drawn anew, round after round, from the truths of a data
folder.

The truths are the annotations of source ``truth``, as ``visualjudge perturb --with-truth`` (and the
demo) write them. A round draws some of them, puts errors into them
(:mod:`visualjudge.vision.errors`), scores the results, and asks about them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.object_stores import check_local
from visualjudge.core.records import Annotation, ImageRecord, Question
from visualjudge.core.seeding import rng_for, seed_for
from visualjudge.data.folder import DataFolder, inside, record_size
from visualjudge.data.perturbing import TRUTH, Surroundings, perturb_samples, surroundings
from visualjudge.data.writer import FolderWriter
from visualjudge.dataset.build import BuildOptions, build
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.dataset.sampling import JUDGE_ANALYSIS, Caps
from visualjudge.formats.sample import Sample
from visualjudge.vision.error_types import error_types
from visualjudge.vision.predictions import read_prediction, type_of

ROUND = Caps(judge_groups=4, judge_pairs=4, scoring_groups=2, ranking_groups=2, per_group=3)
LEVELS = 4
"""Severities a group, at most."""
FRUITLESS = 20
"""Rounds in a row without a question, after which drawing questions fails."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A question, its id that of no other round, and the dataset that holds its images until the
    next round.
    """

    question: Question
    dataset: Dataset


@dataclass(frozen=True, slots=True)
class _Truths:
    root: Path
    notes: Sequence[Annotation]
    images: Mapping[str, ImageRecord]

    def sample(self, note: Annotation) -> Sample:
        image = self.images[note.image_id]
        size = None if type_of(note.task).is_image else record_size(image, self.root)
        truth = read_prediction(
            note.task, note.prediction, size=size, root=self.root, expression=note.prompt
        )
        mask, control = (
            None if name is None else inside(self.root, name)
            for name in (image.mask, image.control)
        )
        path, key = inside(self.root, str(image.file)), note.prompt or ""
        return Sample(
            note.image_id,
            path,
            truth,
            truth,
            key=key,
            prompt=note.prompt,
            mask=mask,
            control=control,
        )

    def samples(self) -> Iterator[Sample]:
        return map(self.sample, self.notes)


def endless(
    data: str | Path,
    *,
    seed: int = 42,
    tasks: Sequence[str] | None = None,
    images: int = 4,
    caps: Caps = ROUND,
) -> Iterator[Drawn]:
    """Questions about the truths of ``data``, for as long as they are asked for.

    The same data, seed and options give the same questions in the same order.

    Parameters
    ----------
    data
        A data folder with annotations of source ``truth``.
    tasks
        Only these; None = all whose errors can be made.
    images
        Truths of each task that a round draws.
    caps
        How much a round asks, for each task and encoding.

    Raises
    ------
    UsageError
        If ``data`` is no data folder, or a task has no errors or no truths.
    DataError
        If no question can be asked about the truths.
    """
    truths = _truths(data, tasks)
    around = {task: surroundings(held.samples()) for task, held in truths.items()}
    fruitless = 0
    for number in count():
        with TemporaryDirectory(prefix="visualjudge-round-") as scratch:
            try:
                drawn = seed_for(seed, "round", number) % 2**32
                dataset = _round(truths, around, Path(scratch), drawn, images, caps)
            except DataError:
                fruitless += 1
                if fruitless == FRUITLESS:
                    raise
                continue
            fruitless = 0
            for place in rng_for(seed, "order", number).permutation(len(dataset)):
                question = dataset[int(place)]
                yield Drawn(replace(question, id=f"{number}-{question.id}"), dataset)


def _truths(data: str | Path, tasks: Sequence[str] | None) -> dict[str, _Truths]:
    """The truths of each task, one for each image and prompt."""
    check_local(data, "the data folder of endless questions")
    with DataFolder(data) as folder:
        found = {}
        for task in tasks or [task for task in folder.tasks if error_types(task)]:
            if not error_types(task):
                raise UsageError(f"{task} has no error types: its scores are given, not computed")
            files = {name: record for name, record in folder.images(task).items() if record.file}
            notes = {
                (note.image_id, note.prompt): note
                for note in folder.annotations(task)
                if note.source == TRUTH and note.image_id in files
            }
            if notes:
                found[task] = _Truths(folder.root, tuple(notes.values()), files)
            elif tasks:
                raise UsageError(
                    f"{data}: {task}: must have annotations of source {TRUTH!r}, found none"
                )
    if not found:
        raise UsageError(
            f"{data}: must have annotations of source {TRUTH!r}; visualjudge perturb "
            "--with-truth makes them"
        )
    return found


def _round(
    truths: Mapping[str, _Truths],
    around: Mapping[str, Surroundings],
    home: Path,
    seed: int,
    images: int,
    caps: Caps,
) -> Dataset:
    """The dataset of one round, in ``home``."""
    for task, held in truths.items():
        notes = rng_for(seed, task).choice(
            len(held.notes), min(images, len(held.notes)), replace=False
        )
        samples = (held.sample(held.notes[place]) for place in sorted(notes))
        with FolderWriter(home / "data", task) as writer:
            for _ in perturb_samples(writer, samples, around[task], levels=LEVELS, seed=seed):
                pass
            if len(writer):
                writer.commit()
    if not (home / "data").is_dir():
        raise DataError("no error type fits the ground truth that was drawn")
    build(home / "data", home / "dataset", BuildOptions(seed, (JUDGE_ANALYSIS,), caps=caps))
    return load_dataset(home / "dataset")
