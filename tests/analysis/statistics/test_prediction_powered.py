"""What the corrected mean promises, beyond the known values."""

from __future__ import annotations

import numpy as np
import pytest

from visualjudge.analysis.statistics import (
    PooledMeans,
    draw,
    pooled_means,
    pooled_probabilities,
    rank_sets,
)


def corrected(y: np.ndarray, f: np.ndarray, lam: float | None = None) -> PooledMeans:
    """The mean of one system, an item an image; the first items are labelled."""
    labels = np.full(f.size, np.nan)
    labels[: y.size] = y
    return pooled_means(f, labels, np.zeros(f.size, int), np.arange(f.size), lam=lam)


def test_a_constant_bias_of_the_judge_is_undone() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(5, 2, 400)
    fair, lenient = (corrected(truth[:40], f, 1) for f in (truth, truth + 3))
    assert lenient.values == pytest.approx(fair.values)
    assert fair.values[0] == pytest.approx(truth.mean())


def test_a_useless_judge_leaves_the_mean_of_the_labels() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(size=20)
    found = corrected(y, np.ones(120))
    assert (found.lam, found.values[0]) == (0.0, pytest.approx(y.mean()))
    assert found.effective_labels[0] == pytest.approx(20, rel=0.06)


def test_repeating_every_item_of_an_image_buys_no_precision() -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(size=120)
    said, labels = truth + rng.normal(0, 0.3, 120), np.where(np.arange(120) < 30, truth, np.nan)
    rows = np.repeat(np.arange(120), 4)
    once, many = (
        pooled_means(said[r], labels[r], np.zeros(r.size, int), r) for r in (np.arange(120), rows)
    )
    assert many.interval(0) == pytest.approx(once.interval(0))


def test_draws_have_their_probabilities() -> None:
    chances = np.array([0.1, 0.2, 0.3, 0.4, 1.0, 0.5, 0.5, 0.25, 0.25, 0.5])
    rng = np.random.default_rng(0)
    drawn = np.zeros(10)
    for _ in range(4000):
        chosen = draw(chances, rng, np.zeros(10, int))
        assert chosen.size == 4 == np.unique(chosen).size
        drawn[chosen] += 1
    assert drawn / 4000 == pytest.approx(chances, abs=0.035)


def test_every_stratum_gets_its_share() -> None:
    strata = np.repeat(["a", "b", "c"], 40)
    rng = np.random.default_rng(0)
    for _ in range(50):
        chosen = strata[draw(np.full(120, 10 / 120), rng, strata)]
        counts = [int((chosen == name).sum()) for name in "abc"]
        assert sum(counts) == 10 and min(counts) >= 3 and max(counts) <= 4


@pytest.mark.parametrize("rounds", [(10, 10), (5, 20), (4, 4, 4, 8), (30, 6)])
def test_rounds_drawn_at_random_count_like_one_round_of_all(rounds: tuple[int, ...]) -> None:
    left = 40 - np.cumsum([0, *rounds[:-1]])
    own = np.concatenate([np.full(n, n / rest) for n, rest in zip(rounds, left, strict=True)])
    number = np.repeat(np.arange(len(rounds)), rounds)
    pooled = pooled_probabilities(own, number, np.zeros(own.size, int), np.array([40]))
    assert pooled == pytest.approx(np.full(own.size, pooled[0]), rel=1e-9) and 0 < pooled[0] <= 1


def test_weights_of_several_rounds_of_unequal_probability_are_unbiased() -> None:
    """Each item's weight, 0 where it is not drawn, is 1 on average; so is that of a round drawn by
    earlier answers.
    """
    values = np.array([0.0, 1, 1, 2, 4, 8, 1, 3, 1, 1, 2, 6])
    rng, total = np.random.default_rng(0), []
    for _ in range(1500):
        own, number = np.full(12, np.nan), np.zeros(12, int)
        for r in (1, 2, 3):
            left = np.flatnonzero(number == 0)
            seen = float(values[number > 0].sum())
            shape = 1 + values[left] * (seen > 8)  # unequal where the labels so far are high
            chances = 3 * shape / max(shape.sum(), 3 * shape.max())
            chances += (3 - chances.sum()) * (1 - chances) / (1 - chances).sum()
            drawn = draw(chances, rng, np.zeros(left.size, int))
            own[left[drawn]], number[left[drawn]] = chances[drawn], r
        kept = number > 0
        pooled = pooled_probabilities(own[kept], number[kept], np.zeros(9, int), np.array([12]))
        total.append(float((values[kept] / pooled).sum() / (1 / pooled).sum()))
    assert np.mean(total) == pytest.approx(values.mean(), abs=0.1)


def test_one_round_keeps_its_probabilities_and_labels_without_any_count_alike() -> None:
    own = np.array([0.1, 0.5, 1.0])
    once = pooled_probabilities(own, np.full(3, 2), np.array([0, 0, 1]), np.array([9, 9]))
    assert once.tolist() == own.tolist()
    chances, rounds = np.array([np.nan, np.nan, 0.25, 0.25]), np.array([1, 1, 2, 2])
    mixed = pooled_probabilities(chances, rounds, np.zeros(4, int), np.array([10]))
    assert mixed == pytest.approx(np.full(4, mixed[0]))


def test_rank_sets_open_only_where_the_difference_is_open() -> None:
    sets = rank_sets([3.0, 2.0, 1.9, np.nan], np.diag([0.01, 0.01, 0.01, 0.01]), 50)
    assert sets == ((1, 2), (2, 4), (2, 4), None)


def test_a_system_that_is_not_known_may_stand_anywhere() -> None:
    alone = rank_sets([3.0, np.nan, np.nan], np.eye(3) * 0.01, 50)
    assert alone == ((1, 3), None, None)
    with_one_below = rank_sets([3.0, 1.0, np.nan], np.eye(3) * 0.01, 50)
    assert with_one_below == ((1, 2), (2, 3), None)


def test_shared_error_of_two_systems_does_not_blur_their_order() -> None:
    together = np.full((2, 2), 1.0) + np.eye(2) * 1e-4
    assert rank_sets([1.0, 0.9], together, 50) == ((1, 1), (2, 2))
    assert rank_sets([1.0, 0.9], np.eye(2), 50) == ((1, 2), (1, 2))


def test_rank_sets_miss_as_often_as_stated_where_sources_are_nearly_alike() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([6.0, 5.999, 3.0, 2.999, 0.0, -0.001])
    held = []
    for values in rng.normal(truth, 0.1, (1000, 6)):
        sets = rank_sets(values, np.eye(6) * 0.01, 1e6)
        held += [s is not None and s[0] <= rank <= s[1] for rank, s in enumerate(sets, 1)]
    assert 0.94 < np.mean(held) < 0.96


def test_few_labels_without_an_error_do_not_prove_that_the_judge_makes_none() -> None:
    """The judge reverses the answer in a tenth of the losses and wins of one source, for it."""
    rng, inside = np.random.default_rng(0), 0
    for _ in range(150):
        won = (rng.random(600) < 0.4).astype(float)
        said = np.where(rng.random(600) < 0.1, 1.0, won)
        seen = np.full(600, np.nan)
        seen[:15] = won[:15]
        ends = pooled_means(said, seen, np.zeros(600, int), np.arange(600)).interval(0)
        assert ends is not None
        inside += ends[0] <= 0.4 <= ends[1]
    assert inside / 150 >= 0.93
