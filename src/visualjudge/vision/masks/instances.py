"""Instance segmentation as an image: filled masks, dashed boxes, label tags."""

from __future__ import annotations

from visualjudge.core.records import RGB
from visualjudge.vision.drawing.canvas import dashed_outline, line_width, paint
from visualjudge.vision.drawing.encoded import Encoded, Scene
from visualjudge.vision.drawing.palette import color_at, label_colors
from visualjudge.vision.drawing.styles import MaskStyle
from visualjudge.vision.drawing.tags import Anchor, draw_tags


def draw_instances(scene: Scene, style: MaskStyle) -> Encoded:
    """Masks, largest first; then the dashed boxes, then the tags, so that neither is hidden by a fill.

    Coloured by instance, colours only tell neighbours apart: there is no legend, and instance k has palette colour k.
    """
    items = scene.masks.items
    labels = [item.label for item in items]
    by_class, legend = label_colors(scene.classes, labels)
    by_instance = style.colors == "instance"
    colors: list[RGB] = [color_at(k) if by_instance else by_class[label] for k, label in enumerate(labels)]
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
