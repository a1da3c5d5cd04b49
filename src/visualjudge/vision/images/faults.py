"""Faults of restored images: the regions where the difference from the clean image is
largest, and the error that it looks like.
"""

from collections.abc import Collection, Iterator

import cv2
import numpy as np

from visualjudge.core.records import Fault, FloatArray, Pixels
from visualjudge.vision.images.record import WholeImage
from visualjudge.vision.raster.images import through_jpeg
from visualjudge.vision.raster.regions import worst_regions

KINDS = {
    "residual": "some of the degradation remains",
    "oversmoothing": "texture is lost",
    "noise": "there is noise that was not there",
    "colour_shift": "colours or contrast are wrong",
    "blocking": "there are block artefacts of compression",
}
# Mean absolute difference of a region, in grey levels of 255, that counts as a fault.
LEAST = 2.0
# Difference from which a pixel weighs 1.
LARGEST = 64.0
# Share of the difference that a kind of error must explain; otherwise it is noise.
EXPLAINED = 0.4
QUALITIES = (
    8,
    10,
    12,
    14,
    17,
    20,
    24,
    32,
)
SIGMAS = (0.001, 0.003, 0.006)


def image_faults(
    prediction: WholeImage,
    truth: WholeImage,
    _labels: Collection[str] | None,
    input_image: Pixels | None,
) -> Iterator[Fault]:
    """Yield the regions of largest difference, with the kind that explains most of the
    difference there.

    A kind explains the share r² of a region's difference that its own error on the
    clean image, of the best size, does. A fault's weight is the mean over all pixels of
    its differences, each divided by 64 grey levels and at most 1. ``input_image`` is
    the degraded image; without it, ``residual`` is not seen.
    """
    predicted = prediction.pixels
    real = truth.pixels
    if predicted.shape != real.shape:
        return
    error = predicted.astype(np.float64) - real
    size = np.abs(error).mean(axis=2)
    changes = list(_changes(real, input_image))
    known = np.ones(size.shape, dtype=np.bool_)
    for box, part in worst_regions(size, known, LEAST):
        inside = error[part]
        shares = [
            (_share(inside, change[part]), name) for name, change in changes
        ]
        recoloured = _recoloured(inside, real[part]), "colour_shift"
        _, kind = max((EXPLAINED, "noise"), recoloured, *shares)
        weight = float(np.minimum(size[part] / LARGEST, 1).sum()) / size.size
        yield Fault(kind, box, weight)


def _changes(
    real: Pixels, input_image: Pixels | None
) -> Iterator[tuple[str, FloatArray]]:
    height, width = real.shape[:2]
    clean = real.astype(np.float64)
    for quality in QUALITIES:
        yield "blocking", through_jpeg(real, quality) - clean
    for share in SIGMAS:
        sigma = share * max(height, width) + 0.3
        yield "oversmoothing", cv2.GaussianBlur(clean, (0, 0), sigma) - clean
    if input_image is not None:
        left = cv2.resize(
            input_image,
            (width, height),
            interpolation=cv2.INTER_CUBIC,
        )
        yield "residual", left - clean


def _share(error: FloatArray, change: FloatArray) -> float:
    product = max(0.0, float((error * change).sum()))
    energy = float((error**2).sum() * (change**2).sum())
    return product**2 / max(energy, 1e-9)


def _recoloured(error: FloatArray, real: Pixels) -> float:
    """Return the share of the difference that an affine change of each channel
    explains."""
    light = real - real.mean(axis=0)
    slope = (error * light).sum(axis=0) / ((light**2).sum(axis=0) + 1e-9)
    left = error - error.mean(axis=0) - slope * light
    return 1 - float((left**2).sum()) / max(float((error**2).sum()), 1e-9)
