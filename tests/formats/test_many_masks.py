"""Masks of a few bytes each that cover their image: as many as the bound allows are
read, more are refused before the rest is made.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from visualjudge.core.errors import DataError, Problem
from visualjudge.formats.coco import coco
from visualjudge.formats.label_maps import label_maps
from visualjudge.formats.labelling_tools import shapes
from visualjudge.formats.yolo import yolo
from visualjudge.vision.predictions import read_prediction
from visualjudge.vision.raster.limits import MASKS_OF_AN_IMAGE

SIDE = 32
WHOLE = {"size": [SIDE, SIDE], "counts": [0, SIDE * SIDE]}
RING = [[0, 0], [SIDE, 0], [SIDE, SIDE], [0, SIDE]]


def _coco(root: Path, count: int) -> Any:
    image = {"id": 1, "file_name": "a.png", "width": SIDE, "height": SIDE}
    row = {"image_id": 1, "category_id": 1, "iscrowd": 0, "segmentation": WHOLE}
    row |= {"bbox": [0, 0, SIDE, SIDE], "area": SIDE * SIDE}
    truth = {
        "images": [image],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [row | {"id": k} for k in range(1, count + 1)],
    }
    (root / "gt.json").write_text(json.dumps(truth))
    return coco(
        "instance_segmentation", root / "gt.json", None, root / "images"
    )


def _yolo(root: Path, count: int) -> Any:
    (root / "gt").mkdir()
    (root / "gt/a.txt").write_text("0 0 0 1 0 1 1 0 1\n" * count)
    (root / "names.txt").write_text("cat\n")
    places = root / "gt", None, root / "images", root / "names.txt"
    return yolo("instance_segmentation", *places)


def _shapes(root: Path, count: int) -> Any:
    shape = {"label": "cat", "shape_type": "polygon", "points": RING}
    record = {
        "shapes": [shape] * count,
        "imageHeight": SIDE,
        "imageWidth": SIDE,
    }
    (root / "gt").mkdir()
    (root / "gt/a.json").write_text(json.dumps(record))
    places = root / "gt", None, root / "images"
    return shapes("instance_segmentation", *places, "labelme")


def _label_map(root: Path, count: int) -> Any:
    values = np.ones((SIDE, SIDE), np.uint8)
    for number in range(2, count + 1):  # each touches all four sides
        values[number, 0] = values[0, number] = number
        values[-1, number - 1] = values[number - 1, -1] = number
    (root / "gt").mkdir()
    Image.fromarray(values).save(root / "gt/a.png")
    (root / "names.csv").write_text(
        "id,name\n" + "".join(f"{k},c{k}\n" for k in range(1, count + 1))
    )
    places = str(root / "gt"), None, str(root / "images"), root / "names.csv"
    return label_maps("semantic_segmentation", *places)


def _record(_root: Path, count: int) -> Any:
    item = {"label": "cat", "segmentation": WHOLE}
    payload = {"instances": [item] * count}
    return [read_prediction("instance_segmentation", payload)]


READERS: dict[str, Callable[[Path, int], Any]] = {
    "coco": _coco,
    "yolo": _yolo,
    "shapes": _shapes,
    "label map": _label_map,
    "record": _record,
}


def _refusal(name: str, root: Path, count: int) -> str:
    (root / "images").mkdir(parents=True)
    Image.new("RGB", (SIDE, SIDE)).save(root / "images/a.png")
    try:
        [sample] = READERS[name](root, count)
    except DataError as error:
        return str(error)
    return str(sample) if isinstance(sample, Problem) else ""


@pytest.mark.parametrize("name", READERS)
def test_masks_of_an_image_have_a_common_bound(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setenv("VISUALJUDGE_MAX_PIXELS", str(SIDE * SIDE))
    assert _refusal(name, tmp_path / "most", MASKS_OF_AN_IMAGE) == ""
    more = _refusal(name, tmp_path / "more", MASKS_OF_AN_IMAGE + 1)
    assert "masks: must have at most" in more
