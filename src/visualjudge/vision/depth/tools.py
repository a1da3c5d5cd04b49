"""Tools for depth maps, decoded from their colours: nearness at a pixel and in a region."""

from __future__ import annotations

import numpy as np

from visualjudge.vision.depth.features import decoded
from visualjudge.vision.tools.base import (
    Seen,
    Shown,
    measured,
    pixel,
    told_box,
    tool,
)

TOLD = "0 = farthest, 1 = nearest"


@tool()
def value(seen: Seen, option: str, x: float, y: float) -> Shown:
    """Tell how near the scene is at a pixel of an option."""
    pixels = seen.image(option)
    column, row = pixel(pixels, x, y)
    near = float(decoded(pixels[row : row + 1, column : column + 1], seen.encoding)[0, 0])
    told = "no depth" if np.isnan(near) else f"nearness {near:.3f} ({TOLD})"
    return Shown(f"{option} at ({column}, {row}): {told}")


@tool()
def measure(seen: Seen, option: str, x0: float, y0: float, x1: float, y1: float) -> Shown:
    """Tell how near the scene is in a region of an option: smallest, median and largest."""
    pixels = seen.image(option)
    part, box = measured(pixels, x0, y0, x1, y1)
    near = decoded(part, seen.encoding)
    known = near[np.isfinite(near)]
    if not known.size:
        return Shown(f"{option}, {told_box(box)}: no depth")
    low, middle, high = np.percentile(known, [0, 50, 100])
    share = f", known for {known.size / near.size:.0%}" if known.size < near.size else ""
    told = f"nearness {low:.3f} to {high:.3f}, median {middle:.3f} ({TOLD}){share}"
    return Shown(f"{option}, {told_box(box)}: {told}")


TOOLS = (value, measure)
