"""Common mistakes in box coordinates: forms other than ``[x1, y1, x2, y2]`` in pixels
of the image.
"""

from collections.abc import Callable
from dataclasses import replace
from math import cos, sin

from visualjudge.core.errors import DataError
from visualjudge.core.records import Size, Xyxy
from visualjudge.vision.boxes.record import Detections, corners
from visualjudge.vision.rows import Misreading, letterboxes

Change = Callable[[float, float, float, float], Xyxy]


def _changed(prediction: Detections, change: Change) -> Detections:
    return prediction.with_items(
        replace(item, xyxy=change(*item.xyxy), extent=None)
        for item in prediction.items
    )


def _each(change: Change) -> Callable[[Detections, Detections], Detections]:
    return lambda prediction, _truth: _changed(prediction, change)


def _of_thousand(change: Change) -> Callable[[Detections, Size], Detections]:
    """Return what applies ``change`` to boxes in an image of 1000 × 1000, and brings
    them to the size of theirs."""
    return lambda prediction, size: _changed(
        _changed(prediction, change),
        lambda x1, y1, x2, y2: (
            x1 * size[1] / 1000,
            y1 * size[0] / 1000,
            x2 * size[1] / 1000,
            y2 * size[0] / 1000,
        ),
    )


def _at_size_of_truth(prediction: Detections, truth: Detections) -> Detections:
    """Scale boxes so that those of shared classes reach as far right and down as in the
    truth; unchanged if there are none."""
    shared = prediction.only(truth.labels), truth.only(prediction.labels)
    if not shared[0].items or not shared[1].items:
        return prediction
    reach, wanted = (corners(side)[:, 2:].max(axis=0) for side in shared)
    if not (reach > 0).all():
        return prediction
    across, down = wanted / reach
    return _changed(
        prediction,
        lambda x1, y1, x2, y2: (x1 * across, y1 * down, x2 * across, y2 * down),
    )


def _moved(
    prediction: Detections, factor: float, right: float, down: float
) -> Detections:
    return _changed(
        prediction,
        lambda x1, y1, x2, y2: (
            (x1 - right) / factor,
            (y1 - down) / factor,
            (x2 - right) / factor,
            (y2 - down) / factor,
        ),
    )


def _turned(prediction: Detections, _truth: Detections) -> Detections:
    items = []
    for item in prediction.items:
        if item.score is None:
            raise DataError("score: is missing")
        x1, y1, x2, y2 = item.xyxy
        across = abs(cos(item.score))
        down = abs(sin(item.score))
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


MISREADINGS = (
    Misreading(
        "coordinates are y before x",
        _each(lambda x1, y1, x2, y2: (y1, x1, y2, x2)),
    ),
    Misreading(
        "boxes are [x1, y1, x2, y2] and were read as [x, y, width, height]",
        _each(lambda x1, y1, x2, y2: (x1, y1, x2 - x1, y2 - y1)),
    ),
    Misreading(
        "boxes are [x, y, width, height] and were read as [x1, y1, x2, y2]",
        _each(lambda x1, y1, x2, y2: (x1, y1, x1 + x2, y1 + y2)),
    ),
    Misreading(
        "boxes are [centre x, centre y, width, height]",
        _each(
            lambda x1, y1, x2, y2: (
                x1 - (x2 - x1) / 2,
                y1 - (y2 - y1) / 2,
                (x1 + x2) / 2,
                (y1 + y2) / 2,
            )
        ),
    ),
    Misreading(
        "boxes are [x1, y1, x2, y2] and were read as [centre x, centre y, width, "
        "height]",
        _each(
            lambda x1, y1, x2, y2: (
                (x1 + x2) / 2,
                (y1 + y2) / 2,
                x2 - x1,
                y2 - y1,
            )
        ),
    ),
    Misreading(
        "width and height are exchanged",
        _each(lambda x1, y1, x2, y2: (x1, y1, x1 + (y2 - y1), y1 + (x2 - x1))),
    ),
    Misreading(
        "boxes are [x1, y1, x2, y2] in an image of 1000 × 1000",
        _of_thousand(lambda x1, y1, x2, y2: (x1, y1, x2 - x1, y2 - y1)),
        of_size=True,
    ),
    Misreading(
        "boxes are [y1, x1, y2, x2] in an image of 1000 × 1000",
        _of_thousand(lambda x1, y1, x2, y2: (y1, x1, y2 - y1, x2 - x1)),
        of_size=True,
    ),
    Misreading("the confidence is an angle in radians", _turned),
    Misreading(
        "the image was mirrored",
        lambda prediction, size: _changed(
            prediction,
            lambda x1, y1, x2, y2: (size[1] - x2, y1, size[1] - x1, y2),
        ),
        of_size=True,
    ),
    Misreading(
        "y is counted from the bottom",
        lambda prediction, size: _changed(
            prediction,
            lambda x1, y1, x2, y2: (x1, size[0] - y2, x2, size[0] - y1),
        ),
        of_size=True,
    ),
    Misreading(
        "boxes refer to an image of another size",
        _at_size_of_truth,
        fitted=True,
    ),
    *letterboxes(_moved),
)
