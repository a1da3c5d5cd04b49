"""Errors of masks that are made on purpose: of instances (TIDE's names, and
``boundary``), of label maps and of referred regions. What is wrong in a *given*
prediction is measured in ``faults.py``.
"""

from collections.abc import Callable
from dataclasses import replace

import cv2
import numpy as np

from visualjudge.core.records import BoolArray, Mask
from visualjudge.vision.errors.items import LOWEST_IOU
from visualjudge.vision.errors.levels import ErrorScene, Rng, counted
from visualjudge.vision.errors.random_fields import (
    elsewhere,
    lowest_share,
    reach,
    smooth_field,
    sweep,
)
from visualjudge.vision.masks.record import Instance, Masks
from visualjudge.vision.raster.masks import mask_from_array
from visualjudge.vision.raster.overlaps import dense_iou

# Fraction of a region that ``missed`` removes at severity 1; some of it remains
# visible.
MOST_EATEN = 0.75


# ---------------------------------------------------------------- instances


def localization(
    truth: Masks, severity: float, _scene: ErrorScene, rng: Rng
) -> Masks:
    """Every mask is shifted as a whole until its IoU with the truth is 1 − 0.55 ×
    severity."""
    return truth.with_items(
        [
            replace(item, mask=_displaced(item.mask, severity, rng))
            for item in truth.items
        ]
    )


def duplicate(
    truth: Masks, severity: float, scene: ErrorScene, rng: Rng
) -> Masks:
    """Some masks are duplicated, with the copies slightly shifted."""
    drawn = (
        truth.items[rng.integers(len(truth.items))] for _ in range(scene.levels)
    )
    extra = [
        replace(item, mask=_displaced(item.mask, 0.35, rng)) for item in drawn
    ]
    return truth.with_items(
        [*truth.items, *extra[: counted(severity, scene.levels)]]
    )


def background(
    truth: Masks, severity: float, scene: ErrorScene, rng: Rng
) -> Masks:
    """Add masks with the outline of an object where there is no object."""
    taken = [item.mask.box for item in truth.items]
    extra = []
    objects = [item for item in truth.items if item.mask.area]
    for _ in range(scene.levels if objects else 0):
        item = objects[rng.integers(len(objects))]
        box = elsewhere(item.mask.box, truth.size, rng, taken)
        taken.append(box)
        extra.append(replace(item, mask=_stretched(item.mask, box)))
    return truth.with_items(
        [*truth.items, *extra[: counted(severity, scene.levels)]]
    )


def boundary(
    truth: Masks, severity: float, _scene: ErrorScene, rng: Rng
) -> Masks:
    """Every outline bulges in and out until the mask's IoU with the truth is 1 − 0.55 ×
    severity.
    """
    return truth.with_items(
        [
            replace(item, mask=wobbled(item.mask, severity, rng))
            for item in truth.items
        ]
    )


# ------------------------------------------------ semantic: every pixel has one class


def semantic_clean(truth: Masks) -> Masks:
    """Return the ground truth with its segments sorted by label, like predictions with
    errors."""
    return merged(truth, list(truth.items))


def semantic_classification(
    truth: Masks, severity: float, scene: ErrorScene, rng: Rng
) -> Masks:
    """A growing part of every segment gets another label of the data set."""
    out = list(truth.items)
    for k, item in enumerate(truth.items):
        wrong = scene.wrong_label(item.label, rng)
        part = lowest_share(
            item.mask.dense(),
            sweep(truth.size, rng),
            0.8 * severity,
        )
        out[k] = replace(item, mask=mask_from_array(item.mask.dense() & ~part))
        out.append(Instance(wrong, mask_from_array(part)))
    return merged(truth, out)


def semantic_boundary(
    truth: Masks, severity: float, _scene: ErrorScene, rng: Rng
) -> Masks:
    """All boundaries are bent by one smooth displacement of up to 12 % of the longer
    side."""
    height, width = truth.size
    reach_px = np.float32(0.12 * max(truth.size) * severity)
    rows, cols = np.mgrid[:height, :width].astype(np.float32)
    rows += reach_px * smooth_field(truth.size, rng, grain=0.1).astype(
        np.float32
    )
    cols += reach_px * smooth_field(truth.size, rng, grain=0.1).astype(
        np.float32
    )
    label_map = numbered(truth)
    bent = cv2.remap(
        label_map,
        cols,
        rows,
        cv2.INTER_NEAREST,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return renumbered(truth, bent)


def semantic_missed(
    truth: Masks, severity: float, _scene: ErrorScene, rng: Rng
) -> Masks:
    """A growing part of every segment loses its label."""
    return merged(truth, list(eaten(truth, severity, _scene, rng).items))


def semantic_background(
    truth: Masks, severity: float, scene: ErrorScene, rng: Rng
) -> Masks:
    """A region of a class that is not in the image grows to cover up to half of the
    image."""
    present = {item.label for item in truth.items}
    absent = sorted(set(scene.labels) - present) or sorted(present)
    label = absent[int(rng.integers(len(absent)))]
    blob = lowest_share(
        np.ones(truth.size, dtype=np.bool_),
        smooth_field(truth.size, rng, grain=0.3),
        0.5 * severity,
    )
    items = [
        replace(item, mask=mask_from_array(item.mask.dense() & ~blob))
        for item in truth.items
    ]
    return merged(truth, [*items, Instance(label, mask_from_array(blob))])


# ---------------------------------------------------------------- referring: one region


def wrong_instance(
    truth: Masks, severity: float, scene: ErrorScene, rng: Rng
) -> Masks:
    """The region moves to another object of the image: it covers parts of both, and
    only the other object at severity 1.
    """
    (item,) = truth.items
    others = _other_objects(truth, scene)
    if not others:
        return truth
    other = others[int(rng.integers(len(others)))].dense()
    order = sweep(truth.size, rng)
    rest = item.mask.dense() & ~lowest_share(item.mask.dense(), order, severity)
    return truth.with_items(
        [
            replace(
                item,
                mask=mask_from_array(
                    rest | lowest_share(other, order, severity)
                ),
            )
        ]
    )


def eaten(truth: Masks, severity: float, _scene: ErrorScene, rng: Rng) -> Masks:
    """A growing part of every region is missing."""
    left = []
    for item in truth.items:
        dense = item.mask.dense()
        part = lowest_share(
            dense, sweep(truth.size, rng), MOST_EATEN * severity
        )
        left.append(replace(item, mask=mask_from_array(dense & ~part)))
    return truth.with_items(left)


# ---------------------------------------------------------------- pieces


def _share(
    real: BoolArray,
    severity: float,
    changed: Callable[[float], BoolArray],
    inside: int = 0,
) -> float:
    """Return the t at which the IoU of ``changed(t)`` with ``real`` falls to 1 − 0.55 ×
    severity; ``inside`` further pixels are in both.
    """
    return reach(
        lambda t: dense_iou(real, changed(t), inside),
        1 - (1 - LOWEST_IOU) * severity,
    )


def _displaced(mask: Mask, severity: float, rng: Rng) -> Mask:
    dense = mask.dense()
    height, width = mask.shape
    angle = rng.uniform(0, 2 * np.pi)
    # Towards the farther edge, so that a mask at the border does not leave the image.
    room = (
        mask.size[1] / 2 - mask.left - width / 2,
        mask.size[0] / 2 - mask.top - height / 2,
    )
    step = np.array([np.cos(angle), np.sin(angle)])
    step = np.where(
        np.sign(step) * np.sign(room) < 0,
        -step,
        step,
    ) * (
        width,
        height,
    )

    def shifted(t: float) -> BoolArray:
        return translated(
            dense,
            round(float(step[0]) * t),
            round(float(step[1]) * t),
        )

    return mask_from_array(shifted(_share(dense, severity, shifted)))


def translated(dense: BoolArray, dx: int, dy: int) -> BoolArray:
    height, width = dense.shape
    out = np.zeros_like(dense)
    rows = slice(max(0, dy), min(height, height + dy))
    cols = slice(max(0, dx), min(width, width + dx))
    out[rows, cols] = dense[
        max(0, -dy) : max(0, -dy) + max(0, rows.stop - rows.start),
        max(0, -dx) : max(0, -dx) + max(0, cols.stop - cols.start),
    ]
    return out


def wobbled(mask: Mask, severity: float, rng: Rng) -> Mask:
    dense = mask.dense()
    outside, inside = (
        cv2.distanceTransform(side.view(np.uint8), cv2.DIST_L2, 3)
        for side in (~dense, dense)
    )
    signed = outside - inside
    size = max(4.0, mask.area**0.5)
    field = smooth_field(
        mask.size,
        rng,
        grain=min(0.3, 0.4 * size / max(mask.size)),
    )
    # other pixels stay where they are at any t up to 1
    near = np.abs(signed) <= np.abs(size * field)
    edge = signed[near]
    pull = field[near]
    share = _share(
        dense[near],
        severity,
        lambda t: edge < t * size * pull,
        int(np.count_nonzero(dense & ~near)),
    )
    return mask_from_array(signed < share * size * field)


def _stretched(mask: Mask, box: tuple[float, float, float, float]) -> Mask:
    x1, y1, x2, y2 = (round(v) for v in box)
    width = max(1, x2 - x1)
    height = max(1, y2 - y1)
    crop = cv2.resize(
        mask.crop.view(np.uint8),
        (width, height),
        interpolation=cv2.INTER_NEAREST,
    )
    full = np.zeros(mask.size, dtype=np.uint8)
    target = full[y1 : y1 + height, x1 : x1 + width]
    target[:] = crop[: target.shape[0], : target.shape[1]]
    return mask_from_array(full)


def numbered(truth: Masks) -> np.ndarray:
    label_map = np.zeros(truth.size, dtype=np.uint16)
    for k, item in enumerate(truth.items):
        label_map[item.mask.window][item.mask.crop] = k + 1
    return label_map


def renumbered(truth: Masks, label_map: np.ndarray) -> Masks:
    items = [
        replace(x, mask=mask_from_array(label_map == k))
        for k, x in enumerate(truth.items, 1)
    ]
    return merged(truth, items)


def merged(truth: Masks, items: list[Instance]) -> Masks:
    """Return one segment per label, sorted by label, without empty segments."""
    return truth.with_items(
        Instance(label, mask)
        for label, mask in sorted(truth.with_items(items).by_label().items())
        if mask.area
    )


def _other_objects(truth: Masks, scene: ErrorScene) -> list[Mask]:
    region = truth.items[0].mask.dense()
    return [
        mask
        for mask in scene.others
        if mask.area and not (mask.dense() & region).any()
    ]


def another_object(truth: Masks, scene: ErrorScene) -> bool:
    """Return whether there is an object besides the referred one."""
    return bool(_other_objects(truth, scene))
