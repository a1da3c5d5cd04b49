"""Faults of boxes, named as in TIDE, by their IoU."""

from visualjudge.vision.boxes.score import box_similarity
from visualjudge.vision.scoring.item_faults import Measure

BOX_FAULTS = Measure(
    box_similarity,
    lambda item: item.xyxy,
    lambda _item, _real: "localization",
)
