"""Sampling without replacement with known probabilities, so that estimates can correct for it.

Sources: Madow 1949 (systematic sampling with unequal probabilities); Zrnic & Candès 2024
(probabilities ∝ expected error, mixed with a uniform share); Farquhar, Gal & Rainforth 2021, "On
statistical bias in active learning" (weights over several rounds).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from visualjudge.analysis.estimate import t_isf
from visualjudge.analysis.statistics.argument_checks import (
    cluster_codes,
    same_length,
    share,
    vector,
)
from visualjudge.core.errors import UsageError
from visualjudge.core.records import FloatArray, IntArray

LEAST_IMAGES = 10
"""Minimum number of images to estimate a gain."""


def inclusion_probabilities(
    expected_error: ArrayLike, n: int, *, uniform: float = 0.5
) -> FloatArray:
    """Return probabilities (items,) that sum to ``n``, none above 1: a share ``uniform`` is equal,
    the rest proportional to ``expected_error``.

    The equal share bounds the weights 1/π in case the expected errors are wrong.

    Raises
    ------
    UsageError
        If ``n`` is below 1 or above the number of items, or an expected error is negative or not
        finite.
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
    """Return n · shape, with any excess over 1 redistributed to the others."""
    out = np.zeros(shape.size)
    certain = np.zeros(shape.size, dtype=bool)
    while True:
        free = ~certain
        left = n - int(certain.sum())
        out[free] = (
            left * shape[free] / shape[free].sum() if free.any() and shape[free].sum() > 0 else 0.0
        )
        out[certain] = 1.0
        above = free & (out > 1)
        if not above.any():
            return np.minimum(out, 1.0)
        certain |= above


def draw(
    probabilities: ArrayLike, rng: np.random.Generator, strata: ArrayLike | None = None
) -> IntArray:
    """Return indices drawn with exactly these probabilities, as many as the probabilities sum to.

    Items are ordered at random within their stratum, and strata follow one another, so each stratum
    gets its expected number to within one.
    """
    chances = vector("probabilities", probabilities, least=1)
    groups = (
        np.zeros(chances.size, int)
        if strata is None
        else np.unique(np.asarray(strata), return_inverse=True)[1]
    )
    order = np.lexsort((rng.random(chances.size), groups))
    ends = np.cumsum(chances[order])
    points = np.arange(round(float(ends[-1]))) + rng.random()
    places = np.searchsorted(
        ends, points * (ends[-1] / max(round(float(ends[-1])), 1)), side="right"
    )
    return np.sort(order[np.minimum(places, chances.size - 1)])


def pooled_probabilities(
    probability: ArrayLike, rounds: ArrayLike, strata: ArrayLike, sizes: ArrayLike
) -> FloatArray:
    """Return the probability of each of n items over all rounds; the weights 1/π combine the rounds
    into one estimate.

    Each round estimates the total as the items drawn before, plus those drawn from the rest divided
    by their probability. The weights average these estimates, so rounds of a uniform draw have
    equal weights. A round may depend on the labels of earlier rounds.

    Parameters
    ----------
    probability
        (n,) probability with which each item was drawn in its round from the remaining items; NaN:
        equal within its stratum.
    rounds
        (n,) round of each item; lower numbers are earlier.
    strata
        (n,) numbers 0..K−1, within which items are compared.
    sizes
        (K,) items of each stratum, drawn and not drawn.

    Returns
    -------
    FloatArray
        (n,) above 0, at most 1, up to a common factor; equal to ``probability`` if there is one
        round.

    Raises
    ------
    UsageError
        If lengths differ, or a probability is outside 0..1.
    """
    chances, number, stratum = (
        np.asarray(probability, float),
        np.asarray(rounds),
        np.asarray(strata, np.int64),
    )
    same_length(probability=chances, rounds=number, strata=stratum)
    if not ((chances > 0) & (chances <= 1) | np.isnan(chances)).all():
        raise UsageError("probability must be above 0 and at most 1")
    total = np.asarray(sizes, float)
    left, expected, weight = total.copy(), np.zeros(total.size), np.zeros(chances.size)
    order = np.unique(number)
    if order.size == 1 and not np.isnan(chances).any():
        return chances
    for r in order:
        drawn = number == r
        own, held = stratum[drawn], np.bincount(stratum[drawn], minlength=total.size)
        alike = np.isnan(chances[drawn])
        inverse = 1 / np.where(alike, held[own] / left[own], chances[drawn])
        share_of = held if alike.any() else held.sum() * left / left.sum()
        if not alike.any() and order.size > 1:  # unlabelled rows are missing at random
            inverse *= left.sum() / inverse.sum()
        mixed = share_of * total / np.maximum((expected + share_of) * left, 1e-9)
        mixed = np.where(expected > 0, np.clip(mixed, 0, 1), 1.0)
        before = number < r
        weight[before] = (1 - mixed[stratum[before]]) * weight[before] + mixed[stratum[before]]
        weight[drawn] = mixed[own] * inverse
        left, expected = left - held, expected + share_of
    return np.asarray(np.minimum(weight.min(), 1.0) / weight)


@dataclass(frozen=True)
class Gain:
    """Gain of a design: ``value`` is the share of the variance of random drawing that it saves,
    ``error`` its standard error.

    ``shown`` says whether it is significantly above 0 (one-sided 5 %); ``items`` counts the items
    whose errors were used.
    """

    value: float
    error: float
    shown: bool
    items: int


def expected_gain(
    squares: ArrayLike,
    probability: ArrayLike,
    alike: ArrayLike,
    clusters: ArrayLike,
    weights: ArrayLike,
) -> Gain | None:
    """Return the gain of drawing with ``probability`` over drawing with ``alike``; None with errors
    on fewer than 10 images.

    The variance of a weighted mean is Σ e² (1/π − 1) over the items, where e is the error of each
    (Horvitz & Thompson 1952).

    Parameters
    ----------
    squares
        (R,) e² of items with a known error.
    probability, alike
        (R,) probabilities of the design, and of drawing at random.
    clusters, weights
        (R,) the image of each item, and how many items it stands for.
    """
    known = vector("squares", squares, least=1)
    chances, random = np.asarray(probability, float), np.asarray(alike, float)
    image = cluster_codes("clusters", clusters, known.size)
    images = int(image.max()) + 1
    scaled = known * np.asarray(weights, float)
    design, simple = (np.bincount(image, scaled * (1 / p - 1), images) for p in (chances, random))
    below = float(simple.sum())
    if images < LEAST_IMAGES or below <= 0:
        return None
    ratio = float(design.sum()) / below
    influence = (design - ratio * simple) / below
    error = float(np.sqrt((influence @ influence) * images / (images - 1)))
    shown = 1 - ratio > float(t_isf(0.05, images - 1)) * error
    return Gain(1 - ratio, error, shown and ratio < 1 - 1e-9, known.size)
