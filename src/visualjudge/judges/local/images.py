"""Features of restored and generated images: noise, blocks, sharpness, colour, and agreement with what was given."""

from __future__ import annotations

import cv2
import numpy as np

from visualjudge.judges.local.view import lab_of, shrunk
from visualjudge.judges.sharpness import edge_strength, noise_sigma
from visualjudge.records import BoolArray, Pixels

Features = dict[str, float]
BLOCK = 8
FINE = 384
SMALL = (192, 192)


def quality_features(pixels: Pixels) -> Features:
    """Features of an H×W×3 uint8 image alone; fine structure is measured at its middle, pixel by pixel."""
    middle = _middle(pixels)
    gray = cv2.cvtColor(middle, cv2.COLOR_RGB2GRAY).astype(np.float32)
    fine, coarse = noise_sigma(gray), edge_strength(cv2.GaussianBlur(gray, (0, 0), 2.0))
    lab = lab_of(shrunk(pixels, 128))
    return {
        "noise": float(np.log1p(fine)),
        "sharp": float(np.log(edge_strength(gray) + 0.5)),
        "structure": float(np.log(coarse + 0.5)),
        "blocks": _blockiness(gray),
        "colourful": float(lab[..., 1:].std()) / 20,
        "tint": float(np.linalg.norm(lab[..., 1:].mean(axis=(0, 1)))) / 20,
        "clipped": float(((middle < 3) | (middle > 252)).mean()),
        "light": float(lab[..., 0].mean()) / 50,
        "range": float(lab[..., 0].std()) / 20,
    }


def restored_features(output: Pixels, given: Pixels) -> Features:
    """Features of a restored H×W×3 uint8 image and its degraded input, of the same or of a smaller size."""
    return quality_features(output) | agreement(output, given)


def _middle(pixels: Pixels) -> Pixels:
    """The middle of an image, at most ``FINE`` pixels wide and high, cut on the grid of 8-pixel blocks."""
    top, left = (max(0, (n - FINE) // 2) // BLOCK * BLOCK for n in pixels.shape[:2])
    return np.ascontiguousarray(pixels[top : top + FINE, left : left + FINE])


def agreement(output: Pixels, given: Pixels) -> Features:
    """How an output agrees with a given image of the same scene, fine and coarse, in light and in colour."""
    one, two = (lab_of(cv2.resize(p, SMALL, interpolation=cv2.INTER_AREA)) for p in (output, given))
    blur = [cv2.GaussianBlur(p, (0, 0), 4) for p in (one, two)]
    difference = np.linalg.norm(one - two, axis=2)
    return {
        "change": float(np.log1p(difference.mean())),
        "coarse_change": float(np.log1p(np.linalg.norm(blur[0] - blur[1], axis=2).mean())),
        "colour_change": float(np.log1p(np.linalg.norm(blur[0][..., 1:] - blur[1][..., 1:], axis=2).mean())),
        "same_structure": _structure(one[..., 0], two[..., 0]),
    }


def controlled_features(output: Pixels, control: Pixels) -> Features:
    """How far an output's edges follow those of the control image (edges, a pose, a depth map or a sketch)."""
    one, two = (cv2.resize(p, SMALL, interpolation=cv2.INTER_AREA) for p in (output, control))
    edges = [_edge_map(p) for p in (one, two)]
    near = cv2.GaussianBlur(edges[0], (0, 0), 1.5), cv2.GaussianBlur(edges[1], (0, 0), 1.5)
    return {
        "follows": _correlate(*near),
        "recalled": float((edges[1] * near[0]).sum() / max(float(edges[1].sum()), 1e-6)),
    }


def filled_features(output: Pixels, shown: Pixels, hole: BoolArray) -> Features:
    """How an inpainted region fits: seam, texture and colour against its surroundings; the rest left as it was."""
    small = shrunk(output, 256)
    height, width = small.shape[:2]
    inside = cv2.resize(hole.view(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)
    kernel = np.ones((9, 9), np.uint8)
    ring = (cv2.dilate(inside, kernel) > 0) & (inside == 0)
    within = (inside > 0) & (cv2.erode(inside, kernel) == 0)
    lab, edges = lab_of(small), _edge_map(small)
    seam = (cv2.dilate(inside, None) - cv2.erode(inside, None)) > 0
    rest = inside == 0
    context = lab_of(cv2.resize(shown, (width, height), interpolation=cv2.INTER_AREA))
    return {
        "seam": _mean(edges, seam) - 0.5 * (_mean(edges, within) + _mean(edges, ring)),
        "texture": abs(np.log((_mean(edges, inside > 0) + 0.02) / (_mean(edges, rest) + 0.02))),
        "texture_inside": _mean(edges, inside > 0),
        "colour": float(np.linalg.norm(lab[within].mean(axis=0) - lab[ring].mean(axis=0))) / 20 if ring.any() else 0.0,
        "touched": float(np.log1p(np.linalg.norm(lab - context, axis=2)[rest].mean())) if rest.any() else 0.0,
    }


def _mean(plane: np.ndarray, where: BoolArray) -> float:
    return float(plane[where].mean()) if where.any() else 0.0


def _edge_map(pixels: Pixels) -> np.ndarray:
    gray = cv2.GaussianBlur(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32), (0, 0), 1)
    edges = np.hypot(cv2.Sobel(gray, cv2.CV_32F, 1, 0), cv2.Sobel(gray, cv2.CV_32F, 0, 1))
    return np.asarray(edges / max(float(np.percentile(edges, 98)), 1e-3))


def _correlate(one: np.ndarray, two: np.ndarray) -> float:
    one, two = one - one.mean(), two - two.mean()
    return float((one * two).mean() / max(float(one.std() * two.std()), 1e-6))


def _structure(one: np.ndarray, two: np.ndarray) -> float:
    """Mean local correlation of lightness, the structure term of SSIM (Wang et al., TIP 2004)."""
    size = (11, 11)
    means = cv2.blur(one, size), cv2.blur(two, size)
    covariance = cv2.blur(one * two, size) - means[0] * means[1]
    variances = [np.maximum(cv2.blur(p * p, size) - m * m, 0) for p, m in zip((one, two), means, strict=True)]
    return float(((covariance + 1) / (np.sqrt(variances[0] * variances[1]) + 1)).mean())


def _blockiness(gray: np.ndarray) -> float:
    """Log ratio of the steps across an 8-pixel grid to the steps elsewhere (after Wang et al., ICIP 2000)."""
    ratios = []
    for axis in (0, 1):
        steps = np.abs(np.diff(gray, axis=axis)).mean(axis=1 - axis)
        at = np.arange(steps.size) % BLOCK == BLOCK - 1
        ratios.append(np.log((steps[at].mean() + 0.1) / (steps[~at].mean() + 0.1)) if at.any() and (~at).any() else 0.0)
    return float(np.mean(ratios))
