"""Draw a depth map in colours: bright or warm = near, black = no depth. The colour maps
are in ``colormaps.py``.
"""

from dataclasses import dataclass
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core.records import BoolArray, FloatArray
from visualjudge.vision.depth.colormaps import colormap
from visualjudge.vision.depth.record import DepthMap
from visualjudge.vision.drawing.encoded import Encoded, Scene
from visualjudge.vision.raster.images import bands


@dataclass(frozen=True, slots=True)
class DepthStyle:
    """A matplotlib colour map, bright or warm = near."""

    colormap: Literal["plasma", "turbo", "gray"]


# Number of pixels per step, so that intermediate results stay in the processor's cache.
_PIXELS_AT_ONCE = 1 << 14
# Number of sampled values for the estimate of a percentile, and its margin in places of
# the sample.
_SAMPLE = 4096
_MARGIN = 60


def draw_depth(scene: Scene, style: DepthStyle) -> Encoded:
    """Draw nearness, scaled between the 2nd and 98th percentile of the valid depths, in
    a Matplotlib colour map.

    A map whose size differs from the photograph's is resized by nearest neighbour after
    colouring.
    """
    near, absent = scene.once(_nearness)
    pixels = cv2.applyColorMap(near, colormap(style.colormap)[:, None])
    if absent is not None:
        pixels[absent] = 0
    if pixels.shape[:2] != scene.size:
        pixels = cv2.resize(
            pixels, scene.size[::-1], interpolation=cv2.INTER_NEAREST
        )
    return Encoded(pixels)


def _nearness(scene: Scene) -> tuple[NDArray[np.uint8], BoolArray | None]:
    """Return round(255·nearness), H×W uint8, and a mask of the invalid pixels, or None
    if there are none."""
    depth: DepthMap = scene.prediction
    valid = depth.valid
    near = np.zeros(depth.values.shape, dtype=np.uint8)
    if not valid.any():
        return near, ~valid
    whole = bool(valid.all())
    chosen = depth.values.ravel() if whole else depth.values[valid]
    low, high = (
        _at_rank(chosen, share * (chosen.size - 1)) for share in (0.02, 0.98)
    )
    for part in bands(depth.values.shape, _PIXELS_AT_ONCE):
        near[part] = _entries(
            depth.values[part],
            None if whole else valid[part],
            low,
            high,
            depth.inverse,
        )
    return near, None if whole else ~valid


def _entries(
    values: FloatArray,
    valid: BoolArray | None,
    low: float,
    high: float,
    inverse: bool,
) -> np.ndarray:
    """Return the uint8 entries of the colour map for a few rows."""
    if high > low:
        share = (
            values if valid is None else np.where(valid, values, low)
        ) - low
        share /= high - low
        np.clip(share, 0, 1, out=share)
    else:
        share = np.full(values.shape, 0.5)
    if not inverse:
        np.subtract(1, share, out=share)
    share *= 255
    return np.rint(share, out=share).astype(np.uint8)


def _at_rank(chosen: NDArray[Any], rank: float) -> float:
    """Return the value at ``rank``, linearly interpolated as NumPy's percentiles
    are."""
    first = int(rank)
    second = min(int(rank) + 1, chosen.size - 1)
    near, before = _around(chosen, first, second)
    near = (
        near.copy() if near is chosen else near
    )  # it may be the prediction's own array
    near.partition(sorted({first - before, second - before}))
    value = float(near[first - before])
    other = float(near[second - before])
    return value + (rank - first) * (other - value)


def _around(
    chosen: NDArray[Any], first: int, second: int
) -> tuple[NDArray[Any], int]:
    """Return values that include those at ranks ``first`` and ``second``, and the
    number of smaller values. The range is estimated from a sample. If a count shows
    that it misses the ranks, all values are returned."""
    sample = np.sort(chosen[:: max(1, chosen.size // _SAMPLE)])
    places = (
        int(first / chosen.size * sample.size) - _MARGIN,
        int(second / chosen.size * sample.size) + _MARGIN,
    )
    start = sample[places[0]] if places[0] >= 0 else chosen.min()
    stop = sample[places[1]] if places[1] < sample.size else chosen.max()
    before = int(np.count_nonzero(chosen < start))
    near = chosen[(chosen >= start) & (chosen <= stop)]
    return (
        (near, before)
        if before <= first and second < before + near.size
        else (chosen, 0)
    )
