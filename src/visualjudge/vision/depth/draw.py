"""A depth map in colours: bright or warm = near, black = no depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

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


_PIXELS_AT_ONCE = 1 << 14
"""So few that what is computed of them stays in the processor's cache."""
_SAMPLE, _MARGIN = 4096, 60
"""Values that are sorted to find a percentile, and by how many places it may be off."""


def draw_depth(scene: Scene, style: DepthStyle) -> Encoded:
    """Nearness between the 2nd and 98th percentile of the valid depths, through a Matplotlib colour
    map.

    A map of another size than the photograph's is brought to it by nearest neighbour, after
    colouring.
    """
    near, absent = scene.once(_nearness)
    pixels = cv2.applyColorMap(near, colormap(style.colormap)[:, None])
    if absent is not None:
        pixels[absent] = 0
    if pixels.shape[:2] != scene.size:
        pixels = cv2.resize(pixels, scene.size[::-1], interpolation=cv2.INTER_NEAREST)
    return Encoded(pixels)


def _nearness(scene: Scene) -> tuple[NDArray[np.uint8], BoolArray | None]:
    """H×W uint8 round(255·nearness), and which pixels are invalid, or None if none is."""
    depth: DepthMap = scene.prediction
    valid = depth.valid
    near = np.zeros(depth.values.shape, dtype=np.uint8)
    if not valid.any():
        return near, ~valid
    whole = bool(valid.all())
    low, high = _percentiles(depth.values, None if whole else valid)
    rows = max(1, _PIXELS_AT_ONCE // depth.values.shape[1])
    for start in range(0, len(near), rows):
        part = slice(start, start + rows)
        near[part] = _entries(
            depth.values[part], None if whole else valid[part], low, high, depth.inverse
        )
    return near, None if whole else ~valid


def _entries(
    values: FloatArray, valid: BoolArray | None, low: float, high: float, inverse: bool
) -> np.ndarray:
    """uint8 entries of the colour map for a few rows."""
    if high > low:
        share = (values if valid is None else np.where(valid, values, low)) - low
        share /= high - low
        np.clip(share, 0, 1, out=share)
    else:
        share = np.full(values.shape, 0.5)
    if not inverse:
        np.subtract(1, share, out=share)
    share *= 255
    return np.asarray(np.rint(share, out=share).astype(np.uint8))


def _percentiles(values: FloatArray, valid: BoolArray | None) -> tuple[float, float]:
    """The 2nd and 98th percentile of the valid values, linearly interpolated as numpy does.

    Depth maps mostly hold 32-bit values, which take half the time and memory.
    """
    with np.errstate(over="ignore"):
        short = values.astype(np.float32)
    exact = short == values
    fits = bool((exact if valid is None else exact | ~valid).all())
    stored = short if fits else values
    chosen = stored.ravel() if valid is None else stored[valid]
    del short, exact, stored
    low, high = (_at_rank(chosen, share * (chosen.size - 1)) for share in (0.02, 0.98))
    return low, high


def _at_rank(chosen: NDArray[Any], rank: float) -> float:
    """The value at ``rank``, linearly interpolated."""
    first, second = int(rank), min(int(rank) + 1, chosen.size - 1)
    near, before = _around(chosen, first, second)
    near = near.copy() if near is chosen else near  # which may be the prediction's own values
    near.partition(sorted({first - before, second - before}))
    one, other = float(near[first - before]), float(near[second - before])
    return one + (rank - first) * (other - one)


def _around(chosen: NDArray[Any], first: int, second: int) -> tuple[NDArray[Any], int]:
    """Values among which those at places ``first`` and ``second`` of the sorted ones are, and how
    many are smaller.

    A sample tells where to look; whether they are there is counted, and if not, all values are
    looked at.
    """
    sample = np.sort(chosen[:: max(1, chosen.size // _SAMPLE)])
    places = (
        int(first / chosen.size * sample.size) - _MARGIN,
        int(second / chosen.size * sample.size) + _MARGIN,
    )
    start = sample[places[0]] if places[0] >= 0 else chosen.min()
    stop = sample[places[1]] if places[1] < sample.size else chosen.max()
    before = int(np.count_nonzero(chosen < start))
    near = chosen[(chosen >= start) & (chosen <= stop)]
    return (near, before) if before <= first and second < before + near.size else (chosen, 0)
