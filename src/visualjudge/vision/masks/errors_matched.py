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
"""Severities of the errors that all options of a pair have."""
SHOWN = 0.9
"""Area of a region of two parts, over that of the smallest object it may be of."""
LIKE_AREA = 2.5
"""How many times larger or smaller another object may be to be mistaken for the right one."""
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
    """All outlines are equally and clearly rough, and together off in one direction."""
    return _UNEVEN.localization(truth, severity, scene, rng)


# ---------------------------------------------------------------- semantic

Error = Callable[[Masks, float, ErrorScene, Rng], Masks]


def misplaced(error: Error, severity_of_error: float) -> Error:
    """A label map moved further and further to a side, without its margins; and an error at one
    severity.
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
    """Segments of similar size and height exchange their labels; all outlines are equally rough. If
    there is one segment only, an increasing part of it has another label.
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
    """A constant part of the region is missing, and the rest is moved further with severity."""
    left = errors.eaten(truth, EATEN, scene, rng)
    return MATCHED.localization(left, severity, scene, rng)


def wrong_instance(truth: Masks, severity: float, scene: ErrorScene, rng: Rng) -> Masks:
    """Parts of the right region and of another object of like size, more and more of the other one
    and equally much in all.

    Where there are a larger and a smaller other object, both are used: the right one is often the
    largest of its kind.
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
