"""Faults of boxes and masks, named as in TIDE (Bolya et al., ECCV 2020), with its
thresholds of IoU: 0.5 for a right item, 0.1 for the background.

Two rules differ from TIDE. Items are matched by decreasing IoU, as for the score,
because many predictions have no confidence. A right item counts in part: its weight is
the share of COCO's ten thresholds that its IoU does not reach; TIDE's faults have
weight 1.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from typing import Any

import numpy as np

from visualjudge.core.records import Fault, FloatArray, Pixels, Xyxy
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


@dataclass(frozen=True, slots=True)
class Measure:
    """The faults of items of a type: how they are compared, (n predictions, m ground
    truths) → (n, m); the box around one; and what a badly placed one is.
    """

    similarity: Similarity
    box: Callable[[Any], Xyxy]
    misplaced: Misplaced

    def __call__(
        self,
        prediction: LabelledItems,
        truth: LabelledItems,
        labels: Collection[str] | None,
        _input_image: Pixels | None = None,
    ) -> Iterator[Fault]:
        """Yield the faults of a prediction, each at its item, at the missed ground
        truth, or at the smallest box around a badly placed item and its ground truth.

        ``prediction`` has only items of ``labels``, the class of interest (None = all);
        ``truth`` has all, so that an item on an object of another class is recognised.
        Crowd regions are not missed, and items inside them are not faults.
        """
        rows = range(len(prediction.items))
        compared = _compared(prediction, truth, self.similarity)
        return self._faults(compared, rows, labels)

    def by_class(
        self,
        prediction: LabelledItems,
        truth: LabelledItems,
        labels: Collection[str],
    ) -> Iterator[tuple[str, Iterator[Fault]]]:
        """Yield each of ``labels`` with its faults as the class of interest; every pair
        of items is compared once. ``prediction`` has the items of all labels."""
        compared = _compared(prediction, truth, self.similarity)
        rows: dict[str, list[int]] = {label: [] for label in labels}
        for i, item in enumerate(prediction.items):
            if item.label in rows:
                rows[item.label].append(i)
        for label, own in rows.items():
            yield label, self._faults(compared, own, (label,))

    def _faults(
        self,
        compared: _Compared,
        rows: Iterable[int],
        labels: Collection[str] | None,
    ) -> Iterator[Fault]:
        real = compared.real
        covered: set[int] = set()
        for number, i in enumerate(rows, 1):
            item = compared.predicted[i]
            kind = compared.kinds[i]
            partner = compared.partners.get(i)
            if partner is None and kind == "localization":
                partner = int(compared.own[i].argmax())
            if partner is not None:
                covered.add(partner)
                place = around(self.box(item), self.box(real[partner]))
                share = lost(compared.own[i, partner])
                wrong = self.misplaced(item, real[partner])
                yield Fault(wrong, place, share, number)
            elif kind:
                if kind == "classification":
                    covered.add(int(compared.other[i].argmax()))
                yield Fault(kind, self.box(item), 1.0, number)
        for j, item in enumerate(real):
            asked = labels is None or item.label in labels
            if asked and not item.iscrowd and j not in covered:
                yield Fault("missed", self.box(item), 1.0)


@dataclass(frozen=True, eq=False, slots=True)
class _Compared:
    """Similarity of items with objects of their own label and of others, (n, m); the
    kind of each item without a partner, and the partners by item.
    """

    predicted: Sequence[Any]
    real: Sequence[Any]
    own: FloatArray
    other: FloatArray
    kinds: Sequence[str]
    partners: Mapping[int, int]


def _compared(
    prediction: LabelledItems, truth: LabelledItems, similarity: Similarity
) -> _Compared:
    values = similarity(tuple(prediction.items), tuple(truth.items))
    crowd = crowds(truth.items)
    same = labels_of(prediction)[:, None] == labels_of(truth)
    own = np.where(same & ~crowd, values, 0.0)
    other = np.where(same | crowd, 0.0, values)
    nearest = (
        table.max(axis=1, initial=0.0).tolist()
        for table in (own, other, np.where(same & crowd, values, 0.0))
    )
    kinds = [_kind(*most) for most in zip(*nearest, strict=True)]
    partners = {i: j for i, j, _ in pairs(own)}
    return _Compared(prediction.items, truth.items, own, other, kinds, partners)


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
