"""Average precision in COCO's definition, over the images of a data set."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import BoolArray, FloatArray
from visualjudge.vision.base import Prediction
from visualjudge.vision.predictions import type_of
from visualjudge.vision.rows import Ranked
from visualjudge.vision.tasks import TASKS

RECALLS = np.linspace(0, 1, 101)
COCO_THRESHOLDS = tuple(np.linspace(0.5, 0.95, 10).tolist())
"""As ``COCOeval`` computes them: the last bits decide ties."""


@dataclass
class MatchedClass:
    """Predictions of one class: confidences, and for each threshold whether one was right or is left out."""

    scores: list[float]
    right: list[list[bool]]
    ignored: list[list[bool]]
    truths: int = 0


def average_precision(
    task: str,
    pairs: Iterable[tuple[Prediction, Prediction]],
    *,
    thresholds: Sequence[float] = COCO_THRESHOLDS,
) -> float | None:
    """COCO's AP: precision interpolated at 101 recalls, mean over classes and IoU (OKS) thresholds. 0..1.

    Parameters
    ----------
    task
        One whose type has a row :class:`~visualjudge.vision.rows.Ranked`: boxes, instances or poses, say.
    pairs
        (prediction, truth) of each image, typed; every predicted item bears a confidence ``score``.
    thresholds
        .50, .55, … .95 for AP; (0.5,) for AP50.

    Returns
    -------
    float or None
        As pycocotools' ``COCOeval`` gives for area "all" and its largest number of detections (100 an image and
        class, 20 people), ties of IoU and threshold included; give ``pairs`` in the order of the image ids, which
        decides between equal confidences. None where no truth is there to be found.

    Raises
    ------
    DataError
        If a predicted item has no confidence.
    UsageError
        If the task has no AP.
    """
    classes = matched_by_class(task, pairs, thresholds)
    tables = [_precisions(classes[label], len(thresholds)) for label in sorted(classes) if classes[label].truths]
    return float(np.mean(np.stack(tables, axis=-1))) if tables else None


def matched_by_class(
    task: str, pairs: Iterable[tuple[Prediction, Prediction]], thresholds: Sequence[float]
) -> dict[str, MatchedClass]:
    """Predictions of each class over all images, matched as ``COCOeval.evaluateImg`` does; parameters as above.

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
        raise UsageError(f"{task} has no AP; tasks that have: {known}")
    classes: dict[str, MatchedClass] = defaultdict(lambda: MatchedClass([], [], []))
    for prediction, truth in pairs:
        found, real = prediction.items_by_label(), truth.items_by_label()
        for label in found.keys() | real.keys():
            _one_image(kind, found.get(label, []), real.get(label, []), classes[label], thresholds)
    return classes


def _one_image(
    kind: Ranked, found: list[Any], real: list[Any], into: MatchedClass, thresholds: Sequence[float]
) -> None:
    """Match one image's items of one class at every threshold, as COCOeval.evaluateImg does."""
    scores = np.array([_confidence(item) for item in found])
    best = np.argsort(-scores, kind="mergesort")[: kind.most]
    found = [found[k] for k in best]
    ignore = np.array([kind.ignored(item) for item in real], dtype=bool)
    order = np.argsort(ignore, kind="mergesort")
    real, ignore = [real[k] for k in order], ignore[order]
    into.truths += int(np.count_nonzero(~ignore))
    similarity = kind.similarity(found, real)
    taken = [[False] * len(real) for _ in thresholds]
    for row, item in enumerate(found):
        near = _near(similarity[row], ignore, thresholds[0] - 1e-9)
        partners = [
            _partner(similarity[row], near, real, taken[k], min(threshold, 1 - 1e-10))
            for k, threshold in enumerate(thresholds)
        ]
        into.scores.append(_confidence(item))
        into.right.append([partner is not None for partner in partners])
        into.ignored.append([partner is not None and bool(ignore[partner]) for partner in partners])


def _near(row: FloatArray, ignore: BoolArray, least: float) -> tuple[list[int], list[int]]:
    """Truths of a similarity of ``least`` or more, the highest first and of equal ones the last.

    Those that count, then those that need not be found.
    """
    near = np.flatnonzero(row >= least)
    if len(near) > 1:
        near = near[np.lexsort((-near, -row[near]))]
    return near[~ignore[near]].tolist(), near[ignore[near]].tolist()


def _partner(
    row: FloatArray, near: tuple[list[int], list[int]], real: list[Any], taken: list[bool], threshold: float
) -> int | None:
    """The free truth of highest similarity, one that counts before one that is ignored; marks it taken."""
    for some in near:
        for k in some:
            if row[k] < threshold:
                break
            if not taken[k] or real[k].iscrowd:
                taken[k] = True
                return k
    return None


def _precisions(one: MatchedClass, thresholds: int) -> FloatArray:
    """Precision of one class by (threshold, recall): COCOeval.accumulate for one area and number of detections."""
    if not one.scores:
        return np.zeros((thresholds, len(RECALLS)))
    order = np.argsort(-np.array(one.scores), kind="mergesort")
    right = np.array(one.right, dtype=bool)[order]
    counted = ~np.array(one.ignored, dtype=bool)[order]
    values = []
    for k in range(thresholds):
        hits = np.cumsum(right[:, k] & counted[:, k]).astype(float)
        misses = np.cumsum(~right[:, k] & counted[:, k]).astype(float)
        precision = hits / (misses + hits + np.spacing(1))
        envelope = np.maximum.accumulate(precision[::-1])[::-1]
        places = np.searchsorted(hits / one.truths, RECALLS, side="left")
        values.append(np.where(places < len(envelope), envelope[np.minimum(places, len(envelope) - 1)], 0.0))
    return np.array(values)


def _confidence(item: Any) -> float:
    if item.score is None:
        raise DataError("score: AP needs the confidence of every predicted item, and one has none")
    return float(item.score)
