"""The view: a photograph prepared for the local judge's features, reduced in size, in
CIELAB, with edge strengths. Features of regions on it are in ``view_items.py``, those
of place in ``view_places.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core.records import FloatArray, Pixels, Size

# Longer side of the reduced photograph in pixels. Computing time grows with its square.
SIDE = 192

# Side of the square around a pixel with which it is compared, in pixels of the reduced
# photograph.
SURROUND = 61

Plane = NDArray[np.float32]
T = TypeVar("T")
Features = Mapping[str, float]
NOTHING: Features = {}
# OpenCV's 8-bit CIELAB of black, and the size of its steps.
_ZERO = np.array([0, 128, 128], np.float32)
_STEP = np.array([100 / 255, 1, 1], np.float32)


@dataclass(frozen=True, eq=False)
class View:
    """A reduced photograph: ``lab`` is h×w×3 float32 CIELAB, ``edges`` h×w float32 with
    a 95th percentile of 1.

    ``scale`` is (x, y): multiply coordinates of the full image by it. ``size`` is the
    full image's (height, width).
    """

    size: Size
    lab: Plane
    dx: Plane
    dy: Plane
    edges: Plane

    @cached_property
    def soft(self) -> Plane:
        """``lab`` blurred by 2 pixels."""
        return np.asarray(cv2.GaussianBlur(self.lab, (0, 0), 2.0))

    @cached_property
    def salient(self) -> Plane:
        """Return the distance of each pixel's colour from its surroundings and from the
        image's mean, h×w float32 with mean 1.
        """
        apart = length(
            self.soft - cv2.blur(self.lab, (SURROUND, SURROUND))
        ) + length(self.soft - self.soft.mean(axis=(0, 1)))
        return apart / max(float(apart.mean()), 1e-3)

    @cached_property
    def centred(self) -> FloatArray:
        """``lab`` less its mean, 3×(h·w) float64."""
        flat = self.lab.reshape(-1, 3).astype(np.float64)
        return np.ascontiguousarray((flat - flat.mean(axis=0)).T)

    @cached_property
    def variance(self) -> float:
        """Sum of the squares of ``centred``."""
        return float((self.centred**2).sum())

    @property
    def scale(self) -> tuple[float, float]:
        """Factors from full-image x and y to the view's."""
        height, width = self.edges.shape
        return width / self.size[1], height / self.size[0]


def view_of(pixels: Pixels) -> View:
    """Return the view of an H×W×3 uint8 RGB image."""
    lab = lab_of(shrunk(pixels))
    smooth = cv2.GaussianBlur(lab, (0, 0), 1.0)
    dx = length(cv2.Sobel(smooth, cv2.CV_32F, 1, 0))
    dy = length(cv2.Sobel(smooth, cv2.CV_32F, 0, 1))
    edges = cv2.magnitude(dx, dy)
    unit = max(
        float(np.percentile(edges, 95)),
        1e-3,
    )
    height, width = pixels.shape[:2]
    return View(
        (height, width),
        lab,
        dx / unit,
        dy / unit,
        np.minimum(edges / unit, 2.0),
    )


@dataclass(frozen=True, eq=False)
class Given:
    """The image that a question shows in addition to its options: the source or control
    image."""

    image: Pixels | None = None
    _done: dict[Any, Any] = field(
        default_factory=dict,
        init=False,
        repr=False,
    )

    def once(self, work: Callable[[Given], T]) -> T:
        """Return the result of ``work``, computed once for all options."""
        if work not in self._done:
            self._done[work] = work(self)
        return cast(T, self._done[work])

    @cached_property
    def view(self) -> View:
        """The view of the image, which must be given."""
        return view_of(cast("Pixels", self.image))


def shrunk(pixels: Pixels) -> Pixels:
    """Return an H×W×3 uint8 image whose longer side has at most ``SIDE`` pixels."""
    height, width = pixels.shape[:2]
    ratio = min(1.0, SIDE / max(height, width))
    return reduced(
        pixels,
        (
            max(8, round(width * ratio)),
            max(8, round(height * ratio)),
        ),
    )


def strided(plane: np.ndarray) -> np.ndarray:
    """Return every k-th row and column of an H×W×… array, with at least ``SIDE`` pixels
    on the longer side. Fine structure is not smoothed.
    """
    step = max(1, max(plane.shape[:2]) // SIDE)
    return np.ascontiguousarray(plane[::step, ::step])


def reduced(
    pixels: Pixels,
    size: tuple[int, int],
) -> Pixels:
    """Resize an H×W×3 uint8 image to ``size`` (width, height), first by whole factors,
    which OpenCV does ten times faster.
    """
    whole = max(
        1,
        min(
            pixels.shape[1] // size[0],
            pixels.shape[0] // size[1],
        ),
    )
    height, width = (n // whole for n in pixels.shape[:2])
    if whole > 1:
        cut = np.ascontiguousarray(pixels[: height * whole, : width * whole])
        pixels = np.asarray(
            cv2.resize(
                cut,
                (width, height),
                interpolation=cv2.INTER_AREA,
            ),
            dtype=np.uint8,
        )
    return np.asarray(
        cv2.resize(
            pixels,
            size,
            interpolation=cv2.INTER_AREA,
        ),
        dtype=np.uint8,
    )


def lab_of(pixels: Pixels) -> Plane:
    """Return CIELAB of an h×w×3 uint8 RGB image: float32, L in 0..100, in OpenCV's
    8-bit steps."""
    lab = cv2.cvtColor(pixels, cv2.COLOR_RGB2LAB).astype(np.float32)
    return np.asarray((lab - _ZERO) * _STEP)


def correlation(first: Plane, two: Plane) -> float:
    """Return Pearson's correlation of two h×w arrays; near 0 if one is constant."""
    first = first - first.mean()
    two = two - two.mean()
    return float(
        (first * two).mean()
        / max(
            float(first.std() * two.std()),
            1e-6,
        )
    )


def length(vectors: np.ndarray) -> Plane:
    """Return the Euclidean length along the last axis of an h×w×C float32 array."""
    return np.asarray(np.sqrt(np.einsum("ijk,ijk->ij", vectors, vectors)))
