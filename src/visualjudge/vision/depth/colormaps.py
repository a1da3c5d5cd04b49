"""Colour maps with 256 entries, taken from Matplotlib 3: ``plasma`` (CC0), ``turbo`` (Apache 2.0)
and ``gray``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from visualjudge.core.records import Pixels


@cache
def colormap(name: str) -> Pixels:
    """Return the RGB entries of a map, shape (256, 3), uint8; the last one is the nearest."""
    lines = (Path(__file__).parent / "assets" / "colormaps.txt").read_text("ascii").splitlines()
    tables = dict(line.split() for line in lines)
    return np.frombuffer(bytes.fromhex(tables[name]), np.uint8).reshape(256, 3)
