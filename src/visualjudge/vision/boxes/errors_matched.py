"""Errors of boxes made on purpose so that the options look alike
(``vision/errors/matched.py``). Those of rising severity are in ``errors.py``.
"""

from dataclasses import replace
from operator import attrgetter

from visualjudge.vision.boxes.errors import moved
from visualjudge.vision.boxes.record import Detection
from visualjudge.vision.errors.levels import ErrorScene, Rng
from visualjudge.vision.errors.matched import ItemErrors, Moves

ROUGH_IOU = 0.88


def _shifted(item: Detection, x: float, y: float) -> Detection:
    x1, y1, x2, y2 = item.xyxy
    return replace(item, xyxy=(x1 + x, y1 + y, x2 + x, y2 + y))


def _rough(item: Detection, scene: ErrorScene, rng: Rng) -> Detection:
    return moved(item, ROUGH_IOU, scene, rng)


MATCHED = ItemErrors(Moves(attrgetter("xyxy"), _shifted, _rough))
