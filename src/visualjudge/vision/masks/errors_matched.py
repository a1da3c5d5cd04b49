"""Matched errors of masks; see :mod:`visualjudge.vision.errors.matched`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from visualjudge.core.records import Xyxy
from visualjudge.vision.errors.levels import ErrorScene
from visualjudge.vision.errors.matched import (
    ItemErrors,
    Moves,
    aside,
    exchanged,
    like_pairs,
    side,
)
from visualjudge.vision.errors.random_fields import lowest_share, sweep
from visualjudge.vision.masks import errors
from visualjudge.vision.masks.record import Instance, Masks
from visualjudge.vision.raster.masks import mask_from_array

ROUGH, UNEVEN, EATEN, MILD = 0.25, 0.6, 0.35, 0.35
"""Severities of the errors that all options of a pair share."""
SHOWN = 0.9
"""Area of a two-part region as a fraction of the area of the smallest object involved."""
LIKE_AREA = 2.5
"""Maximum ratio between the areas of two objects that can be mistaken for each other."""
Rng = np.random.Generator


def _box(item: Instance) -> Xyxy:
    return item.mask.box


def _shifted(item: Instance, x: float, y: float) -> Instance:
    return replace(
        item, mask=mask_from_array(errors.translated(item.mask.dense(), round(x), round(y)))
    )


def _rough(item: Instance, _scene: ErrorScene, rng: Rng) -> Instance:
    return replace(item, mask=errors.wobbled(item.mask, ROUGH, rng))


def _uneven(item: Instance, _scene: ErrorScene, rng: Rng) -> Instance:
    return replace(item, mask=errors.wobbled(item.mask, UNEVEN, rng))


MATCHED = ItemErrors(Moves(_box, _shifted, _rough))
_UNEVEN = ItemErrors(Moves(_box, _shifted, _uneven))


def boundary(truth: Masks, severity: float, scene: ErrorScene, rng: Rng) -> Masks:
    """Make all outlines equally and clearly rough, and shift all masks in one direction."""
    return _UNEVEN.localization(truth, severity, scene, rng)


# ---------------------------------------------------------------- semantic

Error = Callable[[Masks, float, ErrorScene, Rng], Masks]


def misplaced(error: Error, severity_of_error: float) -> Error:
    """Return an error that shifts a label map sideways with increasing severity, without its
    margins, and applies ``error`` at a fixed severity.
    """

    def matched(truth: Masks, severity: float, scene: ErrorScene, rng: Rng) -> Masks:
        to = side(severity, scene.levels, rng)
        moved = aside(errors.numbered(truth), severity, to, 0)
        items = [
            replace(item, mask=mask_from_array(moved == k + 1))
            for k, item in enumerate(truth.items)
        ]
        return error(errors.merged(truth, items), severity_of_error, scene, rng)

    return matched


semantic_boundary = misplaced(errors.semantic_boundary, MILD)
semantic_missed = misplaced(errors.semantic_missed, EATEN)
semantic_background = misplaced(errors.semantic_background, MILD)


def semantic_classification(truth: Masks, severity: float, scene: ErrorScene, rng: Rng) -> Masks:
    """Exchange the labels of segments of similar size and height, with equally rough outlines. If
    there is only one segment, an increasing part of it gets another label.
    """
    pairs = like_pairs(
        [item.label for item in truth.items], [item.mask.box for item in truth.items]
    )
    out = list(truth.items)
    for k in rng.permutation(len(pairs))[: exchanged(severity, len(pairs))]:
        one, two = pairs[k]
        labels = truth.items[two].label, truth.items[one].label
        out[one], out[two] = (
            replace(out[at], label=label) for at, label in zip((one, two), labels, strict=True)
        )
    if not pairs:
        dense = out[0].mask.dense()
        part = lowest_share(dense, sweep(truth.size, rng), severity)
        wrong = Instance(scene.wrong_label(out[0].label, rng), mask_from_array(part))
        out = [replace(out[0], mask=mask_from_array(dense & ~part)), wrong, *out[1:]]
    return errors.semantic_boundary(truth.with_items(out), MILD, scene, rng)


# ---------------------------------------------------------------- referring


def eaten(truth: Masks, severity: float, scene: ErrorScene, rng: Rng) -> Masks:
    """Remove a constant part of the region and move the rest further with severity."""
    left = errors.eaten(truth, EATEN, scene, rng)
    return MATCHED.localization(left, severity, scene, rng)


def wrong_instance(truth: Masks, severity: float, scene: ErrorScene, rng: Rng) -> Masks:
    """Combine parts of the right region and of another object of similar size. The other object's
    part increases with severity; the total area is constant.

    If there are both a larger and a smaller object, both are used, because the right object is
    often the largest of its kind.
    """
    (item,) = truth.items
    area = item.mask.area
    like = [
        mask
        for mask in scene.others
        if area / LIKE_AREA <= mask.area <= area * LIKE_AREA
        and not (mask.dense() & item.mask.dense()).any()
    ]
    if not like:
        return truth
    like = [like[k] for k in rng.permutation(len(like))]
    first = like[0]
    second = next((mask for mask in like if (mask.area > area) != (first.area > area)), first)
    other = (first, second)[side(severity, scene.levels, rng)]
    shown = SHOWN * min(area, first.area, second.area)
    order = sweep(truth.size, rng)
    parts = [
        lowest_share(mask.dense(), order, share * shown / mask.area)
        for mask, share in ((item.mask, 1 - severity), (other, severity))
    ]
    return truth.with_items([replace(item, mask=mask_from_array(parts[0] | parts[1]))])
