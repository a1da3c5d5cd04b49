"""Faults of boxes, named as in TIDE."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from visualjudge.core.records import Fault, Pixels
from visualjudge.vision.boxes.record import Detections
from visualjudge.vision.boxes.score import box_similarity
from visualjudge.vision.scoring.item_faults import item_faults


def box_faults(
    prediction: Detections,
    truth: Detections,
    labels: Collection[str] | None,
    _input_image: Pixels | None,
) -> Iterator[Fault]:
    """Yield the faults of :func:`visualjudge.vision.scoring.item_faults.item_faults` by
    IoU of boxes.
    """
    return item_faults(
        prediction,
        truth,
        labels,
        box_similarity,
        lambda item: item.xyxy,
        lambda _item, _real: "localization",
    )
