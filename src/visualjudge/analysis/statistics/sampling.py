"""Sampling without replacement with equal probabilities.

Source: Madow 1949 (systematic sampling).
"""

import numpy as np

from visualjudge.core.records import IntArray


def draw(
    size: int, many: int, rng: np.random.Generator, strata: IntArray
) -> IntArray:
    """Return ``many`` of ``size`` indices, each with the probability ``many / size``.

    Items are ordered at random within their stratum, and strata follow one another, so
    each stratum gets its expected number to within one.
    """
    order = np.lexsort((rng.random(size), strata))
    places = (np.arange(many) + rng.random()) * size / many
    return np.sort(order[np.minimum(places.astype(np.int64), size - 1)])
