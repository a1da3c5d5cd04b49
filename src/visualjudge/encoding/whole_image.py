"""Restoration and generation: the predicted picture itself."""

from __future__ import annotations

from visualjudge.encoding.encoded import Encoded, Scene
from visualjudge.encoding.styles import PictureStyle


def show_picture(scene: Scene, _style: PictureStyle) -> Encoded:
    """The picture at its own size, unchanged: reading it has applied alpha, bit depth and orientation."""
    return Encoded(scene.prediction.pixels.copy())
