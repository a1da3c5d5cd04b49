"""The sub-sampled grid: which mask covers most of each cell, as numbers and as an image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core.records import RGB, Mask, Pixels, Size
from visualjudge.vision.drawing.canvas import merged_by_label
from visualjudge.vision.drawing.encoded import Encoded, Scene
from visualjudge.vision.drawing.palette import class_order, color_at, hex_of, label_colors, name_at
from visualjudge.vision.drawing.tags import text_bitmap


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
    """Cells of ``cell``×``cell`` pixels; ``index`` (rows, cols) int: 0 = background, k =
    ``labels[k]``.

    ``labels`` are in rising order of their numbers; where the numbers are those of classes, some
    may be left out.
    """

    cell: int
    index: NDArray[np.intp]
    labels: Mapping[int, str]


def grid_of(scene: Scene, *, merged: bool, region: bool = False) -> Grid:
    """The grid of a segmentation.

    Parameters
    ----------
    merged
        Masks of one label count as one, and have the number that its class has in ``scene.classes``
        (as colours do, see
        :func:`~visualjudge.vision.drawing.palette.class_order`), so that all options of a question
        agree. Else each instance has its own number, from 1 in the order of the prediction.
    region
        The one region is number 1, whatever else is referred to on the image.
    """
    if not merged:
        items = scene.masks.items
        index = covering([item.mask for item in items], scene.size)
        return Grid(
            cell_side(scene.size), index, {k: item.label for k, item in enumerate(items, start=1)}
        )
    united = scene.once(merged_by_label)
    order = class_order(None if region else scene.classes, list(united))
    labels = {number: label for number, label in enumerate(order, start=1) if label in united}
    index = covering([united[label] for label in labels.values()], scene.size)
    return Grid(cell_side(scene.size), np.array([0, *labels])[index], labels)


def cell_side(size: Size) -> int:
    """ceil(longer side / 32) pixels."""
    return -(-max(size) // CELLS)


def covering(masks: Sequence[Mask], size: Size) -> NDArray[np.intp]:
    """For each cell the number (from 1) of the mask that covers most of its pixels, 0 for none.

    Background competes with the pixels that no mask covers; ties go to the lower number. A pixel
    that several masks cover counts for each.
    """
    cell = cell_side(size)
    rows, cols = -(-size[0] // cell), -(-size[1] // cell)
    best = np.zeros((rows, cols), dtype=np.intp)
    covered = np.zeros(size, dtype=np.uint8)
    for mask in masks:
        if mask.crop.size:
            covered[mask.window] |= mask.crop.view(np.uint8)
    high = np.minimum(cell, size[0] - np.arange(rows) * cell)
    wide = np.minimum(cell, size[1] - np.arange(cols) * cell)
    most = np.outer(high, wide) - _counts(covered, 0, 0, cell, rows, cols)
    for number, mask in enumerate(masks, start=1):
        if mask.crop.size == 0:
            continue
        top, left = mask.top // cell, mask.left // cell
        bottom, right = -(-mask.xyxy[3] // cell), -(-mask.xyxy[2] // cell)
        here = np.s_[top:bottom, left:right]
        offset = mask.top - top * cell, mask.left - left * cell
        count = _counts(mask.crop.view(np.uint8), *offset, cell, bottom - top, right - left)
        more = count > most[here]
        most[here][more] = count[more]
        best[here][more] = number
    return best


def _counts(
    crop: NDArray[np.uint8], down: int, across: int, cell: int, rows: int, cols: int
) -> NDArray[np.int64]:
    """Pixels set in each of rows×cols cells, the crop lying (down, across) pixels from the first
    cell's corner.
    """
    height, width = crop.shape
    ys = np.clip(np.arange(rows + 1) * cell - down, 0, height)
    xs = np.clip(np.arange(cols + 1) * cell - across, 0, width)
    counts = np.zeros((rows, cols), dtype=np.int64)
    band = max(1, _PIXELS_AT_ONCE // max(1, width * cell))
    for first in range(
        0, rows, band
    ):  # a few rows of cells at once: an integral image holds 4 bytes a pixel
        edges = ys[first : first + band + 1]
        sums = cv2.integral(crop[edges[0] : edges[-1]]) if edges[-1] > edges[0] else None
        if sums is not None:
            corners = sums[np.ix_(edges - edges[0], xs)]
            counts[first : first + band] = np.diff(np.diff(corners, axis=0), axis=1)
    return counts


# ---------------------------------------------------------------- as an image


def draw_grid(scene: Scene, style: GridStyle) -> Encoded:
    """Cells in their index's colour, half over the photograph or opaque on black, with the index in
    cells of ≥ 12 px.

    Instances are coloured by index, classes and regions by label, as in the full-resolution
    encodings.
    """
    by_label = style.colors == "class"
    grid = scene.once(grid_of, merged=by_label, region=style.region)
    if by_label:
        colors, legend = _label_legend(None if style.region else scene.classes, grid)
        fills = {number: colors[label] for number, label in grid.labels.items()}
    else:
        colors, legend = {}, _index_legend(grid)
        fills = {number: color_at(number - 1) for number in grid.labels}
    pixels = scene.canvas(style.canvas)
    _paint(pixels, grid, fills, opaque=style.canvas == "black")
    return Encoded(pixels, None, legend, colors)


def _label_legend(classes: Sequence[str] | None, grid: Grid) -> tuple[dict[str, RGB], str | None]:
    colors, legend = label_colors(classes, list(grid.labels.values()))
    if legend is None or grid.cell < SMALLEST_NUMBERED:
        return colors, legend
    numbers = ", ".join(f"{number} is {label}" for number, label in grid.labels.items())
    return colors, f"{legend}. Numbers: {numbers}"


def _index_legend(grid: Grid) -> str | None:
    if not grid.labels:
        return None
    told = (
        f"{k} {label} = {name_at(k - 1)} ({hex_of(color_at(k - 1))})"
        for k, label in grid.labels.items()
    )
    return "Legend: " + ", ".join(told)


def _paint(pixels: Pixels, grid: Grid, fills: Mapping[int, RGB], *, opaque: bool) -> None:
    """Colour the cells of ``pixels`` in place, a band of rows at a time."""
    rows, width, cell = len(grid.index), pixels.shape[1], grid.cell
    table = np.zeros((max(fills, default=0) + 1, 3), dtype=np.uint8)
    for number, color in fills.items():
        table[number] = color
    ink = _Numbers(grid, max(fills)) if cell >= SMALLEST_NUMBERED and fills else None
    band = max(1, _PIXELS_AT_ONCE // (width * cell))
    for first in range(0, rows, band):
        index = grid.index[first : first + band]
        here = pixels[first * cell : (first + len(index)) * cell]
        _fill_cells(here, index, table[index], cell, opaque)
        if ink is not None:
            ink.write(here, index)


def _fill_cells(
    here: Pixels, index: NDArray[np.intp], colors: NDArray[np.uint8], cell: int, opaque: bool
) -> None:
    full = index.shape[1] * cell, index.shape[0] * cell
    rows, cols = here.shape[:2]
    flat = cv2.resize(colors, full, interpolation=cv2.INTER_NEAREST)[:rows, :cols]
    covered = cv2.resize((index > 0).astype(np.uint8), full, interpolation=cv2.INTER_NEAREST)[
        :rows, :cols
    ]
    mixed = flat if opaque else cv2.addWeighted(here, 0.5, flat, 0.5, 0)
    cv2.copyTo(mixed, np.ascontiguousarray(covered), here)


class _Numbers:
    """The index written in each cell: white with a hard black rim, which stands out on any fill.

    The rim is not anti-aliased: each pixel of a cell is either exactly its fill or a grey of the
    number.
    """

    def __init__(self, grid: Grid, count: int) -> None:
        side = grid.cell
        self._side = side
        self._cover = np.zeros((count + 1, side, side), dtype=np.uint8)
        self._ink = np.zeros((count + 1, side, side), dtype=np.uint8)
        for k in np.unique(grid.index[grid.index > 0]):
            self._cover[k], self._ink[k] = _number_tile(str(k), side)

    def write(self, here: Pixels, index: NDArray[np.intp]) -> None:
        """Write the numbers into a band of cells."""
        gray = cv2.cvtColor(self._spread(self._ink, index, here), cv2.COLOR_GRAY2BGR)
        cv2.copyTo(gray, self._spread(self._cover, index, here), here)

    def _spread(
        self, tiles: NDArray[np.uint8], index: NDArray[np.intp], here: Pixels
    ) -> NDArray[np.uint8]:
        rows, cols = index.shape
        whole = tiles[index].transpose(0, 2, 1, 3).reshape(rows * self._side, cols * self._side)
        return np.ascontiguousarray(whole[: here.shape[0], : here.shape[1]])


@lru_cache(maxsize=2048)
def _number_tile(number: str, side: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """(cover, ink), each side×side uint8: where the fill is hidden (0 or 1), and the grey that
    takes its place.
    """
    ink = _digits(number, side)
    reach = max(1, round(side / 32))
    shape = cv2.MORPH_ELLIPSE if reach > 1 else cv2.MORPH_CROSS
    rim = cv2.dilate(ink, cv2.getStructuringElement(shape, (2 * reach + 1, 2 * reach + 1)))
    cover = (rim > 96).view(np.uint8)
    return cover, ink


def _digits(number: str, side: int) -> NDArray[np.uint8]:
    """Coverage of the number's ink in the middle of a side×side tile, as large as leaves a
    margin.
    """
    for font in range(round(0.85 * side), 3, -1):
        bitmap = text_bitmap(number, font)
        ys, xs = np.flatnonzero(bitmap.any(axis=1)), np.flatnonzero(bitmap.any(axis=0))
        ink = bitmap[ys[0] : ys[-1] + 1, xs[0] : xs[-1] + 1]
        if ink.shape[1] <= 0.8 * side and ink.shape[0] <= 0.7 * side:
            break
    tile = np.zeros((side, side), dtype=np.uint8)
    top, left = max(0, (side - ink.shape[0]) // 2), max(0, (side - ink.shape[1]) // 2)
    shown = ink[:side, :side]
    tile[top : top + shown.shape[0], left : left + shown.shape[1]] = shown
    return tile
