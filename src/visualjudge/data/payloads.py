"""Typed predictions back to payloads, the counterpart of :mod:`visualjudge.data.predictions`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.atomic import atomic_path
from visualjudge.raster.images import write_png
from visualjudge.raster.masks import rle_of
from visualjudge.records import DepthMap, Detections, Masks, People, Person, Prediction, WholeImage
from visualjudge.tasks import task_named

DIGITS = 2
"""Decimals of pixel coordinates in a payload."""


def payload_of(
    task: str, prediction: Prediction, *, root: Path, stem: str, digits: int | None = DIGITS
) -> dict[str, Any]:
    """The payload of a typed prediction.

    Masks go inline as compressed RLE; a depth map or a picture is written to ``root``/``stem`` with ``.npy`` or
    ``.png`` added, and the payload holds that path relative to ``root``. Boxes and keypoints are rounded to ``digits``
    decimals, or left as they are where that is None.
    """
    match prediction:
        case Detections():
            return {"detections": [_detection(item, digits) for item in prediction.items]}
        case People():
            return {"persons": [_person(item, digits) for item in prediction.items]}
        case Masks():
            return _masks(task, prediction)
        case DepthMap():
            with atomic_path(root / f"{stem}.npy") as scratch:
                np.save(scratch, prediction.values.astype(np.float32))
            return {"depth": f"{stem}.npy", **({"inverse": True} if prediction.inverse else {})}
        case WholeImage():
            write_png(root / f"{stem}.png", prediction.pixels)
            return {"image": f"{stem}.png"}


def _detection(item: Any, digits: int | None) -> dict[str, Any]:
    box = [float(v) if digits is None else round(float(v), digits) for v in item.xyxy]
    return {"label": item.label, "bbox": box, **({} if item.score is None else {"score": item.score})}


def _person(item: Person, digits: int | None) -> dict[str, Any]:
    points = item.keypoints if digits is None else item.keypoints.round(digits)
    return {"keypoints": points.ravel().tolist(), **({} if item.score is None else {"score": item.score})}


def _masks(task: str, prediction: Masks) -> dict[str, Any]:
    family = task_named(task).family
    if family == "referring":
        (region,) = prediction.items
        return {"segmentation": rle_of(region.mask)}
    items = [
        {
            "label": item.label,
            "segmentation": rle_of(item.mask),
            **({} if item.score is None else {"score": item.score}),
        }
        for item in prediction.items
    ]
    return {"instances" if family == "instance" else "segments": items}
