"""Sums over each image's items of each system, and resamples of the images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from visualjudge.analysis.estimate import renumbered
from visualjudge.core.records import FloatArray, IntArray
from visualjudge.core.seeding import rng_for

DRAWS = 1000
CELLS = 60_000_000
MANY_IMAGES = 5_000
"""From this many images on, resamples are drawn by cheaper means of the same distribution; fewer
keep their random numbers, so that published figures stay.
"""


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over each image's items of each system, images × systems: judge, truth, a fair judge,
    and the number of items.
    """

    judged: FloatArray
    true: FloatArray
    fair: FloatArray
    count: FloatArray


def image_sums(
    judged: FloatArray,
    true: FloatArray,
    system: IntArray,
    image: IntArray,
    systems: int,
    *,
    fair: FloatArray | None = None,
) -> Sums:
    """Return sums of (R,) items; items without a judge's value are left out.

    ``fair`` is the value that a judge without favour would give each item (:func:`fair_judge`);
    None: the truth.
    """
    expected = true if fair is None else fair
    kept = np.isfinite(judged) & np.isfinite(true) & np.isfinite(expected)
    names, where = renumbered(image[kept])
    cells, size = where * systems + system[kept], names.size * systems

    def total(values: FloatArray) -> FloatArray:
        return np.asarray(
            np.bincount(cells, weights=values, minlength=size).reshape(names.size, systems),
            dtype=float,
        )

    parts = (judged[kept], true[kept], expected[kept], np.ones(int(kept.sum())))
    return Sums(*(total(part) for part in parts))


def resampled_images(images: int, systems: int, seed: int = 0, most: int = DRAWS) -> FloatArray:
    """Return how often each image is taken in each of at most ``most`` draws: draws × images.

    The first row takes each image once.
    """
    draws, rng = min(most, _draws(images, systems)), rng_for(seed, "systems", images)
    if images < MANY_IMAGES:
        drawn = rng.multinomial(images, np.full(images, 1 / images), size=draws)
        return np.vstack([np.ones((1, images)), drawn])
    out = np.ones((draws + 1, images))
    for row in out[1:]:
        row[:] = np.bincount(rng.integers(0, images, images), minlength=images)
    return out


def resampled_rows(sums: Sums, seed: int) -> tuple[Sums, FloatArray]:
    """Return sums of images, and how often each row is taken, as :func:`resampled_images`.

    Many images with few different sums, such as those of one question each, are counted together:
    a row then stands for all images equal to it, and the numbers drawn of it are multinomial too.
    ``fair`` of a row is that of any of them.
    """
    images, systems = sums.count.shape
    if images >= MANY_IMAGES:
        values = np.hstack([sums.judged, sums.true, sums.count])
        packed = values.view(f"V{values.itemsize * values.shape[1]}").ravel()
        _, first, size = np.unique(packed, return_index=True, return_counts=True)
        if first.size * 5 <= images:
            drawn = rng_for(seed, "systems", images).multinomial(
                images, size / images, size=_draws(first.size, systems)
            )
            tables = (sums.judged, sums.true, sums.fair, sums.count)
            return Sums(*(table[first] for table in tables)), np.vstack([size, drawn]).astype(float)
    return sums, resampled_images(images, systems, seed)


def _draws(rows: int, systems: int) -> int:
    return int(min(DRAWS, max(200, CELLS // (rows * systems * systems))))
