"""Common mistakes in box coordinates: forms other than ``[x1, y1, x2, y2]`` in pixels of
the image.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from visualjudge.core.records import Xyxy
from visualjudge.vision.boxes.record import Detections, corners
from visualjudge.vision.rows import Misreading


def _each(
    change: Callable[[float, float, float, float], Xyxy],
) -> Callable[[Detections, Detections], Detections]:
    def mended(found: Detections, _truth: Detections) -> Detections:
        return found.with_items(
            replace(item, xyxy=change(*item.xyxy), extent=None) for item in found.items
        )

    return mended


# Scale boxes so that those of shared classes reach as far right and down as in the truth; unchanged
# if there are none.
def _at_size_of_truth(found: Detections, truth: Detections) -> Detections:
    shared = found.only(truth.labels), truth.only(found.labels)
    if not shared[0].items or not shared[1].items:
        return found
    reach, wanted = (corners(side)[:, 2:].max(axis=0) for side in shared)
    if not (reach > 0).all():
        return found
    across, down = wanted / reach
    scaled = _each(
        lambda x1, y1, x2, y2: (x1 * across, y1 * down, x2 * across, y2 * down)
    )
    return scaled(found, truth)


MISREADINGS = (
    Misreading(
        "coordinates are y before x", _each(lambda x1, y1, x2, y2: (y1, x1, y2, x2))
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
        "boxes are [x1, y1, x2, y2] and were read as [centre x, centre y, width, height]",
        _each(lambda x1, y1, x2, y2: ((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1)),
    ),
    Misreading("boxes refer to an image of another size", _at_size_of_truth),
)
