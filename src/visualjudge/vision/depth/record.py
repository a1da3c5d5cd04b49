"""Depth maps: ``{"depth": "x.npy" | "x.png", "scale"?, "inverse"?}``; 0, NaN and
infinity mean that a pixel has no depth. The files are found in
``formats/depth_maps.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from visualjudge.core.atomic import atomic_path
from visualjudge.core.errors import DataError, in_field
from visualjudge.core.records import BoolArray, FloatArray, Size
from visualjudge.vision import fields
from visualjudge.vision.base import (
    Payload,
    Prediction,
    ReadContext,
    WriteContext,
)
from visualjudge.vision.raster.images import read_depth
from visualjudge.vision.raster.in_memory import shaped


@dataclass(frozen=True, eq=False, slots=True)
class DepthMap(Prediction):
    """Depths, H×W float64 (stored value × scale): larger = farther, or nearer if
    ``inverse`` (disparity).
    """

    values: FloatArray
    inverse: bool = False

    @property
    def valid(self) -> BoolArray:
        """Mask of the pixels that are finite and not zero, H×W bool."""
        return np.asarray(np.isfinite(self.values) & (self.values != 0))

    @property
    def extent(self) -> Size:
        return self.values.shape[0], self.values.shape[1]

    def scaled(self, size: Size, target: Size) -> DepthMap:
        return DepthMap(
            cv2.resize(
                self.values, target[::-1], interpolation=cv2.INTER_NEAREST
            ),
            self.inverse,
        )

    def check(self, size: Size) -> None:
        fields.check_size("depth", self.extent, size)
        if not self.valid.any():
            raise DataError(
                "depth: has no valid value (all are 0, NaN or infinite)"
            )


def from_arrays(data: Any) -> Any:
    """Return the payload of an H×W array, bare or as ``depth``."""
    payload = data if isinstance(data, Mapping) else {"depth": data}
    values = payload.get("depth")
    if values is None or isinstance(values, str | Path):
        return payload
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    return {**payload, "depth": shaped(values, "depth", ("H", "W"), "float")}


def read(payload: Payload, reading: ReadContext) -> DepthMap:
    """Return the record of a payload."""
    stored = payload.get("depth")
    if stored is None:
        raise DataError("depth: the field is missing")
    if isinstance(stored, np.ndarray):
        values = stored.astype(np.float64)
    else:
        with in_field("depth"):
            values = read_depth(fields.path(stored, reading.root))
    scale = (
        1.0
        if payload.get("scale") is None
        else fields.number(payload["scale"], "scale")
    )
    if scale <= 0:
        raise DataError(f"scale: must be a number above 0, got {scale:g}")
    return DepthMap(
        values * scale if scale != 1 else values,
        fields.flag(payload.get("inverse"), "inverse"),
    )


def write(prediction: DepthMap, writing: WriteContext) -> dict[str, Any]:
    """Return the payload of a record."""
    with atomic_path(writing.root / f"{writing.stem}.npy") as scratch:
        np.save(scratch, prediction.values.astype(np.float32))
    return {
        "depth": f"{writing.stem}.npy",
        **({"inverse": True} if prediction.inverse else {}),
    }
