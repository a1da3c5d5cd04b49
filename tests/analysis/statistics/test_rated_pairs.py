"""Preferences of raters who differ: planted discriminations come back, and another way to the same
maximum.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from visualjudge.analysis.statistics.disagreeing_raters import (
    PRECISION,
    discrimination,
    rated_pairs,
)
from visualjudge.core.errors import UsageError
from visualjudge.core.records import FloatArray, IntArray
from visualjudge.core.seeding import rng_for


def drawn(
    slopes: list[float], pairs: int, seed: int, missing: float = 0.0
) -> tuple[FloatArray, IntArray]:
    """Differences of strength, and raters × pairs."""
    rng = rng_for(seed, "rated pairs")
    gap = rng.normal(size=pairs)
    chance = special.expit(np.array(slopes)[:, None] * gap)
    said = (rng.random(chance.shape) < chance).astype(np.int64)
    return gap, np.where(rng.random(said.shape) < missing, -1, said)


def by_integration(labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """The same maximum by Simpson's rule over 4,001 points and a general optimiser; P(δ > 0)."""
    patterns, place, times = np.unique(labels, axis=1, return_inverse=True, return_counts=True)
    gap = np.linspace(-8, 8, 4001)
    sides = np.where(patterns < 0, 0, np.where(patterns == 1, 1.0, -1.0)).T[:, :, None]

    def density(slope: FloatArray) -> FloatArray:
        answers = np.where(sides == 0, 1.0, special.expit(sides * slope[:, None] * gap))
        return np.asarray(answers.prod(1) * stats.norm.pdf(gap))

    def loss(slope: FloatArray) -> float:
        logs = np.log(integrate.simpson(density(slope), gap))
        return float(PRECISION / 2 * (slope @ slope) - times @ logs)

    slope = optimize.minimize(loss, np.ones(len(labels)), method="BFGS", options={"gtol": 1e-4}).x
    found = density(slope)
    above = integrate.simpson(found[:, 2000:], gap[2000:])
    return slope, np.asarray(above / integrate.simpson(found, gap))[place.ravel()]


def test_the_fit_equals_integration_and_a_general_optimiser() -> None:
    _, labels = drawn([2.5, 1.5, 0.5], 120, 0, missing=0.1)
    found = rated_pairs(labels)
    slope, better = by_integration(labels)
    np.testing.assert_allclose(found.discrimination, slope, atol=2e-3)
    np.testing.assert_allclose(found.better, better, atol=1e-3)


def test_planted_discriminations_and_strengths_are_recovered() -> None:
    slopes, off = [3.0, 2.0, 1.5, 1.0, 0.0], []
    for seed in range(10):
        gap, labels = drawn(slopes, 600, seed, missing=0.2)
        found = rated_pairs(labels)
        off.append(found.discrimination - slopes)
        votes = (labels == 1).sum(0) - (labels == 0).sum(0)
        assert np.corrcoef(found.strength, gap)[0, 1] > np.corrcoef(votes, gap)[0, 1]
    assert np.abs(np.mean(off, axis=0)).max() < 0.25
    assert np.abs(np.mean(off, axis=0))[4] < 0.1


def test_a_rater_who_prefers_the_worse_option_is_turned_round() -> None:
    gap, labels = drawn([2.0, 2.0, 2.0, -2.0], 800, 1)
    found = rated_pairs(labels)
    assert found.discrimination[3] < -1
    assert ((found.better > 0.5) == (gap > 0)).mean() > 0.8
    assert discrimination(labels[3], rated_pairs(labels[:3]).on_grid) < -1


def test_the_likelihood_rises_and_a_pair_of_weight_two_counts_twice() -> None:
    _, labels = drawn([2.0, 1.0, 1.0], 60, 2)
    rising = [rated_pairs(labels, steps=k).log_likelihood for k in range(1, 10)]
    assert (np.diff(rising) > -1e-9).all()
    twice = rated_pairs(np.hstack([labels, labels[:, :1]]))
    weighted = rated_pairs(labels, weights=np.array([2.0, *np.ones(59)]))
    np.testing.assert_allclose(weighted.discrimination, twice.discrimination, atol=1e-6)


def test_raters_who_always_agree_have_a_finite_discrimination() -> None:
    labels = np.tile(np.arange(30) % 2, (3, 1))
    found = rated_pairs(labels)
    assert np.isfinite(found.discrimination).all() and (found.discrimination > 2).all()
    assert (found.better[1::2] > 0.95).all()


@pytest.mark.parametrize("labels", [[[2]], [[-2]], [[-1]]])
def test_what_is_no_preference_is_refused(labels: list[list[int]]) -> None:
    with pytest.raises(UsageError, match="preferences must be 0, 1 or -1"):
        rated_pairs(np.array(labels))
