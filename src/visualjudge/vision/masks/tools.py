"""Tools for masks: masks at a pixel, areas, distances and overlap."""

from __future__ import annotations

import math
from functools import partial

from visualjudge.vision.masks.record import Instance, Masks
from visualjudge.vision.masks.score import mask_similarity
from visualjudge.vision.tools import Evidence, Tool, ToolOutput, measured_items, pixel


def value(evidence: Evidence, option: str, x: float, y: float) -> ToolOutput:
    """Return the masks of an option that cover a pixel."""
    masks: Masks = evidence.prediction(option)
    column, row = pixel(masks.size, x, y) if masks.items else (int(x), int(y))
    inside = [
        f"{k} {item.label}" for k, item in enumerate(masks.items, 1) if _covers(item, column, row)
    ]
    return ToolOutput(f"{option} at ({column}, {row}): {', '.join(inside) or 'no mask'}")


def _covers(item: Instance, column: int, row: int) -> bool:
    left, top, right, bottom = item.mask.xyxy
    inside = left <= column < right and top <= row < bottom
    return inside and bool(item.mask.crop[row - top, column - left])


def measure(
    evidence: Evidence, option: str, item: int | None = None, other_item: int | None = None
) -> ToolOutput:
    """Return the areas of masks, or the overlap and distance of two."""
    masks: Masks = evidence.prediction(option)
    size = partial(_size, masks=masks)
    return measured_items(option, masks.items, (item, other_item), size, _apart)


def _apart(first: Instance, second: Instance) -> str:
    overlap = float(mask_similarity([first], [second])[0, 0])
    distance = math.dist(_centre(first), _centre(second))
    return f"IoU {overlap:.3f}, centres of the bounding boxes {distance:.1f} pixels apart"


def _size(item: Instance, masks: Masks) -> str:
    left, top, right, bottom = item.mask.xyxy
    area, whole = item.mask.area, masks.size[0] * masks.size[1]
    share = f"{area} pixels ({area / whole:.2%} of the image)"
    return f"{item.label}, {share}, within x {left} to {right}, y {top} to {bottom}"


def _centre(item: Instance) -> tuple[float, float]:
    left, top, right, bottom = item.mask.xyxy
    return (left + right) / 2, (top + bottom) / 2


TOOLS = (
    Tool("value", "Name the masks of an option that cover a pixel.", value, ("option", "x", "y")),
    Tool(
        "measure",
        "List an option's masks with their areas and bounding boxes; with item, one of them; with "
        "other_item too, the overlap (IoU) and distance of the two.",
        measure,
        ("option",),
        ("item", "other_item"),
    ),
)
