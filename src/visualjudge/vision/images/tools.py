"""Tools for restored and generated images: colours at a pixel and in a region."""

from __future__ import annotations

import cv2

from visualjudge.vision.tools import (
    BOX,
    Evidence,
    Tool,
    ToolOutput,
    box_text,
    pixel,
    region,
)


def value(evidence: Evidence, image: str, x: float, y: float) -> ToolOutput:
    """Return the colour of a pixel."""
    pixels = evidence.image(image)
    column, row = pixel(pixels.shape[:2], x, y)
    red, green, blue = pixels[row, column].tolist()
    return ToolOutput(f"{image} at ({column}, {row}): RGB {red}, {green}, {blue}")


def measure(evidence: Evidence, image: str, **corners: float) -> ToolOutput:
    """Return the mean colour of a region and its spread."""
    part, box = region(evidence.image(image), **corners)
    mean, spread = (numbers.ravel() for numbers in cv2.meanStdDev(part))
    channels = zip("RGB", mean, spread, strict=True)
    text = ", ".join(f"{name} {middle:.1f} ± {width:.1f}" for name, middle, width in channels)
    return ToolOutput(f"{image}, {box_text(box)}: mean {text}")


TOOLS = (
    Tool("value", "Tell the colour of a pixel.", value, ("image", "x", "y"), on="images"),
    Tool(
        "measure",
        "Tell the mean colour of a region and its spread.",
        measure,
        ("image", *BOX),
        on="images",
    ),
)
