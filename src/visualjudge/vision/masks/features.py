"""Features of masks for the local judge. They are computed in ``vision/view_items.py``."""

from visualjudge.vision.masks.record import Masks
from visualjudge.vision.view import Features, Given
from visualjudge.vision.view_items import region_features


def mask_features(prediction: Masks, inputs: Given) -> Features:
    """Return the features of the masks of one image."""
    return region_features(
        inputs.view,
        [item.label for item in prediction.items],
        prediction.regions(),
    )
