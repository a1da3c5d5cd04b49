"""Faults of boxes and masks, named as in TIDE (Bolya et al., ECCV 2020), with its
thresholds of IoU: 0.5 for a right item, 0.1 for the background. Poses have their own,
in ``vision/poses/faults.py``.

Two rules differ from TIDE. Items are matched by decreasing IoU, as for the score,
because many predictions have no confidence. A right item counts in part: its weight is
the share of COCO's ten thresholds that its IoU does not reach; TIDE's faults have
weight 1.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from visualjudge.core.records import Fault, Pixels, Xyxy
from visualjudge.vision.items import LabelledItems
from visualjudge.vision.scoring.matching import (
    BACKGROUND,
    THRESHOLDS,
    Nearest,
    Similarity,
    compared_by_label,
    compared_items,
    lost,
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


@dataclass(frozen=True, slots=True)
class Measure:
    """The faults of items of a type: how they are compared, (n predictions, m ground
    truths) → (n, m); the box around one; and of a badly placed one and its ground
    truth, the kind.
    """

    similarity: Similarity
    box: Callable[[Any], Xyxy]
    misplaced: Callable[[Any, Any], str]

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
        return self._faults(
            list(
                zip(
                    prediction.items,
                    compared_items(prediction, truth, self.similarity),
                    strict=True,
                )
            ),
            truth,
            labels,
        )

    def by_class(
        self,
        prediction: LabelledItems,
        truth: LabelledItems,
        labels: Collection[str],
    ) -> Iterator[tuple[str, Iterator[Fault]]]:
        """Yield each of ``labels`` with its faults as the class of interest; every pair
        of items is compared once. ``prediction`` has the items of all labels."""
        for label, own in compared_by_label(
            prediction, truth, self.similarity, labels
        ).items():
            yield label, self._faults(own, truth, (label,))

    def _faults(
        self,
        rows: Iterable[tuple[Any, Nearest]],
        truth: LabelledItems,
        labels: Collection[str] | None,
    ) -> Iterator[Fault]:
        covered = set[int | None]()
        for number, (item, nearest) in enumerate(rows, 1):
            kind = _kind(nearest)
            placed = kind == "localization"
            share, at = nearest.own if placed else nearest.matched
            if at is not None:
                covered.add(at)
                real = truth.items[at]
                place = around(self.box(item), self.box(real))
                yield Fault(
                    self.misplaced(item, real), place, lost(share), number
                )
            elif kind:
                if kind == "classification":
                    covered.add(nearest.other[1])
                yield Fault(kind, self.box(item), 1.0, number)
        for j, item in enumerate(truth.items):
            asked = labels is None or item.label in labels
            if asked and not item.iscrowd and j not in covered:
                yield Fault("missed", self.box(item), 1.0)


def _kind(item: Nearest) -> str:
    """Return the kind of an item without a partner, "" for none and for one with a
    partner."""
    own, other = (similarity for similarity, _ in (item.own, item.other))
    if item.matched[0] or item.in_crowd >= RIGHT:
        return ""
    if BACKGROUND <= own < RIGHT:
        return "localization"
    if other >= RIGHT:
        return "classification"
    if own >= RIGHT:
        return "duplicate"
    return "background" if other < BACKGROUND else "both"


def around(first: Xyxy, second: Xyxy) -> Xyxy:
    """Return the smallest box around two."""
    return (*map(min, first[:2], second[:2]), *map(max, first[2:], second[2:]))  # type: ignore[return-value]
