"""Sampling without replacement with known probabilities, so that estimates can correct for it.

Sources: Madow 1949 (systematic sampling); Farquhar, Gal & Rainforth 2021, "On
statistical bias in active learning" (weights over several rounds).
"""

from __future__ import annotations

import numpy as np

from visualjudge.core.records import FloatArray, IntArray


def draw(chances: FloatArray, rng: np.random.Generator, strata: IntArray) -> IntArray:
    """Return indices drawn with exactly these probabilities, as many as they sum to.

    Items are ordered at random within their stratum, and strata follow one another, so each stratum
    gets its expected number to within one.
    """
    order = np.lexsort((rng.random(chances.size), strata))
    ends = np.cumsum(chances[order])
    points = np.arange(round(float(ends[-1]))) + rng.random()
    places = np.searchsorted(
        ends, points * (ends[-1] / max(round(float(ends[-1])), 1)), side="right"
    )
    return np.sort(order[np.minimum(places, chances.size - 1)])


def pooled_probabilities(
    chances: FloatArray, number: IntArray, stratum: IntArray, sizes: IntArray
) -> FloatArray:
    """Return the probability of each of n items over all rounds; the weights 1/π combine the rounds
    into one estimate.

    Each round estimates the total as the items drawn before, plus those drawn from the rest divided
    by their probability. The weights average these estimates, so rounds of a uniform draw have
    equal weights. A round may depend on the labels of earlier rounds.

    Parameters
    ----------
    chances
        (n,) probability with which each item was drawn in its round from the remaining items; NaN:
        equal within its stratum.
    number
        (n,) round of each item; lower numbers are earlier.
    stratum
        (n,) numbers 0..K−1, within which items are compared.
    sizes
        (K,) items of each stratum, drawn and not drawn.

    Returns
    -------
    FloatArray
        (n,) above 0, at most 1, up to a common factor; equal to ``chances`` if there is one
        round.

    """
    total = sizes.astype(float)
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
