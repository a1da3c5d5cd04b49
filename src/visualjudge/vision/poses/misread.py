"""Poses read in another form than their file's: coordinates or keypoints in another
order than COCO's, which an import tries. Wrong *predictions* are in ``faults.py``.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import itemgetter

from visualjudge.core.errors import DataError
from visualjudge.core.records import FloatArray
from visualjudge.vision.poses.record import People
from visualjudge.vision.poses.skeleton import MIRRORED
from visualjudge.vision.rows import Misreading

_OTHER_SIDE = [0, *(k for left, right in MIRRORED for k in (right, left))]


# Width and height of what models of poses are commonly given and return.
CROPS = (1, 1), (192, 256), (288, 384), (256, 256), (48, 64), (72, 96), (64, 64)
# The place of each of COCO's keypoints in the order of others: of OpenPose without the
# neck, of MPII and Human3.6M, whose head stands for the face.
_ORDERS = {
    "OpenPose": [0, 14, 13, 16, 15, 4, 1, 5, 2, 6, 3, 10, 7, 11, 8, 12, 9],
    "MPII": [*[9] * 5, 13, 12, 14, 11, 15, 10, 3, 2, 4, 1, 5, 0],
    "Human3.6M": [*[9] * 5, 11, 14, 12, 15, 13, 16, 4, 1, 5, 2, 6, 3],
}


def _changed(
    change: Callable[[FloatArray], FloatArray],
    prediction: People,
    _truth: People,
) -> People:
    return People(
        tuple(
            replace(item, keypoints=change(item.keypoints))
            for item in prediction.items
        )
    )


def _in_the_image(
    crop: tuple[int, int] | None, prediction: People, truth: People
) -> People:
    """Move keypoints from the box of their person, or from a crop of it of this width
    and height, to the image; predictions without boxes have those of the truth."""
    own = all(item.bbox is not None for item in prediction.items)
    boxes = [item.bbox for item in (prediction if own else truth).items]
    people = []
    for item, box in zip(prediction.items, boxes, strict=True):
        if box is None:
            raise DataError("bbox: is not known")
        x1, y1, x2, y2 = box
        width, height = crop or (x2 - x1, y2 - y1)
        factors = [(x2 - x1) / width, (y2 - y1) / height, 1.0]
        people.append(
            replace(item, keypoints=item.keypoints * factors + [x1, y1, 0.0])
        )
    return People(tuple(people))


MISREADINGS = (
    Misreading(
        "left and right keypoints are exchanged",
        partial(_changed, itemgetter(_OTHER_SIDE)),
    ),
    *(
        Misreading(
            f"keypoints are in the order of {name}",
            partial(_changed, itemgetter(order)),
        )
        for name, order in _ORDERS.items()
    ),
    Misreading(
        "all x stand before all y",
        partial(_changed, lambda points: points.reshape(3, -1).T),
    ),
    Misreading(
        "keypoints are in reverse order",
        partial(_changed, lambda points: points[::-1]),
    ),
    Misreading(
        "keypoints are relative to the box of their person",
        partial(_in_the_image, None),
    ),
    *(
        Misreading(
            f"keypoints refer to a crop of {width} × {height} of the box of their "
            "person",
            partial(_in_the_image, (width, height)),
        )
        for width, height in CROPS
    ),
)
