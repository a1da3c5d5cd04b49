"""Referring segmentation as an image: one region, filled, outlined, or both."""

from __future__ import annotations

from visualjudge.vision.drawing.canvas import edge_band, fill, line_width
from visualjudge.vision.drawing.encoded import Encoded, Scene
from visualjudge.vision.drawing.palette import label_colors
from visualjudge.vision.drawing.styles import RegionStyle


def draw_region(scene: Scene, style: RegionStyle) -> Encoded:
    """The region in the palette's first colour; its contour lies inside the mask, along holes and image edges too."""
    colors, legend = label_colors(None, [item.label for item in scene.masks.items])
    base = scene.canvas("black") if style.canvas == "black" else scene.image
    pixels = base.copy()
    for item in scene.masks.items:
        if style.fill:
            fill(pixels, base, item.mask, colors[item.label], style.opacity)
        if style.contour:
            fill(pixels, base, edge_band(item.mask, line_width(scene.size)), colors[item.label], 1.0)
    return Encoded(pixels, None, legend, colors)
