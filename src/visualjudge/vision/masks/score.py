"""Segmentation scores: mask F1 for instances, mean IoU for semantic, IoU for a referred
region. Masks are matched in ``vision/scoring/matching.py``; average precision is in
``vision/scoring/average_precision.py``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import FloatArray
from visualjudge.vision.masks.record import Instance, Masks
from visualjudge.vision.raster.masks import empty_mask, packed_rle, shared_area
from visualjudge.vision.raster.overlaps import mask_ious
from visualjudge.vision.scoring.coverage import unpredicted
from visualjudge.vision.scoring.matching import (
    crowds,
    labelled_f1,
    labelled_f1_by_class,
)


def mask_f1(prediction: Masks, truth: Masks) -> float:
    """Return the mean of F1(t) over t = .50, .55, … .95 after one-to-one matching by
    decreasing mask IoU within a label.

    This is :func:`visualjudge.vision.boxes.score.box_f1` for masks. 0..1; 1 if both are
    empty.
    """
    _same_size(prediction, truth)
    return labelled_f1(prediction, truth, mask_similarity)


def mask_f1_by_class(
    prediction: Masks, truth: Masks, labels: Sequence[str]
) -> list[float]:
    """Return :func:`mask_f1` with each of ``labels`` as the class of interest."""
    _same_size(prediction, truth)
    return labelled_f1_by_class(prediction, truth, mask_similarity, labels)


def mask_similarity(
    predicted: tuple[Instance, ...], real: tuple[Instance, ...]
) -> FloatArray:
    """Return IoU, shape (len(found), len(real)), or the share of a mask in a crowd
    region."""
    return mask_ious(
        [item.mask for item in predicted],
        [item.mask for item in real],
        crowds(real),
    )


def coco_annotation(item: Instance) -> dict[str, Any]:
    """Return COCO's fields of a mask."""
    return {"segmentation": packed_rle(item.mask)}


def mean_iou(prediction: Masks, truth: Masks) -> float:
    """Return the mean IoU over the labels in the ground truth or prediction. Pixels
    without a label in the ground truth are ignored.

    A label predicted only on unlabelled pixels is not counted. 0..1; 1 if neither side
    has a label.
    """
    _same_size(prediction, truth)
    if not any(item.mask.area for item in truth.items):
        return (
            1.0 if not any(item.mask.area for item in prediction.items) else 0.0
        )
    real = truth.by_label()
    predicted = prediction.by_label()
    labelled = truth.coverage(truth.size)
    empty = empty_mask(truth.size)
    values = []
    for label in sorted({*real, *predicted}):
        first = predicted.get(label, empty)
        second = real.get(label, empty)
        both = shared_area(first, second.dense())
        either = shared_area(first, labelled) + second.area - both
        if either:
            values.append(both / either)
    return float(np.mean(values)) if values else 1.0


def region_iou(prediction: Masks, truth: Masks) -> float:
    """Return the IoU of a referred region, 0..1; 1 if both are empty."""
    _same_size(prediction, truth)
    (predicted,) = prediction.items
    (real,) = truth.items
    return (
        1.0
        if not predicted.mask.area and (not real.mask.area)
        else float(mask_ious([predicted.mask], [real.mask])[0, 0])
    )


def semantic_note(
    pairs: Sequence[tuple[Masks, Masks]], _options: object
) -> tuple[str, ...]:
    """Return whether predictions lie where the truth has no label, or have none where
    it has one."""
    ignored = predicted = labelled = pixels = 0
    for prediction, real in pairs:
        if prediction.size == real.size:
            ours = prediction.coverage(real.size)
            theirs = real.coverage(real.size)
            pixels += theirs.size
            labelled += int(np.count_nonzero(theirs))
            predicted += int(np.count_nonzero(theirs & ours))
            ignored += int(np.count_nonzero(ours & ~theirs))
    return (
        unpredicted("label", predicted, labelled),
        ""
        if 100 * ignored <= pixels
        else f"{100 * ignored / pixels:.0f} % of the pixels are predicted where the truth "
        "has no label, and do not count: if that is background, name it as a class (0 in "
        "a label map is none)",
    )


def _same_size(prediction: Masks, truth: Masks) -> None:
    if prediction.items and truth.items and prediction.size != truth.size:
        raise DataError(
            "segmentation: masks must match the truth, "
            f"{truth.size[0]}×{truth.size[1]} (height×width), got "
            f"{prediction.size[0]}×{prediction.size[1]}"
        )
