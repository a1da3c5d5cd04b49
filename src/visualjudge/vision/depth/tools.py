"""Tools for depth maps, decoded from their colours: nearness at a pixel and in a region."""

from __future__ import annotations

import numpy as np

from visualjudge.vision.depth.colormaps import decoded
from visualjudge.vision.tools import (
    BOX,
    Evidence,
    Tool,
    ToolOutput,
    box_text,
    pixel,
    region,
)

SCALE = "0 = farthest, 1 = nearest"


def value(evidence: Evidence, option: str, x: float, y: float) -> ToolOutput:
    """Return how near the scene is at a pixel of an option."""
    pixels = evidence.image(option)
    column, row = pixel(pixels.shape[:2], x, y)
    near = float(decoded(pixels[row : row + 1, column : column + 1], evidence.encoding)[0, 0])
    text = "no depth" if np.isnan(near) else f"nearness {near:.3f} ({SCALE})"
    return ToolOutput(f"{option} at ({column}, {row}): {text}")


def measure(evidence: Evidence, option: str, **corners: float) -> ToolOutput:
    """Return how near the scene is in a region of an option."""
    part, box = region(evidence.image(option), **corners)
    near = decoded(part, evidence.encoding)
    known = near[np.isfinite(near)]
    if not known.size:
        return ToolOutput(f"{option}, {box_text(box)}: no depth")
    low, middle, high = np.percentile(known, [0, 50, 100])
    share = f", known for {known.size / near.size:.0%}" if known.size < near.size else ""
    text = f"nearness {low:.3f} to {high:.3f}, median {middle:.3f} ({SCALE}){share}"
    return ToolOutput(f"{option}, {box_text(box)}: {text}")


TOOLS = (
    Tool(
        "value",
        "Tell how near the scene is at a pixel of an option.",
        value,
        ("option", "x", "y"),
        on="images",
    ),
    Tool(
        "measure",
        "Tell how near the scene is in a region of an option: smallest, median and largest.",
        measure,
        ("option", *BOX),
        on="images",
    ),
)
