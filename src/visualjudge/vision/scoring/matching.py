"""One-to-one matching of predictions and truths, and F1 over COCO's thresholds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from visualjudge.core.records import FloatArray
from visualjudge.vision.items import LabelledItems
from visualjudge.vision.scoring.close_boxes import TOGETHER, IntArray, Pairs

THRESHOLDS = tuple(round(0.5 + 0.05 * k, 2) for k in range(10))
"""0.50, 0.55, … 0.95, as in COCO's AP."""

_SLACK = 1e-9
"""A similarity that is a threshold to within rounding counts as having reached it."""

LEAST = THRESHOLDS[0] - 2 * _SLACK
"""A similarity that reaches the lowest threshold is at least this."""
_AT_ONCE = 1 << 16
Alike = Callable[[list[Any], list[Any], Pairs], tuple[IntArray, IntArray, FloatArray]]
Shares = Callable[[list[Any], list[Any], Pairs], FloatArray]


def matched(first: IntArray, second: IntArray, similarity: FloatArray) -> list[tuple[float, int, int]]:
    """Pairs (similarity, prediction, truth), one-to-one, taken by falling similarity.

    ``first`` and ``second`` are places of predictions and truths, ``similarity``, of the same length, that of each such
    pair. Pairs of a similarity above 0 are taken; of equal ones the earlier, so they come by prediction, then truth.
    """
    order = np.argsort(-similarity, kind="stable")
    order = order[similarity[order] > 0]
    taken, given = set[int](), set[int]()
    pairs = []
    for start in range(0, len(order), _AT_ONCE):
        some = order[start : start + _AT_ONCE]
        for k, i, j in zip(some.tolist(), first[some].tolist(), second[some].tolist(), strict=True):
            if j not in given and i not in taken:
                taken.add(i)
                given.add(j)
                pairs.append((float(similarity[k]), i, j))
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
    alike: Alike,
    shares: Shares,
    class_of_interest: Collection[str] | None,
) -> float:
    """:func:`mean_f1` of boxes or masks matched within a label.

    Parameters
    ----------
    alike
        (predictions, truths, pairs up to now) → places of both in the pairs of IoU :data:`LEAST` or more, and their
        IoU. Pairs of less reach no threshold, and are taken after all others.
    shares
        (predictions, crowd regions, pairs up to now) → the largest share of each prediction's own area that lies in
        one of them.
    class_of_interest
        Labels that count; None = all.
    """
    found, real = (
        (side if class_of_interest is None else side.only(class_of_interest)).items_by_label()
        for side in (prediction, truth)
    )
    pairs, inside, truths, before, counted = [], [np.zeros(0)], 0, 0, Pairs()
    for label in found.keys() | real.keys():
        ours, theirs = found.get(label, []), real.get(label, [])
        single = [item for item in theirs if not item.iscrowd]
        crowds = [item for item in theirs if item.iscrowd]
        pairs += [(value, before + i, j) for value, i, j in matched(*alike(ours, single, counted))]
        inside.append(shares(ours, crowds, counted) if crowds else np.zeros(len(ours)))
        truths, before = truths + len(single), before + len(ours)
    return mean_f1(pairs, np.concatenate(inside), truths)


def rows_at_once(first: int, second: int, counted: Pairs) -> Iterator[slice]:
    """Slices of ``first`` items that have few pairs with ``second`` others each.

    Raises
    ------
    DataError
        If there are too many pairs of the image.
    """
    counted.add(compared=first * second)
    rows = max(1, TOGETHER // max(1, second))
    return (slice(start, start + rows) for start in range(0, first, rows))


def by_crowd(similarity: Callable[..., FloatArray], found: list[Any], real: list[Any]) -> FloatArray:
    """Similarities, those with a crowd region as ``similarity(…, crowd=True)`` gives them."""
    crowd = np.array([item.iscrowd for item in real], dtype=bool)
    plain = similarity(found, real)
    return np.where(crowd, similarity(found, real, crowd=True), plain) if crowd.any() else plain
