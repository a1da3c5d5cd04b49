"""Images by their pixels: digests, thumbnails, near duplicates."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK, FloatArray, Pixels, Question
from visualjudge.dataset.folder import Dataset
from visualjudge.prompts.spans import spans_of
from visualjudge.vision.raster.images import read_rgb

SIDE = 32
CORRELATED = 0.99
ALIKE = 3.0
"""Images count as the same if their thumbnails correlate so much, whatever their
brightness; of images without contrast, if their mean levels of 0..255 differ by no
more.
"""
_BLOCK = 512
Tick = Callable[[int, int], None]


@dataclass(frozen=True, eq=False, slots=True)
class Look:
    """The SHA-256 of an image's pixels, and its average over 32×32×3."""

    digest: str
    thumbnail: FloatArray


def looks(
    dataset: Dataset, names: Iterable[str], tick: Tick
) -> dict[str, Look]:
    """Return the look of each image that can be read, by path."""
    collected = {}
    paths = list(dict.fromkeys(names))
    for done, name in enumerate(paths, 1):
        try:
            pixels = read_rgb(dataset.image(name))
        except DataError:  # validation names it
            continue
        size = f"{pixels.shape[1]}x{pixels.shape[0]}".encode()
        collected[name] = Look(
            hashlib.sha256(size + pixels.tobytes()).hexdigest(),
            thumbnail(pixels),
        )
        tick(done, len(paths))
    return collected


def thumbnail(pixels: Pixels) -> FloatArray:
    """Average the image to 32×32×3."""
    small = cv2.resize(pixels, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    return np.asarray(small, dtype=np.float64)


def near(thumbnails: Sequence[FloatArray]) -> Iterator[tuple[int, int]]:
    """Yield the indices (the lower first) of thumbnails that show nearly the same
    image."""
    rows = (
        np.stack(thumbnails).reshape(len(thumbnails), -1)
        if thumbnails
        else np.zeros((0, 1))
    )
    level = rows.mean(1)
    centred = rows - level[:, None]
    length = np.linalg.norm(centred, axis=1)
    flat = length < np.sqrt(rows.shape[1])
    units = np.where(
        flat[:, None], 0.0, centred / np.where(flat, 1.0, length)[:, None]
    )
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, start + _BLOCK)
        even = (
            flat[block, None]
            & flat
            & (np.abs(level[block, None] - level) <= ALIKE)
        )
        for i, j in np.argwhere((units[block] @ units.T >= CORRELATED) | even):
            if start + i < j:
                yield start + int(i), int(j)


def original(question: Question) -> str | None:
    """Return the file of the image that a question is about; None if it shows only
    options."""
    try:
        spans = spans_of(question)
    except DataError:
        return None
    first = question.prompt.find(IMAGE_MARK)
    inside = any(start <= first < end for start, end in spans.options)
    return (
        question.images[0]
        if first >= 0 and not inside and question.images
        else None
    )
