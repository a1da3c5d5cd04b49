"""Metrics of restoration: SSIM and PSNR relative to the clean image."""

import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import Pixels
from visualjudge.vision.images.record import WholeImage

# PSNR in decibels that counts as 0, and the range from there to 1.
PSNR_FLOOR = 15.0
PSNR_RANGE = 25.0
# Of SSIM's Gaussian window, in pixels.
WINDOW_SIGMA = 1.5


def ssim(prediction: WholeImage, truth: WholeImage) -> float:
    """Return the structural similarity of a restored image to the clean one, 0..1.

    Gaussian window of σ 1.5, mean over channels, clipped (Wang et al. 2004, as
    scikit-image computes it).

    Raises
    ------
    DataError
        If the images differ in size, or are too small for the window (11 pixels).
    """
    from skimage.metrics import (
        structural_similarity,
    )  # slow: it loads scipy.stats

    predicted, real = _pair(prediction, truth)
    try:
        value = structural_similarity(
            real,
            predicted,
            gaussian_weights=True,
            sigma=WINDOW_SIGMA,
            use_sample_covariance=False,
            data_range=255,
            channel_axis=2,
        )
    except ValueError:
        height, width = real.shape[:2]
        raise DataError(
            f"image: must be at least 11×11 for SSIM, got {height}×{width} "
            "(height×width)"
        ) from None
    return float(np.clip(value, 0, 1))


def psnr(prediction: WholeImage, truth: WholeImage) -> float:
    """Return the peak signal-to-noise ratio of a restored image and the clean one as
    (PSNR − 15) / 25, clipped to 0..1.

    Identical images give 1.

    Raises
    ------
    DataError
        If the images differ in size.
    """
    from skimage.metrics import peak_signal_noise_ratio

    predicted, real = _pair(prediction, truth)
    if np.array_equal(predicted, real):
        return 1.0
    decibels = float(peak_signal_noise_ratio(real, predicted, data_range=255))
    return float(np.clip((decibels - PSNR_FLOOR) / PSNR_RANGE, 0, 1))


def ssim_note(_pairs: object, _options: object) -> tuple[str]:
    """Return how the score is made."""
    return (
        "SSIM of RGB in 8 bits, mean over channels (σ 1.5); it is the same if restored "
        "and clean images are exchanged",
    )


def psnr_note(_pairs: object, _options: object) -> tuple[str]:
    """Return how the score is made."""
    return (
        "PSNR of RGB in 8 bits; 15 dB is 0, 40 dB is 10; it is the same if restored and "
        "clean images are exchanged",
    )


def _pair(prediction: WholeImage, truth: WholeImage) -> tuple[Pixels, Pixels]:
    predicted = prediction.pixels
    real = truth.pixels
    if predicted.shape != real.shape:
        raise DataError(
            f"image: must match the clean image size {real.shape[:2]} (height, width), "
            f"got {predicted.shape[:2]}"
        )
    return predicted, real
