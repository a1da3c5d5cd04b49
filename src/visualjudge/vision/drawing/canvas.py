"""Drawing on an H×W×3 uint8 array: fills, lines, sizes that grow with the image. Integer
coordinates only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import cv2
import numpy as np

from visualjudge.core.records import RGB, Mask, Pixels, Size, Xyxy
from visualjudge.vision.drawing.encoded import Scene

_PIXELS_AT_ONCE = 1 << 19

Box = tuple[int, int, int, int]
"""x1, y1, x2, y2 in whole pixels, x2 and y2 one past the last."""


def line_width(size: Size) -> int:
    """Width of outlines, contours and dashes in pixels: 0.4 % of the longer side, at least 2 (1
    below 64 px).
    """
    longer = max(size)
    return 1 if longer < 64 else max(2, round(0.004 * longer))


def pixel_box(box: Xyxy, size: Size) -> Box | None:
    """``box`` clipped to the image and rounded, at least one pixel wide and high; None if nothing
    of it is inside.
    """
    height, width = size
    x1, y1, x2, y2 = (
        max(0.0, box[0]),
        max(0.0, box[1]),
        min(float(width), box[2]),
        min(float(height), box[3]),
    )
    if x2 <= x1 or y2 <= y1:
        return None
    left, right = _pixels(x1, x2, width)
    top, bottom = _pixels(y1, y2, height)
    return left, top, right, bottom


def _pixels(start: float, end: float, length: int) -> tuple[int, int]:
    """First pixel and one past the last; an extent that rounds to nothing is the pixel that its
    middle lies in.
    """
    if round(end) > round(start):
        return round(start), round(end)
    first = min(int((start + end) / 2), length - 1)
    return first, first + 1


def outline(pixels: Pixels, box: Box, color: RGB, width: int) -> None:
    """The border of ``box``, ``width`` pixels wide, inside its extent."""
    x1, y1, x2, y2 = box
    across, down = min(width, x2 - x1), min(width, y2 - y1)
    _bar(pixels, x1, y1, x2, y1 + down, color)
    _bar(pixels, x1, y2 - down, x2, y2, color)
    _bar(pixels, x1, y1, x1 + across, y2, color)
    _bar(pixels, x2 - across, y1, x2, y2, color)


def _bar(pixels: Pixels, x1: int, y1: int, x2: int, y2: int, color: RGB) -> None:
    cv2.rectangle(pixels, (x1, y1), (x2 - 1, y2 - 1), color, cv2.FILLED)


def dashed_outline(pixels: Pixels, box: Box, color: RGB, width: int) -> None:
    """A dashed border just outside ``box``, or along the image's edge where the box reaches it.

    Outside, so that it hides nothing of the mask and shows beside an opaque fill of its own colour.
    """
    height, across = pixels.shape[:2]
    x1, y1 = max(0, box[0] - width), max(0, box[1] - width)
    x2, y2 = min(across, box[2] + width), min(height, box[3] + width)
    for start, stop in _dashes(x1, x2, width):
        _bar(pixels, start, y1, stop, min(y1 + width, y2), color)
        _bar(pixels, start, max(y1, y2 - width), stop, y2, color)
    for start, stop in _dashes(y1, y2, width):
        _bar(pixels, x1, start, min(x1 + width, x2), stop, color)
        _bar(pixels, max(x1, x2 - width), start, x2, stop, color)


@lru_cache(maxsize=4096)
def _dashes(start: int, stop: int, width: int) -> tuple[tuple[int, int], ...]:
    """Dashes from ``start`` to ``stop``: about 4 widths long, gaps of 3, one at either end so that
    corners close.
    """
    dash, length = 4 * width, stop - start
    gaps = max(1, round((length - dash) / (7 * width)))
    if length <= 2 * dash:
        return ((start, start + max(1, length // 3)), (stop - max(1, length // 3), stop))
    step = (length - dash) / gaps
    return tuple((start + round(k * step), start + round(k * step) + dash) for k in range(gaps + 1))


def fill(pixels: Pixels, base: Pixels, mask: Mask, color: RGB, opacity: float) -> None:
    """Lay ``color`` over ``base`` at ``opacity`` within ``mask``, and write that to ``pixels``.

    Mixing with ``base``, not with what lies there already, keeps an overlap in one class's colour.
    """
    if mask.crop.size == 0:
        return
    window = mask.window
    source = np.ascontiguousarray(mask.crop).view(np.uint8)
    if opacity == 1.0:
        mixed = np.empty((*mask.crop.shape, 3), dtype=np.uint8)
        mixed[:] = color
    else:
        mixed = cv2.LUT(base[window], _mixing_table(color, opacity))
    cv2.copyTo(mixed, source, pixels[window])


@lru_cache(maxsize=1024)
def _mixing_table(color: RGB, opacity: float) -> np.ndarray:
    """(1, 256, 3) uint8: round(opacity·colour + (1 − opacity)·value) for each value and channel."""
    values = np.arange(256)[:, None] * (1 - opacity) + np.asarray(color) * opacity
    return np.asarray(np.rint(values).astype(np.uint8)[None])


def largest_first(items: Sequence[Mask]) -> list[int]:
    """Places of the non-empty masks, by falling area, so that small ones are painted last and stay
    visible.
    """
    areas = [mask.area for mask in items]
    return [k for k in sorted(range(len(items)), key=lambda k: -areas[k]) if areas[k]]


def paint(
    pixels: Pixels, base: Pixels, masks: Sequence[Mask], colors: Sequence[RGB], opacity: float
) -> list[int]:
    """Fill all ``masks``, largest first; returns the order they were painted in (empty masks left
    out).
    """
    order = largest_first(masks)
    boxes = sum(masks[k].crop.size for k in order)
    if boxes > base.shape[0] * base.shape[1] and len(order) < 256:
        _paint_at_once(pixels, base, [masks[k] for k in order], [colors[k] for k in order], opacity)
    else:
        for k in order:
            fill(pixels, base, masks[k], colors[k], opacity)
    return order


def _paint_at_once(
    pixels: Pixels, base: Pixels, masks: Sequence[Mask], colors: Sequence[RGB], opacity: float
) -> None:
    """The same fills by way of a map of which mask is on top: one mixing however many large masks
    there are.
    """
    top = np.zeros(base.shape[:2], dtype=np.uint8)
    for number, mask in enumerate(masks, start=1):
        here = top[mask.window]
        np.maximum(here, np.multiply(mask.crop.view(np.uint8), np.uint8(number)), out=here)
    table = np.zeros((256, 1, 3), dtype=np.uint8)
    table[1 : len(colors) + 1, 0] = colors
    rows = max(1, _PIXELS_AT_ONCE // base.shape[1])
    for start in range(0, len(base), rows):
        part = slice(start, start + rows)
        flat = cv2.applyColorMap(top[part], table)
        mixed = (
            flat if opacity == 1.0 else cv2.addWeighted(flat, opacity, base[part], 1 - opacity, 0)
        )
        cv2.copyTo(mixed, top[part], pixels[part])


def edge_band(mask: Mask, width: int) -> Mask:
    """The part of ``mask`` within ``width`` pixels (chessboard) of a pixel outside it, or of the
    image's edge.
    """
    if mask.crop.size == 0:
        return mask
    side = 2 * width + 1
    inner = cv2.erode(
        mask.crop.view(np.uint8),
        np.ones((side, side), np.uint8),
        borderType=cv2.BORDER_CONSTANT,
        borderValue=(0,),
    )
    return Mask(mask.size, mask.top, mask.left, mask.crop & (inner == 0))


def merged_by_label(scene: Scene) -> dict[str, Mask]:
    """Label → union of its masks, in the order the labels first occur."""
    groups: dict[str, list[Mask]] = {}
    for item in scene.masks.items:
        groups.setdefault(item.label, []).append(item.mask)
    return {label: parts[0] if len(parts) == 1 else union(parts) for label, parts in groups.items()}


def union(parts: Sequence[Mask]) -> Mask:
    """One mask of all pixels that any of ``parts`` covers."""
    filled = [part for part in parts if part.crop.size]
    if not filled:
        return parts[0]
    left, top = min(part.xyxy[0] for part in filled), min(part.xyxy[1] for part in filled)
    right, bottom = max(part.xyxy[2] for part in filled), max(part.xyxy[3] for part in filled)
    crop = np.zeros((bottom - top, right - left), dtype=np.bool_)
    for part in filled:
        x1, y1, x2, y2 = part.xyxy
        crop[y1 - top : y2 - top, x1 - left : x2 - left] |= part.crop
    return Mask(parts[0].size, top, left, crop)
