"""Fills and lines on an H×W×3 uint8 array, with sizes that scale with the image.
Coordinates are integers. Words are drawn in ``tags.py``; plots of figures, in
``analysis/plots/canvas.py``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core.records import RGB, Mask, Pixels, Size, Xyxy
from visualjudge.vision.raster.images import bands
from visualjudge.vision.raster.masks import mask_of_crop

# x1, y1, x2, y2 in whole pixels; x2 and y2 are one past the last.
Box = tuple[int, int, int, int]


def line_width(size: Size) -> int:
    """Return the width of outlines, contours and dashes in pixels: 0.4 % of the longer
    side, at least 2 (1 below 64 px).
    """
    longer = max(size)
    return 1 if longer < 64 else max(2, round(0.004 * longer))


def pixel_box(box: Xyxy, size: Size) -> Box | None:
    """Clip ``box`` to the image and round it to whole pixels, at least one wide and
    high; return None if it is outside.
    """
    height, width = size
    x1 = max(0.0, box[0])
    y1 = max(0.0, box[1])
    x2 = min(float(width), box[2])
    y2 = min(float(height), box[3])
    if x2 <= x1 or y2 <= y1:
        return None
    left, right = _pixels(x1, x2, width)
    top, bottom = _pixels(y1, y2, height)
    return left, top, right, bottom


def _pixels(start: float, end: float, length: int) -> tuple[int, int]:
    """Return the first pixel and one past the last; an extent that rounds to zero
    becomes the pixel at its centre."""
    if round(end) > round(start):
        return round(start), round(end)
    first = min(int((start + end) / 2), length - 1)
    return first, first + 1


def outline(pixels: Pixels, box: Box, color: RGB, width: int) -> None:
    """Draw the border of ``box``, ``width`` pixels wide, inside its extent."""
    x1, y1, x2, y2 = box
    across = min(width, x2 - x1)
    down = min(width, y2 - y1)
    for left, top, right, bottom in (
        (x1, y1, x2, y1 + down),
        (x1, y2 - down, x2, y2),
        (x1, y1, x1 + across, y2),
        (x2 - across, y1, x2, y2),
    ):
        cv2.rectangle(
            pixels,
            (left, top),
            (right - 1, bottom - 1),
            color,
            cv2.FILLED,
        )


def dashed_outline(pixels: Pixels, box: Box, color: RGB, width: int) -> None:
    """Draw a dashed border just outside ``box``, or along the image's edge where the
    box reaches it.

    The border is outside, so that it does not hide the mask and is visible next to an
    opaque fill of the same colour.
    """
    height, across = pixels.shape[:2]
    x1 = max(0, box[0] - width)
    y1 = max(0, box[1] - width)
    x2 = min(across, box[2] + width)
    y2 = min(height, box[3] + width)
    rows = _dashes(x2 - x1, width, min(width, y2 - y1))
    columns = np.ascontiguousarray(
        _dashes(y2 - y1, width, min(width, x2 - x1)).T
    )
    flat = _flat((1, max(rows.size, columns.size)), color).reshape(-1)
    for side, dashes in (
        (pixels[y1 : y1 + len(rows), x1:x2], rows),
        (pixels[y2 - len(rows) : y2, x1:x2], rows),
        (pixels[y1:y2, x1 : x1 + columns.shape[1]], columns),
        (pixels[y1:y2, x2 - columns.shape[1] : x2], columns),
    ):
        cv2.copyTo(
            flat[: side.size].reshape(side.shape),
            dashes,
            side,
        )


@lru_cache(maxsize=4096)
def _dashes(length: int, width: int, rows: int) -> NDArray[np.uint8]:
    """Return a (rows, length) uint8 array that is 1 within dashes. Dashes are 4 widths
    long and gaps about 3; both ends have a dash, so that corners close."""
    dash = 4 * width
    marks = np.zeros((rows, length), dtype=np.uint8)
    if length <= 2 * dash:
        short = max(1, length // 3)
        marks[:, :short] = marks[:, length - short :] = 1
        return marks
    gaps = max(1, round((length - dash) / (7 * width)))
    step = (length - dash) / gaps
    for k in range(gaps + 1):
        start = round(k * step)
        marks[:, start : start + dash] = 1
    return marks


def fill(
    pixels: Pixels,
    base: Pixels,
    mask: Mask,
    color: RGB,
    opacity: float,
) -> None:
    """Blend ``color`` over ``base`` at ``opacity`` within ``mask``, and write the
    result to ``pixels``.

    Blending with ``base`` instead of ``pixels`` keeps overlaps in the colour of one
    class.
    """
    if not mask.area:
        return
    flat = _flat(mask.shape, color)
    _lay(
        pixels[mask.window],
        base[mask.window],
        flat,
        opacity,
        mask.crop,
    )


def _flat(shape: tuple[int, ...], color: RGB) -> Pixels:
    """Return (height, width) pixels of ``color``, filled row by row, which is far
    faster than by pixel."""
    rows = np.empty((shape[0], 3 * shape[1]), dtype=np.uint8)
    rows[:] = np.tile(np.array(color, dtype=np.uint8), shape[1])
    return rows.reshape(shape[0], shape[1], 3)


def _lay(
    pixels: Pixels,
    base: Pixels,
    flat: Pixels,
    opacity: float,
    where: NDArray[np.generic],
) -> None:
    """Blend ``flat`` over ``base`` at ``opacity``, and write the result to ``pixels``
    where ``where`` is not 0."""
    mixed = (
        flat
        if opacity == 1.0
        else cv2.addWeighted(flat, opacity, base, 1 - opacity, 0)
    )
    cv2.copyTo(
        mixed,
        np.ascontiguousarray(where).view(np.uint8),
        pixels,
    )


@dataclass(frozen=True, eq=False, slots=True)
class Layers:
    """Masks in the order in which they are painted.

    ``order`` lists the indices of the non-empty masks by decreasing area, so that small
    masks are painted last and stay visible. ``top`` (H×W uint8) holds the number of the
    topmost mask at each pixel, counted from 1 in that order, and 0 where there is none;
    it is None if painting each mask separately is faster.
    """

    masks: Sequence[Mask]
    order: list[int]
    top: NDArray[np.uint8] | None


def layers_of(masks: Sequence[Mask], size: Size) -> Layers:
    """Return the layers of ``masks`` on an image of (height, width) ``size``."""
    areas = [mask.area for mask in masks]
    order = [
        k
        for k in sorted(range(len(masks)), key=lambda k: -areas[k])
        if areas[k]
    ]
    boxes = sum(math.prod(masks[k].shape) for k in order)
    if boxes <= size[0] * size[1] or len(order) >= 256:
        return Layers(masks, order, None)
    top = np.zeros(size, dtype=np.uint8)
    for number, k in enumerate(order, start=1):
        here = top[masks[k].window]
        np.maximum(
            here,
            np.multiply(masks[k].crop.view(np.uint8), np.uint8(number)),
            out=here,
        )
    return Layers(masks, order, top)


def paint(
    pixels: Pixels,
    base: Pixels,
    layers: Layers,
    colors: Sequence[RGB],
    opacity: float,
) -> None:
    """Fill all masks of ``layers``. With the map of topmost masks, all masks are
    blended in one step.
    """
    if layers.top is None:
        for k in layers.order:
            fill(
                pixels,
                base,
                layers.masks[k],
                colors[k],
                opacity,
            )
        return
    table = np.zeros((256, 1, 3), dtype=np.uint8)
    table[1 : len(layers.order) + 1, 0] = [colors[k] for k in layers.order]
    for part in bands(base.shape[:2]):
        flat = cv2.applyColorMap(layers.top[part], table)
        _lay(
            pixels[part],
            base[part],
            flat,
            opacity,
            layers.top[part],
        )


def edge_band(mask: Mask, width: int) -> Mask:
    """Return the part of ``mask`` within ``width`` pixels (chessboard distance) of a
    pixel outside it or of the image border.
    """
    if not mask.area:
        return mask
    side = 2 * width + 1
    crop = mask.crop
    inner = cv2.erode(
        crop.view(np.uint8),
        np.ones((side, side), np.uint8),
        borderType=cv2.BORDER_CONSTANT,
        borderValue=(0,),
    )
    return mask_of_crop(
        mask.size,
        mask.top,
        mask.left,
        crop & (inner == 0),
    )
