"""Metrics of restoration: SSIM and PSNR relative to the clean image. Metrics as judges
are in ``judges/image_metric.py``.
"""

from collections.abc import Sequence

import cv2
import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import FloatArray, Pixels
from visualjudge.vision.images.record import WholeImage
from visualjudge.vision.raster.images import bands

# PSNR in decibels that counts as 0, and the range from there to 1.
PSNR_FLOOR = 15.0
PSNR_RANGE = 25.0
# Of SSIM's Gaussian window, in pixels; the window ends after 3.5 σ.
WINDOW_SIGMA = 1.5
WINDOW = 11
PIXELS_AT_ONCE = 1 << 18
# The range of video in 8 bits, how near to it values end, and the ratio of mean values
# of images in one light.
VIDEO, NEAR_VIDEO = (16, 235), 3
SAME_LIGHT = 0.8, 1.25
# Of the paper, for 8 bits.
C1 = (0.01 * 255) ** 2
C2 = (0.03 * 255) ** 2


def ssim(prediction: WholeImage, truth: WholeImage) -> float:
    """Return the structural similarity of a restored image to the clean one, 0..1.

    Gaussian window of σ 1.5, mean over channels, clipped (Wang et al. 2004, equations
    12 and 13); scikit-image computes the same.

    Raises
    ------
    DataError
        If the images differ in size, or are too small for the window (11 pixels).
    """
    predicted, real = pixels_of_pair(prediction, truth)
    height, width = real.shape[:2]
    if min(height, width) < WINDOW:
        raise DataError(
            f"image: must be at least 11×11 for SSIM, got {height}×{width} "
            "(height×width)"
        )
    inside = height - WINDOW + 1, width - WINDOW + 1
    windows = [
        slice(part.start, part.stop + WINDOW - 1)
        for part in bands(inside, PIXELS_AT_ONCE)
    ]
    total = sum(
        _similarities(predicted[rows], real[rows]).sum() for rows in windows
    )
    return float(np.clip(total / (3 * inside[0] * inside[1]), 0, 1))


def _similarities(predicted: Pixels, real: Pixels) -> FloatArray:
    """Return the similarity of each window that lies inside the images, by channel."""
    x = real.astype(np.float64)
    y = predicted.astype(np.float64)
    mean_x = _local_mean(x)
    mean_y = _local_mean(y)
    light = 2 * mean_x * mean_y
    lights = mean_x**2 + mean_y**2
    contrast = 2 * _local_mean(x * y) - light
    contrasts = _local_mean(x * x) + _local_mean(y * y) - lights
    return np.asarray(
        (light + C1) * (contrast + C2) / ((lights + C1) * (contrasts + C2))
    )


def _local_mean(values: FloatArray) -> FloatArray:
    """Return the mean in each window that lies inside the image."""
    means = cv2.GaussianBlur(values, (WINDOW, WINDOW), WINDOW_SIGMA)
    inside = slice(WINDOW // 2, -(WINDOW // 2))
    return np.asarray(means[inside, inside])


def psnr(prediction: WholeImage, truth: WholeImage) -> float:
    """Return the peak signal-to-noise ratio of a restored image and the clean one as
    (PSNR − 15) / 25, clipped to 0..1.

    Identical images give 1.

    Raises
    ------
    DataError
        If the images differ in size.
    """
    predicted, real = pixels_of_pair(prediction, truth)
    return (
        1.0
        if np.array_equal(predicted, real)
        else float(
            np.clip((decibels(predicted, real) - PSNR_FLOOR) / PSNR_RANGE, 0, 1)
        )
    )


def light_note(
    pairs: Sequence[tuple[WholeImage, WholeImage]], _options: object
) -> tuple[str, ...]:
    """Return the values of both sides if restored images are much darker or lighter
    than the clean ones, as in linear light, or keep to the range of video."""
    values = np.array(
        [
            [[x.min(), x.max(), x.mean()] for x in (ours.pixels, real.pixels)]
            for ours, real in pairs
        ],
        np.float64,
    ).reshape(-1, 2, 3)
    low = values[:, :, 0].min(axis=0, initial=255)
    high = values[:, :, 1].max(axis=0, initial=0)
    mean = values[:, :, 2].sum(axis=0) / max(len(pairs), 1)
    limited = (
        abs(low[0] - VIDEO[0]) <= NEAR_VIDEO
        and abs(high[0] - VIDEO[1]) <= NEAR_VIDEO
        and high[1] - low[1] > high[0] - low[0]
    )
    if SAME_LIGHT[0] <= (mean[0] + 1) / (mean[1] + 1) <= SAME_LIGHT[1] and (
        not limited
    ):
        return ()
    told = [
        f"from {low[k]:g} to {high[k]:g}, {mean[k]:.0f} in the mean"
        for k in range(2)
    ]
    return (
        f"the restored images have values {told[0]}, the clean ones {told[1]}; are both "
        "in the full range (0 to 255, not 16 to 235) and in the same light (sRGB, not "
        "linear)?",
    )


def decibels(image: Pixels, reference: Pixels) -> float:
    """Return the PSNR of two images that differ, in dB."""
    return float(
        20 * np.log10(255)
        - 10 * np.log10(np.mean((image.astype(np.float64) - reference) ** 2))
    )


def pixels_of_pair(
    prediction: WholeImage, truth: WholeImage
) -> tuple[Pixels, Pixels]:
    """Return the pixels of two images; raise a DataError if they differ in size."""
    predicted = prediction.pixels
    real = truth.pixels
    if predicted.shape != real.shape:
        raise DataError(
            f"image: must match the clean image size {real.shape[:2]} (height, width), "
            f"got {predicted.shape[:2]}"
        )
    return predicted, real
