"""Images by their pixels: digests, thumbnails, near duplicates."""

from __future__ import annotations

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
ALIKE = 3.0
"""Maximum mean absolute difference of two thumbnails, in levels of 0..255, for images to count as
the same.
"""
CORRELATED, RELIGHTED, MOST_GAIN = 0.99, 12.0, 1.3
"""Images also count as the same if their thumbnails correlate, and differ by few levels, before or
after the brighter one is dimmed by at most this factor.
"""
_BLOCK = 512
Tick = Callable[[int, int], None]


@dataclass(frozen=True, eq=False, slots=True)
class Look:
    """The SHA-256 of an image's pixels, and its average over 32×32×3."""

    digest: str
    thumbnail: FloatArray


def looks(dataset: Dataset, names: Iterable[str], tick: Tick) -> dict[str, Look]:
    """Return the look of each image that can be read, by path."""
    found, paths = {}, list(dict.fromkeys(names))
    for done, name in enumerate(paths, 1):
        try:
            pixels = read_rgb(dataset.image(name))
        except DataError:  # validation names it
            continue
        size = f"{pixels.shape[1]}x{pixels.shape[0]}".encode()
        found[name] = Look(hashlib.sha256(size + pixels.tobytes()).hexdigest(), thumbnail(pixels))
        tick(done, len(paths))
    return found


def thumbnail(pixels: Pixels) -> FloatArray:
    """Average the image to 32×32×3."""
    small = cv2.resize(pixels, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    return np.asarray(small, dtype=np.float64)


def near(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> Iterator[tuple[int, int]]:
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


def original(question: Question) -> str | None:
    """Return the file of the image that a question is about; None if it shows only options."""
    try:
        spans = spans_of(question)
    except DataError:
        return None
    first = question.prompt.find(IMAGE_MARK)
    inside = any(start <= first < end for start, end in spans.options)
    return question.images[0] if first >= 0 and not inside and question.images else None
