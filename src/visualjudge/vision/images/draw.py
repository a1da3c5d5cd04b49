"""Restoration and generation: the predicted image itself."""

from __future__ import annotations

from visualjudge.vision.drawing.encoded import Encoded, Scene
from visualjudge.vision.drawing.styles import ImageStyle


def show_image(scene: Scene, _style: ImageStyle) -> Encoded:
    """The image at its own size, unchanged: reading it has applied alpha, bit depth and orientation."""
    return Encoded(scene.prediction.pixels.copy())
