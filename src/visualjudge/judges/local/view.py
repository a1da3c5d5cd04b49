"""The photograph as the features see it: shrunk, in CIELAB, with the strength of its edges."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.records import Pixels, Size

SIDE = 192
"""Longer side of the shrunk photograph, in pixels: all that costs time is linear in its square."""

Plane = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class View:
    """``lab`` is h×w×3 float32 CIELAB, ``edges`` h×w float32 with the image's 95th percentile at 1.

    ``scale`` is (x, y): multiply coordinates of the full image by it. ``size`` is the full image's (height, width).
    """

    size: Size
    lab: Plane
    dx: Plane
    dy: Plane
    edges: Plane

    @property
    def scale(self) -> tuple[float, float]:
        """Factors from full-image x and y to the view's."""
        height, width = self.edges.shape
        return width / self.size[1], height / self.size[0]


def view_of(pixels: Pixels) -> View:
    """The view of an H×W×3 uint8 RGB image."""
    lab = lab_of(shrunk(pixels))
    smooth = cv2.GaussianBlur(lab, (0, 0), 1.0)
    dx = np.linalg.norm(cv2.Sobel(smooth, cv2.CV_32F, 1, 0), axis=2)
    dy = np.linalg.norm(cv2.Sobel(smooth, cv2.CV_32F, 0, 1), axis=2)
    edges = np.hypot(dx, dy)
    unit = max(float(np.percentile(edges, 95)), 1e-3)
    height, width = pixels.shape[:2]
    return View((height, width), lab, dx / unit, dy / unit, np.minimum(edges / unit, 2.0))


def shrunk(pixels: Pixels, side: int = SIDE) -> Pixels:
    """An H×W×3 uint8 image with its longer side at most ``side`` pixels."""
    height, width = pixels.shape[:2]
    ratio = min(1.0, side / max(height, width))
    target = (max(8, round(width * ratio)), max(8, round(height * ratio)))
    return np.asarray(cv2.resize(pixels, target, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def lab_of(pixels: Pixels) -> Plane:
    """CIELAB of an h×w×3 uint8 RGB image, float32, L in 0..100."""
    return np.asarray(cv2.cvtColor(pixels.astype(np.float32) / 255, cv2.COLOR_RGB2LAB))
