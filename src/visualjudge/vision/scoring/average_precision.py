"""Average precision as defined by COCO, over the images of a data set."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import FloatArray
from visualjudge.vision.base import Prediction
from visualjudge.vision.predictions import type_of
from visualjudge.vision.rows import Ranked
from visualjudge.vision.scoring.matching import COMPARED_TOGETHER
from visualjudge.vision.tasks import TASKS

RECALLS = np.linspace(0, 1, 101)
COCO_THRESHOLDS = tuple(np.linspace(0.5, 0.95, 10).tolist())
"""Computed exactly as in ``COCOeval``, because the last bits decide ties."""
Items = dict[str, list[Any]]
"""Items by label."""
Labelled = list[tuple[str, Any]]
"""Items with their labels."""


@dataclass
class MatchedClass:
    """Predictions of one class: their confidences and, as one bit per threshold, whether each is
    right or ignored.
    """

    scores: list[float] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    ignored: list[int] = field(default_factory=list)
    truths: int = 0


@dataclass(frozen=True)
class Matches:
    """All images of a data set, matched at every threshold. AP and the threshold of best F1 are
    computed from them.
    """

    thresholds: tuple[float, ...]
    classes: dict[str, MatchedClass]
    images: int

    def average_precision(self, count: int | None = None) -> float | None:
        """Return AP over the first ``count`` thresholds (default all), or None if no ground truth
        must be found.
        """
        some = range(len(self.thresholds) if count is None else count)
        known = [
            self.classes[label] for label in sorted(self.classes) if self.classes[label].truths
        ]
        tables = [_precisions(one, some) for one in known]
        return float(np.mean(np.stack(tables, axis=-1))) if tables else None


def average_precision(
    task: str,
    pairs: Iterable[tuple[Prediction, Prediction]],
    *,
    thresholds: Sequence[float] = COCO_THRESHOLDS,
) -> float | None:
    """Return COCO's AP, 0..1: precision interpolated at 101 recalls, averaged over classes and IoU
    (OKS) thresholds.

    Parameters
    ----------
    task
        A task whose type has a :class:`~visualjudge.vision.rows.Ranked`, such as boxes, instances
        or poses.
    pairs
        (prediction, truth) of each image, typed; every predicted item has a confidence ``score``.
    thresholds
        .50, .55, … .95 for AP; (0.5,) for AP50.

    Returns
    -------
    float or None
        The value of pycocotools' ``COCOeval`` for area "all" and its largest number of detections
        (100 per image and class, 20 people), including ties of IoU and threshold. ``pairs`` must be
        in the order of the image ids, which breaks ties between equal confidences. None if no
        ground truth must be found.

    Raises
    ------
    DataError
        If a predicted item has no confidence.
    UsageError
        If the task has no AP.
    """
    return match_images(task, pairs, thresholds).average_precision()


def match_images(
    task: str,
    pairs: Iterable[tuple[Prediction, Prediction]],
    thresholds: Sequence[float] = COCO_THRESHOLDS,
) -> Matches:
    """Match the predictions of each class over all images as ``COCOeval.evaluateImg`` does. See
    :func:`average_precision` for the parameters.

    Raises
    ------
    DataError
        If a predicted item has no confidence.
    UsageError
        If the task has no AP.
    """
    kind = type_of(task).ranked
    if kind is None:
        known = ", ".join(name for name in TASKS if type_of(name).ranked is not None)
        raise UsageError(f"{task} has no AP; tasks with AP: {known}")
    images = list(pairs)
    done = Matches(tuple(sorted(thresholds)), defaultdict(MatchedClass), len(images))
    reached = np.minimum(done.thresholds, 1 - 1e-10)
    for prediction, truth in images:
        found = {
            label: _ranked(kind, items) for label, items in prediction.items_by_label().items()
        }
        real = truth.items_by_label()
        for ours, theirs in _blocks(found, real):
            _match(kind, ours, theirs, done.classes, reached)
    return done


def _ranked(kind: Ranked, items: list[Any]) -> list[Any]:
    """Return the items that count, by decreasing confidence."""
    for item in items:
        if item.score is None:
            raise DataError(
                "score: AP needs the confidence of every predicted item, got one without"
            )
    return sorted(items, key=lambda item: -item.score)[: kind.most]


def _blocks(found: Items, real: Items) -> Iterator[tuple[Items, Items]]:
    """Yield predictions and ground truths to compare in one array: all labels of an image, or one
    label at a time if there are many items.
    """
    if sum(map(len, found.values())) * sum(map(len, real.values())) <= COMPARED_TOGETHER:
        yield found, real
        return
    for label in found.keys() | real.keys():
        yield {label: found.get(label, [])}, {label: real.get(label, [])}


def _match(
    kind: Ranked, found: Items, real: Items, classes: dict[str, MatchedClass], reached: FloatArray
) -> None:
    """Match the items of one image at every threshold. Results are integers with one bit per
    threshold, the lowest threshold first.

    A prediction takes the unmatched ground truth of highest similarity, the last of equal ones, and
    prefers one that counts to one that need not be found. A crowd region can be matched repeatedly.
    """
    ours = [(label, item) for label, items in found.items() for item in items]
    theirs = [(label, item) for label, items in real.items() for item in items]
    ignore = [bool(kind.ignored(item)) for _, item in theirs]
    for (label, _), ignored in zip(theirs, ignore, strict=True):
        classes[label].truths += 0 if ignored else 1
    right, left_out, taken = [0] * len(ours), [0] * len(ours), [0] * len(theirs)
    for i, j, level in _near(kind, ours, theirs, ignore, reached):
        got = ((1 << level) - 1) & ~(right[i] | taken[j])
        right[i] |= got
        left_out[i] |= got if ignore[j] else 0
        taken[j] |= 0 if theirs[j][1].iscrowd else got
    for (label, item), bits, passed in zip(ours, right, left_out, strict=True):
        one = classes[label]
        one.scores.append(float(item.score))
        one.right.append(bits)
        one.ignored.append(passed)


def _near(
    kind: Ranked, ours: Labelled, theirs: Labelled, ignore: list[bool], reached: FloatArray
) -> Iterator[tuple[int, int, int]]:
    """Yield the pairs of equal label that reach a threshold, in matching order, with the number of
    thresholds that they reach.
    """
    if not ours or not theirs:
        return iter(())
    similarity = kind.similarity([item for _, item in ours], [item for _, item in theirs])
    levels = np.searchsorted(reached, similarity, side="right")
    i, j = np.nonzero(levels)
    order = np.lexsort((-j, -similarity[i, j], np.array(ignore)[j], i))
    pairs = zip(i[order].tolist(), j[order].tolist(), levels[i, j][order].tolist(), strict=True)
    return (pair for pair in pairs if ours[pair[0]][0] == theirs[pair[1]][0])


def _precisions(one: MatchedClass, thresholds: range) -> FloatArray:
    """Return the precision of one class by (threshold, recall), as COCOeval.accumulate does for one
    area and number of detections.
    """
    if not one.scores:
        return np.zeros((len(thresholds), len(RECALLS)))
    order = np.argsort(-np.array(one.scores), kind="mergesort")
    right, ignored = np.array(one.right)[order], np.array(one.ignored)[order]
    values = []
    for k in thresholds:
        found, counted = right >> k & 1 == 1, ignored >> k & 1 == 0
        hits = np.cumsum(found & counted).astype(float)
        misses = np.cumsum(~found & counted).astype(float)
        precision = hits / (misses + hits + np.spacing(1))
        envelope = np.maximum.accumulate(precision[::-1])[::-1]
        places = np.searchsorted(hits / one.truths, RECALLS, side="left")
        values.append(
            np.where(places < len(envelope), envelope[np.minimum(places, len(envelope) - 1)], 0.0)
        )
    return np.array(values)
