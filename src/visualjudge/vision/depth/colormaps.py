"""Colour maps with 256 entries, taken from Matplotlib 3: ``plasma`` (CC0), ``turbo``
(Apache 2.0) and ``gray``; and depth read back from an image that is drawn with one.
Maps are drawn in ``draw.py``; colours of classes are in ``drawing/palette.py``.
"""

from functools import cache
from pathlib import Path

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import FloatArray, Pixels


@cache
def colormap(name: str) -> Pixels:
    """Return the RGB entries of a map, shape (256, 3), uint8; the last one is the
    nearest.

    They are Matplotlib's, except that none is black, which stands for a pixel without
    depth: the farthest entry of ``gray`` is (1, 1, 1).
    """
    lines = (
        (Path(__file__).parent / "assets" / "colormaps.txt")
        .read_text("ascii")
        .splitlines()
    )
    entries = np.frombuffer(
        bytes.fromhex(dict(line.split() for line in lines)[name]), np.uint8
    ).reshape(256, 3)
    return np.where(entries.any(axis=1, keepdims=True), entries, np.uint8(1))


def decoded(pixels: Pixels, colour_map: str) -> FloatArray:
    """Decode the nearness, 0..1, of every pixel of an H×W×3 uint8 image; NaN for black
    pixels.

    Raises
    ------
    DataError
        If the image has colours that are not in the map.
    """
    red, green, blue = (
        pixels[..., channel].astype(np.int32) for channel in range(3)
    )
    codes = red << 16 | green << 8 | blue
    known, level = _colours(colour_map)
    at = np.clip(np.searchsorted(known, codes), 0, len(known) - 1)
    if not ((known[at] == codes) | (codes == 0)).all():
        raise DataError(
            f"encoding: the image must be drawn in {colour_map}, got other colours"
        )
    return np.where(codes == 0, np.nan, level[at] / 255)


@cache
def _colours(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the packed colours of a map, sorted, and the entry of each."""
    table = colormap(name).astype(np.int64)
    codes, level = np.unique(
        table @ np.array([1 << 16, 1 << 8, 1]), return_index=True
    )
    return codes.astype(np.int32), level.astype(np.float64)
