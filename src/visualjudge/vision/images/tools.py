"""Tools for restored and generated images: colours, edges, sharpness and noise."""

from __future__ import annotations

import cv2
import numpy as np

from visualjudge.vision.raster.sharpness import edge_strength, noise_sigma
from visualjudge.vision.tools.base import (
    BOX,
    IMAGE,
    NUMBER,
    Seen,
    Shown,
    Tool,
    fitted,
    measured,
    pixel,
    schema,
    told_box,
    told_factor,
)


def value(seen: Seen, image: str, x: float, y: float) -> Shown:
    """The colour of a pixel."""
    pixels = seen.image(image)
    column, row = pixel(pixels, x, y)
    red, green, blue = pixels[row, column].tolist()
    return Shown(f"{image} at ({column}, {row}): RGB {red}, {green}, {blue}")


def measure(seen: Seen, image: str, x0: float, y0: float, x1: float, y1: float) -> Shown:
    """Mean and spread of the colours of a region."""
    part, box = measured(seen.image(image), x0, y0, x1, y1)
    mean, spread = (numbers.ravel() for numbers in cv2.meanStdDev(part))
    told = ", ".join(
        f"{name} {m:.1f} ± {s:.1f}" for name, m, s in zip("RGB", mean, spread, strict=True)
    )
    return Shown(f"{image}, {told_box(box)}: mean {told}")


def edges(seen: Seen, image: str) -> Shown:
    """Strength of the edges of an image."""
    shown, factor = fitted(seen.image(image))
    gray = cv2.cvtColor(shown, cv2.COLOR_RGB2GRAY)
    dx, dy = cv2.Sobel(gray, cv2.CV_16S, 1, 0), cv2.Sobel(gray, cv2.CV_16S, 0, 1)
    strength = cv2.addWeighted(cv2.convertScaleAbs(dx), 0.5, cv2.convertScaleAbs(dy), 0.5, 0)
    return Shown(
        f"edges of {image}, bright = strong, {told_factor(factor)}",
        (np.repeat(strength[:, :, None], 3, 2),),
    )


def sharpness(seen: Seen, image: str, x0: float, y0: float, x1: float, y1: float) -> Shown:
    """Edge strength and noise of a region."""
    part, box = measured(seen.image(image), x0, y0, x1, y1)
    gray = cv2.cvtColor(part, cv2.COLOR_RGB2GRAY).astype(np.float32)
    told = f"edge strength {edge_strength(gray):.2f}, noise {noise_sigma(gray):.2f} grey levels"
    return Shown(f"{image}, {told_box(box)}: {told}")


TOOLS = (
    Tool(
        "value",
        "Tell the colour of a pixel.",
        schema({"image": IMAGE, "x": NUMBER, "y": NUMBER}),
        value,
    ),
    Tool(
        "measure",
        "Tell the mean colour of a region and its spread.",
        schema({"image": IMAGE, **BOX}),
        measure,
    ),
    Tool("edges", "Show the strength of the edges of an image.", schema({"image": IMAGE}), edges),
    Tool(
        "sharpness",
        "Tell the edge strength (more = sharper) and the noise of a region of an image.",
        schema({"image": IMAGE, **BOX}),
        sharpness,
    ),
)
