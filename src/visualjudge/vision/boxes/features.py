"""Features of boxes for the local judge: those of rectangular masks."""

from __future__ import annotations

import numpy as np

from visualjudge.core.records import Mask, Size, Xyxy
from visualjudge.vision.boxes.record import Detections
from visualjudge.vision.drawing.canvas import pixel_box
from visualjudge.vision.masks.features import mask_features
from visualjudge.vision.masks.record import Instance, Masks
from visualjudge.vision.raster.masks import empty_mask
from visualjudge.vision.view import Features, Given


def box_features(found: Detections, given: Given) -> Features:
    """Return the features of the boxes of one image."""
    size = given.view.size
    items = (Instance(item.label, _rectangle(item.xyxy, size)) for item in found.items)
    return mask_features(Masks(size, tuple(items)), given)


def _rectangle(box: Xyxy, size: Size) -> Mask:
    shown = pixel_box(box, size)
    if shown is None:
        return empty_mask(size)
    left, top, right, bottom = shown
    return Mask(size, top, left, np.ones((bottom - top, right - left), dtype=np.bool_))
