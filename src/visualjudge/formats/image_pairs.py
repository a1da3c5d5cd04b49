"""Restored images with the degraded and the clean image. Images without a clean one are
in ``outputs.py``.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from visualjudge.core.errors import DataError, Problem
from visualjudge.core.records import Pixels
from visualjudge.formats.pairing import paired
from visualjudge.formats.samples import (
    Sample,
    Samples,
    check_type,
    other_size,
    warn_once,
)
from visualjudge.vision.predictions import WholeImage
from visualjudge.vision.raster.images import image_size, read_rgb, resized_rgb

# What may be wrong with the pixels of a restored image, H×W×3, if the clean one's are
# not so.
_DOUBTS: dict[str, Callable[[Pixels], bool]] = {
    "has no colours, and the clean image has; scores compare the colours": (
        lambda pixels: bool((np.ptp(pixels, axis=2) == 0).all())
    ),
    "is black: no value is above 1; multiply values from 0 to 1 by 255": (
        lambda pixels: bool(pixels.max() <= 1)
    ),
}


def image_pairs(
    task: str,
    images: str,
    gt: str,
    pred: str | None = None,
    *,
    resize_pred: bool = False,
) -> Samples:
    """Yield samples of images paired by name, scored against the clean ones.
    Restorations with scores of their own are a table of outputs.

    Without ``pred``, the clean image is its own prediction. Paths are arguments of
    :func:`~visualjudge.formats.pairing.files_by_key`.

    Parameters
    ----------
    images
        Degraded images: folder, file or pattern (with *; the text it matches pairs
        the files).
    gt
        Clean images: folder, file or pattern; as for --images.
    pred
        Restored images: folder, file or pattern; as for --images.
    """
    check_type(task, ("restoration",), "pairs of")

    def read(file: Path, _image: Path, _predicted: bool) -> WholeImage:
        return WholeImage(read_rgb(file))

    doubts: dict[str, list[str]] = {text: [] for text in _DOUBTS}
    for item in paired("image", images, gt, pred, read):
        if isinstance(item, Problem):
            yield item
            continue
        name, image, restored, clean, file = item
        try:
            fitted = _fitted(restored, clean, image, file, resize_pred)
        except DataError as error:
            yield Problem.of(error, image.name, image.stem)
            continue
        selected = file if fitted is restored else None
        for text, holds in _DOUBTS.items():
            if holds(restored.pixels) and not holds(clean.pixels):
                doubts[text].append(str(file))
        yield Sample(name, image, fitted, clean, file=selected)
    for text, files in doubts.items():
        warn_once("restored images", text, files)


def _fitted(
    restored: WholeImage,
    clean: WholeImage,
    image: Path,
    file: Path,
    resize: bool,
) -> WholeImage:
    """Return the restored image, which must have the clean one's size, or be resized to
    it."""
    size = restored.pixels.shape[:2]
    asked = clean.pixels.shape[:2]
    if size == asked:
        return restored
    if resize:
        return WholeImage(resized_rgb(restored.pixels, asked))
    if file.samefile(image):
        raise DataError(
            f"restored: {file.name} is the degraded image and does not match the clean "
            f"size, {asked[0]}×{asked[1]} (height×width); `pred` must name the "
            "restored images"
        )
    raise other_size(
        f"restored: {file.name}",
        size,
        asked,
        file,
        remedy=(
            "`gt` and `images` seem to be swapped"
            if image_size(image) == size
            else "`resize_pred` resizes restored images to the clean image's size"
        ),
    )
