"""Degraded inputs for the four restoration tasks, made from clean photographs."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

from visualjudge.core.records import Pixels

Degrade = Callable[[Pixels, np.random.Generator], Pixels]


def motion_blur(clean: Pixels, rng: np.random.Generator) -> Pixels:
    """The camera moved in a straight line during the exposure."""
    length, angle = 15, rng.uniform(0, np.pi)
    kernel = np.zeros((length, length), dtype=np.float32)
    middle = length // 2
    step = np.array([np.cos(angle), np.sin(angle)]) * middle
    start, end = middle - step, middle + step
    cv2.line(kernel, _point(start), _point(end), 1.0)
    return np.asarray(cv2.filter2D(clean, -1, kernel / kernel.sum()), dtype=np.uint8)


def rain(clean: Pixels, rng: np.random.Generator) -> Pixels:
    """Bright slanted streaks laid over the image."""
    height, width = clean.shape[:2]
    layer = np.zeros((height, width), dtype=np.uint8)
    slant = rng.uniform(-0.3, 0.3)
    for _ in range(height * width // 500):
        x, y = rng.integers(0, width), rng.integers(-20, height)
        length = rng.integers(10, 30)
        end = (int(x + slant * length), int(y + length))
        cv2.line(layer, (int(x), int(y)), end, int(rng.integers(80, 200)), 1, cv2.LINE_AA)
    return _lighten(clean, cv2.GaussianBlur(layer, (3, 3), 0))


def snow(clean: Pixels, rng: np.random.Generator) -> Pixels:
    """White flakes of several sizes, slightly out of focus."""
    height, width = clean.shape[:2]
    layer = np.zeros((height, width), dtype=np.uint8)
    for _ in range(height * width // 700):
        centre = (int(rng.integers(0, width)), int(rng.integers(0, height)))
        cv2.circle(layer, centre, int(rng.integers(1, 5)), int(rng.integers(150, 256)), -1, cv2.LINE_AA)
    return _lighten(clean, cv2.GaussianBlur(layer, (3, 3), 0))


def low_resolution(clean: Pixels, _rng: np.random.Generator) -> Pixels:
    """A quarter of the width and height, by area averaging."""
    height, width = clean.shape[:2]
    small = cv2.resize(clean, (width // 4, height // 4), interpolation=cv2.INTER_AREA)
    return np.asarray(small, dtype=np.uint8)


DEGRADATIONS: dict[str, Degrade] = {
    "lowlevel-deblur": motion_blur,
    "lowlevel-derain": rain,
    "lowlevel-desnow": snow,
    "lowlevel-super-resolution": low_resolution,
}


def _lighten(clean: Pixels, layer: Pixels) -> Pixels:
    share = (layer / 255.0 * 0.8)[:, :, None]
    return np.rint(clean * (1 - share) + 255 * share).astype(np.uint8)


def _point(xy: np.ndarray) -> tuple[int, int]:
    return round(float(xy[0])), round(float(xy[1]))
