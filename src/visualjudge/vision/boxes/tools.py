"""Tools for boxes: what lies at a pixel, sizes, distances and overlap."""

from __future__ import annotations

import math

from visualjudge.vision.boxes.record import Detection, Detections
from visualjudge.vision.boxes.score import corners, iou_of_pairs
from visualjudge.vision.tools.base import NUMBER, OPTION, Seen, Shown, Tool, has_data, schema
from visualjudge.vision.tools.items import MEASURE, listed, numbered


def value(seen: Seen, option: str, x: float, y: float) -> Shown:
    """The boxes that contain a point."""
    found: Detections = seen.prediction(option)
    inside = [
        f"{k} {item.label}"
        for k, item in enumerate(found.items, 1)
        if item.xyxy[0] <= x < item.xyxy[2] and item.xyxy[1] <= y < item.xyxy[3]
    ]
    return Shown(f"{option} at ({x:g}, {y:g}): {', '.join(inside) or 'no box'}")


def measure(
    seen: Seen, option: str, item: int | None = None, other_item: int | None = None
) -> Shown:
    """The boxes of an option; one of them; or the distance and overlap of two."""
    items = seen.prediction(option).items
    if item is None:
        return Shown(listed(option, [_size(one) for one in items]))
    first = numbered(items, item)
    if other_item is None:
        return Shown(f"{option} item {item}: {_size(first)}")
    second = numbered(items, other_item, "other_item")
    ((ax, ay), (bx, by)) = _centre(first), _centre(second)
    overlap = float(iou_of_pairs(corners([first]), corners([second]))[0])
    dx, dy = bx - ax, by - ay
    apart = f"centres {math.hypot(dx, dy):.1f} pixels apart (dx {dx:.1f}, dy {dy:.1f})"
    return Shown(f"{option} items {item} and {other_item}: IoU {overlap:.3f}, {apart}")


def _size(item: Detection) -> str:
    x1, y1, x2, y2 = item.xyxy
    extent = f"{x2 - x1:.1f}×{y2 - y1:.1f} pixels"
    return f"{item.label}, x {x1:.1f} to {x2:.1f}, y {y1:.1f} to {y2:.1f}, {extent}"


def _centre(item: Detection) -> tuple[float, float]:
    x1, y1, x2, y2 = item.xyxy
    return (x1 + x2) / 2, (y1 + y2) / 2


TOOLS = (
    Tool(
        "value",
        "Name the boxes of an option that contain a pixel.",
        schema({"option": OPTION, "x": NUMBER, "y": NUMBER}),
        value,
        has_data,
    ),
    Tool(
        "measure",
        "List an option's boxes with their sizes; with item, one of them; with other_item too, the "
        "overlap (IoU) and distance of the two.",
        MEASURE,
        measure,
        has_data,
    ),
)
