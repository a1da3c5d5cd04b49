"""Tools for restored and generated images: colours, edges, sharpness and noise."""

from __future__ import annotations

import cv2
import numpy as np

from visualjudge.vision.raster.sharpness import edge_strength, noise_sigma
from visualjudge.vision.tools.base import (
    Seen,
    Shown,
    fitted,
    measured,
    pixel,
    told_box,
    told_factor,
    tool,
)


@tool()
def value(seen: Seen, image: str, x: float, y: float) -> Shown:
    """Tell the colour of a pixel."""
    pixels = seen.image(image)
    column, row = pixel(pixels, x, y)
    red, green, blue = pixels[row, column].tolist()
    return Shown(f"{image} at ({column}, {row}): RGB {red}, {green}, {blue}")


@tool()
def measure(seen: Seen, image: str, x0: float, y0: float, x1: float, y1: float) -> Shown:
    """Tell the mean colour of a region and its spread."""
    part, box = measured(seen.image(image), x0, y0, x1, y1)
    mean, spread = (numbers.ravel() for numbers in cv2.meanStdDev(part))
    told = ", ".join(
        f"{name} {m:.1f} ± {s:.1f}" for name, m, s in zip("RGB", mean, spread, strict=True)
    )
    return Shown(f"{image}, {told_box(box)}: mean {told}")


@tool()
def edges(seen: Seen, image: str) -> Shown:
    """Show the strength of the edges of an image."""
    shown, factor = fitted(seen.image(image))
    gray = cv2.cvtColor(shown, cv2.COLOR_RGB2GRAY)
    dx, dy = cv2.Sobel(gray, cv2.CV_16S, 1, 0), cv2.Sobel(gray, cv2.CV_16S, 0, 1)
    strength = cv2.addWeighted(cv2.convertScaleAbs(dx), 0.5, cv2.convertScaleAbs(dy), 0.5, 0)
    return Shown(
        f"edges of {image}, bright = strong, {told_factor(factor)}",
        (np.repeat(strength[:, :, None], 3, 2),),
    )


@tool()
def sharpness(seen: Seen, image: str, x0: float, y0: float, x1: float, y1: float) -> Shown:
    """Tell the edge strength (more = sharper) and the noise of a region of an image."""
    part, box = measured(seen.image(image), x0, y0, x1, y1)
    gray = cv2.cvtColor(part, cv2.COLOR_RGB2GRAY).astype(np.float32)
    told = f"edge strength {edge_strength(gray):.2f}, noise {noise_sigma(gray):.2f} grey levels"
    return Shown(f"{image}, {told_box(box)}: {told}")


TOOLS = (value, measure, edges, sharpness)
