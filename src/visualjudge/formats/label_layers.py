"""Masks as a label map: one segment a class."""

from __future__ import annotations

import numpy as np

from visualjudge.vision.predictions import Instance, Masks
from visualjudge.vision.raster.masks import mask_from_array


def flattened(side: Masks) -> Masks:
    """Instances as a label map: each pixel has the class of the smallest instance there; crowds count as instances."""
    ordered = sorted(side.items, key=lambda item: -item.mask.area)
    labels = sorted({item.label for item in ordered})
    values = np.zeros(side.size, dtype=np.int32)
    for item in ordered:
        values[item.mask.window][item.mask.crop] = labels.index(item.label) + 1
    parts = ((label, mask_from_array(values == number)) for number, label in enumerate(labels, start=1))
    return Masks(side.size, tuple(Instance(label, mask) for label, mask in parts if mask.area))


def by_class(side: Masks) -> Masks:
    """One segment a class, in the order of the labels."""
    joined = sorted(side.union_by_label().items())
    return side.with_items(Instance(label, mask_from_array(dense)) for label, dense in joined)
