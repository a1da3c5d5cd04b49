"""One-to-one matching of predictions and truths, and F1 over COCO's thresholds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from visualjudge.core.records import FloatArray
from visualjudge.vision.items import LabelledItems

THRESHOLDS = tuple(round(0.5 + 0.05 * k, 2) for k in range(10))
"""0.50, 0.55, … 0.95, as in COCO's AP."""

_SLACK = 1e-9
"""A similarity that is a threshold to within rounding counts as having reached it."""


def matched(similarity: FloatArray, same_label: FloatArray) -> list[tuple[float, int, int]]:
    """Pairs (similarity, prediction, truth), one-to-one, taken by falling similarity.

    ``similarity`` and ``same_label`` have shape (predictions, truths). Only pairs of one label and a similarity above 0
    are taken; among equal ones the earlier prediction, then the earlier truth.
    """
    candidates = np.argwhere(np.asarray(same_label, dtype=bool) & (similarity > 0))
    values = similarity[candidates[:, 0], candidates[:, 1]]
    free_predictions, free_truths = set(range(similarity.shape[0])), set(range(similarity.shape[1]))
    pairs = []
    for k in np.argsort(-values, kind="stable"):
        i, j = int(candidates[k, 0]), int(candidates[k, 1])
        if i in free_predictions and j in free_truths:
            free_predictions.discard(i)
            free_truths.discard(j)
            pairs.append((float(values[k]), i, j))
    return pairs


def mean_f1(pairs: Sequence[tuple[float, int, int]], crowd_share: FloatArray, truths: int) -> float:
    """Mean over the ten thresholds t of F1(t) = 2·TP / (predictions + truths); 1 where both are empty.

    ``crowd_share``, of shape (predictions,), is the largest share of a prediction's area that lies in a crowd region
    of its label: an unmatched prediction with a share of at least t is not counted.
    """
    reached = np.zeros(crowd_share.shape[0])
    for value, i, _ in pairs:
        reached[i] = value
    values = []
    for threshold in THRESHOLDS:
        found = reached >= threshold - _SLACK
        counted = int(np.count_nonzero(found | (crowd_share < threshold - _SLACK)))
        total = counted + truths
        values.append(2 * int(found.sum()) / total if total else 1.0)
    return float(np.mean(values))


def labelled_f1(
    prediction: LabelledItems,
    truth: LabelledItems,
    ious: Callable[..., FloatArray],
    class_of_interest: Collection[str] | None,
) -> float:
    """:func:`mean_f1` of boxes or masks matched within a label.

    Parameters
    ----------
    ious
        (items, items, crowd=…) → IoU, or with ``crowd`` the share of the first items' own area.
    class_of_interest
        Labels that count; None = all.
    """
    found, real = (
        (side if class_of_interest is None else side.only(class_of_interest)).items for side in (prediction, truth)
    )
    crowds = [item for item in real if item.iscrowd]
    single = [item for item in real if not item.iscrowd]
    shares = crowd_shares(ious(found, crowds, crowd=True), labels_equal(found, crowds))
    return mean_f1(matched(ious(found, single), labels_equal(found, single)), shares, len(single))


def labels_equal(first: Sequence[Any], second: Sequence[Any]) -> FloatArray:
    """1 where the labels of items are equal, shape (len(first), len(second))."""
    return np.array([[float(a.label == b.label) for b in second] for a in first]).reshape(len(first), len(second))


def crowd_shares(overlap: FloatArray, same_label: FloatArray) -> FloatArray:
    """The largest overlap with a crowd of the own label, shape (predictions,); 0 if there are no crowds."""
    if overlap.size == 0:
        return np.zeros(overlap.shape[0])
    return np.asarray((overlap * same_label).max(axis=1), dtype=np.float64)
