"""Draw masks: instances with boxes and tags, filled classes, or one referred region.
Grids of labels are in ``label_grid.py``, texts in ``texts.py``.
"""

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np

from visualjudge.core.records import RGB, Mask
from visualjudge.vision.drawing.canvas import (
    Box,
    Layers,
    dashed_outline,
    edge_band,
    fill,
    layers_of,
    line_width,
    paint,
)
from visualjudge.vision.drawing.encoded import Encoded, Scene, masks_by_label
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
    """Style of filled masks, with tags and dashed boxes."""

    opacity: float = 0.5
    canvas: Literal["overlay", "black"] = "overlay"
    tags: bool = True
    colors: Literal["class", "instance", "random"] = "class"
    boxes: bool = False


@dataclass(frozen=True, slots=True)
class RegionStyle:
    """Style of one region: filled, outlined, or both."""

    fill: bool = True
    contour: bool = False
    opacity: float = 0.5
    canvas: Literal["overlay", "black"] = "overlay"


def draw_instances(scene: Scene, style: MaskStyle) -> Encoded:
    """Draw masks, largest first, then dashed boxes and tags, so that no fill covers
    them.

    If coloured by instance, colours only distinguish neighbours: there is no legend,
    and instance k has palette colour k.
    """
    items = scene.masks.items
    labels = [item.label for item in items]
    by_class, legend = label_colors(scene.classes, labels)
    by_instance = style.colors == "instance"
    colors: list[RGB] = [
        color_at(k) if by_instance else by_class[label]
        for k, label in enumerate(labels)
    ]
    base = scene.canvas("black") if style.canvas == "black" else scene.image
    pixels = base.copy()
    layers = scene.once(_instance_layers)
    paint(pixels, base, layers, colors, style.opacity)
    if style.boxes:
        for k in layers.order:
            dashed_outline(
                pixels, items[k].mask.xyxy, colors[k], line_width(scene.size)
            )
    if style.tags:
        draw_tags(
            pixels,
            [
                Anchor(labels[k], colors[k], items[k].mask.xyxy)
                for k in layers.order
            ],
        )
    return (
        Encoded(pixels)
        if by_instance
        else Encoded(pixels, None, legend, by_class)
    )


def draw_segments(scene: Scene, style: MaskStyle) -> Encoded:
    """Fill classes, largest first, with palette colours or random colours from a fixed
    seed."""
    merged = scene.once(masks_by_label)
    labels = list(merged)
    layers = scene.once(_class_layers)
    drawn = (
        (random_color_at, random_name_at) if style.colors == "random" else ()
    )
    colors, legend = label_colors(scene.classes, labels, *drawn)
    base = scene.canvas("black") if style.canvas == "black" else scene.image
    pixels = base.copy()
    paint(
        pixels, base, layers, [colors[label] for label in labels], style.opacity
    )
    if style.tags:
        squares = scene.once(_inner_squares)
        anchors = [
            Anchor(labels[k], colors[labels[k]], squares[k], centered=True)
            for k in layers.order
        ]
        draw_tags(pixels, anchors)
    return Encoded(pixels, None, legend, colors)


def _instance_layers(scene: Scene) -> Layers:
    return layers_of([item.mask for item in scene.masks.items], scene.size)


def _class_layers(scene: Scene) -> Layers:
    return layers_of(list(scene.once(masks_by_label).values()), scene.size)


def _inner_squares(scene: Scene) -> dict[int, Box]:
    layers = scene.once(_class_layers)
    return {k: inner_square(layers.masks[k]) for k in layers.order}


def inner_square(mask: Mask) -> Box:
    """Return approximately the largest square inside the mask, where a tag is certain
    to lie on its class.

    It is computed from the distance transform of the mask at a maximum resolution of 96
    pixels per side.
    """
    height, width = mask.shape
    crop = mask.crop
    step = max(1, -(-max(height, width) // _COARSE))
    small = np.ascontiguousarray(crop[step // 2 :: step, step // 2 :: step])
    if not small.any():
        small = crop
        step = 1
    framed = cv2.copyMakeBorder(
        small.view(np.uint8), 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=(0,)
    )
    depth = cv2.distanceTransform(framed, cv2.DIST_C, 3)
    _, reach, _, (col, row) = cv2.minMaxLoc(depth)
    x = mask.left + (col - 1) * step + step // 2
    y = mask.top + (row - 1) * step + step // 2
    half = max(0, int((reach - 0.5) * step))
    return x - half, y - half, x + half + 1, y + half + 1


def draw_region(scene: Scene, style: RegionStyle) -> Encoded:
    """Draw the region in the palette's first colour. Its contour lies inside the mask,
    also along holes and image edges.
    """
    colors, legend = label_colors(
        None, [item.label for item in scene.masks.items]
    )
    base = scene.canvas("black") if style.canvas == "black" else scene.image
    pixels = base.copy()
    bands = scene.once(_edge_bands) if style.contour else ()
    for number, item in enumerate(scene.masks.items):
        if style.fill:
            fill(pixels, base, item.mask, colors[item.label], style.opacity)
        if style.contour:
            fill(pixels, base, bands[number], colors[item.label], 1.0)
    return Encoded(pixels, None, legend, colors)


def _edge_bands(scene: Scene) -> tuple[Mask, ...]:
    return tuple(
        edge_band(item.mask, line_width(scene.size))
        for item in scene.masks.items
    )
