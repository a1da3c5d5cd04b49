"""Draws without replacement in which every item's probability is known, so that estimates can undo it.

Sources: Madow 1949 (systematic sampling with unequal probabilities); Zrnic & Candès 2024 (probabilities ∝ expected
error, mixed with a uniform share).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from visualjudge.analysis.statistics.arguments import share, vector
from visualjudge.core.errors import UsageError
from visualjudge.core.records import FloatArray, IntArray


def inclusion_probabilities(expected_error: ArrayLike, n: int, *, uniform: float = 0.5) -> FloatArray:
    """Probabilities (items,) that sum to ``n``: ``uniform`` of them equal, the rest ∝ ``expected_error``, none above 1.

    The equal share bounds the weights 1/π where the expected errors are wrong.

    Raises
    ------
    UsageError
        If ``n`` is below 1 or above the number of items, or an expected error is negative or not finite.
    """
    errors = vector("expected_error", expected_error, least=1)
    share("uniform", uniform)
    if errors.min() < 0:
        raise UsageError(f"expected_error must be at least 0, got {errors.min()}")
    if not 1 <= n <= errors.size:
        raise UsageError(f"n must be from 1 to {errors.size}, the number of items, got {n}")
    total, alike = errors.sum(), np.full(errors.size, 1 / errors.size)
    return _capped(uniform * alike + (1 - uniform) * (errors / total if total > 0 else alike), n)


def _capped(shape: FloatArray, n: int) -> FloatArray:
    """n · shape with what exceeds 1 spread over the others."""
    out = np.zeros(shape.size)
    certain = np.zeros(shape.size, dtype=bool)
    while True:
        free = ~certain
        left = n - int(certain.sum())
        out[free] = left * shape[free] / shape[free].sum() if free.any() and shape[free].sum() > 0 else 0.0
        out[certain] = 1.0
        above = free & (out > 1)
        if not above.any():
            return np.minimum(out, 1.0)
        certain |= above


def draw(probabilities: ArrayLike, rng: np.random.Generator, strata: ArrayLike | None = None) -> IntArray:
    """Indices drawn with exactly these probabilities, as many as they sum to.

    Items are ordered at random inside their stratum, and strata stand one after another, so that each stratum gets
    its expected number to within one.
    """
    chances = vector("probabilities", probabilities, least=1)
    groups = np.zeros(chances.size, int) if strata is None else np.unique(np.asarray(strata), return_inverse=True)[1]
    order = np.lexsort((rng.random(chances.size), groups))
    ends = np.cumsum(chances[order])
    points = np.arange(round(float(ends[-1]))) + rng.random()
    places = np.searchsorted(ends, points * (ends[-1] / max(round(float(ends[-1])), 1)), side="right")
    return np.sort(order[np.minimum(places, chances.size - 1)])
