"""Faults of restored images: the regions where the difference from the clean image is
largest, and the error that it looks like. Errors made on purpose are in ``errors.py``.
"""

from collections.abc import Callable, Collection, Iterator
from functools import cache, lru_cache, partial
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from visualjudge.core.records import Fault, FloatArray, IntArray, Pixels
from visualjudge.vision.images.record import WholeImage
from visualjudge.vision.images.score import PIXELS_AT_ONCE, pixels_of_pair
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
# Values of a clean image (5 megapixels) beyond which its changed ones are made each time
# they are used, not kept.
MOST_KEPT = 16_000_000


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

    Raises
    ------
    DataError
        If the images differ in size.
    """
    predicted, real = pixels_of_pair(prediction, truth)
    error = np.subtract(predicted, real, dtype=np.int16)
    size = np.abs(error).sum(axis=2, dtype=np.int16) / 3
    regions = [
        (box, np.flatnonzero(part))
        for box, part in worst_regions(
            size, np.ones(size.shape, dtype=np.bool_), LEAST
        )
    ]
    kinds = [
        max(
            (EXPLAINED, "noise"),
            (_recoloured(error, real, place), "colour_shift"),
        )
        for _, place in regions
    ]
    changes = [*_changes(truth)]
    if input_image is not None:
        changes.append(
            (
                "residual",
                partial(
                    cv2.resize,
                    input_image,
                    real.shape[1::-1],
                    interpolation=cv2.INTER_CUBIC,
                ),
            )
        )
    for name, changed in changes if regions else ():
        change = np.subtract(changed(), real, dtype=np.int16)
        kinds = [
            max(kind, (_share(error, change, place), name))
            for kind, (_, place) in zip(kinds, regions, strict=True)
        ]
    for (box, place), (_, kind) in zip(regions, kinds, strict=True):
        weight = np.minimum(size.ravel()[place] / LARGEST, 1).sum() / size.size
        yield Fault(kind, box, float(weight))


@lru_cache(
    maxsize=1
)  # controlled errors of an image are compared with the same
def _changes(truth: WholeImage) -> list[tuple[str, Callable[[], Any]]]:
    """Return what makes the clean image with each error, in 8 bits as a restored image
    is; of large images, one at a time is in memory."""
    real = truth.pixels
    keep = cache if real.size <= MOST_KEPT else partial
    return [
        *(
            ("blocking", keep(partial(through_jpeg, real, quality)))
            for quality in QUALITIES
        ),
        *(
            (
                "oversmoothing",
                keep(
                    partial(
                        cv2.GaussianBlur,
                        real,
                        (0, 0),
                        share * max(real.shape) + 0.3,
                    )
                ),
            )
            for share in SIGMAS
        ),
    ]


def _share(error: NDArray[Any], change: NDArray[Any], place: IntArray) -> float:
    """Return the share r² of the difference that a change explains."""
    _, _, squares, products, changes = map(
        float, _sums(error, change, place).sum(axis=1)
    )
    return max(0.0, products) ** 2 / max(squares * changes, 1e-9)


def _recoloured(error: NDArray[Any], real: Pixels, place: IntArray) -> float:
    """Return the share of the difference that an affine change of each channel
    explains."""
    errors, lights, squares, products, light_squares = _sums(error, real, place)
    covered = products - errors * lights / place.size
    spread = light_squares - lights**2 / place.size
    left = squares - errors**2 / place.size - covered**2 / (spread + 1e-9)
    return 1 - float(left.sum()) / max(float(squares.sum()), 1e-9)


def _sums(
    first: NDArray[Any], second: NDArray[Any], place: IntArray
) -> FloatArray:
    """Return the sums of the colours of pixels, by their numbers, in each image, of
    their squares and products, 5×3: first, second, first², first·second, second².
    """
    total = np.zeros((5, 3))
    # some at a time, as each needs 100 bytes; whole numbers, so exact in any order
    for part in np.array_split(place, 1 + place.size // PIXELS_AT_ONCE):
        a, b = (
            np.ascontiguousarray(image.reshape(-1, 3)[part].T, np.float64)
            for image in (first, second)
        )
        total += [
            a.sum(axis=1),
            b.sum(axis=1),
            *(np.einsum("cp,cp->c", x, y) for x, y in ((a, a), (a, b), (b, b))),
        ]
    return total
