"""Measure how much the predictions of a dataset reveal to a shallow solver that never sees the
photograph.

For each task and error type, logistic regression is fitted to features of the predictions only: the
features of the local judge on uniform grey (counts, sizes, overlaps, regularity of outlines,
sharpness), the positions of the items, and the length of texts. It answers the pairs of held-out
images. Its right answers need no photograph, so a judge may succeed in the same way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from visualjudge.analysis.estimate import shares
from visualjudge.analysis.figure_text import percent
from visualjudge.apps.audit.blind_features import BlindFeatures
from visualjudge.apps.audit.pair_fit import Pair, held_out, table_of
from visualjudge.core.errors import DataError
from visualjudge.core.records import FloatArray, Question
from visualjudge.dataset.folder import Dataset
from visualjudge.vision.tasks import TASKS

THRESHOLD = 0.6
"""Accuracy without the photograph above which predictions give away too much."""
FEWEST_PAIRS, FEWEST_IMAGES = 20, 5
MODELS = "(none)"
"""Error type of predictions without a controlled error, made by models."""
ALL = "all"


@dataclass(frozen=True, slots=True)
class Blind:
    """Accuracy of the shallow solver; ``error_type`` is ``all`` if combined."""

    task: str
    error_type: str
    accuracy: float
    interval: tuple[float, float] | None
    pairs: int
    images: int

    @property
    def at_fault(self) -> bool:
        """Whether the predictions give the answer away: accuracy above 60 %, and its interval above
        chance.
        """
        return self.accuracy > THRESHOLD and self.interval is not None and self.interval[0] > 0.5

    def __str__(self) -> str:
        share = percent(self.accuracy)
        return f"{self.task}, {self.error_type}: {share} right without the photograph"


def blind_accuracy(dataset: Dataset) -> tuple[Blind, ...]:
    """Return the solver's accuracy by task, and by task and error type; each pair counts once.

    Cells of fewer than 20 pairs or 5 images are left out. Controlled errors and predictions of
    models are separate: a solver is fitted to the pairs of one error type.
    """
    features = BlindFeatures(dataset.root)
    pairs: defaultdict[str, list[Pair]] = defaultdict(list)
    for question in _questions(dataset):
        pair = _pair(question, features)
        if pair is not None:
            pairs[question.task].append(pair)
    return tuple(cell for task, rows in sorted(pairs.items()) for cell in _cells(task, rows))


def _questions(dataset: Dataset) -> list[Question]:
    """Return one question per pair of annotations, regardless of its encodings."""
    first: dict[tuple[str, ...], Question] = {}
    for question in dataset:
        known = question.task in TASKS and question.probe is None
        if known and question.question_type == "pairwise" and question.answer in ("A", "B"):
            first.setdefault((question.task, *sorted(question.annotation_ids)), question)
    return list(first.values())


def _pair(question: Question, features: BlindFeatures) -> Pair | None:
    try:
        options = features.options(question)
    except DataError:
        return None
    if not all(options):
        return None
    lengths = [
        0 if row is None else row.text_chars or 0 for row in question.features or (None, None)
    ]
    one, two = (
        {**option, "text_chars": float(n)} for option, n in zip(options, lengths, strict=True)
    )
    better, worse = (one, two) if question.answer == "A" else (two, one)
    return Pair(question.image_id, question.error_type or MODELS, better, worse)


def _cells(task: str, pairs: Sequence[Pair]) -> Iterator[Blind]:
    hits = _held_out(pairs)
    for kind in (ALL, *dict.fromkeys(pair.group for pair in pairs)):
        by_image: defaultdict[str, list[float]] = defaultdict(list)
        for pair, hit in zip(pairs, hits, strict=True):
            if kind in (ALL, pair.group) and np.isfinite(hit):
                by_image[pair.image].append(float(hit))
        count = sum(map(len, by_image.values()))
        if count < FEWEST_PAIRS or len(by_image) < FEWEST_IMAGES:
            continue
        hits_by_image = np.array([sum(values) for values in by_image.values()])
        share = shares(hits_by_image, np.array([len(values) for values in by_image.values()]))
        low, high = share.interval(0) or (None, None)
        interval = None if low is None or high is None else (float(low), float(high))
        yield Blind(task, kind, float(share.value[0]), interval, count, len(by_image))


def _held_out(pairs: Sequence[Pair]) -> FloatArray:
    """Return 1 for each pair that the solver of its error type answers correctly on held-out
    images, ½ for ties; NaN without a solver.
    """
    hits = np.full(len(pairs), np.nan)
    for kind in dict.fromkeys(pair.group for pair in pairs):
        places = [k for k, pair in enumerate(pairs) if pair.group == kind]
        own = [pairs[k] for k in places]
        if len({pair.image for pair in own}) >= FEWEST_IMAGES:
            hits[places] = 0.5 + 0.5 * np.sign(held_out(table_of(own))[1])
    return hits
