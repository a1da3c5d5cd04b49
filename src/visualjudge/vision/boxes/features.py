"""Features of boxes for the local judge: those of rectangular masks."""

from __future__ import annotations

import numpy as np

from visualjudge.core.records import Mask, Size, Xyxy
from visualjudge.vision.boxes.record import Detections
from visualjudge.vision.drawing.canvas import pixel_box
from visualjudge.vision.raster.masks import empty_mask
from visualjudge.vision.view import Features, Given
from visualjudge.vision.view_items import region_features


def box_features(found: Detections, given: Given) -> Features:
    """Return the features of the boxes of one image."""
    regions = [_rectangle(item.xyxy, given.view.size) for item in found.items]
    return region_features(given.view, [item.label for item in found.items], regions)


def _rectangle(box: Xyxy, size: Size) -> Mask:
    shown = pixel_box(box, size)
    if shown is None:
        return empty_mask(size)
    left, top, right, bottom = shown
    return Mask(size, top, left, np.ones((bottom - top, right - left), dtype=np.bool_))
