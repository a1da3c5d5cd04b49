"""Which of two options is better, from raters who differ in how well they tell: by EM.

Bradley and Terry's model with a discrimination of each rater: P(rater r prefers the first option of
pair n) = 1/(1 + exp(−γ_r δ_n)), where δ_n is the difference of the strengths of its two options,
normal over pairs with variance 1. Discriminations maximise the marginal likelihood, less a weak
normal prior; δ is integrated out on a grid (Bock & Aitkin 1981, for γ alone; Chen et al. 2013, for
comparisons). A rater who guesses has γ = 0, one who prefers the worse option γ < 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from visualjudge.core.errors import UsageError
from visualjudge.core.records import FloatArray, IntArray

NODES = np.linspace(-5, 5, 100)
"""Differences at which the likelihood is summed; none is 0, half are above."""
LOG_PRIOR = -(NODES**2) / 2 - special.logsumexp(-(NODES**2) / 2)
STEPS, CLOSE = 500, 1e-8
PRECISION = 1 / 9
"""Of the prior on discriminations: raters who always agree have a finite one."""
NEWTON_STEPS = 8
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """``better`` (N,): the probability that the first option is the better one; ``strength`` (N,):
    the expected difference; ``discrimination`` (R,); ``on_grid`` (N, nodes): the posterior of the
    difference. ``log_likelihood`` is penalised.
    """

    better: FloatArray
    strength: FloatArray
    discrimination: FloatArray
    on_grid: FloatArray
    log_likelihood: float
    steps: int


def rated_pairs(
    labels: IntArray,
    *,
    weights: FloatArray | None = None,
    start: FloatArray | None = None,
    steps: int = STEPS,
) -> RatedPairs:
    """Fit (R, N) preferences: 1 the first option, 0 the second, −1 none given.

    Parameters
    ----------
    weights
        How often each pair counts, (N,); default: once.
    start
        First discriminations, (R,); default: 1.
    steps
        At most so many steps; it ends where no discrimination moves by 1e-8.

    Raises
    ------
    UsageError
        If there is no preference, or one is not 0, 1 or −1.
    """
    if not np.isin(labels, (-1, 0, 1)).all() or not (labels >= 0).any():
        raise UsageError("preferences must be 0, 1 or -1, and not all -1")
    count = np.ones(labels.shape[1]) if weights is None else np.asarray(weights, float)
    slope = np.ones(labels.shape[0]) if start is None else np.asarray(start, float)
    alike, place = np.unique(labels, axis=1, return_inverse=True)
    place, taken = place.ravel(), 0
    count = np.bincount(place, count).astype(float)
    for _ in range(steps):
        taken += 1
        on_grid, _ = _posterior(alike, slope)
        moved = np.array(
            [_slope(own, on_grid, count, old) for own, old in zip(alike, slope, strict=True)]
        )
        still = np.abs(moved - slope).max() < CLOSE
        slope = moved
        if still:
            break
    on_grid, each = _posterior(alike, slope)
    penalty = PRECISION / 2 * float(slope @ slope)
    return RatedPairs(
        on_grid[:, NODES > 0].sum(1)[place],
        (on_grid @ NODES)[place],
        slope,
        on_grid[place],
        float(count @ each) - penalty,
        taken,
    )


def discrimination(own: IntArray, on_grid: FloatArray) -> float:
    """Of one more rater with (N,) preferences, where the others leave the differences this
    posterior, (N, nodes).
    """
    before, slope = np.log(np.maximum(on_grid, TINY)), np.ones(1)
    for _ in range(STEPS):
        found, _ = _posterior(own[None], slope, before)
        moved = _slope(own, found, np.ones(own.size), float(slope[0]))
        still = abs(moved - slope[0]) < CLOSE
        slope = np.array([moved])
        if still:
            break
    return float(slope[0])


def _slope(own: IntArray, on_grid: FloatArray, weights: FloatArray, start: float) -> float:
    """The discrimination at which the expected likelihood is largest."""
    count = weights * (own >= 0)
    told, first = count @ on_grid, (count * (own == 1)) @ on_grid
    slope = start
    for _ in range(NEWTON_STEPS):
        p = special.expit(slope * NODES)
        gradient = NODES @ (first - told * p) - PRECISION * slope
        slope += float(gradient / ((NODES**2) @ (told * p * (1 - p)) + PRECISION))
    return slope


def _posterior(
    labels: IntArray, slope: FloatArray, before: FloatArray = LOG_PRIOR
) -> tuple[FloatArray, FloatArray]:
    """The posterior of each pair's difference, (N, nodes), and its log-likelihood, (N,)."""
    lines = slope[:, None] * NODES
    logs = (labels == 1).T @ special.log_expit(lines) + (labels == 0).T @ special.log_expit(-lines)
    logs = logs + before
    each = special.logsumexp(logs, axis=1)
    return np.exp(logs - each[:, None]), each
