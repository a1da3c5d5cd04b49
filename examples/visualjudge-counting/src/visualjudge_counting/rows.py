"""The type ``counting``: how many objects an image shows."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

import visualjudge as vj
from visualjudge.core.errors import DataError, Problem
from visualjudge.formats.pairing import files_by_key


@dataclass(frozen=True, slots=True)
class Count(vj.Prediction):
    """What a model says of one image."""

    number: int


def read(payload, reading) -> Count:
    """The record of the ``prediction`` of an annotation."""
    number = payload.get("number")
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise DataError(
            f"number: must be a whole number of 0 or more, got {number!r}"
        )
    return Count(number)


def write(prediction: Count, writing) -> dict:
    """The inverse of ``read``."""
    return {"number": prediction.number}


def closeness(prediction: Count, truth: Count) -> float:
    """1 − relative error, 0..1; higher is better."""
    return max(
        0.0, 1 - abs(prediction.number - truth.number) / max(truth.number, 1)
    )


def overcount(truth: Count, severity: float, scene, rng) -> Count:
    """Up to twice as many."""
    return Count(truth.number + round(severity * truth.number))


@dataclass(frozen=True, slots=True)
class Style:
    """No parameters."""


def draw_dots(scene: vj.Scene, style: Style) -> vj.Encoded:
    """A row of dots for each ten objects, from the top left."""
    pixels = scene.canvas("overlay")
    step = max(4, min(scene.size) // 12)
    for k in range(scene.prediction.number):
        center = step + step * (k % 10), step + step * (k // 10)
        cv2.circle(pixels, center, step // 3, (255, 0, 0), cv2.FILLED)
    return vj.Encoded(pixels)


def as_text(scene: vj.Scene, style: Style) -> vj.Encoded:
    """The number, as JSON."""
    return vj.Encoded(text=json.dumps({"number": scene.prediction.number}))


def example() -> tuple[np.ndarray, Count, None]:
    """An image and its truth: for the gallery, and for ``check_type`` in tests."""
    image = np.full((160, 240, 3), 200, np.uint8)
    for k in range(12):
        cv2.circle(
            image,
            (30 + 35 * (k % 6), 50 + 60 * (k // 6)),
            12,
            (40, 90, 160),
            cv2.FILLED,
        )
    return image, Count(12), None


def read_table(
    task: str, gt: str, pred: str | None, images: str
) -> Iterator[vj.Sample | Problem]:
    """CSV tables with the columns image (a file name without its suffix) and number."""
    truth = _numbers(gt)
    found = truth if pred is None else _numbers(pred)
    for key, image in files_by_key(images).items():
        if key in truth and key in found:
            yield vj.Sample(key, image, Count(found[key]), Count(truth[key]))
        else:
            yield Problem(Path(gt).name, key, "image", "must be in both tables")


def _numbers(path: str) -> dict[str, int]:
    if not Path(path).is_file():
        raise DataError(f"{path}: no such file")
    with Path(path).open(newline="", encoding="utf-8") as file:
        try:
            return {
                row["image"]: int(row["number"]) for row in csv.DictReader(file)
            }
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{path}: must have the columns image and number, a whole number: "
                f"{error}"
            ) from None


TYPE = vj.PredictionType(
    "counting",
    Count,
    read,
    write,
    tasks=(vj.Task("object_counting", "object counting", "counting"),),
    encodings=(
        vj.Encoding("counting", "dots", "pixel", draw_dots, Style()),
        vj.Encoding("counting", "text_number", "text", as_text, Style()),
    ),
    metrics=(vj.Metric("counting", "closeness", closeness),),
    errors=(vj.ErrorType("counting", "overcount", overcount),),
    example=example,
)
IMPORTER = vj.Importer(
    "counting",
    read_table,
    types=("counting",),
    help="CSV tables of image and number.",
)
