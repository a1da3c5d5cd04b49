"""All images of a dataset, each decoded once: a digest of its pixels and a thumbnail, or why it is
unreadable.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import cv2
import numpy as np

from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import Place
from visualjudge.core.records import FloatArray, Pixels
from visualjudge.dataset.folder import Dataset
from visualjudge.vision.raster.images import opened, read_rgb

SIDE = 32
SMALLEST = 16
"""Shorter side in pixels below which nobody can judge an image."""
ALIKE = 3.0
"""Maximum mean absolute difference of two thumbnails, in levels of 0..255, for images to count as
the same.
"""
CORRELATED, RELIGHTED = 0.99, 12.0
"""Minimum correlation of two thumbnails, and maximum difference in levels (before or after dimming
the brighter one), for images that also count as the same.
"""
MOST_GAIN = 1.3
"""Maximum brightness ratio that dimming compensates for."""
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class FileLook:
    """Properties of a file apart from its content: ``density`` in bytes per pixel, ``metadata`` in
    bytes of Exif, profiles and texts, and ``brightness``, the mean level, 0 to 255.
    """

    format: str
    pixels: int
    bytes: int
    metadata: int
    brightness: float

    @property
    def density(self) -> float:
        """Bytes per pixel."""
        return self.bytes / self.pixels


@dataclass(frozen=True, eq=False)
class ImageLook:
    """``thumbnail`` is 32×32×3 in levels of 0..255; ``problem`` says why an image cannot be
    judged.
    """

    digest: str | None
    thumbnail: FloatArray | None
    problem: str | None = None
    file: FileLook | None = None


def images(
    dataset: Dataset,
    tick: Callable[[int, int], None] = lambda done, total: None,
    only: Iterable[str] | None = None,
) -> dict[str, ImageLook]:
    """Return every image that a question names, by path; restricted to ``only`` if given."""
    asked = (name for question in dataset for name in question.images) if only is None else only
    names = list(dict.fromkeys(asked))
    found = {}
    for done, name in enumerate(names, 1):
        found[name] = _image(dataset, name)
        tick(done, len(names))
    return found


def _image(dataset: Dataset, name: str) -> ImageLook:
    try:
        place = dataset.image(name)
        pixels = read_rgb(place)
        file = _file(place, pixels)
    except DataError as error:
        return ImageLook(None, None, str(error).replace(f"{dataset.root}/", ""))
    height, width = pixels.shape[:2]
    small = f"is {width}×{height} pixels; its shorter side must be at least {SMALLEST}"
    digest = hashlib.sha256(f"{width}x{height}".encode() + pixels.tobytes()).hexdigest()
    problem = small if min(height, width) < SMALLEST else None
    return ImageLook(digest, thumbnail(pixels), problem, file)


def _file(place: Place, pixels: Pixels) -> FileLook:
    with opened(place) as image:
        # Profiles and Exif are bytes; texts of PNG are strings; other entries are settings.
        metadata = sum(len(v) for v in image.info.values() if isinstance(v, bytes | str))
        kind = str(image.format)
    count = pixels.shape[0] * pixels.shape[1]
    size = int(place.stat().st_size)
    return FileLook(kind, count, size, metadata, round(float(pixels.mean()), 1))


def thumbnail(pixels: Pixels) -> FloatArray:
    """Average the image to 32×32×3."""
    return np.asarray(
        cv2.resize(pixels, (SIDE, SIDE), interpolation=cv2.INTER_AREA), dtype=np.float64
    )


def near(first: list[FloatArray], second: list[FloatArray]) -> Iterable[tuple[int, int]]:
    """Yield the indices of thumbnails in ``first`` and ``second`` that show nearly the same
    image.
    """
    if not first or not second:
        return
    a, b = (np.stack(part).reshape(len(part), -1) for part in (first, second))
    units = [_unit(part) for part in (a, b)]
    for start in range(0, len(a), _BLOCK):
        block = slice(start, start + _BLOCK)
        like = units[0][block] @ units[1].T
        flat = np.abs(a[block].mean(1)[:, None] - b.mean(1)[None, :]) <= ALIKE
        for i, j in np.argwhere((like >= CORRELATED) | flat):
            gap = float(np.abs(a[start + i] - b[j]).mean())
            relit = like[i, j] >= CORRELATED and min(gap, _relit(a[start + i], b[j])) <= RELIGHTED
            if gap <= ALIKE or relit:
                yield start + int(i), int(j)


def _relit(one: FloatArray, other: FloatArray) -> float:
    """Return the mean difference after dimming the brighter image to the darker one."""
    darker, brighter = sorted((one, other), key=lambda values: float(values.mean()))
    gain = max(float(brighter.mean()) / max(float(darker.mean()), 1.0), 1.0)
    if gain > MOST_GAIN:
        return float("inf")
    return float(np.abs(np.minimum(darker * gain, 255.0) - brighter).mean())


def _unit(rows: FloatArray) -> FloatArray:
    """Normalise rows to mean 0 and length 1; a row without contrast is 0, and correlates with
    nothing.
    """
    centred = rows - rows.mean(1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    flat = length < np.sqrt(rows.shape[1])
    return np.asarray(np.where(flat, 0.0, centred / np.where(flat, 1.0, length)))
