"""Bradley–Terry strengths from many verdicts and few labels.

The likelihood's gradient is linear in the outcome of a comparison, so PPI++ replaces each outcome by
λ f + (label) · (y − λ f)/π: unbiased for what people would say, whatever the judge does.

Sources: Bradley & Terry 1952; Angelopoulos, Duchi & Zrnic 2023 (generalised linear models); White 1982 (sandwich).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from visualjudge.analysis.statistics.arguments import cluster_codes
from visualjudge.core.records import FloatArray, IntArray

STEPS = 100
ROUNDING = 1e-10
"""Eigenvalues below this part of the largest are 0."""
FARTHEST = 12.0
"""A log strength beyond this has left every sensible odds ratio: no finite maximum."""


@dataclass(frozen=True, eq=False)
class Strengths:
    """``values`` (S,) log strengths of mean 0, and their ``covariance`` (S, S), clustered by image."""

    values: FloatArray
    covariance: FloatArray


def powered_strengths(
    outcome: ArrayLike, first: ArrayLike, second: ArrayLike, clusters: ArrayLike, systems: int
) -> Strengths | None:
    """Fit (R,) corrected outcomes of ``first`` against ``second``; they may lie outside 0..1.

    None where the comparisons do not bound every strength.
    """
    won = np.asarray(outcome, float)
    one, other = np.asarray(first, np.int64), np.asarray(second, np.int64)
    images = cluster_codes("clusters", clusters, won.size)
    theta = _newton(won, one, other, systems)
    if theta is None:
        return None
    chance = expit(theta[one] - theta[other])
    inverse = _inverse(_information(chance, one, other, systems))
    sums = np.zeros((int(images.max()) + 1, systems))
    np.add.at(sums, (images, one), won - chance)
    np.add.at(sums, (images, other), chance - won)
    groups = sums.shape[0]
    covariance = inverse @ (sums.T @ sums) @ inverse * groups / max(groups - 1, 1)
    return Strengths(theta, np.asarray(covariance))


def _information(chance: FloatArray, one: IntArray, other: IntArray, systems: int) -> FloatArray:
    weight = chance * (1 - chance)
    out = np.zeros((systems, systems))
    for a, b, sign in ((one, one, 1), (other, other, 1), (one, other, -1), (other, one, -1)):
        np.add.at(out, (a, b), sign * weight)
    return out


def _inverse(information: FloatArray) -> FloatArray:
    """Across the shift of all strengths, which no comparison tells: its eigenvalue is 0 but for rounding."""
    return np.asarray(np.linalg.pinv(information, rcond=ROUNDING, hermitian=True))


def _newton(won: FloatArray, one: IntArray, other: IntArray, systems: int) -> FloatArray | None:
    theta = np.zeros(systems)
    for _ in range(STEPS):
        chance = expit(theta[one] - theta[other])
        gradient = np.bincount(one, won - chance, systems) - np.bincount(other, won - chance, systems)
        step = _inverse(_information(chance, one, other, systems)) @ gradient
        theta = theta + np.clip(step, -1, 1)
        if not np.isfinite(theta).all() or np.abs(theta).max() > FARTHEST:
            return None
        if np.abs(step).max() < 1e-9:
            return np.asarray(theta - theta.mean())
    return None
