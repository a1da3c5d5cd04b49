"""Tools for boxes: what lies at a pixel, sizes, distances and overlap."""

from __future__ import annotations

import math

from visualjudge.vision.boxes.record import Detection, Detections
from visualjudge.vision.boxes.score import box_similarity
from visualjudge.vision.tools import Evidence, Tool, ToolOutput, measured_items


def value(evidence: Evidence, option: str, x: float, y: float) -> ToolOutput:
    """Return the boxes of an option that contain a pixel."""
    boxes: Detections = evidence.prediction(option)
    inside = [
        f"{k} {item.label}"
        for k, item in enumerate(boxes.items, 1)
        if item.xyxy[0] <= x < item.xyxy[2] and item.xyxy[1] <= y < item.xyxy[3]
    ]
    return ToolOutput(f"{option} at ({x:g}, {y:g}): {', '.join(inside) or 'no box'}")


def measure(
    evidence: Evidence, option: str, item: int | None = None, other_item: int | None = None
) -> ToolOutput:
    """Return the sizes of boxes, or the overlap and distance of two."""
    boxes: Detections = evidence.prediction(option)
    return measured_items(option, boxes.items, (item, other_item), _size, _apart)


def _apart(first: Detection, second: Detection) -> str:
    (ax, ay), (bx, by) = _centre(first), _centre(second)
    overlap = float(box_similarity([first], [second])[0, 0])
    dx, dy = bx - ax, by - ay
    distance = f"{math.hypot(dx, dy):.1f} pixels apart (dx {dx:.1f}, dy {dy:.1f})"
    return f"IoU {overlap:.3f}, centres {distance}"


def _size(item: Detection) -> str:
    x1, y1, x2, y2 = item.xyxy
    extent = f"{x2 - x1:.1f}×{y2 - y1:.1f} pixels"
    return f"{item.label}, x {x1:.1f} to {x2:.1f}, y {y1:.1f} to {y2:.1f}, {extent}"


def _centre(item: Detection) -> tuple[float, float]:
    x1, y1, x2, y2 = item.xyxy
    return (x1 + x2) / 2, (y1 + y2) / 2


TOOLS = (
    Tool("value", "Name the boxes of an option that contain a pixel.", value, ("option", "x", "y")),
    Tool(
        "measure",
        "List an option's boxes with their sizes; with item, one of them; with other_item too, the "
        "overlap (IoU) and distance of the two.",
        measure,
        ("option",),
        ("item", "other_item"),
    ),
)
