"""Object detection as an image: coloured boxes, with or without label tags."""

from __future__ import annotations

from visualjudge.vision.drawing.canvas import Box, line_width, outline, pixel_box
from visualjudge.vision.drawing.encoded import Encoded, Scene
from visualjudge.vision.drawing.palette import label_colors
from visualjudge.vision.drawing.styles import BoxStyle
from visualjudge.vision.drawing.tags import Anchor, draw_tags
from visualjudge.vision.predictions import Detection


def draw_boxes(scene: Scene, style: BoxStyle) -> Encoded:
    """Boxes in their class's colour, the largest first, then the tags; a box outside the image is not drawn."""
    items: tuple[Detection, ...] = scene.prediction.items
    colors, legend = label_colors(scene.classes, [item.label for item in items])
    pixels, width = scene.canvas(style.canvas), line_width(scene.size)
    anchors = []
    for label, box in _visible(items, scene):
        outline(pixels, box, colors[label], width)
        anchors.append(Anchor(label, colors[label], box))
    if style.tags:
        draw_tags(pixels, anchors)
    return Encoded(pixels, None, legend, colors)


def _visible(items: tuple[Detection, ...], scene: Scene) -> list[tuple[str, Box]]:
    """(label, box in whole pixels) of what lies inside the image, by falling area."""
    clipped = [(item.label, pixel_box(item.xyxy, scene.size)) for item in items]
    inside = [(label, box) for label, box in clipped if box is not None]
    return sorted(inside, key=lambda found: -(found[1][2] - found[1][0]) * (found[1][3] - found[1][1]))
