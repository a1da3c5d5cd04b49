"""Restored images with the degraded and the clean image."""

from pathlib import Path

import numpy as np

from visualjudge.core.errors import DataError, Problem
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
        Degraded images: folder, file or pattern (one *; the text it matches pairs
        the files).
    gt
        Clean images: folder, file or pattern; as for --images.
    pred
        Restored images: folder, file or pattern; as for --images.
    """
    check_type(task, ("restoration",), "pairs of")

    def read(file: Path, _image: Path, _predicted: bool) -> WholeImage:
        return WholeImage(read_rgb(file))

    grey: list[str] = []
    for item in paired("image", images, gt, pred, read):
        if isinstance(item, Problem):
            yield item
            continue
        image, restored, clean, file = item
        try:
            fitted = _fitted(restored, clean, image, file, resize_pred)
        except DataError as error:
            yield Problem.of(error, image.name, image.stem)
            continue
        selected = file if fitted is restored else None
        if _is_grey(restored) and not _is_grey(clean):
            grey.append(str(file))
        yield Sample(image.stem, image, fitted, clean, file=selected)
    warn_once(
        "restored images",
        "has no colours, and the clean image has; scores compare the colours",
        grey,
    )


def _is_grey(image: WholeImage) -> bool:
    return bool((np.ptp(image.pixels, axis=2) == 0).all())


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
    remedy = (
        "`gt` and `images` seem to be swapped"
        if image_size(image) == size
        else "`resize_pred` resizes restored images to the clean image's size"
    )
    raise other_size(f"restored: {file.name}", size, asked, file, remedy=remedy)
