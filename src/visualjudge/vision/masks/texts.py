"""Masks as JSON text: polygons, run lengths, or the subsampled grid. Images are in
``draw.py`` and ``label_grid.py``.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core.records import Mask
from visualjudge.vision.drawing.encoded import Encoded, Scene, masks_by_label
from visualjudge.vision.drawing.styles import TextStyle
from visualjudge.vision.drawing.texts import array, compact
from visualjudge.vision.masks.label_grid import Grid, grid_of
from visualjudge.vision.raster.masks import rle_of

Polygon = list[list[int]]
LEAST_IOU = 0.95
# Tolerances for Douglas–Peucker simplification, as fractions of the square root of a
# part's area, coarsest first.
_STEPS = (0.14, 0.1, 0.07, 0.05, 0.035, 0.025, 0.017, 0.012, 0.008, 0.005)
# The step that suffices for most parts, or the one after it.
_USUAL = 3
_FINEST = 0.3
_SMALL = 256


def polygons_of(mask: Mask) -> list[Polygon]:
    """Return one polygon ``[[x, y], …]`` for each 8-connected part of ``mask``, with
    holes filled, simplified with the largest sufficient tolerance.

    Vertices are pixel centres. Filling a polygon with ``cv2.fillPoly`` restores the
    part with IoU ≥ 0.95; parts of less than 256 pixels keep all their corners. Contours
    follow Suzuki & Abe 1985 (``cv2.findContours``), and their simplification follows
    Douglas & Peucker 1973.
    """
    if not mask.area:
        return []
    contours, _ = cv2.findContours(
        mask.crop.view(np.uint8),
        cv2.RETR_EXTERNAL,
        cv2.CHAIN_APPROX_SIMPLE,
        offset=(mask.left, mask.top),
    )
    polygons = [_simplified(contour).tolist() for contour in contours]
    # One pixel or one line has fewer than three corners: the last is repeated.
    return [
        polygon + [polygon[-1]] * max(0, 3 - len(polygon))
        for polygon in polygons
    ]


def _simplified(contour: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the fewest vertices, (n, 2) int, at any tolerance with IoU ≥ 0.95 between
    the filled contours."""
    left, top, width, height = cv2.boundingRect(contour)
    if width * height < _SMALL:
        return _approximated(contour, _FINEST)
    part, scratch = np.zeros((2, height, width), dtype=np.uint8)
    corner = -left, -top
    cv2.fillPoly(part, [contour], (1,), offset=corner)
    area = cv2.countNonZero(part)
    if area < _SMALL:
        return _approximated(contour, _FINEST)

    def sufficient(step: int) -> NDArray[np.int32] | None:
        tried = _approximated(contour, max(_FINEST, _STEPS[step] * side))
        scratch.fill(0)
        cv2.fillPoly(scratch, [tried], (1,), offset=corner)
        filled = cv2.countNonZero(scratch)
        apart = cv2.norm(
            scratch, part, cv2.NORM_HAMMING
        )  # number of differing pixels
        return (
            tried
            if filled + area - apart >= LEAST_IOU * (filled + area + apart)
            else None
        )

    # IoU nearly always falls with the tolerance: from the usual step, to the coarsest
    # sufficient.
    side = area**0.5
    step = _USUAL
    best = sufficient(step)
    if best is None:
        while best is None and (step := step + 1) < len(_STEPS):
            best = sufficient(step)
        return _approximated(contour, _FINEST) if best is None else best
    while step and (coarser := sufficient(step - 1)) is not None:
        best = coarser
        step = step - 1
    return best


def _approximated(
    contour: NDArray[np.int32], tolerance: float
) -> NDArray[np.int32]:
    return np.asarray(
        cv2.approxPolyDP(contour, tolerance, True), np.int32
    ).reshape(-1, 2)


SYMBOLS = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
BACKGROUND = "."
OTHER = "#"


def polygons_text(scene: Scene, style: TextStyle) -> Encoded:
    """Write one object per part of a mask; an empty mask has one object with an empty
    polygon."""
    heads = (
        [
            ({"instance_id": k, "label": item.label}, item.mask)
            for k, item in enumerate(scene.masks.items, 1)
        ]
        if style.ids
        else [
            ({"label": label}, mask)
            for label, mask in scene.once(masks_by_label).items()
        ]
    )
    lines = [
        compact({**head, "polygon": part})
        for head, mask in heads
        for part in polygons_of(mask) or [[]]
    ]
    return Encoded(text=array(lines))


def rle_text(scene: Scene, _style: TextStyle) -> Encoded:
    """Write ``{"instance_id", "label", "rle"}`` per instance, with COCO's compressed
    RLE."""
    return Encoded(
        text=array(
            compact(
                {
                    "instance_id": k,
                    "label": item.label,
                    "rle": rle_of(item.mask),
                }
            )
            for k, item in enumerate(scene.masks.items, 1)
        )
    )


def grid_text(scene: Scene, style: TextStyle) -> Encoded:
    """Write the subsampled grid as integers or symbols, one row of cells per line."""
    grid = scene.once(grid_of, merged=not style.ids, region=style.region)
    return Encoded(
        text=_symbols(grid) if style.layout == "subsample" else _matrix(grid)
    )


def _matrix(grid: Grid) -> str:
    return _on_lines(
        grid,
        {
            "0": "background",
            **{str(number): label for number, label in grid.labels.items()},
        },
        "matrix",
        [compact(row) for row in grid.index.tolist()],
    )


def _symbols(grid: Grid) -> str:
    """Write one symbol per number. If numbers exceed the last symbol, they are
    renumbered, so that no class is lost while symbols remain."""
    numbers = list(grid.labels)
    if numbers and numbers[-1] > len(SYMBOLS):
        index = np.searchsorted([0, *numbers], grid.index)
        labels = dict(enumerate(grid.labels.values(), start=1))
    else:
        index = grid.index
        labels = dict(grid.labels)
    legend = {
        BACKGROUND: "background",
        **{SYMBOLS[k - 1]: labels[k] for k in labels if k <= len(SYMBOLS)},
    }
    if len(labels) > len(SYMBOLS):
        legend[OTHER] = "any other"
    signs = BACKGROUND + SYMBOLS + OTHER * len(labels)
    rows = ["".join(signs[k] for k in row) for row in index.tolist()]
    return _on_lines(grid, legend, "grid", [compact(row) for row in rows])


def _on_lines(
    grid: Grid, legend: dict[str, str], key: str, rows: list[str]
) -> str:
    count, across = grid.index.shape
    body = ",\n".join(rows)
    head = f'"rows":{count},"cols":{across},"cell":{grid.cell},"legend":{compact(legend)}'
    return f'{{{head},\n"{key}":[\n{body}\n]}}'
