"""Strengths over the pairs that met: the same as over all pairs, and no table of sources by sources
by draws.
"""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from visualjudge.analysis.statistics.bradley_terry import dispersion, drawn, penalised, standing
from visualjudge.analysis.statistics.bradley_terry_many import Duels, ManyStrengths, many_strengths


def _duels(sources: int, images: int, games: int, *, ties: float = 0.1) -> Duels:
    rng = np.random.default_rng(sources)
    strength = rng.normal(0, 1, sources)
    first = rng.integers(0, sources, images * games)
    second = (first + rng.integers(1, sources, first.size)) % sources
    won = rng.random(first.size) < 1 / (1 + np.exp(strength[second] - strength[first]))
    outcome = np.where(rng.random(first.size) < ties, 0.5, won * 1.0)
    return Duels(np.repeat(np.arange(images), games), first, second, outcome, sources)


def _many(duels: Duels) -> tuple[ManyStrengths, np.ndarray]:
    shown = np.unique(np.concatenate([duels.a, duels.b]) + duels.size * np.tile(duels.image, 2))
    images = np.bincount(shown % duels.size, minlength=duels.size)
    return many_strengths(duels, 1.0, images, np.random.default_rng(0)), images


@pytest.mark.parametrize("ties", [0.0, 0.2])
def test_strengths_and_their_intervals_are_those_of_few_sources(ties: float) -> None:
    duels = _duels(30, 30, 60, ties=ties)
    found, images = _many(duels)
    wins, tied = np.zeros((2, 30, 30, 30))
    for image, a, b, said in zip(duels.image, duels.a, duels.b, duels.outcome, strict=True):
        if said == 0.5:
            tied[image, a, b] += 1
            tied[image, b, a] += 1
        else:
            wins[image, a if said else b, b if said else a] += 1
    first = penalised(wins.sum(0), tied.sum(0))
    fit = penalised(wins.sum(0), tied.sum(0), dispersion(first, wins, tied))
    sure = standing(fit, wins, tied, images, drawn(fit, wins, tied, np.random.default_rng(0)))
    assert found.log_strength == pytest.approx(fit.log_strength, abs=0.003)
    assert found.dispersion == pytest.approx(fit.dispersion, rel=0.02)
    assert np.mean(found.high - found.low) == pytest.approx(np.mean(sure.high - sure.low), rel=0.1)
    width = np.mean([high - low for low, high in found.alone])  # type: ignore[misc]
    assert width == pytest.approx(np.mean([high - low for low, high in sure.alone]), rel=0.15)  # type: ignore[misc]
    below, above, p = found.difference(0, 1)
    assert below == pytest.approx(sure.below[0, 1], abs=0.35)
    assert above == pytest.approx(sure.above[0, 1], abs=0.35)
    assert p == pytest.approx(sure.p[0, 1], abs=0.15)


def test_a_source_that_never_lost_has_no_upper_end_and_costs_only_itself() -> None:
    duels = _duels(60, 20, 60, ties=0.0)
    best = (duels.a == 0) | (duels.b == 0)
    outcome = np.where(best, np.where(duels.a == 0, 1.0, 0.0), duels.outcome)
    found, _ = _many(Duels(duels.image, duels.a, duels.b, outcome, 60))
    assert np.isnan(found.high[0])
    assert np.isfinite(found.low[0])
    assert found.why[0] == "it never lost"
    assert np.isfinite(found.high[1:]).sum() > 55


def test_memory_grows_with_games_and_not_with_sources_squared_times_draws() -> None:
    duels = _duels(400, 5, 400)
    tracemalloc.start()
    _many(duels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6
