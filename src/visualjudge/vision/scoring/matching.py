"""One-to-one matching of predictions and ground truths, and F1 over COCO's thresholds.

hotcoco matches by decreasing confidence, which many predictions lack; here pairs are
matched by decreasing similarity.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
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
REACHED = np.array(THRESHOLDS) - ROUNDING
# (n predictions, m ground truths) → (n, m): IoU, or for a crowd region the share of the
# prediction that lies in it.
Similarity = Callable[[Sequence[Any], Sequence[Any]], FloatArray]


def pairs(
    similarity: FloatArray, least: float = THRESHOLDS[0]
) -> Iterator[tuple[int, int, float]]:
    """Yield (prediction, ground truth, similarity) of an (n, m) ``similarity``, matched
    one to one by decreasing similarity, of equal ones the earlier prediction first,
    then the earlier ground truth. Those below ``least`` are left out.
    """
    first, second = np.nonzero(similarity >= least - ROUNDING)
    values = similarity[first, second]
    order = np.argsort(-values, kind="stable")
    used = set[int]()
    taken = set[int]()
    for i, j, value in zip(
        first[order].tolist(),
        second[order].tolist(),
        values[order].tolist(),
        strict=True,
    ):
        if i not in used and j not in taken:
            used.add(i)
            taken.add(j)
            yield i, j, value


def matched(similarity: FloatArray) -> FloatArray:
    """Return the similarity of each of n predictions to its own ground truth
    (:func:`pairs`), shape (n,); 0 without one.
    """
    reached = np.zeros(len(similarity))
    for i, _, value in pairs(similarity):
        reached[i] = value
    return reached


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
    hits, left_out = _reached(similarity, crowd)
    counted = len(similarity) + np.count_nonzero(~crowd) - left_out.sum(axis=0)
    return float(_f1(hits.sum(axis=0), counted).mean())


def labelled_f1(
    prediction: LabelledItems,
    truth: LabelledItems,
    similarity: Similarity,
    class_of_interest: Collection[str] | None,
) -> float:
    """Return :func:`mean_f1` of boxes or masks matched within a label; only those of
    the class of interest, if given.
    """
    if class_of_interest is not None:
        prediction = prediction.only(class_of_interest)
        truth = truth.only(class_of_interest)
    return mean_f1(*_within_labels(prediction, truth, similarity))


def labelled_f1_by_class(
    prediction: LabelledItems,
    truth: LabelledItems,
    similarity: Similarity,
    labels: Sequence[str],
) -> list[float]:
    """Return :func:`labelled_f1` for each of ``labels``; every pair of items is
    compared once."""
    values, crowd = _within_labels(prediction, truth, similarity)
    hits, left_out = _reached(values, crowd)
    chosen = np.array(labels, dtype=np.object_)[:, None]
    ours, theirs = (
        (chosen == labels_of(side)).astype(np.float64)
        for side in (prediction, truth)
    )
    counted = ours @ ~left_out + (theirs @ ~crowd)[:, None]
    shares: list[float] = _f1(ours @ hits, counted).mean(axis=1).tolist()
    return shares


def _within_labels(
    prediction: LabelledItems, truth: LabelledItems, similarity: Similarity
) -> tuple[FloatArray, BoolArray]:
    """Return similarities that are 0 between different labels, and which ground truths
    are crowd regions."""
    values = similarity(tuple(prediction.items), tuple(truth.items))
    return values * (
        labels_of(prediction)[:, None] == labels_of(truth)
    ), crowds(truth.items)


def labels_of(side: LabelledItems) -> np.ndarray:
    """Return the label of each item, shape (n,)."""
    return np.array([item.label for item in side.items], dtype=np.object_)


def crowds(items: Sequence[Any]) -> BoolArray:
    """Return which items are crowd regions, shape (n,)."""
    return np.array([item.iscrowd for item in items], dtype=np.bool_)


def _reached(
    similarity: FloatArray, crowd: BoolArray
) -> tuple[BoolArray, BoolArray]:
    """Return whether each prediction is right, and whether it is not counted, at each
    threshold, both of shape (n, thresholds)."""
    hits = matched(similarity[:, ~crowd])[:, None] >= REACHED
    inside = similarity[:, crowd].max(axis=1, initial=0.0)[:, None] >= REACHED
    return hits, inside & ~hits


def _f1(hits: Any, counted: Any) -> FloatArray:
    shares: FloatArray = np.divide(
        2 * hits, counted, out=np.ones(hits.shape), where=counted > 0
    )
    return shares
