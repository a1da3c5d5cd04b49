"""A depth map in colours: bright or warm = near, black = no depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core.records import BoolArray, FloatArray
from visualjudge.vision.depth.colormaps import colormap
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.drawing.encoded import Encoded, Scene


@dataclass(frozen=True, slots=True)
class DepthStyle:
    """A matplotlib colour map, bright or warm = near."""

    colormap: Literal["plasma", "turbo", "gray"]


_ROWS_AT_ONCE = 1 << 19


def draw_depth(scene: Scene, style: DepthStyle) -> Encoded:
    """Nearness between the 2nd and 98th percentile of the valid depths, through a Matplotlib colour map.

    A map of another size than the photograph's is brought to it by nearest neighbour, after colouring.
    """
    near, absent = scene.once(_nearness)
    pixels = cv2.LUT(cv2.cvtColor(near, cv2.COLOR_GRAY2BGR), colormap(style.colormap)[None])
    if absent is not None:
        pixels[absent] = 0
    if pixels.shape[:2] != scene.size:
        pixels = cv2.resize(pixels, scene.size[::-1], interpolation=cv2.INTER_NEAREST)
    return Encoded(pixels)


def _nearness(scene: Scene) -> tuple[NDArray[np.uint8], BoolArray | None]:
    """H×W uint8 round(255·nearness), and which pixels are invalid, or None where none is."""
    depth: DepthMap = scene.prediction
    valid = depth.valid
    near = np.zeros(depth.values.shape, dtype=np.uint8)
    if not valid.any():
        return near, ~valid
    low, high = _percentiles(depth.values, valid)
    rows = max(1, _ROWS_AT_ONCE // depth.values.shape[1])
    for start in range(0, len(near), rows):
        part = slice(start, start + rows)
        near[part] = _entries(depth.values[part], valid[part], low, high, depth.inverse)
    return near, None if valid.all() else ~valid


def _entries(values: FloatArray, valid: BoolArray, low: float, high: float, inverse: bool) -> np.ndarray:
    """uint8 entries of the colour map for a few rows."""
    if high > low:
        share = (np.where(valid, values, low) - low) / (high - low)
        np.clip(share, 0, 1, out=share)
    else:
        share = np.full(values.shape, 0.5)
    if not inverse:
        share = 1 - share
    share *= 255
    return np.asarray(np.rint(share, out=share).astype(np.uint8))


def _percentiles(values: FloatArray, valid: BoolArray) -> tuple[float, float]:
    """The 2nd and 98th percentile of the valid values, linearly interpolated as numpy does.

    Depth maps mostly hold 32-bit values; sorting those takes half the memory and time.
    """
    short = values.astype(np.float32) if _fits_32_bits(values) else values
    chosen = short[valid]
    del short
    ranks = [0.02 * (chosen.size - 1), 0.98 * (chosen.size - 1)]
    kth = sorted({k for rank in ranks for k in (int(rank), min(int(rank) + 1, chosen.size - 1))})
    chosen.partition(kth)
    low, high = (
        float(chosen[int(r)]) + (r - int(r)) * (float(chosen[min(int(r) + 1, chosen.size - 1)]) - float(chosen[int(r)]))
        for r in ranks
    )
    return low, high


def _fits_32_bits(values: FloatArray) -> bool:
    """Whether each value is a 32-bit float exactly, looked at a few rows at a time."""
    rows = max(1, (_ROWS_AT_ONCE >> 3) // values.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        parts = (values[start : start + rows] for start in range(0, len(values), rows))
        return all(np.array_equal(part.astype(np.float32), part, equal_nan=True) for part in parts)
