"""Bradley–Terry strengths from many verdicts and few labels.

The likelihood's gradient is linear in the outcome of a comparison, so PPI++ replaces each outcome
by λ f + (label) · (y − λ f)/π: unbiased for the people's answers whatever the judge does.

Sources: Bradley & Terry 1952; Angelopoulos, Duchi & Zrnic 2023 (generalised linear models); White
1982 (sandwich).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from visualjudge.analysis.statistics.argument_checks import cluster_codes
from visualjudge.core.records import BoolArray, FloatArray, IntArray

STEPS = 100
ROUNDING = 1e-10
"""Share of the largest eigenvalue below which an eigenvalue counts as 0."""
FARTHEST = 12.0
"""Limit of log strengths: beyond it the odds ratio is implausible, and there is no finite maximum.
"""


@dataclass(frozen=True, eq=False)
class Strengths:
    """Log strengths ``values`` (S,) and their ``covariance`` (S, S), clustered by image.

    The mean is 0 over systems that are compared, directly or through others. A value is NaN for a
    system without comparisons, or whose strength the comparisons do not bound.
    """

    values: FloatArray
    covariance: FloatArray


def powered_strengths(
    outcome: ArrayLike, first: ArrayLike, second: ArrayLike, clusters: ArrayLike, systems: int
) -> Strengths:
    """Fit (R,) corrected outcomes of ``first`` against ``second``; outcomes may lie outside 0..1.

    A system that the comparisons do not bound is left out with its comparisons: its strength is
    infinite, and a comparison with it does not inform the other strengths.
    """
    won = np.asarray(outcome, float)
    one, other = np.asarray(first, np.int64), np.asarray(second, np.int64)
    images = (
        cluster_codes("clusters", clusters, won.size) if won.size else np.zeros(0, dtype=np.int64)
    )
    values, covariance = np.full(systems, np.nan), np.full((systems, systems), np.nan)
    left = np.ones(systems, dtype=bool)
    while (kept := left[one] & left[other]).any():
        for member in _compared(one[kept], other[kept], systems):
            rows = kept & member[one]
            theta, bounded = _newton(won[rows], one[rows], other[rows], systems)
            if not bounded:
                left[np.argmax(np.where(member, np.abs(theta), -1.0))] = False
                break
            values[member] = theta[member] - theta[member].mean()
            own = _covariance(theta, won[rows], (one[rows], other[rows]), images[rows])
            covariance[np.ix_(member, member)] = own[np.ix_(member, member)]
        else:
            break
    return Strengths(np.where(left, values, np.nan), covariance)


def _compared(one: IntArray, other: IntArray, systems: int) -> list[BoolArray]:
    """Return the systems (S,) of each set that is connected by comparisons."""
    from scipy import sparse
    from scipy.sparse import csgraph  # takes as long to import as NumPy

    links = sparse.coo_array((np.ones(one.size), (one, other)), shape=(systems, systems))
    count, labels = csgraph.connected_components(links, directed=False)
    sets = (labels == k for k in range(count))
    return [member for member in sets if member.sum() > 1]


def _covariance(
    theta: FloatArray, won: FloatArray, pairs: tuple[IntArray, IntArray], images: IntArray
) -> FloatArray:
    """Return White's covariance, with the sum of each image as one case."""
    one, other = pairs
    chance = expit(theta[one] - theta[other])
    inverse = _inverse(_information(chance, one, other, theta.size))
    places = np.unique(images, return_inverse=True)[1]
    sums = np.zeros((int(places.max()) + 1, theta.size))
    np.add.at(sums, (places, one), won - chance)
    np.add.at(sums, (places, other), chance - won)
    groups = sums.shape[0]
    return np.asarray(inverse @ (sums.T @ sums) @ inverse * groups / max(groups - 1, 1))


def _information(chance: FloatArray, one: IntArray, other: IntArray, systems: int) -> FloatArray:
    weight = chance * (1 - chance)
    out = np.zeros((systems, systems))
    for a, b, sign in ((one, one, 1), (other, other, 1), (one, other, -1), (other, one, -1)):
        np.add.at(out, (a, b), sign * weight)
    return out


def _inverse(information: FloatArray) -> FloatArray:
    """Return the pseudo-inverse without the common shift of all strengths, which no comparison
    determines: its eigenvalue is 0 up to rounding.
    """
    return np.asarray(np.linalg.pinv(information, rcond=ROUNDING, hermitian=True))


def _newton(
    won: FloatArray, one: IntArray, other: IntArray, systems: int
) -> tuple[FloatArray, bool]:
    """Return the log strengths where Newton's steps end, and whether that is a maximum; if not, the
    largest strength diverges.
    """
    theta = np.zeros(systems)
    for _ in range(STEPS):
        chance = expit(theta[one] - theta[other])
        gradient = np.bincount(one, won - chance, systems) - np.bincount(
            other, won - chance, systems
        )
        step = _inverse(_information(chance, one, other, systems)) @ gradient
        theta = theta + np.clip(step, -1, 1)
        if not np.isfinite(theta).all() or np.abs(theta).max() > FARTHEST:
            return np.nan_to_num(theta), False
        if np.abs(step).max() < 1e-9:
            return theta, True
    return theta, False
