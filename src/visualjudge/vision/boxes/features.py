"""Features of boxes for the local judge: those of rectangular masks. They are computed
in ``vision/view_items.py``.
"""

import numpy as np

from visualjudge.core.records import Mask, Size, Xyxy
from visualjudge.vision.boxes.record import Detections
from visualjudge.vision.drawing.canvas import pixel_box
from visualjudge.vision.raster.masks import empty_mask, mask_of_crop
from visualjudge.vision.view import Features, Given
from visualjudge.vision.view_items import region_features


def box_features(prediction: Detections, inputs: Given) -> Features:
    """Return the features of the boxes of one image."""
    return region_features(
        inputs.view,
        [item.label for item in prediction.items],
        [_rectangle(item.xyxy, inputs.view.size) for item in prediction.items],
    )


def _rectangle(box: Xyxy, size: Size) -> Mask:
    drawn = pixel_box(box, size)
    if drawn is None:
        return empty_mask(size)
    left, top, right, bottom = drawn
    return mask_of_crop(
        size, top, left, np.ones((bottom - top, right - left), dtype=np.bool_)
    )
