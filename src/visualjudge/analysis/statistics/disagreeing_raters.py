"""Truth estimated from several raters who err and disagree, by EM: a class, or the better of two
options.

Classes are by Dawid and Skene's model: P(rater r says l | truth k) = confusion[r, k, l], P(truth k)
= prior[k]; raters err independently given the truth. EM starts from the share of raters who gave
each label, and maximises the likelihood. Source: Dawid & Skene 1979, "Maximum likelihood estimation
of observer error-rates using the EM algorithm".

The better of two options is estimated by Bradley and Terry's model with one discrimination γ per
rater: P(rater r prefers the first option of pair n) = 1/(1 + exp(−γ_r δ_n)), where δ_n, the
difference in strength of the two options, is normal over pairs with variance 1. Discriminations
maximise the marginal likelihood with a weak normal prior; δ is integrated out on a grid (Bock &
Aitkin 1981; Chen et al. 2013 for comparisons). A rater who guesses has γ = 0, and one who prefers
the worse option has γ < 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from visualjudge.core.errors import UsageError
from visualjudge.core.records import FloatArray, IntArray

STEPS, CLOSE = 1000, 1e-10
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """Fitted model: ``posterior`` (N, K) of each item's truth, ``prior`` (K,), ``confusion`` (R, K,
    K).

    Rows for classes that a rater never saw are uniform. ``log_likelihood`` is that of the last
    step.
    """

    posterior: FloatArray
    prior: FloatArray
    confusion: FloatArray
    log_likelihood: float
    steps: int

    @property
    def right(self) -> FloatArray:
        """Share of each rater's labels that equal the truth, (R,)."""
        return np.asarray(np.einsum("k,rkk->r", self.prior, self.confusion))


def majority(labels: IntArray, classes: int) -> FloatArray:
    """Return the share of each item's raters who gave each label, (N, K); uniform for items without
    labels.
    """
    votes = np.stack([(labels == k).sum(0) for k in range(classes)], axis=1).astype(float)
    total = votes.sum(1, keepdims=True)
    return np.asarray(np.where(total > 0, votes / np.maximum(total, 1), 1 / classes))


def dawid_skene(
    labels: IntArray,
    classes: int,
    *,
    weights: FloatArray | None = None,
    start: FloatArray | None = None,
    steps: int = STEPS,
) -> DawidSkene:
    """Fit (R, N) labels, 0 … ``classes`` − 1; −1 where a rater gave none.

    Parameters
    ----------
    weights
        How often each item counts, (N,); default: once.
    start
        Initial posterior, (N, K); default: :func:`majority`.
    steps
        Maximum number of steps; EM stops when no posterior changes by 1e-10.

    Raises
    ------
    UsageError
        If there is no label, or a label is not a class.
    """
    if not labels.size or (labels >= classes).any() or (labels < -1).any() or (labels < 0).all():
        raise UsageError(f"labels must be 0 to {classes - 1}, or -1, with at least one given")
    said = np.stack([labels == k for k in range(classes)], axis=2).astype(float)  # R × N × K
    count = np.ones(labels.shape[1]) if weights is None else np.asarray(weights, float)
    posterior = majority(labels, classes) if start is None else np.asarray(start, float)
    taken = 0
    for _ in range(steps):
        taken += 1
        prior, confusion = _raters(posterior * count[:, None], said)
        by_rater = said @ np.log(np.maximum(confusion, TINY)).transpose(0, 2, 1)
        logs = np.log(np.maximum(prior, TINY)) + by_rater.sum(0)
        top = logs.max(1, keepdims=True)
        each = np.exp(logs - top)
        total = each.sum(1, keepdims=True)
        moved = float(np.abs(each / total - posterior).max())
        posterior = each / total
        if moved < CLOSE:
            break
    likelihood = float((count * (np.log(total) + top)[:, 0]).sum())
    prior, confusion = _raters(posterior * count[:, None], said)
    return DawidSkene(posterior, prior, confusion, likelihood, taken)


def _raters(posterior: FloatArray, said: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the prior and the confusion matrices given a posterior."""
    met = posterior.T @ said
    total = met.sum(2, keepdims=True)
    confusion = np.where(total > 0, met / np.maximum(total, TINY), 1 / met.shape[2])
    return posterior.sum(0) / posterior.sum(), confusion


NODES = np.linspace(-5, 5, 100)
"""Differences over which the likelihood is summed; none is 0, and half are positive."""
LOG_PRIOR = -(NODES**2) / 2 - special.logsumexp(-(NODES**2) / 2)
PAIR_STEPS, PAIRS_CLOSE = 500, 1e-8
PRECISION = 1 / 9
"""Standard deviation of the prior on discriminations; it keeps those of raters who always agree
finite.
"""
NEWTON_STEPS = 8


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """Fitted model: ``better`` (N,) is the probability that the first option is better,
    ``strength`` (N,) the expected difference, ``discrimination`` (R,), and ``on_grid`` (N, nodes)
    the posterior of the difference. ``log_likelihood`` is penalised.
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
    steps: int = PAIR_STEPS,
) -> RatedPairs:
    """Fit (R, N) preferences: 1 for the first option, 0 for the second, −1 for none.

    Parameters
    ----------
    weights
        How often each pair counts, (N,); default: once.
    start
        Initial discriminations, (R,); default: 1.
    steps
        Maximum number of steps; EM stops when no discrimination changes by 1e-8.

    Raises
    ------
    UsageError
        If there is no preference, or one is not 0, 1 or −1.
    """
    if not np.isin(labels, (-1, 0, 1)).all() or not (labels >= 0).any():
        raise UsageError("preferences must be 0, 1 or -1, with at least one given")
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
        still = np.abs(moved - slope).max() < PAIRS_CLOSE
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
    """Return the discrimination of a further rater with (N,) preferences, given the posterior of
    the differences (N, nodes) by the other raters.
    """
    before, slope = np.log(np.maximum(on_grid, TINY)), np.ones(1)
    for _ in range(PAIR_STEPS):
        found, _ = _posterior(own[None], slope, before)
        moved = _slope(own, found, np.ones(own.size), float(slope[0]))
        still = abs(moved - slope[0]) < PAIRS_CLOSE
        slope = np.array([moved])
        if still:
            break
    return float(slope[0])


def _slope(own: IntArray, on_grid: FloatArray, weights: FloatArray, start: float) -> float:
    """Return the discrimination that maximises the expected likelihood."""
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
    """Return the posterior of each pair's difference, (N, nodes), and its log-likelihood, (N,)."""
    lines = slope[:, None] * NODES
    logs = (labels == 1).T @ special.log_expit(lines) + (labels == 0).T @ special.log_expit(-lines)
    logs = logs + before
    each = special.logsumexp(logs, axis=1)
    return np.exp(logs - each[:, None]), each
