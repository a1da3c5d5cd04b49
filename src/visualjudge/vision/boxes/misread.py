"""Boxes read in another form than their file's: forms other than ``[x1, y1, x2, y2]``,
and angles, which an import tries. Wrong *predictions* are in ``faults.py``.
"""

from dataclasses import replace
from math import cos, sin

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.vision.boxes.record import Detections
from visualjudge.vision.rows import Misplacement, Misreading


def _form(told: str, weights: list[list[float]]) -> Misplacement:
    """Return a form of boxes whose corners are sums of the numbers read as x1, y1, x2,
    y2, with these weights."""

    return Misplacement(
        told, lambda corners, _size: corners @ np.array(weights).T
    )


def _turned(prediction: Detections, _truth: Detections) -> Detections:
    items = []
    for item in prediction.items:
        if item.score is None:
            raise DataError("score: is missing")
        x1, y1, x2, y2 = item.xyxy
        across, down = abs(cos(item.score)), abs(sin(item.score))
        width = (x2 - x1) * across + (y2 - y1) * down
        height = (x2 - x1) * down + (y2 - y1) * across
        turned = (
            (x1 + x2 - width) / 2,
            (y1 + y2 - height) / 2,
            (x1 + x2 + width) / 2,
            (y1 + y2 + height) / 2,
        )
        items.append(replace(item, xyxy=turned, extent=None))
    return prediction.with_items(items)


MISREADINGS = (Misreading("the confidence is an angle in radians", _turned),)
FORMS = (
    _form(
        "boxes are [x1, y1, x2, y2] and were read as [x, y, width, height]",
        [[1, 0, 0, 0], [0, 1, 0, 0], [-1, 0, 1, 0], [0, -1, 0, 1]],
    ),
    _form(
        "boxes are [y1, x1, y2, x2] and were read as [x, y, width, height]",
        [[0, 1, 0, 0], [1, 0, 0, 0], [0, -1, 0, 1], [-1, 0, 1, 0]],
    ),
    _form(
        "boxes are [x, y, width, height] and were read as [x1, y1, x2, y2]",
        [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]],
    ),
    _form(
        "boxes are [centre x, centre y, width, height]",
        [
            [1.5, 0, -0.5, 0],
            [0, 1.5, 0, -0.5],
            [0.5, 0, 0.5, 0],
            [0, 0.5, 0, 0.5],
        ],
    ),
    _form(
        "boxes are [x1, y1, x2, y2] and were read as [centre x, centre y, width, "
        "height]",
        [[0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5], [-1, 0, 1, 0], [0, -1, 0, 1]],
    ),
    _form(
        "boxes are [x, y, width, height] and were read as [centre x, centre y, width, "
        "height]",
        [
            [0.5, 0, 0.5, 0],
            [0, 0.5, 0, 0.5],
            [-0.5, 0, 1.5, 0],
            [0, -0.5, 0, 1.5],
        ],
    ),
    _form(
        "boxes are [centre x, centre y, half width, half height]",
        [[2, 0, -1, 0], [0, 2, 0, -1], [0, 0, 1, 0], [0, 0, 0, 1]],
    ),
    _form(
        "width and height are exchanged",
        [[1, 0, 0, 0], [0, 1, 0, 0], [1, -1, 0, 1], [-1, 1, 1, 0]],
    ),
)
