"""Restoration and generation: the predicted image itself. Hatched originals are in
``drawing/context.py``.
"""

from dataclasses import dataclass

from visualjudge.vision.drawing.encoded import Encoded, Scene


@dataclass(frozen=True, slots=True)
class ImageStyle:
    """The predicted image itself."""


def show_image(scene: Scene, _style: ImageStyle) -> Encoded:
    """Return the image at its own size, unchanged; alpha, bit depth and orientation
    were applied when it was read.
    """
    return Encoded(scene.prediction.pixels.copy())
