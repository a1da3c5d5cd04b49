"""Endless questions: controlled errors drawn anew in every round from the ground truths of a data
folder.

The ground truths are the annotations of source ``truth``, as written by ``visualjudge perturb
--with-truth`` and the demo. A round draws some of them, adds errors
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
"""Maximum number of severities per group."""
FRUITLESS = 20
"""Number of consecutive rounds without a question after which drawing fails."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A question with an id that is unique over rounds, and the dataset that holds its images until
    the next round.
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
    """Yield questions about the ground truths of ``data`` endlessly.

    The same data, seed and options give the same questions in the same order.

    Parameters
    ----------
    data
        A data folder with annotations of source ``truth``.
    tasks
        Tasks to use; None = all with controlled errors.
    images
        Number of ground truths per task and round.
    caps
        Maximum number of questions per round, task and encoding.

    Raises
    ------
    UsageError
        If ``data`` is not a data folder, or a task has no errors or no ground truths.
    DataError
        If no question can be asked about the ground truths.
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
    """Return the ground truths of each task, one per image and prompt."""
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
    """Return the dataset of one round, in ``home``."""
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
        raise DataError("no error type applies to the sampled ground truth")
    build(home / "data", home / "dataset", BuildOptions(seed, (JUDGE_ANALYSIS,), caps=caps))
    return load_dataset(home / "dataset")
