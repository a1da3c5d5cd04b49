"""Features of restored and generated images: noise, blocks, sharpness, colour, and
agreement with the given images. The local judge weighs them in
``judges/local/judge.py``.

The given images are measured once for all options of a question. Quantities with
an optimum, such as sharpness, give two features: the shortfall and the excess.
"""

from dataclasses import dataclass
from typing import cast

import cv2
import numpy as np

from visualjudge.core.records import BoolArray, Pixels
from visualjudge.vision.images.record import WholeImage
from visualjudge.vision.raster.sharpness import edge_strength, noise_sigma
from visualjudge.vision.view import (
    NOTHING,
    Features,
    Given,
    Plane,
    lab_of,
    length,
    reduced,
)

BLOCK = 8
# Side of the middle of an image, which is measured at full resolution.
FINE = 256
SMALL = (128, 128)
SPECK = np.ones((9, 9), np.uint8)
# Log ratio of fine to coarse edge strength in a photograph in focus.
FOCUS = 0.6


@dataclass(frozen=True, eq=False)
class Source:
    """An H×W×3 uint8 image and its measurements: ``small`` in CIELAB at 128×128,
    ``gray`` and ``specks`` of its middle at full resolution. ``coarse`` and ``smooth``
    are blurred; ``specks`` are details brighter than their surroundings and narrower
    than 9 pixels (rain, snow, bright texture); ``sharp`` and ``structure`` are logs of
    the strength of fine and of coarse edges.
    """

    pixels: Pixels
    small: Plane
    coarse: Plane
    gray: Plane
    smooth: Plane
    specks: Plane
    sharp: float
    structure: float


def measured(pixels: Pixels) -> Source:
    """Return an H×W×3 uint8 image with its measurements."""
    small = lab_of(reduced(pixels, SMALL))
    top, left = (
        max(0, (n - FINE) // 2) // BLOCK * BLOCK for n in pixels.shape[:2]
    )
    middle = np.ascontiguousarray(pixels[top : top + FINE, left : left + FINE])
    gray = np.asarray(
        cv2.cvtColor(middle, cv2.COLOR_RGB2GRAY), dtype=np.float32
    )
    red, green, blue = cv2.split(middle)
    specks = cv2.morphologyEx(
        cv2.min(cv2.min(red, green), blue),
        cv2.MORPH_TOPHAT,
        SPECK,
    )
    return Source(
        pixels,
        small,
        _blurred(small, 4),
        gray,
        _blurred(gray, 1.5),
        np.asarray(specks, dtype=np.float32),
        float(np.log(edge_strength(gray) + 0.5)),
        float(np.log(edge_strength(_blurred(gray, 2.0)) + 0.5)),
    )


def _blurred(plane: Plane, sigma: float) -> Plane:
    return np.asarray(cv2.GaussianBlur(plane, (0, 0), sigma))


def _source_of(inputs: Given) -> Source:
    """Measured once for all options of a question."""
    return measured(cast("Pixels", inputs.image))


def image_look(prediction: WholeImage, inputs: Given) -> Features:
    """Return the features of a restored or generated image and the given one, which may
    be smaller. There are none if only a prompt is given.
    """
    if inputs.image is None:
        return NOTHING
    output = measured(prediction.pixels)
    source = inputs.once(_source_of)
    return (
        quality_features(output)
        | agreement(output, source)
        | _gains(output, source)
    )


def quality_features(output: Source) -> dict[str, float]:
    """Return the features that depend only on the image itself."""
    lab = output.small
    focus = output.sharp - output.structure
    return {
        "noise": float(np.log1p(noise_sigma(output.gray))),
        "flat_noise": _flat_noise(output.gray, output.smooth),
        "sharp": output.sharp,
        "structure": output.structure,
        "soft": min(0.0, focus - FOCUS),
        "harsh": max(0.0, focus - FOCUS),
        "blocks": max(0.0, _blockiness(output.gray)),
        "specks": float(np.log1p(output.specks.mean())),
        "colourful": float(lab[..., 1:].std()) / 20,
        "tint": float(np.linalg.norm(lab[..., 1:].mean(axis=(0, 1)))) / 20,
        "clipped": float(((output.gray < 3) | (output.gray > 252)).mean()),
        "light": float(lab[..., 0].mean()) / 50,
        "range": float(lab[..., 0].std()) / 20,
    }


def agreement(output: Source, source: Source) -> dict[str, float]:
    """Measure how an output differs from a given image of the same scene: in detail,
    coarsely, in colour and in structure.
    """
    apart = output.coarse - source.coarse
    return {
        "change": float(np.log1p(length(output.small - source.small).mean())),
        "coarse_change": float(np.log1p(length(apart).mean())),
        "colour_change": float(np.log1p(length(apart[..., 1:]).mean())),
        "same_structure": _structure(
            output.small[..., 0], source.small[..., 0]
        ),
    }


def _gains(output: Source, source: Source) -> dict[str, float]:
    """Measure the gain in sharpness and, if sizes agree, specks left from the input and
    changes elsewhere."""
    gain = min(output.sharp - source.sharp, 1.0)
    if output.pixels.shape != source.pixels.shape:
        return {
            "gain": gain,
            "left": 0.0,
            "collateral": 0.0,
            "lost": 0.0,
        }
    bright = source.specks
    calm = bright <= max(12.0, float(bright.mean()) * 2)
    return {
        "gain": gain,
        "left": float(
            (output.specks * bright).sum()
            / max(
                float((bright * bright).sum()),
                1.0,
            )
        ),
        "collateral": _log_mean(
            np.abs(output.gray - source.gray),
            calm,
        ),
        "lost": _log_mean(
            np.abs(output.smooth - source.smooth),
            calm,
        ),
    }


def _log_mean(plane: np.ndarray, where: BoolArray) -> float:
    return float(np.log1p(plane[where].mean())) if where.any() else 0.0


def _structure(a: np.ndarray, b: np.ndarray) -> float:
    """Return the mean local correlation of lightness, the structure term of SSIM (Wang
    et al., TIP 2004)."""
    size = (9, 9)
    first = cv2.blur(a, size)
    second = cv2.blur(b, size)
    covariance = cv2.blur(a * b, size) - first * second
    own = np.maximum(
        cv2.blur(a * a, size) - first * first,
        0,
    )
    other = np.maximum(
        cv2.blur(b * b, size) - second * second,
        0,
    )
    return float(((covariance + 1) / (np.sqrt(own * other) + 1)).mean())


def _flat_noise(gray: Plane, smooth: Plane) -> float:
    """Return the log of the mean difference from the smoothed image, in the flatter
    half of the image."""
    slope = cv2.magnitude(
        cv2.Sobel(smooth, cv2.CV_32F, 1, 0), cv2.Sobel(smooth, cv2.CV_32F, 0, 1)
    )
    flat = (
        slope
        <= np.partition(
            slope.ravel()[::4],
            slope.size // 8,
        )[slope.size // 8]
    )
    return _log_mean(np.abs(gray - smooth), flat)


def _blockiness(gray: np.ndarray) -> float:
    """Return the log ratio of the steps across an 8-pixel grid to the steps elsewhere
    (after Wang et al., ICIP 2000)."""
    ratios = []
    for axis in (0, 1):
        steps = np.abs(np.diff(gray, axis=axis)).mean(axis=1 - axis)
        at = np.arange(steps.size) % BLOCK == BLOCK - 1
        ratios.append(
            np.log((steps[at].mean() + 0.1) / (steps[~at].mean() + 0.1))
            if at.any() and (~at).any()
            else 0.0
        )
    return float(np.mean(ratios))
