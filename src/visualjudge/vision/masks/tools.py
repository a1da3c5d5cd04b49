"""Tools for masks: masks at a pixel, areas, distances and overlap."""

from __future__ import annotations

import math
from functools import partial

from visualjudge.core.errors import DataError
from visualjudge.vision.masks.record import Instance, Masks
from visualjudge.vision.masks.score import mask_ious
from visualjudge.vision.tools.base import Seen, Shown, has_data, tool
from visualjudge.vision.tools.items import measured_items


@tool(applies=has_data)
def value(seen: Seen, option: str, x: float, y: float) -> Shown:
    """Name the masks of an option that cover a pixel."""
    found: Masks = seen.prediction(option)
    height, width = found.size
    if found.items and not (0 <= x < width and 0 <= y < height):
        raise DataError(
            f"x, y: must be inside the image of {width}×{height} pixels, got {x:g}, {y:g}"
        )
    column, row = int(x), int(y)
    inside = [
        f"{k} {item.label}" for k, item in enumerate(found.items, 1) if _covers(item, column, row)
    ]
    return Shown(f"{option} at ({column}, {row}): {', '.join(inside) or 'no mask'}")


def _covers(item: Instance, column: int, row: int) -> bool:
    left, top, right, bottom = item.mask.xyxy
    inside = left <= column < right and top <= row < bottom
    return inside and bool(item.mask.crop[row - top, column - left])


@tool(applies=has_data)
def measure(
    seen: Seen, option: str, item: int | None = None, other_item: int | None = None
) -> Shown:
    """List an option's masks with their areas and bounding boxes; with item, one of them; with
    other_item too, the overlap (IoU) and distance of the two.
    """
    found: Masks = seen.prediction(option)
    return measured_items(
        option, found.items, (item, other_item), partial(_size, found=found), _apart
    )


def _apart(first: Instance, second: Instance) -> str:
    overlap = float(mask_ious([first], [second])[0, 0])
    distance = math.dist(_centre(first), _centre(second))
    return f"IoU {overlap:.3f}, centres of the bounding boxes {distance:.1f} pixels apart"


def _size(item: Instance, found: Masks) -> str:
    left, top, right, bottom = item.mask.xyxy
    area, whole = item.mask.area, found.size[0] * found.size[1]
    share = f"{area} pixels ({area / whole:.2%} of the image)"
    return f"{item.label}, {share}, within x {left} to {right}, y {top} to {bottom}"


def _centre(item: Instance) -> tuple[float, float]:
    left, top, right, bottom = item.mask.xyxy
    return (left + right) / 2, (top + bottom) / 2


TOOLS = (value, measure)
