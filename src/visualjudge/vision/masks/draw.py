"""Masks as an image: instances with their boxes and tags, one fill a class, or one referred
region.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core.records import RGB, BoolArray, Mask
from visualjudge.vision.drawing.canvas import (
    Box,
    dashed_outline,
    edge_band,
    fill,
    line_width,
    merged_by_label,
    paint,
)
from visualjudge.vision.drawing.encoded import Encoded, Scene
from visualjudge.vision.drawing.palette import (
    color_at,
    label_colors,
    random_color_at,
    random_name_at,
)
from visualjudge.vision.drawing.tags import Anchor, draw_tags

_COARSE = 96


@dataclass(frozen=True, slots=True)
class MaskStyle:
    """Filled masks with tags and dashed boxes."""

    opacity: float = 0.5
    canvas: Literal["overlay", "black"] = "overlay"
    tags: bool = True
    colors: Literal["class", "instance", "random"] = "class"
    boxes: bool = False


@dataclass(frozen=True, slots=True)
class RegionStyle:
    """One region: filled, outlined, or both."""

    fill: bool = True
    contour: bool = False
    opacity: float = 0.5
    canvas: Literal["overlay", "black"] = "overlay"


def draw_instances(scene: Scene, style: MaskStyle) -> Encoded:
    """Masks, largest first; then the dashed boxes, then the tags, so that neither is hidden by a
    fill.

    Coloured by instance, colours only tell neighbours apart: there is no legend, and instance k has
    palette colour k.
    """
    items = scene.masks.items
    labels = [item.label for item in items]
    by_class, legend = label_colors(scene.classes, labels)
    by_instance = style.colors == "instance"
    colors: list[RGB] = [
        color_at(k) if by_instance else by_class[label] for k, label in enumerate(labels)
    ]
    base = scene.canvas("black") if style.canvas == "black" else scene.image
    pixels = base.copy()
    order = paint(pixels, base, [item.mask for item in items], colors, style.opacity)
    if style.boxes:
        for k in order:
            dashed_outline(pixels, items[k].mask.xyxy, colors[k], line_width(scene.size))
    if style.tags:
        draw_tags(pixels, [Anchor(labels[k], colors[k], items[k].mask.xyxy) for k in order])
    if by_instance:
        return Encoded(pixels)
    return Encoded(pixels, None, legend, by_class)


def draw_segments(scene: Scene, style: MaskStyle) -> Encoded:
    """Classes filled, largest first, by the palette or by colours drawn at random with a fixed
    seed.
    """
    merged = scene.once(merged_by_label)
    labels, masks = list(merged), list(merged.values())
    drawn = (random_color_at, random_name_at) if style.colors == "random" else ()
    colors, legend = label_colors(scene.classes, labels, *drawn)
    base = scene.canvas("black") if style.canvas == "black" else scene.image
    pixels = base.copy()
    order = paint(pixels, base, masks, [colors[label] for label in labels], style.opacity)
    if style.tags:
        anchors = [
            Anchor(labels[k], colors[labels[k]], inner_square(masks[k]), centered=True)
            for k in order
        ]
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
    depth = cv2.distanceTransform(_framed(small), cv2.DIST_C, 3)
    _, reach, _, (col, row) = cv2.minMaxLoc(depth)
    x, y = mask.left + (col - 1) * step + step // 2, mask.top + (row - 1) * step + step // 2
    half = max(0, int((reach - 0.5) * step))
    return x - half, y - half, x + half + 1, y + half + 1


def _framed(inside: BoolArray) -> NDArray[np.uint8]:
    """The same with a frame of one pixel of zeros; np.pad takes ten times as long."""
    framed = np.zeros((inside.shape[0] + 2, inside.shape[1] + 2), dtype=np.uint8)
    framed[1:-1, 1:-1] = inside
    return framed


def draw_region(scene: Scene, style: RegionStyle) -> Encoded:
    """The region in the palette's first colour; its contour lies inside the mask, along holes and
    image edges too.
    """
    colors, legend = label_colors(None, [item.label for item in scene.masks.items])
    base = scene.canvas("black") if style.canvas == "black" else scene.image
    pixels = base.copy()
    for item in scene.masks.items:
        if style.fill:
            fill(pixels, base, item.mask, colors[item.label], style.opacity)
        if style.contour:
            fill(
                pixels, base, edge_band(item.mask, line_width(scene.size)), colors[item.label], 1.0
            )
    return Encoded(pixels, None, legend, colors)
