"""How predicted masks are wrong, measured: of instances named as in TIDE, of label maps
and of a referred region. Errors made on purpose are in ``errors.py``, files read in
another form than theirs in ``misread.py``.
"""

from collections.abc import Collection, Iterator

import cv2
import numpy as np

from visualjudge.core.records import BoolArray, Fault, Pixels
from visualjudge.vision.masks.record import Instance, Masks
from visualjudge.vision.masks.score import mask_similarity, region_iou
from visualjudge.vision.raster.images import fitted_size
from visualjudge.vision.raster.masks import (
    empty_mask,
    mask_from_array,
    shared_area,
)
from visualjudge.vision.raster.overlaps import dense_iou
from visualjudge.vision.raster.regions import regions
from visualjudge.vision.scoring.item_faults import KINDS, Measure, around
from visualjudge.vision.scoring.matching import lost

Labels = Collection[str] | None
INSTANCE_KINDS = {**KINDS, "boundary": "an outline is inaccurate"}
SEMANTIC_KINDS = {
    "classification": "a region has the wrong label",
    "boundary": "a boundary between regions is inaccurate",
    "missed": "a region has no label",
    "background": "a label covers regions of other classes, and its class is not there",
}
REFERRING_KINDS = {
    "wrong_instance": "another object is marked",
    "boundary": "the outline is inaccurate",
    "localization": "the mask is shifted",
    "missed": "a part of the object is not marked",
}
# Pixels of the longer side at which the faults of a label map are measured, at most.
LONGEST_SIDE = 4096
# Half the width of a strip along a boundary, as a share of the longer side.
STRIP = 0.06
# Share of a mask inside the ground truth from which the rest of the object is missing.
INSIDE = 0.99


def _shifted(item: Instance, real: Instance) -> str:
    """Return "localization" if moving the mask's centre to that of the ground truth at
    least halves what is lost, otherwise "boundary"."""
    mask = item.mask.dense()
    other = real.mask.dense()
    ours, theirs = (  # np.argwhere takes 16 bytes a pixel
        cv2.moments(side.view(np.uint8), binaryImage=True)
        for side in (mask, other)
    )
    across, down = (
        theirs[sums] / theirs["m00"] - ours[sums] / ours["m00"]
        for sums in ("m10", "m01")
    )
    move = np.array(
        [[1, 0, round(across)], [0, 1, round(down)]], dtype=np.float32
    )
    moved = (
        cv2.warpAffine(
            mask.view(np.uint8),
            move,
            mask.shape[::-1],
        )
        > 0
    )
    return (
        "localization"
        if 1 - dense_iou(moved, other) <= (1 - dense_iou(mask, other)) / 2
        else "boundary"
    )


# By IoU of masks. A badly placed mask is ``boundary`` unless moving it mends most of it.
INSTANCE_FAULTS = Measure(
    mask_similarity,
    lambda item: item.mask.box,
    _shifted,
)


def semantic_faults(
    prediction: Masks,
    truth: Masks,
    _labels: Labels,
    _input_image: Pixels | None,
) -> Iterator[Fault]:
    """Yield the regions of wrong pixels. A fault's weight is its share of the labelled
    pixels.

    A wrong region beside right pixels of its label, and nowhere wider than a strip of
    12 % of the longer side, is ``boundary``. A region of a label that the ground truth
    lacks is ``background`` if it covers several labels. Pixels without a label in the
    ground truth are ignored. Larger maps are measured at :data:`LONGEST_SIDE`.
    """
    size = fitted_size(truth.size, LONGEST_SIDE)
    small_truth = truth.scaled(truth.size, size)
    small = prediction.scaled(truth.size, size)
    real = small_truth.by_label()
    labelled = small_truth.coverage(size)
    total = float(np.count_nonzero(labelled))
    for box, part in regions(labelled > small.coverage(size), truth.size):
        yield Fault(
            "missed",
            box,
            np.count_nonzero(part) / total,
        )
    for label, mask in small.by_label().items():
        region = mask.dense()
        right = region & real.get(label, empty_mask(size)).dense()
        near = cv2.dilate(right.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
        for box, part in regions(region & labelled & ~right, truth.size):
            kind = "classification"
            if (part & near).any() and _is_strip(part):
                kind = "boundary"
            elif (
                label not in real
                and sum(shared_area(m, part) > 0 for m in real.values()) > 1
            ):
                kind = "background"
            yield Fault(
                kind,
                box,
                np.count_nonzero(part) / total,
            )


def _is_strip(part: BoolArray) -> bool:
    framed = np.pad(part, 1).astype(np.uint8)
    depth = float(cv2.distanceTransform(framed, cv2.DIST_L2, 3).max())
    return bool(depth <= STRIP * max(part.shape))


def referring_faults(
    prediction: Masks,
    truth: Masks,
    _labels: Labels,
    _input_image: Pixels | None,
) -> Iterator[Fault]:
    """Yield the fault of a referred region, if it has any; its weight is the share of
    COCO's thresholds that the IoU does not reach.
    """
    (item,) = prediction.items
    (real,) = truth.items
    mask = item.mask.dense()
    other = real.mask.dense()
    wrong = mask & ~other
    apart = [part for _, part in regions(mask) if not (part & other).any()]
    strange = np.logical_or.reduce([np.zeros_like(mask), *apart])
    if 2 * np.count_nonzero(strange) > np.count_nonzero(wrong):
        kind = "wrong_instance"
        place = mask_from_array(strange).box
    elif np.count_nonzero(wrong) <= (1 - INSIDE) * np.count_nonzero(mask):
        kind = "missed"
        place = mask_from_array(other & ~mask).box
    else:
        kind = _shifted(item, real)
        place = around(item.mask.box, real.mask.box)
    yield Fault(
        kind,
        place,
        lost(region_iou(prediction, truth)),
    )
