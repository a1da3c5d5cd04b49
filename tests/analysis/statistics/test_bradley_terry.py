"""Penalised strengths: what a source that never lost does to the others, and what the draws
hold.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from visualjudge.analysis.statistics.bradley_terry import (
    NEVER_LOST,
    NEVER_WON,
    Standing,
    dispersion,
    drawn,
    penalised,
    standing,
)


def _games(wins: np.ndarray, images: int) -> np.ndarray:
    """The wins of S × S dealt to images, in random order."""
    rng = np.random.default_rng(0)
    rows = [(i, j) for i, j in np.ndindex(wins.shape) for _ in range(int(wins[i, j]))]
    out = np.zeros((images, *wins.shape))
    for k, place in enumerate(rng.permutation(len(rows))):
        out[(k % images, *rows[place])] += 1
    return out


def _standing(wins: np.ndarray, images: int = 20) -> Standing:
    games = _games(wins, images)
    none = np.zeros_like(games)
    fit = penalised(
        games.sum(0), none[0], dispersion(penalised(games.sum(0), none[0]), games, none)
    )
    counts = ((games + np.swapaxes(games, 1, 2)).sum(2) > 0).sum(0)
    return standing(fit, games, none, counts, drawn(fit, games, none, np.random.default_rng(1)))


UNBEATEN = np.array([[0, 20, 20, 20], [0, 0, 14, 16], [0, 6, 0, 13], [0, 4, 7, 0]])


@pytest.mark.parametrize("wins", [UNBEATEN, UNBEATEN.T])
def test_only_the_source_that_never_lost_or_won_has_an_open_side(wins: np.ndarray) -> None:
    found = _standing(wins)
    open_low, open_high = np.isnan(found.low), np.isnan(found.high)
    assert (open_low | open_high).tolist() == [True, False, False, False]
    assert open_low[0] == (wins is not UNBEATEN)
    assert found.why == (NEVER_LOST if wins is UNBEATEN else NEVER_WON, None, None, None)


def test_a_ladder_without_exceptions_has_finite_intervals_in_between() -> None:
    found = _standing(np.triu(np.full((4, 4), 20.0), 1))
    assert found.why == (NEVER_LOST, None, None, NEVER_WON)
    assert np.isfinite([found.low[1:3], found.high[1:3]]).all()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 30), st.integers(0, 30))
def test_of_two_sources_it_is_the_logit_with_half_a_win_each_way(won: int, lost: int) -> None:
    wins = np.array([[0.0, won], [lost, 0.0]])
    if won + lost:
        strength = penalised(wins, np.zeros((2, 2))).log_strength
        assert strength[0] - strength[1] == pytest.approx(
            np.log((won + 0.5) / (lost + 0.5)), abs=1e-6
        )


def test_of_two_sources_the_draws_are_jeffreys_posterior() -> None:
    games = _games(np.array([[0, 17], [3, 0]]), 20)
    none = np.zeros_like(games)
    fit = penalised(games.sum(0), none[0])
    draws = np.concatenate([drawn(fit, games, none, np.random.default_rng(k)) for k in range(5)])
    share = 1 / (1 + np.exp(draws[:, 1] - draws[:, 0]))
    assert stats.kstest(share, stats.beta(17.5, 3.5).cdf).pvalue > 0.001


@pytest.mark.parametrize("sources", [2, 5, 12])
def test_the_penalty_is_of_as_many_games_as_there_are_strengths_however_many_pairs_met(
    sources: int,
) -> None:
    wins = np.random.default_rng(sources).integers(0, 9, (sources, sources)).astype(float)
    np.fill_diagonal(wins, 0)
    assert penalised(wins, np.zeros_like(wins)).added.sum() == pytest.approx(sources - 1)


def test_a_source_that_never_lost_does_not_move_the_differences_of_the_others() -> None:
    rest = _standing(UNBEATEN[1:, 1:])
    beside = _standing(UNBEATEN)
    for ends, others in ((rest.below, beside.below[1:, 1:]), (rest.above, beside.above[1:, 1:])):
        assert np.nanmax(np.abs(ends - others)) < 0.35


def test_few_games_between_many_sources_do_not_shrink_the_strengths() -> None:
    """Half a game each way between all that met would pull the first of them 1 towards the mean."""
    theta = np.linspace(2, -2, 8)
    chance = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
    rng, found = np.random.default_rng(0), []
    for _ in range(60):
        upper = np.triu(rng.binomial(4, chance), 1).astype(float)
        wins = upper + np.triu(4 - upper, 1).T
        found.append(penalised(wins, np.zeros_like(wins)).log_strength[0])
    assert abs(np.mean(found) - 2) < 0.25


def test_sets_of_all_sources_at_once_hold_those_of_each_alone() -> None:
    found = _standing(np.array([[0, 15, 18, 19], [5, 0, 13, 17], [2, 7, 0, 12], [1, 3, 8, 0]]))
    for alone, together in zip(found.alone, found.together, strict=True):
        assert alone is not None and together is not None
        assert together[0] <= alone[0] <= alone[1] <= together[1]
    assert found.alone[0] != (1, 4)


def test_p_is_below_five_per_cent_where_the_interval_leaves_out_no_difference() -> None:
    found = _standing(np.array([[0, 13, 15, 16], [7, 0, 11, 14], [5, 9, 0, 12], [4, 6, 8, 0]]))
    upper = np.triu_indices(4, 1)
    apart = found.below[upper] > 0
    assert 0 < apart.sum() < 6
    assert (found.p[upper][apart] < 0.06).all() and (found.p[upper][~apart] > 0.045).all()


@pytest.mark.parametrize("times", [2, 4])
def test_games_that_are_copied_in_their_image_narrow_nothing(times: int) -> None:
    once = _standing(np.array([[0, 14, 15], [6, 0, 13], [5, 7, 0]]))
    games = _games(np.array([[0, 14, 15], [6, 0, 13], [5, 7, 0]]), 20) * times
    none = np.zeros_like(games)
    fit = penalised(
        games.sum(0), none[0], dispersion(penalised(games.sum(0), none[0]), games, none)
    )
    counts = ((games + np.swapaxes(games, 1, 2)).sum(2) > 0).sum(0)
    often = standing(fit, games, none, counts, drawn(fit, games, none, np.random.default_rng(1)))
    assert ((often.high - often.low) / (once.high - once.low)) == pytest.approx([1, 1, 1], rel=0.15)
