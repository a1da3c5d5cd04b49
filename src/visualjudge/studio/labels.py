"""What lies under the pointer: the labelled boxes, masks and keypoints of an option, from an open data folder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visualjudge.data.folder import DataFolder
from visualjudge.data.scan import Span
from visualjudge.errors import VisualJudgeError
from visualjudge.predictions import read_prediction
from visualjudge.predictions.boxes import Detections
from visualjudge.predictions.masks import Masks
from visualjudge.predictions.poses import People
from visualjudge.records import Question, Size
from visualjudge.skeleton import KEYPOINT_NAMES

NEAR = 6.0
"""Pixels around a keypoint that count as on it."""
MOST = 2000


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled region: (left, top, right, bottom) in pixels of the image."""

    label: str
    box: tuple[float, float, float, float]


class Labels:
    """Annotations by id, found in the data folders on first use; the predictions stay on disk."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)
        self._places: dict[str, dict[str, tuple[Span, Path]]] = {}
        self._lock = threading.Lock()

    def of(self, question: Question, size: Size) -> list[list[Mark]]:
        """The marks of each option; empty where no data folder holds the annotation or it cannot be read."""
        places = self._of_task(question.task) if self._folders else {}
        return [self._marks(question.task, places.get(name), size) for name in question.annotation_ids]

    def _of_task(self, task: str) -> dict[str, tuple[Span, Path]]:
        with self._lock:
            if task not in self._places:
                self._places[task] = dict(self._found(task))
            return self._places[task]

    def _found(self, task: str) -> Iterator[tuple[str, tuple[Span, Path]]]:
        for root in self._folders:
            try:
                folder = DataFolder(root)
                entries = folder.entries(task) if task in folder.files else []
            except VisualJudgeError:
                continue
            for entry in entries:
                yield entry.annotation.annotation_id, (entry.span, root)

    def _marks(self, task: str, place: tuple[Span, Path] | None, size: Size) -> list[Mark]:
        if place is None:
            return []
        span, root = place
        try:
            prediction = read_prediction(task, span.read()["prediction"], size=size, root=root)
        except (VisualJudgeError, OSError, KeyError, TypeError):
            return []
        marks = _READERS.get(type(prediction), _none)
        return [mark for mark, _ in zip(marks(prediction), range(MOST), strict=False)]


def _boxes(prediction: Detections) -> Iterator[Mark]:
    for item in prediction.items:
        yield Mark(_scored(item.label, item.score), item.xyxy)


def _masks(prediction: Masks) -> Iterator[Mark]:
    for item in prediction.items:
        yield Mark(_scored(item.label, item.score), tuple(map(float, item.mask.xyxy)))  # type: ignore[arg-type]


def _points(prediction: People) -> Iterator[Mark]:
    for number, person in enumerate(prediction.items, 1):
        for name, (x, y, _), present in zip(KEYPOINT_NAMES, person.keypoints.tolist(), person.present, strict=True):
            if present:
                yield Mark(f"person {number}: {name.replace('_', ' ')}", (x - NEAR, y - NEAR, x + NEAR, y + NEAR))


def _none(_prediction: Any) -> Iterator[Mark]:
    return iter(())


def _scored(label: str, score: float | None) -> str:
    return label if score is None else f"{label} {score:.2f}"


_READERS: dict[type, Callable[[Any], Iterator[Mark]]] = {Detections: _boxes, Masks: _masks, People: _points}
