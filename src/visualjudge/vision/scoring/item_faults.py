"""Faults of boxes and masks, named as in TIDE (Bolya et al., ECCV 2020), with its
thresholds of IoU: 0.5 for a right item, 0.1 for the background.

Two rules differ from TIDE. Items are matched by decreasing IoU, as for the score,
because many predictions have no confidence. A right item counts in part: its weight is
the share of COCO's ten thresholds that its IoU does not reach; TIDE's faults have
weight 1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from visualjudge.core.records import Fault, Xyxy
from visualjudge.vision.items import LabelledItems
from visualjudge.vision.scoring.matching import (
    THRESHOLDS,
    Similarity,
    crowds,
    labels_of,
    lost,
    pairs,
)

KINDS = {
    "classification": "an object has the wrong label",
    "localization": "a mark is badly placed or has the wrong size",
    "both": "a mark is badly placed and has the wrong label",
    "duplicate": "an object is marked twice",
    "background": "a mark is where there is no such object",
    "missed": "an object is not marked",
}
RIGHT = THRESHOLDS[0]
BACKGROUND = 0.1
# (item, its ground truth) → the kind of a badly placed item.
Misplaced = Callable[[Any, Any], str]


def item_faults(
    prediction: LabelledItems,
    truth: LabelledItems,
    labels: Collection[str] | None,
    similarity: Similarity,
    box: Callable[[Any], Xyxy],
    misplaced: Misplaced,
) -> Iterator[Fault]:
    """Yield the faults of a prediction, each at its item, at the missed ground truth,
    or at the smallest box around a badly placed item and its ground truth.

    ``prediction`` has only items of ``labels``, the class of interest (None = all);
    ``truth`` has all, so that an item on an object of another class is recognised.
    Crowd regions are not missed, and items inside them are not faults.
    """
    predicted = prediction.items
    real = truth.items
    values = similarity(predicted, real)
    crowd = crowds(real)
    same = labels_of(prediction)[:, None] == labels_of(truth)
    own = np.where(same & ~crowd, values, 0.0)
    other = np.where(same | crowd, 0.0, values)
    nearest = (
        table.max(axis=1, initial=0.0).tolist()
        for table in (own, other, np.where(same & crowd, values, 0.0))
    )
    kinds = [_kind(*most) for most in zip(*nearest, strict=True)]
    partners = {i: j for i, j, _ in pairs(own)}
    covered = {*partners.values()}
    for i, item in enumerate(predicted):
        if i in partners or kinds[i] == "localization":
            j = partners.get(i, int(own[i].argmax()))
            covered.add(j)
            place = around(box(item), box(real[j]))
            yield Fault(misplaced(item, real[j]), place, lost(own[i, j]))
        elif kinds[i]:
            if kinds[i] == "classification":
                covered.add(int(other[i].argmax()))
            yield Fault(kinds[i], box(item), 1.0)
    for j, item in enumerate(real):
        asked = labels is None or item.label in labels
        if asked and not item.iscrowd and j not in covered:
            yield Fault("missed", box(item), 1.0)


def _kind(best: float, wrong: float, in_crowd: float) -> str:
    """Return the kind of an item without a ground truth of its own, "" for none, by its
    highest IoU with objects of its label and of others, and its share in crowd regions.
    """
    if in_crowd >= RIGHT:
        return ""
    if BACKGROUND <= best < RIGHT:
        return "localization"
    if wrong >= RIGHT:
        return "classification"
    if best >= RIGHT:
        return "duplicate"
    return "background" if wrong < BACKGROUND else "both"


def around(first: Xyxy, second: Xyxy) -> Xyxy:
    """Return the smallest box around two."""
    return (*map(min, first[:2], second[:2]), *map(max, first[2:], second[2:]))  # type: ignore[return-value]
