"""Semantic segmentation as an image: one fill a class, its tag on the class's largest part."""

from __future__ import annotations

import cv2
import numpy as np

from visualjudge.core.records import Mask
from visualjudge.vision.drawing.canvas import Box, merged_by_label, paint
from visualjudge.vision.drawing.encoded import Encoded, Scene
from visualjudge.vision.drawing.palette import label_colors, random_color_at, random_name_at
from visualjudge.vision.drawing.styles import MaskStyle
from visualjudge.vision.drawing.tags import Anchor, draw_tags

_COARSE = 96


def draw_segments(scene: Scene, style: MaskStyle) -> Encoded:
    """Classes filled, largest first, by the palette or by colours drawn at random with a fixed seed."""
    merged = scene.once(merged_by_label)
    labels, masks = list(merged), list(merged.values())
    drawn = (random_color_at, random_name_at) if style.colors == "random" else ()
    colors, legend = label_colors(scene.classes, labels, *drawn)
    base = scene.canvas("black") if style.canvas == "black" else scene.image
    pixels = base.copy()
    order = paint(pixels, base, masks, [colors[label] for label in labels], style.opacity)
    if style.tags:
        anchors = [Anchor(labels[k], colors[labels[k]], inner_square(masks[k]), centered=True) for k in order]
        draw_tags(pixels, anchors)
    return Encoded(pixels, None, legend, colors)


def inner_square(mask: Mask) -> Box:
    """The largest square that fits into the mask, about: where a tag is sure to lie on its class.

    Found by the distance transform of the mask at a resolution of at most 96 pixels a side.
    """
    height, width = mask.crop.shape
    step = max(1, -(-max(height, width) // _COARSE))
    small = np.ascontiguousarray(mask.crop[step // 2 :: step, step // 2 :: step])
    if not small.any():
        small, step = mask.crop, 1
    depth = cv2.distanceTransform(np.pad(small.view(np.uint8), 1), cv2.DIST_C, 3)
    _, reach, _, (col, row) = cv2.minMaxLoc(depth)
    x, y = mask.left + (col - 1) * step + step // 2, mask.top + (row - 1) * step + step // 2
    half = max(0, int((reach - 0.5) * step))
    return x - half, y - half, x + half + 1, y + half + 1
