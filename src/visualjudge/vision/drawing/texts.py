"""Predictions as JSON texts, one object a line; nothing but JSON: notes belong to the prompt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import orjson

from visualjudge.core.records import Xyxy
from visualjudge.vision.drawing.canvas import merged_by_label
from visualjudge.vision.drawing.encoded import Encoded, Scene
from visualjudge.vision.drawing.grid import Grid, grid_of
from visualjudge.vision.drawing.styles import TextStyle
from visualjudge.vision.masks.polygons import polygons_of
from visualjudge.vision.poses.skeleton import KEYPOINT_NAMES
from visualjudge.vision.predictions import Detection, Person
from visualjudge.vision.raster.masks import rle_of

SYMBOLS = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
BACKGROUND, OTHER = ".", "#"


def boxes_text(scene: Scene, style: TextStyle) -> Encoded:
    """``{"label", "bbox"}`` a detection, whole pixels, not clipped: the text keeps what the image cannot show."""
    items: tuple[Detection, ...] = scene.prediction.items
    bbox = {"xyxy": _xyxy, "xywh": _xywh}[style.layout]
    return Encoded(text=array(_compact({"label": item.label, "bbox": bbox(item.xyxy)}) for item in items))


def polygons_text(scene: Scene, style: TextStyle) -> Encoded:
    """An object a part of a mask; an empty mask keeps one with an empty polygon."""
    if style.ids:
        heads = [({"instance_id": k, "label": item.label}, item.mask) for k, item in enumerate(scene.masks.items, 1)]
    else:
        heads = [({"label": label}, mask) for label, mask in scene.once(merged_by_label).items()]
    lines = [_compact({**head, "polygon": part}) for head, mask in heads for part in polygons_of(mask) or [[]]]
    return Encoded(text=array(lines))


def rle_text(scene: Scene, _style: TextStyle) -> Encoded:
    """``{"instance_id", "label", "rle"}`` an instance, COCO's compressed run lengths."""
    return Encoded(
        text=array(
            _compact({"instance_id": k, "label": item.label, "rle": rle_of(item.mask, closed=True)})
            for k, item in enumerate(scene.masks.items, 1)
        )
    )


def grid_text(scene: Scene, style: TextStyle) -> Encoded:
    """The sub-sampled grid as integers or as symbols, a row of cells a line."""
    grid = scene.once(grid_of, merged=not style.ids, region=style.region)
    return Encoded(text=_symbols(grid) if style.layout == "subsample" else _matrix(grid))


def people_text(scene: Scene, style: TextStyle) -> Encoded:
    """17 keypoints a person, one decimal; an absent one is 0.0, 0.0."""
    people: tuple[Person, ...] = scene.prediction.items
    form = {"flat_list": _flat_list, "part_keyed": _part_keyed, "coco_list": _coco_list}[style.layout]
    return Encoded(text=array(_compact(form(k, person)) for k, person in enumerate(people, 1)))


def array(lines: Iterable[str]) -> str:
    """A JSON array of objects already written, one a line."""
    body = ",\n".join(lines)
    return f"[\n{body}\n]" if body else "[]"


def _compact(value: Any) -> str:
    return orjson.dumps(value).decode()


def _xyxy(box: Xyxy) -> list[int]:
    return [round(v) for v in box]


def _xywh(box: Xyxy) -> list[int]:
    x1, y1, x2, y2 = _xyxy(box)
    return [x1, y1, x2 - x1, y2 - y1]


def _flat_list(_number: int, person: Person) -> list[float]:
    points = _points(person)
    return [x for x, _ in points] + [y for _, y in points]


def _part_keyed(number: int, person: Person) -> dict[str, Any]:
    named = zip(KEYPOINT_NAMES, _points(person), strict=True)
    return {"person_id": number, "keypoints": [{"name": name, "x": x, "y": y} for name, (x, y) in named]}


def _coco_list(_number: int, person: Person) -> list[float]:
    seen = [v if there else 0.0 for v, there in zip(person.keypoints[:, 2].tolist(), person.present, strict=True)]
    short = [int(v) if v == int(v) else round(v, 1) for v in seen]
    return [value for (x, y), v in zip(_points(person), short, strict=True) for value in (x, y, v)]


def _points(person: Person) -> list[tuple[float, float]]:
    """(x, y) to one decimal, (0.0, 0.0) where absent; + 0.0 turns a rounded −0.0 into 0.0."""
    xy = person.keypoints[:, :2].tolist()
    return [
        (round(x, 1) + 0.0, round(y, 1) + 0.0) if there else (0.0, 0.0)
        for (x, y), there in zip(xy, person.present, strict=True)
    ]


def _matrix(grid: Grid) -> str:
    legend = {"0": "background", **{str(number): label for number, label in grid.labels.items()}}
    return _on_lines(grid, legend, "matrix", [_compact(row) for row in grid.index.tolist()])


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
    return _on_lines(grid, legend, "grid", [_compact(row) for row in rows])


def _on_lines(grid: Grid, legend: dict[str, str], key: str, rows: list[str]) -> str:
    count, across = grid.index.shape
    body = ",\n".join(rows)
    head = f'"rows":{count},"cols":{across},"cell":{grid.cell},"legend":{_compact(legend)}'
    return f'{{{head},\n"{key}":[\n{body}\n]}}'
