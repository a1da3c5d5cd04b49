"""Outputs for the five generation tasks: a right one and ones that go wrong step by step.

No generative model is needed to try a judge: what matters is that the order is known. Each output carries a
``severity`` in 0..1, and its score is 10 × (1 − severity), set by construction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from skimage.transform import swirl

from visualjudge.apps.demo.photographs import Photograph
from visualjudge.core.records import BoolArray, Pixels

SEVERITIES = (0.0, 0.2, 0.4, 0.7, 1.0)


@dataclass(frozen=True, eq=False)
class Generated:
    """What one generation task shows of one photograph: the prompt, its context images, and outputs by severity."""

    prompt: str | None
    source: Pixels
    outputs: tuple[Pixels, ...]
    mask: BoolArray | None = None
    control: Pixels | None = None
    source_unseen: bool = False
    """There is no source image: the prompt is all the generator had."""


def text_to_image(photo: Photograph) -> Generated:
    """The photograph for its own caption, then ever more malformed."""
    outputs = tuple(_malformed(photo.pixels, s) for s in SEVERITIES)
    return Generated(photo.caption, photo.pixels, outputs, source_unseen=True)


def editing(photo: Photograph) -> Generated:
    """Black and white as told, then less and less of it and a cast of the wrong colour."""
    gray = cv2.cvtColor(cv2.cvtColor(photo.pixels, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
    wrong = photo.pixels.astype(np.float64) * np.array([1.0, 0.75, 0.6])
    outputs = tuple(_mix(gray, wrong, s) for s in SEVERITIES)
    return Generated("Turn the photograph into black and white, and change nothing else", photo.pixels, outputs)


def controllable(photo: Photograph) -> Generated:
    """A repainted image that keeps the edges it was given, then leaves them."""
    edges = cv2.Canny(photo.pixels, 100, 200)
    painted = np.asarray(cv2.bilateralFilter(photo.pixels, 9, 60, 9))[:, :, [2, 0, 1]]
    outputs = tuple(_malformed(np.ascontiguousarray(painted), s) for s in SEVERITIES)
    control = np.repeat(edges[:, :, None], 3, axis=2)
    return Generated(f"{photo.caption}, in other colours", photo.pixels, outputs, control=control)


def object_inpainting(photo: Photograph) -> Generated:
    """The main object's region filled with the object again, then with ever less of it."""
    hole = max((item.mask for item in photo.objects), key=lambda mask: mask.area).dense()
    return _inpainting(photo, hole, f"Complete the picture: {photo.caption}")


def texture_inpainting(photo: Photograph) -> Generated:
    """Strokes across the image filled seamlessly, then ever more visibly."""
    height, width = photo.size
    strokes = np.zeros((height, width), dtype=np.uint8)
    for k in range(1, 4):
        x = width * k // 4
        cv2.line(strokes, (x - width // 10, 0), (x + width // 10, height), 255, max(6, width // 40))
    return _inpainting(photo, strokes > 0, None)


GENERATORS: dict[str, Callable[[Photograph], Generated]] = {
    "generation_controllable": controllable,
    "generation_editing": editing,
    "generation_inpainting_high_level": object_inpainting,
    "generation_inpainting_low_level": texture_inpainting,
    "generation_t2i": text_to_image,
}


def _inpainting(photo: Photograph, hole: BoolArray, prompt: str | None) -> Generated:
    flat = np.full_like(photo.pixels, 0)
    flat[:] = photo.pixels[~hole].mean(axis=0) if (~hole).any() else 127
    smooth = np.asarray(cv2.GaussianBlur(photo.pixels, (0, 0), 12))
    outputs = []
    for severity in SEVERITIES:
        fill = _mix(_mix(photo.pixels, smooth, min(1.0, 2 * severity)), flat, max(0.0, 2 * severity - 1))
        outputs.append(np.where(hole[:, :, None], fill, photo.pixels))
    return Generated(prompt, photo.pixels, tuple(outputs), mask=hole)


def _malformed(pixels: Pixels, severity: float) -> Pixels:
    if severity == 0:
        return pixels
    height, width = pixels.shape[:2]
    bent = swirl(pixels, center=(width / 2, height / 2), strength=4 * severity, radius=min(height, width) * 0.6)
    eight_bit: Pixels = np.rint(np.asarray(bent) * 255).astype(np.uint8)
    return eight_bit


def _mix(first: np.ndarray, second: np.ndarray, share: float) -> Pixels:
    mixed: Pixels = np.rint(first * (1 - share) + second * share).astype(np.uint8)
    return mixed
