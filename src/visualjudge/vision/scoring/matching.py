"""One-to-one matching of predictions and ground truths, and F1 over COCO's thresholds."""

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
"""Tolerance for rounding, within which a similarity reaches a threshold."""

LEAST = THRESHOLDS[0] - 2 * _SLACK
"""Minimum similarity that can reach the lowest threshold."""
COMPARED_TOGETHER = 500
"""Maximum pairs of an image, over all labels, for which one comparison is faster than one per
label.
"""
_REACHED = np.array(THRESHOLDS) - _SLACK
_LEVELS = len(THRESHOLDS) + 1
"""Number of possible counts of reached thresholds, including zero."""
_AT_ONCE = 1 << 16
Alike = Callable[[list[Any], list[Any], Pairs], tuple[IntArray, IntArray, FloatArray]]
Shares = Callable[[list[Any], list[Any], Pairs], FloatArray]


def matched(
    first: IntArray, second: IntArray, similarity: FloatArray
) -> list[tuple[float, int, int]]:
    """Return one-to-one pairs (similarity, prediction, truth), matched by decreasing similarity.

    ``first`` and ``second`` are the indices of predictions and ground truths, and ``similarity``
    contains the similarity of each such pair. Only pairs with a similarity above 0 are matched.
    Ties go to the earlier pair, so pairs must be sorted by prediction, then ground truth.
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
    """Return the mean over the ten thresholds t of F1(t) = 2·TP / (predictions + truths); 1 if both
    are empty.

    ``crowd_share``, of shape (predictions,), is the largest fraction of a prediction's area that
    lies in a crowd region of its label. An unmatched prediction with a fraction of at least t is
    not counted.
    """
    reached = np.zeros(crowd_share.shape[0])
    for value, i, _ in pairs:
        reached[i] = value
    label = np.zeros(len(reached), np.intp)
    return float(_mean_f1(*_totals(label, reached, crowd_share, np.array([truths])))[0])


def _totals(
    labels: IntArray, reached: FloatArray, share: FloatArray, truths: IntArray
) -> tuple[IntArray, IntArray]:
    """Return TP and predictions + truths by label and threshold, both of shape (labels,
    thresholds).

    ``labels``, ``reached`` (similarity to the matched ground truth) and ``share`` (fraction of the
    area in a crowd region) describe the predictions. ``truths`` is the number of ground truths per
    label.
    """
    found, inside = (np.searchsorted(_REACHED, values, side="right") for values in (reached, share))

    def above(levels: IntArray) -> IntArray:
        counts = np.bincount(labels * _LEVELS + levels, minlength=len(truths) * _LEVELS).reshape(
            -1, _LEVELS
        )
        return np.cumsum(counts[:, :0:-1], axis=1)[:, ::-1]

    hits = above(found)
    left_out = above(inside) - above(np.minimum(found, inside)) if inside.any() else 0
    predicted = np.bincount(labels, minlength=len(truths))
    return hits, (predicted + truths)[:, None] - left_out


def _mean_f1(hits: IntArray, total: IntArray) -> FloatArray:
    """Return the mean over the thresholds, the last axis, of 2·TP divided by the number of items on
    both sides; 1 without items.
    """
    shares: FloatArray = np.divide(2 * hits, total, out=np.ones(hits.shape), where=total > 0)
    return np.asarray(shares.mean(axis=-1))


def labelled_f1(
    prediction: LabelledItems,
    truth: LabelledItems,
    alike: Alike,
    shares: Shares,
    class_of_interest: Collection[str] | None,
) -> float:
    """Return :func:`mean_f1` of boxes or masks matched within a label.

    Parameters
    ----------
    alike
        (predictions, truths, pairs so far) → indices of both in the pairs with an IoU of at least
        :data:`LEAST`, and their IoU. Other pairs reach no threshold and would be matched last.
        Pairs with different labels are ignored.
    shares
        (predictions, crowd regions, pairs so far) → the largest fraction of each prediction's own
        area that lies in one of the regions.
    class_of_interest
        Labels that count; None means all.
    """
    labels = (
        {*prediction.labels, *truth.labels} if class_of_interest is None else {*class_of_interest}
    )
    hits, total = _matched_by_label(prediction, truth, alike, shares, list(labels))
    return float(_mean_f1(hits.sum(axis=0), total.sum(axis=0)))


def labelled_f1_by_class(
    prediction: LabelledItems,
    truth: LabelledItems,
    alike: Alike,
    shares: Shares,
    labels: Sequence[str],
) -> list[float]:
    """Return :func:`labelled_f1` for each of ``labels``; every pair of items is compared once."""
    known = list(dict.fromkeys(labels))
    values = _mean_f1(*_matched_by_label(prediction, truth, alike, shares, known))
    each = dict(zip(known, values.tolist(), strict=True))
    return [each[label] for label in labels]


def _matched_by_label(
    prediction: LabelledItems,
    truth: LabelledItems,
    alike: Alike,
    shares: Shares,
    labels: Sequence[str],
) -> tuple[IntArray, IntArray]:
    """Return :func:`_totals` for the items of ``labels``."""
    codes = {label: k for k, label in enumerate(labels)}
    found = [item for item in prediction.items if item.label in codes]
    truths = [item for item in truth.items if item.label in codes]
    real = [item for item in truths if not item.iscrowd]
    ours, theirs = (
        np.array([codes[item.label] for item in side], dtype=np.intp) for side in (found, real)
    )
    reached, inside, counted = np.zeros(len(found)), np.zeros(len(found)), Pairs()
    for mine, others in _blocks(ours, theirs, len(labels)):
        i, j, value = alike([found[k] for k in mine], [real[k] for k in others], counted)
        same = ours[mine[i]] == theirs[others[j]]
        for similarity, k, _ in matched(i[same], j[same], value[same]):
            reached[mine[k]] = similarity
    crowds: dict[str, list[Any]] = {}
    for item in truths:
        if item.iscrowd:
            crowds.setdefault(item.label, []).append(item)
    by_label = _places(ours, len(labels)) if crowds else []
    for label, regions in crowds.items():
        mine = by_label[codes[label]]
        inside[mine] = shares([found[k] for k in mine], regions, counted)
    return _totals(ours, reached, inside, np.bincount(theirs, minlength=len(labels)))


def _blocks(ours: IntArray, theirs: IntArray, labels: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the indices of predictions and ground truths to compare at once: all, or those of one
    label if there are many.
    """
    if len(ours) * len(theirs) <= COMPARED_TOGETHER:
        blocks = [(np.arange(len(ours)), np.arange(len(theirs)))]
    else:
        blocks = list(zip(_places(ours, labels), _places(theirs, labels), strict=True))
    return ((mine, others) for mine, others in blocks if len(mine) and len(others))


def _places(codes: IntArray, count: int) -> list[IntArray]:
    """Return the indices of each of ``count`` codes, in increasing order."""
    ends = np.cumsum(np.bincount(codes, minlength=count))
    return np.split(np.argsort(codes, kind="stable"), ends[:-1])


def rows_at_once(first: int, second: int, counted: Pairs) -> Iterator[slice]:
    """Yield slices of ``first`` items, each with a limited number of pairs with ``second`` others.

    Raises
    ------
    DataError
        If the image has too many pairs.
    """
    counted.add(compared=first * second)
    rows = max(1, TOGETHER // max(1, second))
    return (slice(start, start + rows) for start in range(0, first, rows))


def by_crowd(
    similarity: Callable[..., FloatArray], found: list[Any], real: list[Any]
) -> FloatArray:
    """Return similarities, using ``similarity(…, crowd=True)`` for those with a crowd region."""
    crowd = np.array([item.iscrowd for item in real], dtype=bool)
    plain = similarity(found, real)
    return np.where(crowd, similarity(found, real, crowd=True), plain) if crowd.any() else plain
