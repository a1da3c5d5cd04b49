"""Masks as JSON texts: polygons, run lengths, the sub-sampled grid."""

from __future__ import annotations

import numpy as np

from visualjudge.vision.drawing.canvas import merged_by_label
from visualjudge.vision.drawing.encoded import Encoded, Scene
from visualjudge.vision.drawing.grid import Grid, grid_of
from visualjudge.vision.drawing.styles import TextStyle
from visualjudge.vision.drawing.texts import array, compact
from visualjudge.vision.masks.polygons import polygons_of
from visualjudge.vision.raster.masks import rle_of

SYMBOLS = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
BACKGROUND, OTHER = ".", "#"


def polygons_text(scene: Scene, style: TextStyle) -> Encoded:
    """An object a part of a mask; an empty mask keeps one with an empty polygon."""
    if style.ids:
        heads = [({"instance_id": k, "label": item.label}, item.mask) for k, item in enumerate(scene.masks.items, 1)]
    else:
        heads = [({"label": label}, mask) for label, mask in scene.once(merged_by_label).items()]
    lines = [compact({**head, "polygon": part}) for head, mask in heads for part in polygons_of(mask) or [[]]]
    return Encoded(text=array(lines))


def rle_text(scene: Scene, _style: TextStyle) -> Encoded:
    """``{"instance_id", "label", "rle"}`` an instance, COCO's compressed run lengths."""
    return Encoded(
        text=array(
            compact({"instance_id": k, "label": item.label, "rle": rle_of(item.mask, closed=True)})
            for k, item in enumerate(scene.masks.items, 1)
        )
    )


def grid_text(scene: Scene, style: TextStyle) -> Encoded:
    """The sub-sampled grid as integers or as symbols, a row of cells a line."""
    grid = scene.once(grid_of, merged=not style.ids, region=style.region)
    return Encoded(text=_symbols(grid) if style.layout == "subsample" else _matrix(grid))


def _matrix(grid: Grid) -> str:
    legend = {"0": "background", **{str(number): label for number, label in grid.labels.items()}}
    return _on_lines(grid, legend, "matrix", [compact(row) for row in grid.index.tolist()])


def _symbols(grid: Grid) -> str:
    """One symbol a number. Numbers past the last symbol close up, so that no class is lost where there are symbols."""
    numbers = list(grid.labels)
    if numbers and numbers[-1] > len(SYMBOLS):
        index, labels = np.searchsorted([0, *numbers], grid.index), dict(enumerate(grid.labels.values(), start=1))
    else:
        index, labels = grid.index, dict(grid.labels)
    legend = {BACKGROUND: "background", **{SYMBOLS[k - 1]: labels[k] for k in labels if k <= len(SYMBOLS)}}
    if len(labels) > len(SYMBOLS):
        legend[OTHER] = "any other"
    signs = BACKGROUND + SYMBOLS + OTHER * len(labels)
    rows = ["".join(signs[k] for k in row) for row in index.tolist()]
    return _on_lines(grid, legend, "grid", [compact(row) for row in rows])


def _on_lines(grid: Grid, legend: dict[str, str], key: str, rows: list[str]) -> str:
    count, across = grid.index.shape
    body = ",\n".join(rows)
    head = f'"rows":{count},"cols":{across},"cell":{grid.cell},"legend":{compact(legend)}'
    return f'{{{head},\n"{key}":[\n{body}\n]}}'
