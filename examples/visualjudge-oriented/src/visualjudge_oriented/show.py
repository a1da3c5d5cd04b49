"""Oriented boxes as an image and as a text, what the local judge sees in them, and the
example of the gallery.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

import visualjudge as vj
from visualjudge.vision.drawing.canvas import line_width, pixel_box
from visualjudge.vision.drawing.palette import label_colors
from visualjudge.vision.drawing.tags import Anchor, draw_tags
from visualjudge.vision.drawing.texts import array, compact
from visualjudge.vision.view_items import (
    alike,
    covering,
    overlaps,
    set_features,
)
from visualjudge_oriented.record import OrientedBox, OrientedBoxes
from visualjudge_oriented.score import similarity


@dataclass(frozen=True, slots=True)
class Style:
    """No parameters."""


def draw(scene: vj.Scene, _style: Style) -> vj.Encoded:
    """Outlines in their class's colour, the largest first, then a tag with the label of
    each."""
    items = sorted(scene.prediction.items, key=lambda item: -item.w * item.h)
    colors, legend = label_colors(
        scene.classes, [item.label for item in scene.prediction.items]
    )
    pixels, anchors = scene.canvas("overlay"), []
    for item in items:
        corners = np.rint(np.clip(item.corners, -1e4, 1e5)).astype(np.int32)
        cv2.polylines(
            pixels, [corners], True, colors[item.label], line_width(scene.size)
        )
        box = pixel_box(item.bounds, scene.size)
        if box is not None:
            anchors.append(Anchor(item.label, colors[item.label], box))
    draw_tags(pixels, anchors)
    return vj.Encoded(pixels, None, legend, colors)


def as_text(scene: vj.Scene, _style: Style) -> vj.Encoded:
    """``{"label", "obb": [cx, cy, w, h, angle]}`` a box, in whole pixels and
    degrees."""
    return vj.Encoded(
        text=array(
            compact({"label": item.label, "obb": _rounded(item)})
            for item in scene.prediction.items
        )
    )


def _rounded(item: OrientedBox) -> list[int]:
    return [
        round(value) for value in (item.cx, item.cy, item.w, item.h, item.angle)
    ]


ROWS = (
    vj.Encoding(
        "oriented",
        "oriented_boxes",
        "pixel",
        draw,
        Style(),
        title="Oriented boxes with labels",
    ),
    vj.Encoding(
        "oriented",
        "text_obb",
        "text",
        as_text,
        Style(),
        title="Oriented boxes as text",
    ),
)


def features(found: OrientedBoxes, given: vj.Given) -> dict[str, float]:
    """Do the boxes lie on edges, set apart what they hold, and neither repeat nor leave
    out?"""
    view, items = given.view, list(found.items)
    labels, everything = (
        [item.label for item in items],
        np.zeros(view.edges.shape, np.uint8),
    )
    looks, rows = (
        np.zeros((len(items), 3)),
        {
            name: np.zeros(len(items))
            for name in ("edge", "salient", "log_area")
        },
    )
    for k, item in enumerate(items):
        corners = np.rint(np.clip(item.corners * view.scale, -1e4, 1e4)).astype(
            np.int32
        )
        inside, rim = np.zeros_like(everything), np.zeros_like(everything)
        cv2.fillConvexPoly(inside, corners, 1)
        cv2.polylines(rim, [corners], True, 1, 2)
        everything |= inside
        looks[k] = cv2.mean(view.lab, mask=inside)[:3]
        rows["edge"][k] = cv2.mean(view.edges, mask=rim)[0]
        rows["salient"][k] = cv2.mean(view.salient, mask=inside)[0] - 1
        rows["log_area"][k] = np.log(max(float(inside.mean()), 1e-4))
    return (
        set_features(rows, len(items))
        | overlaps(labels, similarity(items, items))
        | alike(labels, looks)
        | covering(view, everything.astype(bool))
    )


def example() -> tuple[np.ndarray, OrientedBoxes, None]:
    """A drawn harbour: three ships and two lorries at several angles."""
    image = np.full((320, 480, 3), (70, 105, 130), np.uint8)
    image[230:] = (150, 145, 135)
    boxes = (
        OrientedBox("ship", 110, 80, 150, 40, 20),
        OrientedBox("ship", 310, 70, 120, 34, -35),
        OrientedBox("ship", 250, 170, 130, 36, 5),
        OrientedBox("lorry", 90, 275, 70, 28, -12),
        OrientedBox("lorry", 360, 272, 76, 30, 28),
    )
    for item in boxes:
        color = (205, 205, 200) if item.label == "ship" else (170, 60, 45)
        cv2.fillConvexPoly(
            image, np.rint(item.corners).astype(np.int32), color, cv2.LINE_AA
        )
    return image, OrientedBoxes(boxes), None
