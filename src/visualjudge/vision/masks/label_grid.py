"""The label grid of masks: which mask covers most of each cell, as numbers and as an
image. Outlines and fills of whole masks are in ``draw.py``, texts in ``texts.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core.records import RGB, Mask, Pixels, Size
from visualjudge.vision.drawing.encoded import Encoded, Scene, masks_by_label
from visualjudge.vision.drawing.palette import (
    class_order,
    color_at,
    hex_of,
    label_colors,
    name_at,
)
from visualjudge.vision.drawing.tags import text_bitmap
from visualjudge.vision.raster.masks import covered


@dataclass(frozen=True, slots=True)
class GridStyle:
    """The sub-sampled grid as an image."""

    canvas: Literal["overlay", "black"] = "overlay"
    colors: Literal["class", "index"] = "index"
    region: bool = False
    """One referred region, numbered 1."""


CELLS = 32
SMALLEST_NUMBERED = 12
_PIXELS_AT_ONCE = 1 << 19


@dataclass(frozen=True, eq=False, slots=True)
class Grid:
    """Cells of ``cell``×``cell`` pixels; ``index`` (rows, cols) int: 0 = background, k
    = ``labels[k]``.

    ``labels`` are sorted by number; if the numbers are those of classes, some may be
    missing.
    """

    cell: int
    index: NDArray[np.intp]
    labels: Mapping[int, str]


def grid_of(
    scene: Scene,
    *,
    merged: bool,
    region: bool = False,
) -> Grid:
    """Return the grid of a segmentation.

    Parameters
    ----------
    merged
        Merge masks of the same label, and number them by the position of the class in
        ``scene.classes`` (as for colours, see
        :func:`~visualjudge.vision.drawing.palette.class_order`), so that all options of
        a question agree. Otherwise each instance has its own number, from 1 in the
        order of the prediction.
    region
        Give the referred region number 1, regardless of other referring expressions for
        the image.
    """
    if not merged:
        items = scene.masks.items
        index = covering([item.mask for item in items], scene.size)
        return Grid(
            cell_side(scene.size),
            index,
            {k: item.label for k, item in enumerate(items, start=1)},
        )
    united = scene.once(masks_by_label)
    order = class_order(None if region else scene.classes, list(united))
    labels = {
        number: label
        for number, label in enumerate(order, start=1)
        if label in united
    }
    index = covering([united[label] for label in labels.values()], scene.size)
    return Grid(
        cell_side(scene.size),
        np.array([0, *labels])[index],
        labels,
    )


def cell_side(size: Size) -> int:
    """Return ceil(longer side / 32), in pixels."""
    return -(-max(size) // CELLS)


def covering(masks: Sequence[Mask], size: Size) -> NDArray[np.intp]:
    """Return, for each cell, the number (from 1) of the mask that covers most of its
    pixels, 0 for none.

    The background counts the pixels that no mask covers; ties go to the lower number. A
    pixel covered by several masks counts for each of them.
    """
    cell = cell_side(size)
    rows = -(-size[0] // cell)
    cols = -(-size[1] // cell)
    best = np.zeros((rows, cols), dtype=np.intp)
    high = np.minimum(cell, size[0] - np.arange(rows) * cell)
    wide = np.minimum(cell, size[1] - np.arange(cols) * cell)
    most = np.outer(high, wide) - _counts(
        covered(masks, size).view(np.uint8), 0, 0, cell, rows, cols
    )
    for number, mask in enumerate(masks, start=1):
        if not mask.area:
            continue
        top = mask.top // cell
        left = mask.left // cell
        bottom = -(-mask.xyxy[3] // cell)
        right = -(-mask.xyxy[2] // cell)
        here = np.s_[top:bottom, left:right]
        offset = mask.top - top * cell, mask.left - left * cell
        count = _counts(
            mask.crop.view(np.uint8),
            *offset,
            cell,
            bottom - top,
            right - left,
        )
        more = count > most[here]
        most[here][more] = count[more]
        best[here][more] = number
    return best


def _counts(
    crop: NDArray[np.uint8],
    down: int,
    across: int,
    cell: int,
    rows: int,
    cols: int,
) -> NDArray[np.intp]:
    """Count the set pixels in each of rows×cols cells; the crop begins (down, across)
    pixels from the corner of the first cell."""
    whole = np.zeros((rows * cell, cols * cell), dtype=np.uint8)
    whole[down : down + crop.shape[0], across : across + crop.shape[1]] = crop
    narrow = (
        np.uint8 if cell < 256 else np.uint32
    )  # holds the sum of a cell's column
    columns = whole.reshape(rows, cell, cols * cell).sum(axis=1, dtype=narrow)
    return np.asarray(
        columns.reshape(rows, cols, cell).sum(axis=2, dtype=np.intp)
    )


# ---------------------------------------------------------------- as an image


def draw_grid(scene: Scene, style: GridStyle) -> Encoded:
    """Draw cells in the colour of their index, at an opacity of 0.5 over the photograph
    or opaque on black, with the index in cells of at least 12 px.

    Instances are coloured by index, classes and regions by label, as in the
    full-resolution encodings.
    """
    by_label = style.colors == "class"
    grid = scene.once(grid_of, merged=by_label, region=style.region)
    if by_label:
        colors, legend = _label_legend(
            None if style.region else scene.classes, grid
        )
        fills = {number: colors[label] for number, label in grid.labels.items()}
    else:
        colors = {}
        legend = _index_legend(grid)
        fills = {number: color_at(number - 1) for number in grid.labels}
    tiles, covers = _tiles(grid, fills)
    if style.canvas == "black":
        return Encoded(
            _spread(tiles, grid.index, scene.size),
            None,
            legend,
            colors,
        )
    pixels = scene.image.copy()
    _mix(pixels, grid, tiles, covers)
    return Encoded(pixels, None, legend, colors)


def _label_legend(
    classes: Sequence[str] | None, grid: Grid
) -> tuple[dict[str, RGB], str | None]:
    colors, legend = label_colors(classes, list(grid.labels.values()))
    if legend is None or grid.cell < SMALLEST_NUMBERED:
        return colors, legend
    numbers = ", ".join(
        f"{number} is {label}" for number, label in grid.labels.items()
    )
    return colors, f"{legend}. Numbers: {numbers}"


def _index_legend(grid: Grid) -> str | None:
    if not grid.labels:
        return None
    legend = (
        f"{k} {label} = {name_at(k - 1)} ({hex_of(color_at(k - 1))})"
        for k, label in grid.labels.items()
    )
    return "Legend: " + ", ".join(legend)


def _tiles(
    grid: Grid, fills: Mapping[int, RGB]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return, for each number, a cell in its colour with the number written in it, and
    a mask that is 0 where the cell is blended with the photograph, that is, outside the
    digits. Number 0 is black."""
    cell = grid.cell
    tiles = np.zeros(
        (
            max(fills, default=0) + 1,
            cell,
            cell,
            3,
        ),
        dtype=np.uint8,
    )
    covers = np.zeros(tiles.shape[:3], dtype=np.uint8)
    for number in np.unique(grid.index[grid.index > 0]).tolist():
        tiles[number] = fills[number]
        if cell >= SMALLEST_NUMBERED:
            covers[number], ink = _number_tile(str(number), cell)
            cv2.copyTo(
                cv2.cvtColor(ink, cv2.COLOR_GRAY2BGR),
                covers[number],
                tiles[number],
            )
    return tiles, covers


def _mix(
    pixels: Pixels,
    grid: Grid,
    tiles: NDArray[np.uint8],
    covers: NDArray[np.uint8],
) -> None:
    """Blend the cells over ``pixels`` at 0.5, in place, a band of rows at a time."""
    filled = np.ones_like(covers)
    filled[0] = 0
    rows = max(1, _PIXELS_AT_ONCE // (pixels.shape[1] * grid.cell))
    for first in range(0, len(grid.index), rows):
        index = grid.index[first : first + rows]
        here = pixels[first * grid.cell : (first + rows) * grid.cell]
        size = here.shape[0], here.shape[1]
        flat = _spread(tiles, index, size)
        mixed = cv2.addWeighted(here, 0.5, flat, 0.5, 0)
        cv2.copyTo(
            flat,
            _spread(covers, index, size),
            mixed,
        )
        cv2.copyTo(
            mixed,
            _spread(filled, index, size),
            here,
        )


def _spread(
    tiles: NDArray[np.uint8],
    index: NDArray[np.intp],
    size: Size,
) -> NDArray[np.uint8]:
    """Place the tiles given by ``index`` side by side, cropped to (height, width)
    ``size``."""
    side = tiles.shape[1]
    lines = tiles.reshape(len(tiles) * side, -1)
    which = (index[:, None] * side + np.arange(side)[:, None]).reshape(
        -1, index.shape[1]
    )
    whole = np.take(lines, which[: size[0]], axis=0).reshape(
        size[0],
        index.shape[1] * side,
        *tiles.shape[3:],
    )
    return np.ascontiguousarray(whole[:, : size[1]])


@lru_cache(maxsize=2048)
def _number_tile(
    number: str, side: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return (cover, ink), each side×side uint8: where the fill is hidden (0 or 1), and
    the grey values that replace it."""
    ink = _digits(number, side)
    reach = max(1, round(side / 32))
    shape = cv2.MORPH_ELLIPSE if reach > 1 else cv2.MORPH_CROSS
    rim = cv2.dilate(
        ink, cv2.getStructuringElement(shape, (2 * reach + 1, 2 * reach + 1))
    )
    return ((rim > 96).view(np.uint8), ink)


def _digits(number: str, side: int) -> NDArray[np.uint8]:
    """Draw a number in the middle of a side×side tile, as large as the margins
    allow."""
    for font in range(round(0.85 * side), 3, -1):
        bitmap = text_bitmap(number, font)
        ys = np.flatnonzero(bitmap.any(axis=1))
        xs = np.flatnonzero(bitmap.any(axis=0))
        ink = bitmap[ys[0] : ys[-1] + 1, xs[0] : xs[-1] + 1]
        if ink.shape[1] <= 0.8 * side and ink.shape[0] <= 0.7 * side:
            break
    tile = np.zeros((side, side), dtype=np.uint8)
    top = max(0, (side - ink.shape[0]) // 2)
    left = max(0, (side - ink.shape[1]) // 2)
    ink_shown = ink[:side, :side]
    tile[top : top + ink_shown.shape[0], left : left + ink_shown.shape[1]] = (
        ink_shown
    )
    return tile
