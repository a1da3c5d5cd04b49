"""One-to-one matching of predictions and ground truths, and F1 over COCO's thresholds.
AP is in ``average_precision.py``.

hotcoco matches by decreasing confidence, which many predictions lack; here pairs are
matched by decreasing similarity.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Sequence,
)
from dataclasses import dataclass
from functools import lru_cache
from math import fsum
from operator import itemgetter
from typing import Any

import numpy as np

from visualjudge.core.records import BoolArray, FloatArray
from visualjudge.vision.items import LabelledItems

# 0.50, 0.55, … 0.95, as in COCO's AP.
THRESHOLDS = tuple(round(0.5 + 0.05 * k, 2) for k in range(10))
# How records state them.
TEN_THRESHOLDS = f"{THRESHOLDS[0]:.2f}:{THRESHOLDS[-1]:.2f}"
# Rounding must not keep a similarity below its threshold.
ROUNDING = 1e-9
REACHED = tuple(threshold - ROUNDING for threshold in THRESHOLDS)
# Below it two items have nothing to do with each other (TIDE).
BACKGROUND = 0.1
# (n predictions, m ground truths) → (n, m): IoU, or for a crowd region the share of the
# prediction that lies in it.
Similarity = Callable[[tuple[Any, ...], tuple[Any, ...]], FloatArray]
# A similarity and the place of the object; of equal ones the first object counts.
Place = tuple[float, int | None]
NOWHERE: Place = 0.0, None


@dataclass(slots=True)
class Nearest:
    """What a predicted item lies at: the most similar object of its own label, of
    another label, and of one-to-one matching, each with the similarity first, and the
    largest share in a crowd region of its label. What is below :data:`BACKGROUND` is
    left out.
    """

    own: Place = NOWHERE
    other: Place = NOWHERE
    matched: Place = NOWHERE
    in_crowd: float = 0.0


def pairs(
    similarity: FloatArray, least: float = THRESHOLDS[0]
) -> Iterator[tuple[int, int, float]]:
    """Yield (prediction, ground truth, similarity) of an (n, m) ``similarity``, matched
    one to one by decreasing similarity, of equal ones the earlier prediction first,
    then the earlier ground truth. Those below ``least`` are left out.
    """
    return _one_to_one(_candidates(similarity, least - ROUNDING), least)


def _candidates(
    similarity: FloatArray, least: float
) -> Iterator[tuple[int, int, float]]:
    first, second = np.nonzero(similarity >= least)
    return zip(
        first.tolist(),
        second.tolist(),
        similarity[first, second].tolist(),
        strict=True,
    )


def _one_to_one(
    candidates: Iterable[tuple[int, int, float]], least: float
) -> Iterator[tuple[int, int, float]]:
    used = set[int]()
    taken = set[int]()
    for i, j, value in sorted(
        (row for row in candidates if row[2] >= least - ROUNDING),
        key=lambda row: -row[2],
    ):
        if i not in used and j not in taken:
            used.add(i)
            taken.add(j)
            yield i, j, value


def lost(similarity: float) -> float:
    """Return the share of the ten thresholds that a similarity does not reach, 0..1."""
    reached = bisect_right(REACHED, similarity)
    return (len(REACHED) - reached) / len(REACHED)


def mean_f1(similarity: FloatArray, crowd: BoolArray) -> float:
    """Return the mean over the ten thresholds t of F1(t) = 2·TP / (predictions +
    truths), 0..1; 1 if both are empty.

    ``similarity`` is (n, m). Columns where ``crowd``, (m,), is true are no ground
    truths: they are the shares of each prediction that lie in crowd regions. An
    unmatched prediction with a share of at least t is not counted.
    """
    shares = similarity[:, crowd].max(axis=1, initial=0.0)
    items = [Nearest(in_crowd=share) for share in shares.tolist()]
    for i, j, value in pairs(similarity[:, ~crowd]):
        items[i].matched = value, j
    return _mean_f1(items, int(np.count_nonzero(~crowd)))


def _mean_f1(items: Sequence[Nearest], truths: int) -> float:
    """Return :func:`mean_f1` of predicted items and a number of ground truths."""
    counted = len(items) + truths
    right = [bisect_right(REACHED, item.matched[0]) for item in items]
    ignored = [bisect_right(REACHED, item.in_crowd) for item in items]
    if not any(ignored):  # then each F1 has the same divisor
        return 2 * sum(right) / len(REACHED) / counted if counted else 1.0
    means = []
    for k in range(len(REACHED)):
        hits = sum(level > k for level in right)
        left_out = sum(map(lambda r, c: r <= k < c, right, ignored))
        every = counted - left_out
        means.append(2 * hits / every if every else 1.0)
    return fsum(means) / len(means)


def labelled_f1(
    prediction: LabelledItems,
    truth: LabelledItems,
    similarity: Similarity,
    class_of_interest: Collection[str] | None = None,
) -> float:
    """Return :func:`mean_f1` of boxes or masks matched within a label; only those of
    the class of interest, if given."""
    if class_of_interest is not None:
        prediction = prediction.only(class_of_interest)
        truth = truth.only(class_of_interest)
    return _mean_f1(
        compared_items(prediction, truth, similarity),
        truth.without_crowds().count,
    )


def labelled_f1_by_class(
    prediction: LabelledItems,
    truth: LabelledItems,
    similarity: Similarity,
    labels: Sequence[str],
) -> list[float]:
    """Return :func:`labelled_f1` for each of ``labels``; every pair of items is
    compared once."""
    compared = compared_by_label(prediction, truth, similarity, labels)
    truths = Counter(item.label for item in truth.items if not item.iscrowd)
    return [
        _mean_f1([nearest for _, nearest in compared[label]], truths[label])
        for label in labels
    ]


@lru_cache(maxsize=1)  # a score and its faults compare the same items
def compared_items(
    prediction: LabelledItems, truth: LabelledItems, similarity: Similarity
) -> Sequence[Nearest]:
    """Return what each predicted item of an image lies at."""
    items = [Nearest() for _ in prediction.items]
    rivals = []
    values = similarity(prediction.items, truth.items)
    for i, j, value in _candidates(values, BACKGROUND):
        item = items[i]
        real = truth.items[j]
        same = prediction.items[i].label == real.label
        if real.iscrowd:
            item.in_crowd = max(item.in_crowd, value * same)
        elif same:
            item.own = max(
                item.own,
                (value, j),
                key=itemgetter(0),
            )
            rivals.append((i, j, value))
        else:
            item.other = max(
                item.other,
                (value, j),
                key=itemgetter(0),
            )
    for i, j, value in _one_to_one(rivals, THRESHOLDS[0]):
        items[i].matched = value, j
    return items


def compared_by_label(
    prediction: LabelledItems,
    truth: LabelledItems,
    similarity: Similarity,
    labels: Iterable[str],
) -> dict[str, list[tuple[Any, Nearest]]]:
    """Return the predicted items of each of ``labels``, each with what it lies at."""
    rows: dict[str, list[tuple[Any, Nearest]]] = {label: [] for label in labels}
    for item, nearest in zip(
        prediction.items,
        compared_items(prediction, truth, similarity),
        strict=True,
    ):
        if item.label in rows:
            rows[item.label].append((item, nearest))
    return rows


def crowds(items: Sequence[Any]) -> BoolArray:
    """Return which items are crowd regions, shape (n,)."""
    return np.array([item.iscrowd for item in items], dtype=np.bool_)
