"""Errors of restored images that are made on purpose, at rising severity. What is wrong
in a *given* image is measured in ``faults.py``.
"""

import cv2
import numpy as np

from visualjudge.vision.errors.levels import ErrorScene, Perturbation, Rng
from visualjudge.vision.errors.random_fields import smooth_field
from visualjudge.vision.images.record import WholeImage
from visualjudge.vision.raster.images import through_jpeg, to_uint8


def degraded_given(_truth: WholeImage, scene: ErrorScene) -> bool:
    """Return whether there is a degraded input."""
    return scene.degraded is not None


def residual(
    truth: WholeImage, severity: float, scene: ErrorScene, _rng: Rng
) -> WholeImage:
    """Part of the degradation remains."""
    assert scene.degraded is not None, "it applies with a degraded input"
    height, width = truth.pixels.shape[:2]
    left = cv2.resize(
        scene.degraded, (width, height), interpolation=cv2.INTER_CUBIC
    )
    return WholeImage(
        to_uint8(truth.pixels * (1 - severity) + left * float(severity))
    )


def oversmoothing(
    truth: WholeImage, severity: float, _scene: ErrorScene, _rng: Rng
) -> WholeImage:
    """Texture is removed together with the degradation; edges are preserved at low
    severity."""
    return WholeImage(
        np.asarray(
            cv2.GaussianBlur(
                truth.pixels,
                (0, 0),
                0.006 * max(truth.pixels.shape) * severity + 0.3,
            ),
            dtype=np.uint8,
        )
    )


def pixel_noise(
    truth: WholeImage, severity: float, _scene: ErrorScene, rng: Rng
) -> WholeImage:
    """Gaussian noise with a standard deviation of up to 40 of 255."""
    return WholeImage(
        to_uint8(
            truth.pixels
            + 40 * severity * rng.standard_normal(truth.pixels.shape)
        )
    )


def colour_shift(
    truth: WholeImage, severity: float, _scene: ErrorScene, rng: Rng
) -> WholeImage:
    """One channel is increased, another is decreased, and the contrast is reduced."""
    direction = rng.permutation([1.0, 0.3, -1.0])
    return WholeImage(
        to_uint8(
            truth.pixels * (1 - 0.35 * severity)
            + 38 * severity * (direction + 0.5)
        )
    )


def blocking(
    truth: WholeImage, severity: float, _scene: ErrorScene, _rng: Rng
) -> WholeImage:
    """Block artefacts of strong JPEG compression, down to quality 8."""
    return WholeImage(through_jpeg(truth.pixels, round(40 - 32 * severity)))


# ------ matched errors; see :mod:`visualjudge.vision.errors.matched`

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
    rows, cols = (
        places.astype(np.float32) for places in np.ogrid[:height, :width]
    )
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
