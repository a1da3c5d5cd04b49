"""Matched errors of restored images; see :mod:`visualjudge.vision.errors.matched`."""

import cv2
import numpy as np

from visualjudge.vision.errors.levels import ErrorScene, Perturbation, Rng
from visualjudge.vision.errors.random_fields import smooth_field
from visualjudge.vision.images import errors
from visualjudge.vision.images.record import WholeImage

# Severity of the error that all options of a pair share.
MILD = 0.3
# Largest displacement, and the scale of its variation, as shares of the longer side.
REACH = 0.03
GRAIN = 0.15


def displaced(error: Perturbation, *, first: bool = False) -> Perturbation:
    """Return an error that displaces structures further as severity increases, and also
    applies ``error`` at a fixed severity.

    All options are equally sharp, noisy and coloured; only the given image shows where
    structures belong. ``error`` is applied last, so that its grain and blocks are the
    same in every option, or ``first`` if it shows structures.
    """

    def matched(
        truth: WholeImage, severity: float, scene: ErrorScene, rng: Rng
    ) -> WholeImage:
        if first:
            return _bent(error(truth, MILD, scene, rng), severity, rng)
        prediction: WholeImage = error(
            _bent(truth, severity, rng), MILD, scene, rng
        )
        return prediction

    return matched


def _bent(prediction: WholeImage, severity: float, rng: Rng) -> WholeImage:
    """Displace an image smoothly, except at the border."""
    height, width = prediction.pixels.shape[:2]
    rows, cols = np.mgrid[:height, :width].astype(np.float32)
    quiet = np.sin(np.pi * (rows + 0.5) / height) * np.sin(
        np.pi * (cols + 0.5) / width
    )
    step = np.float32(REACH * max(height, width) * severity) * np.sqrt(
        quiet
    ).astype(np.float32)
    down, right = (
        smooth_field((height, width), rng, grain=GRAIN).astype(np.float32)
        for _ in range(2)
    )
    drawn = cv2.remap(
        prediction.pixels,
        cols + step * right,
        rows + step * down,
        cv2.INTER_CUBIC,
        borderMode=cv2.BORDER_REFLECT,
    )
    return WholeImage(np.asarray(drawn, dtype=np.uint8))


residual = displaced(errors.residual, first=True)
oversmoothing, pixel_noise, colour_shift, blocking = (
    displaced(error)
    for error in (
        errors.oversmoothing,
        errors.pixel_noise,
        errors.colour_shift,
        errors.blocking,
    )
)
