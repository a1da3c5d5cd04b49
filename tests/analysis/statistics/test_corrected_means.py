"""What the corrected mean promises, beyond the known values."""

from __future__ import annotations

import numpy as np
import pytest

from visualjudge.analysis.decisions.items_to_label import draw
from visualjudge.analysis.statistics.corrected_means import (
    PooledMeans,
    pooled_means,
    rank_sets,
)


def corrected(
    y: np.ndarray, f: np.ndarray, lam: float | None = None
) -> PooledMeans:
    """The mean of one system, an item an image; the first items are labelled."""
    labels = np.full(f.size, np.nan)
    labels[: y.size] = y
    return pooled_means(
        f, labels, np.zeros(f.size, int), np.arange(f.size), lam=lam
    )


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
    said, labels = (
        truth + rng.normal(0, 0.3, 120),
        np.where(np.arange(120) < 30, truth, np.nan),
    )
    rows = np.repeat(np.arange(120), 4)
    once, many = (
        pooled_means(said[r], labels[r], np.zeros(r.size, int), r)
        for r in (np.arange(120), rows)
    )
    assert many.interval(0) == pytest.approx(once.interval(0))


def test_draws_have_their_probabilities() -> None:
    rng, drawn = np.random.default_rng(0), np.zeros(10)
    for _ in range(4000):
        chosen = draw(10, 4, rng, np.repeat([0, 1], [3, 7]))
        assert chosen.size == 4 == np.unique(chosen).size
        drawn[chosen] += 1
    assert drawn / 4000 == pytest.approx(0.4, abs=0.035)


def test_every_stratum_gets_its_share() -> None:
    strata = np.repeat(["a", "b", "c"], 40)
    rng = np.random.default_rng(0)
    for _ in range(50):
        chosen = strata[draw(120, 10, rng, strata)]
        counts = [int((chosen == name).sum()) for name in "abc"]
        assert sum(counts) == 10 and min(counts) >= 3 and max(counts) <= 4


def test_rank_sets_open_only_where_the_difference_is_open() -> None:
    sets = rank_sets(
        [3.0, 2.0, 1.9, np.nan], np.diag([0.01, 0.01, 0.01, 0.01]), 50
    )
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


def test_rank_sets_miss_as_often_as_stated_where_sources_are_nearly_alike() -> (
    None
):
    rng = np.random.default_rng(0)
    truth = np.array([6.0, 5.999, 3.0, 2.999, 0.0, -0.001])
    held = []
    for values in rng.normal(truth, 0.1, (1000, 6)):
        sets = rank_sets(values, np.eye(6) * 0.01, 1e6)
        held += [
            s is not None and s[0] <= rank <= s[1]
            for rank, s in enumerate(sets, 1)
        ]
    assert 0.94 < np.mean(held) < 0.96


def test_few_labels_without_an_error_do_not_prove_that_the_judge_makes_none() -> (
    None
):
    """The judge reverses the answer in a tenth of the losses and wins of one source,
    for it."""
    rng, inside = np.random.default_rng(0), 0
    for _ in range(150):
        won = (rng.random(600) < 0.4).astype(float)
        said = np.where(rng.random(600) < 0.1, 1.0, won)
        seen = np.full(600, np.nan)
        seen[:15] = won[:15]
        ends = pooled_means(
            said, seen, np.zeros(600, int), np.arange(600)
        ).interval(0)
        assert ends is not None
        inside += ends[0] <= 0.4 <= ends[1]
    assert inside / 150 >= 0.93
