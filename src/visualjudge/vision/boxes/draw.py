"""Boxes as a coloured image, with or without label tags, and as text. Lines and
fills are those of ``vision/drawing/canvas.py``, tags of ``vision/drawing/tags.py``.
"""

from dataclasses import dataclass
from typing import Literal

from visualjudge.core.records import Xyxy
from visualjudge.vision.boxes.record import Detection
from visualjudge.vision.drawing.canvas import (
    Box,
    line_width,
    outline,
    pixel_box,
)
from visualjudge.vision.drawing.encoded import Encoded, Scene
from visualjudge.vision.drawing.palette import label_colors
from visualjudge.vision.drawing.styles import TextStyle
from visualjudge.vision.drawing.tags import Anchor, draw_tags
from visualjudge.vision.drawing.texts import array, compact


@dataclass(frozen=True, slots=True)
class BoxStyle:
    """Coloured boxes, drawn on the photograph or on a black canvas."""

    tags: bool = False
    canvas: Literal["overlay", "black"] = "overlay"


def draw_boxes(scene: Scene, style: BoxStyle) -> Encoded:
    """Draw boxes in the colour of their class, the largest first, then the tags; boxes
    outside the image are skipped.
    """
    items: tuple[Detection, ...] = scene.prediction.items
    colors, legend = label_colors(
        scene.classes,
        [item.label for item in items],
    )
    pixels = scene.canvas(style.canvas)
    width = line_width(scene.size)
    anchors = []
    for label, box in _visible(items, scene):
        outline(pixels, box, colors[label], width)
        anchors.append(Anchor(label, colors[label], box))
    if style.tags:
        draw_tags(pixels, anchors)
    return Encoded(pixels, None, legend, colors)


def _visible(
    items: tuple[Detection, ...], scene: Scene
) -> list[tuple[str, Box]]:
    """Return (label, box in whole pixels) of the boxes inside the image, by decreasing
    area."""
    clipped = [
        (
            item.label,
            pixel_box(item.xyxy, scene.size),
        )
        for item in items
    ]
    inside = [(label, box) for label, box in clipped if box is not None]
    return sorted(
        inside,
        key=lambda labelled: (
            -(labelled[1][2] - labelled[1][0])
            * (labelled[1][3] - labelled[1][1])
        ),
    )


def boxes_text(scene: Scene, style: TextStyle) -> Encoded:
    """Return ``{"label", "bbox"}`` per detection, in whole pixels. Boxes are not
    clipped, so the text includes parts that the image cannot show.
    """
    items: tuple[Detection, ...] = scene.prediction.items
    bbox = {"xyxy": _xyxy, "xywh": _xywh}[style.layout]
    return Encoded(
        text=array(
            compact(
                {
                    "label": item.label,
                    "bbox": bbox(item.xyxy),
                }
            )
            for item in items
        )
    )


def _xyxy(box: Xyxy) -> list[int]:
    return [round(v) for v in box]


def _xywh(box: Xyxy) -> list[int]:
    x1, y1, x2, y2 = _xyxy(box)
    return [x1, y1, x2 - x1, y2 - y1]
