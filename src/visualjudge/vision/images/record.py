"""Restored and generated images: ``{"image": "x.png"}``. The files are found in
``formats/outputs.py`` and ``formats/image_pairs.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.errors import DataError, in_field
from visualjudge.core.records import Pixels, Size
from visualjudge.vision import fields
from visualjudge.vision.base import (
    Payload,
    Prediction,
    ReadContext,
    WriteContext,
)
from visualjudge.vision.raster.images import (
    checksums_agree,
    pixels_of,
    read_rgb,
    resized_rgb,
    write_png,
)


@dataclass(frozen=True, eq=False, slots=True)
class WholeImage(Prediction):
    """A restored or generated image, at its own size: H×W×3 uint8 RGB."""

    pixels: Pixels

    @property
    def image(self) -> Pixels:
        return self.pixels

    def scaled(self, size: Size, target: Size) -> WholeImage:
        return WholeImage(resized_rgb(self.pixels, target))


def from_arrays(data: Any) -> Any:
    """Return the payload of an image, an array or PIL's, bare or as ``image``."""
    payload = data if isinstance(data, Mapping) else {"image": data}
    image = payload.get("image")
    if image is None or isinstance(image, str | Path):
        return payload
    with in_field("image"):
        return {**payload, "image": pixels_of(image)}


def read(payload: Payload, reading: ReadContext) -> WholeImage:
    """Return the record of a payload."""
    stored = payload.get("image")
    if stored is None:
        raise DataError("image: the field is missing")
    if isinstance(stored, np.ndarray):
        return WholeImage(stored)
    with in_field("image"):
        return WholeImage(read_rgb(fields.path(stored, reading.root)))


def check(payload: Payload, reading: ReadContext) -> None:
    """Check that the payload's image can be read, without decoding it if the checksums
    in its file suffice.
    """
    with in_field("image"):
        stored = payload.get("image")
        if stored is not None and checksums_agree(
            fields.path(stored, reading.root)
        ):
            return
    read(payload, reading)


def write(prediction: WholeImage, writing: WriteContext) -> dict[str, Any]:
    """Return the payload of a record."""
    write_png(writing.root / f"{writing.stem}.png", prediction.pixels)
    return {"image": f"{writing.stem}.png"}
