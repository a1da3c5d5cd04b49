"""Errors of restored images."""

import cv2
import numpy as np

from visualjudge.vision.errors.levels import ErrorScene, Rng
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
    sigma = 0.006 * max(truth.pixels.shape) * severity + 0.3
    return WholeImage(
        np.asarray(
            cv2.GaussianBlur(truth.pixels, (0, 0), sigma), dtype=np.uint8
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
