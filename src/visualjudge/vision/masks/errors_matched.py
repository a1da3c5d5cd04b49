"""Matched errors of masks; see :mod:`visualjudge.vision.errors.matched`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import cv2
import numpy as np

from visualjudge.core.records import Xyxy
from visualjudge.vision.errors.levels import ErrorScene
from visualjudge.vision.errors.matched import ItemErrors, Moves, like_pairs
from visualjudge.vision.errors.random_fields import lowest_share, smooth_field, sweep
from visualjudge.vision.masks import errors
from visualjudge.vision.masks.record import Instance, Masks
from visualjudge.vision.raster.masks import mask_from_array

ROUGH, UNEVEN, EATEN, MILD = 0.25, 0.6, 0.35, 0.35
"""Severities of the errors that all options of a pair have."""
REACH, GRAIN = 0.16, 0.35
"""Of the displacement of label maps at the far end, and of its hills, as shares of the longer side."""
LIKE_AREA = 2.5
"""How many times larger or smaller another object may be to be mistaken for the right one."""
Rng = np.random.Generator


def _box(item: Instance) -> Xyxy:
    return item.mask.box


def _shifted(item: Instance, x: float, y: float) -> Instance:
    return replace(item, mask=mask_from_array(errors.translated(item.mask.dense(), round(x), round(y))))


def _mirrored(item: Instance, _width: int) -> Instance:
    return replace(item, mask=mask_from_array(np.ascontiguousarray(item.mask.dense()[:, ::-1])))


def _rough(item: Instance, _scene: ErrorScene, rng: Rng) -> Instance:
    return replace(item, mask=errors.wobbled(item.mask, ROUGH, rng))


def _uneven(item: Instance, _scene: ErrorScene, rng: Rng) -> Instance:
    return replace(item, mask=errors.wobbled(item.mask, UNEVEN, rng))


MATCHED = ItemErrors(Moves(_box, _shifted, _mirrored, _rough))
_UNEVEN = ItemErrors(Moves(_box, _shifted, _mirrored, _uneven))


def boundary(truth: Masks, severity: float, scene: ErrorScene, rng: Rng) -> Masks:
    """All outlines are equally and clearly rough, and together off in one direction."""
    return _UNEVEN.localization(truth, severity, scene, rng)


# ---------------------------------------------------------------- semantic

Error = Callable[[Masks, float, ErrorScene, Rng], Masks]


def displaced(error: Error, mild: float) -> Error:
    """An error of semantic segmentation at one severity, and the whole label map bent further and further."""

    def matched(truth: Masks, severity: float, scene: ErrorScene, rng: Rng) -> Masks:
        return _bent(error(truth, mild, scene, rng), severity, rng)

    return matched


semantic_boundary = displaced(errors.semantic_boundary, MILD)
semantic_missed = displaced(errors.semantic_missed, EATEN)
semantic_background = displaced(errors.semantic_background, MILD)


def _bent(truth: Masks, severity: float, rng: Rng) -> Masks:
    """Smoothly displaced, not at the border of the image, so that nothing is stretched there."""
    height, width = truth.size
    rows, cols = np.mgrid[:height, :width].astype(np.float32)
    quiet = np.sin(np.pi * (rows + 0.5) / height) * np.sin(np.pi * (cols + 0.5) / width)
    step = np.float32(REACH * max(truth.size) * severity) * np.sqrt(quiet).astype(np.float32)
    fields = [smooth_field(truth.size, rng, grain=GRAIN).astype(np.float32) for _ in range(2)]
    numbers = errors.numbered(truth)
    bent = cv2.remap(numbers, cols + step * fields[1], rows + step * fields[0], cv2.INTER_NEAREST)
    items = [replace(item, mask=mask_from_array(bent == k + 1)) for k, item in enumerate(truth.items)]
    return errors.merged(truth, items)


def semantic_classification(truth: Masks, severity: float, scene: ErrorScene, rng: Rng) -> Masks:
    """Segments of like size and height on the image exchange their labels, in larger and larger parts."""
    out = list(truth.items)
    pairs = like_pairs([item.label for item in out], [item.mask.box for item in out])
    for one, two in pairs:
        for k, label in ((one, truth.items[two].label), (two, truth.items[one].label)):
            out += _parted(out, k, label, severity, truth, rng)
    if not pairs:
        out += _parted(out, 0, scene.wrong_label(out[0].label, rng), severity, truth, rng)
    return errors.merged(truth, out)


def _parted(items: list[Instance], k: int, label: str, share: float, truth: Masks, rng: Rng) -> list[Instance]:
    """Takes a share off item ``k``; that share under another label."""
    dense = items[k].mask.dense()
    part = lowest_share(dense, sweep(truth.size, rng), share)
    items[k] = replace(items[k], mask=mask_from_array(dense & ~part))
    return [Instance(label, mask_from_array(part))]


# ---------------------------------------------------------------- referring


def eaten(truth: Masks, severity: float, scene: ErrorScene, rng: Rng) -> Masks:
    """An equal part of the region is missing, and what is left is moved further and further."""
    left = errors.eaten(truth, EATEN, scene, rng)
    return MATCHED.localization(left, severity, scene, rng)


def wrong_instance(truth: Masks, severity: float, scene: ErrorScene, rng: Rng) -> Masks:
    """Parts of the right region and of another object of like size, more and more of the other one."""
    area = truth.items[0].mask.area
    like = tuple(mask for mask in scene.others if area / LIKE_AREA <= mask.area <= area * LIKE_AREA)
    return errors.wrong_instance(truth, severity, replace(scene, others=like), rng)
