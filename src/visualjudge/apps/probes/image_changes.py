"""Changes of images: functions of H×W×3 uint8 RGB that keep the size."""

from __future__ import annotations

import cv2
import numpy as np

from visualjudge.core.records import Pixels
from visualjudge.vision.raster.images import through_jpeg, to_uint8

JPEG_QUALITY = 50
WARM = (1.12, 1.0, 0.85)
BRIGHTER, DULLER = (1.5, 25.0), (0.45, 35.0)
"""(factor of the saturation, added to the brightness or taken from it)."""


def mirrored(image: Pixels) -> Pixels:
    """Left and right exchanged."""
    return np.ascontiguousarray(image[:, ::-1])


def warmer(image: Pixels) -> Pixels:
    """A warmer white balance; colours keep their names."""
    return to_uint8(image * np.array(WARM))


def recompressed(image: Pixels) -> Pixels:
    """Through a JPEG file of quality 50."""
    return through_jpeg(image, JPEG_QUALITY)


def brighter(image: Pixels) -> Pixels:
    """Brighter, with stronger colours."""
    return _toned(image, BRIGHTER[0], BRIGHTER[1])


def duller(image: Pixels) -> Pixels:
    """Darker, with weaker colours."""
    return _toned(image, DULLER[0], -DULLER[1])


def with_banner(image: Pixels, text: str) -> Pixels:
    """``text`` in black on a white band along the upper edge, as wide as the image allows."""
    height, width = image.shape[:2]
    band = np.asarray(banner(text, width, max(8, min(48, height // 8))))
    out = image.copy()
    out[: band.shape[0]] = band
    return out


def banner(text: str, width: int, height: int) -> Pixels:
    """The band of :func:`with_banner`, height×width×3."""
    font, margin = cv2.FONT_HERSHEY_SIMPLEX, 2
    (wide, tall), below = cv2.getTextSize(text, font, 1.0, 2)
    scale = min((width - 2 * margin) / wide, (height - 2 * margin) / (tall + below))
    band = np.full((height, width, 3), 255, dtype=np.uint8)
    thick = max(1, round(2 * scale))
    cv2.putText(
        band,
        text,
        (margin, round(height - margin - below * scale)),
        font,
        scale,
        (0, 0, 0),
        thick,
        cv2.LINE_AA,
    )
    return band


def _toned(image: Pixels, saturation: float, light: float) -> Pixels:
    grey = image.mean(axis=2, keepdims=True)
    return to_uint8(grey + (image - grey) * saturation + light)
