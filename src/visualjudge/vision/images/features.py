"""Features of restored and generated images: noise, blocks, sharpness, colour, and agreement with
the given images.

The given images are measured once for all options of a question (:class:`Source`). Quantities with
an optimum, such as sharpness, give two features: the shortfall and the excess.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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
    correlation,
    lab_of,
    length,
    reduced,
    shrunk,
)

BLOCK = 8
FINE = 256
"""Side of the middle of an image, which is measured at full resolution."""
SMALL = (128, 128)
SPECK = np.ones((9, 9), np.uint8)
FOCUS = 0.6
"""Log ratio of fine to coarse edge strength in a photograph in focus."""


@dataclass(frozen=True, eq=False)
class Source:
    """An H×W×3 uint8 image and its measurements, each computed at first use."""

    pixels: Pixels

    @cached_property
    def thumbnail(self) -> Pixels:
        """128×128×3 uint8."""
        return reduced(self.pixels, SMALL)

    @cached_property
    def small(self) -> Plane:
        """CIELAB, 128×128×3 float32."""
        return lab_of(self.thumbnail)

    @cached_property
    def coarse(self) -> Plane:
        """``small`` without details finer than 4 pixels."""
        return np.asarray(cv2.GaussianBlur(self.small, (0, 0), 4))

    @cached_property
    def edges(self) -> Plane:
        """Edge strength at 128×128, scaled to a 98th percentile of 1."""
        return _edge_map(self.thumbnail)

    @cached_property
    def near_edges(self) -> Plane:
        """``edges`` blurred by 1.5 pixels."""
        return np.asarray(cv2.GaussianBlur(self.edges, (0, 0), 1.5))

    @cached_property
    def middle(self) -> Pixels:
        """The middle of the image, at most ``FINE`` pixels wide and high, aligned with 8-pixel
        blocks.
        """
        top, left = (max(0, (n - FINE) // 2) // BLOCK * BLOCK for n in self.pixels.shape[:2])
        return np.ascontiguousarray(self.pixels[top : top + FINE, left : left + FINE])

    @cached_property
    def gray(self) -> Plane:
        """``middle`` in grey levels."""
        return np.asarray(cv2.cvtColor(self.middle, cv2.COLOR_RGB2GRAY), dtype=np.float32)

    @cached_property
    def specks(self) -> Plane:
        """Details brighter than their surroundings and narrower than 9 pixels: rain, snow and
        bright texture.
        """
        red, green, blue = cv2.split(self.middle)
        dark = cv2.min(cv2.min(red, green), blue)
        return np.asarray(cv2.morphologyEx(dark, cv2.MORPH_TOPHAT, SPECK), dtype=np.float32)

    @cached_property
    def smooth(self) -> Plane:
        """``gray`` blurred by 1.5 pixels."""
        return np.asarray(cv2.GaussianBlur(self.gray, (0, 0), 1.5))

    @cached_property
    def sharp(self) -> float:
        """Log of the strength of fine edges."""
        return float(np.log(edge_strength(self.gray) + 0.5))

    @cached_property
    def structure(self) -> float:
        """Log of the strength of coarse edges."""
        return float(np.log(edge_strength(cv2.GaussianBlur(self.gray, (0, 0), 2.0)) + 0.5))


def source_of(given: Given) -> Source:
    """Return the source image, with which restored and generated images are compared."""
    if given.image is None:
        raise ValueError("a question without a source image has no view")
    return Source(given.image)


def restored_look(found: WholeImage, given: Given) -> Features:
    """Return the features of a restored image."""
    return (
        NOTHING
        if given.image is None
        else restored_features(Source(found.pixels), given.once(source_of))
    )


def generated_look(found: WholeImage, given: Given) -> Features:
    """Return the features of a generated image. There are none if only a prompt is given, because
    comparing an image with a text requires a language model.
    """
    if given.image is None and given.control is None:
        return NOTHING
    output = Source(found.pixels)
    features = quality_features(output)
    if given.image is not None:
        features |= agreement(output, given.once(source_of))
    if given.control is not None:
        features |= controlled_features(output, given.once(condition_of))
    if given.image is not None and given.hole is not None:
        features |= filled_features(output, given.once(source_of), given.hole)
    return features


def condition_of(given: Given) -> Source:
    """Return the control image, with which generated images are compared."""
    if given.control is None:
        raise ValueError("a question without a control image has no condition")
    return Source(given.control)


def quality_features(output: Source) -> dict[str, float]:
    """Return the features that depend only on the image itself."""
    lab, focus = output.small, output.sharp - output.structure
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


def restored_features(output: Source, given: Source) -> dict[str, float]:
    """Return the features of a restored image and its degraded input, which may be smaller."""
    return quality_features(output) | agreement(output, given) | _restored(output, given)


def agreement(output: Source, given: Source) -> dict[str, float]:
    """Measure how an output differs from a given image of the same scene: in detail, coarsely, in
    colour and in structure.
    """
    apart = output.coarse - given.coarse
    return {
        "change": float(np.log1p(length(output.small - given.small).mean())),
        "coarse_change": float(np.log1p(length(apart).mean())),
        "colour_change": float(np.log1p(length(apart[..., 1:]).mean())),
        "same_structure": _structure(output.small[..., 0], given.small[..., 0]),
    }


def _restored(output: Source, given: Source) -> dict[str, float]:
    """Measure the gain in sharpness and, if sizes agree, specks left from the input and changes
    elsewhere.
    """
    gain = output.sharp - given.sharp
    found = {
        "gain": min(gain, 1.0),
        "overshoot": max(gain - 1.0, 0.0),
        "left": 0.0,
        "collateral": 0.0,
        "lost": 0.0,
    }
    if output.pixels.shape != given.pixels.shape:
        return found
    bright = given.specks
    rainy = bright > max(12.0, float(bright.mean()) * 2)
    moved = output.gray - given.gray
    found["left"] = float((output.specks * bright).sum() / max(float((bright * bright).sum()), 1.0))
    found["collateral"] = float(np.log1p(np.abs(moved[~rainy]).mean())) if not rainy.all() else 0.0
    found["lost"] = (
        float(np.log1p(np.abs(output.smooth - given.smooth)[~rainy].mean()))
        if not rainy.all()
        else 0.0
    )
    return found


def controlled_features(output: Source, control: Source) -> dict[str, float]:
    """Measure how far an output's edges follow those of the control image (edges, a pose, a depth
    map or a sketch).
    """
    return {
        "follows": correlation(output.near_edges, control.near_edges),
        "recalled": float(
            (control.edges * output.near_edges).sum() / max(float(control.edges.sum()), 1e-6)
        ),
    }


def filled_features(output: Source, shown: Source, hole: BoolArray) -> dict[str, float]:
    """Measure how an inpainted region fits its surroundings (seam, texture, colour), and how far
    the rest was changed.
    """
    small = shrunk(output.pixels)
    size = small.shape[1], small.shape[0]
    context = reduced(shown.pixels, size)
    inside = cv2.resize(hole.view(np.uint8), size, interpolation=cv2.INTER_NEAREST)
    kernel = np.ones((7, 7), np.uint8)
    ring = (cv2.dilate(inside, kernel) > 0) & (inside == 0)
    within = (inside > 0) & (cv2.erode(inside, kernel) == 0)
    lab, edges = lab_of(small), _edge_map(small)
    seam = (cv2.dilate(inside, None) - cv2.erode(inside, None)) > 0
    rest = inside == 0
    filled = _mean(edges, inside > 0)
    return {
        "seam": _mean(edges, seam) - 0.5 * (_mean(edges, within) + _mean(edges, ring)),
        "texture": abs(np.log((filled + 0.02) / (_mean(edges, rest) + 0.02))),
        "texture_inside": filled,
        "colour": float(np.linalg.norm(lab[within].mean(axis=0) - lab[ring].mean(axis=0))) / 20
        if ring.any()
        else 0.0,
        "touched": float(np.log1p(np.abs(small.astype(np.int16) - context)[rest].mean()))
        if rest.any()
        else 0.0,
    }


def _mean(plane: np.ndarray, where: BoolArray) -> float:
    return float(plane[where].mean()) if where.any() else 0.0


def _edge_map(pixels: Pixels) -> Plane:
    gray = cv2.GaussianBlur(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32), (0, 0), 1)
    edges = cv2.magnitude(cv2.Sobel(gray, cv2.CV_32F, 1, 0), cv2.Sobel(gray, cv2.CV_32F, 0, 1))
    return np.asarray(edges / max(float(np.percentile(edges, 98)), 1e-3))


def _structure(one: np.ndarray, two: np.ndarray) -> float:
    """Return the mean local correlation of lightness, the structure term of SSIM (Wang et al., TIP
    2004).
    """
    size = (9, 9)
    means = cv2.blur(one, size), cv2.blur(two, size)
    covariance = cv2.blur(one * two, size) - means[0] * means[1]
    variances = [
        np.maximum(cv2.blur(p * p, size) - m * m, 0) for p, m in zip((one, two), means, strict=True)
    ]
    return float(((covariance + 1) / (np.sqrt(variances[0] * variances[1]) + 1)).mean())


def _flat_noise(gray: Plane, smooth: Plane) -> float:
    """Return the log of the mean difference from the smoothed image, in the flatter half of the
    image.
    """
    slope = cv2.magnitude(cv2.Sobel(smooth, cv2.CV_32F, 1, 0), cv2.Sobel(smooth, cv2.CV_32F, 0, 1))
    flat = slope <= np.partition(slope.ravel()[::4], slope.size // 8)[slope.size // 8]
    return float(np.log1p(np.abs(gray - smooth)[flat].mean())) if flat.any() else 0.0


def _blockiness(gray: np.ndarray) -> float:
    """Return the log ratio of the steps across an 8-pixel grid to the steps elsewhere (after Wang
    et al., ICIP 2000).
    """
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
