"""The predictions behind the options, read from an open data folder, and their ground truth, drawn
in the same encoding.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from visualjudge.core.errors import VisualJudgeError
from visualjudge.core.records import Annotation, Pixels, Question, Size
from visualjudge.data.folder import DataFolder, Entry
from visualjudge.data.perturbing import TRUTH
from visualjudge.vision.base import Mark
from visualjudge.vision.encode import encode, encodings
from visualjudge.vision.encodings import encoding_named
from visualjudge.vision.predictions import Prediction, read_prediction, type_of
from visualjudge.vision.raster.images import image_size

MOST = 2000

Subject = tuple[str, tuple[str, ...] | None, str | None]
"""Image, class of interest and expression that the predictions of one question are about."""


@dataclass(frozen=True, slots=True)
class Place:
    """An annotation in a data folder; its prediction stays on disk.

    Attributes
    ----------
    image
        Its image; None for a task without one.
    """

    entry: Entry
    root: Path
    image: Path | None

    @property
    def is_truth(self) -> bool:
        """Return whether it is the ground truth that an import without
        predictions, or :func:`~visualjudge.data.perturbing.perturb_samples`, adds.
        """
        note = self.entry.annotation
        return note.source == TRUTH or note.metadata.get("severity") == 0

    def load(self, size: Size | None) -> Prediction | None:
        """Return the prediction, scaled to an image of ``size`` (height, width), or None if it
        cannot be read.
        """
        note = self.entry.annotation
        try:
            full = (
                None
                if self.image is None or type_of(note.task).is_image
                else image_size(self.image)
            )
            raw = self.entry.load().prediction
            found = read_prediction(
                note.task, raw, size=full, root=self.root, expression=note.prompt
            )
            return found if full is None or size is None else found.scaled(full, size)
        except (VisualJudgeError, OSError, KeyError, TypeError):
            return None


@dataclass(frozen=True, slots=True)
class _Known:
    by_id: dict[str, Place] = field(default_factory=dict)
    by_subject: dict[Subject, list[Place]] = field(default_factory=dict)


class Annotations:
    """Annotations of the open data folders, indexed for each task on first use."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)
        self._tasks: dict[str, _Known] = {}
        self._lock = threading.Lock()

    def options(self, question: Question) -> list[Place | None]:
        """Return the annotation of each option, or None if no data folder has it.

        Ids are often the same in many data folders (``object_detection-00001``), so the image must
        be the question's, too.
        """
        known = self._of_task(question.task)
        found = [known.by_id.get(name) for name in question.annotation_ids]
        image = str(question.image_id)
        return [
            place if place and str(place.entry.annotation.image_id) == image else None
            for place in found
        ]

    def without_truth(self, question: Question) -> str:
        """Say why no open data folder has the ground truth of a question, and which one would."""
        held = next((place.root for place in self.options(question) if place is not None), None)
        if held is not None:
            return (
                f"{held} holds this question’s predictions, but no ground truth; add "
                "it with `visualjudge import`, without --pred and with `--source truth`."
            )
        folders = ", ".join(map(str, self._folders))
        wanted = f"prediction {question.annotation_ids[0]} of image {question.image_id}"
        return (
            f"{folders} does not hold {wanted}: open the data folder from which this dataset was "
            "built."
        )

    def peers(self, question: Question) -> list[Place]:
        """Return all annotations with the question's image, class of interest and expression."""
        first = next((place for place in self.options(question) if place is not None), None)
        return (
            []
            if first is None
            else self._of_task(question.task).by_subject[_subject(first.entry.annotation)]
        )

    def _of_task(self, task: str) -> _Known:
        with self._lock:
            if task not in self._tasks:
                known = _Known()
                for place in self._places(task):
                    note = place.entry.annotation
                    known.by_id[note.annotation_id] = place
                    known.by_subject.setdefault(_subject(note), []).append(place)
                self._tasks[task] = known
            return self._tasks[task]

    def _places(self, task: str) -> Iterator[Place]:
        for root in self._folders:
            try:
                folder = DataFolder(root)
                entries = folder.entries(task) if task in folder.files else []
            except VisualJudgeError:
                continue
            files = {name: record.file for name, record in folder.images(task).items()}
            for entry in entries:
                file = files.get(entry.annotation.image_id)
                yield Place(entry, root, None if file is None else root / file)


def _subject(note: Annotation) -> Subject:
    return note.image_id, note.class_of_interest, note.prompt


def drawn_stem(question: Question) -> str:
    """Return the encoding for drawing the truth: the question's own, or if that is text the first
    drawn one.
    """
    if encoding_named(question.task, question.encoding).kind != "text":
        return question.encoding
    return next(row.stem for row in encodings(question.task) if row.kind == "pixel")


def truth_image(
    question: Question, peers: Sequence[Place], original: Pixels | None
) -> Pixels | None:
    """Draw the ground truth among ``peers`` over ``original``; None if it is missing or cannot be
    drawn.

    Parameters
    ----------
    peers
        The annotations with the question's image, class of interest and expression. Their labels
        give the order of colors, as in the build.
    """
    truth = next((place for place in peers if place.is_truth), None)
    size = None if original is None else (original.shape[0], original.shape[1])
    found = None if truth is None else truth.load(size)
    if truth is None or found is None:
        return None
    known = (
        [found, *(place.load(size) for place in peers if place is not truth)]
        if found.labels
        else [found]
    )
    classes = sorted(
        {label for prediction in known if prediction is not None for label in prediction.labels}
    )
    blank = np.zeros((1, 1, 3), dtype=np.uint8) if original is None else original
    expression = truth.entry.annotation.prompt
    try:
        drawn = encode(
            question.task,
            drawn_stem(question),
            found,
            blank,
            classes=classes or None,
            expression=expression,
        )
    except VisualJudgeError:
        return None
    return drawn.image


def marks_of(prediction: Prediction | None) -> list[Mark]:
    """Return the labelled regions of a prediction, at most ``MOST``; empty without a prediction."""
    return [] if prediction is None else list(itertools.islice(prediction.marks(), MOST))
