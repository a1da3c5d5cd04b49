"""What the corrected mean promises, beyond the known values."""

from __future__ import annotations

import numpy as np
import pytest

from visualjudge.analysis.statistics import draw, inclusion_probabilities, ppi_mean, rank_sets
from visualjudge.analysis.statistics.cascade import risk_threshold
from visualjudge.core.errors import UsageError


def test_a_constant_bias_of_the_judge_is_undone() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(5, 2, 400)
    fair, lenient = (ppi_mean(truth[:40], f[:40], f[40:], lam=1) for f in (truth, truth + 3))
    assert lenient.value == pytest.approx(fair.value)
    assert fair.value == pytest.approx(truth[40:].mean())


def test_a_useless_judge_leaves_the_mean_of_the_labels() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(size=20)
    found = ppi_mean(y, np.ones(20), np.ones(100))
    assert (found.lam, found.value) == (0.0, pytest.approx(y.mean()))
    assert found.effective_labels == pytest.approx(20)


def test_repeating_every_item_of_an_image_buys_no_precision() -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(size=120)
    said = truth + rng.normal(0, 0.3, 120)
    once = ppi_mean(truth[:30], said[:30], said[30:], clusters=np.arange(120))
    rows = np.repeat(np.arange(120), 4)
    labelled = rows < 30
    many = ppi_mean(
        truth[rows[labelled]], said[rows[labelled]], said[rows[~labelled]], clusters=(rows[labelled], rows[~labelled])
    )
    assert many.interval == pytest.approx(once.interval)
    naive = ppi_mean(truth[rows[labelled]], said[rows[labelled]], said[rows[~labelled]])
    assert naive.standard_error < 0.6 * many.standard_error


def test_clusters_may_be_one_array_or_a_pair() -> None:
    y, f, rest = [1.0, 2, 3], [1.0, 2, 2], [2.0, 2, 1, 1]
    whole = ppi_mean(y, f, rest, clusters=[0, 1, 2, 3, 4, 5, 6])
    pair = ppi_mean(y, f, rest, clusters=([0, 1, 2], [3, 4, 5, 6]))
    labelled = ppi_mean(y, f, rest, clusters=["x", "y", "z"])
    assert whole == pair == labelled


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([1.0, 2], [1.0], [1.0]), "at least 2 values"),
        (([1.0, 2], [1.0, 2, 3], [1.0]), "same length"),
        (([1.0, np.nan], [1.0, 2], [1.0]), "finite"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple[list[float], ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ppi_mean(*arguments)


def test_draws_have_their_probabilities() -> None:
    errors = np.array([0.0, 1, 1, 2, 4, 8, 20, 1, 1, 1])
    chances = inclusion_probabilities(errors, 4)
    assert chances.sum() == pytest.approx(4) and chances.max() <= 1 and chances.min() > 0
    rng = np.random.default_rng(0)
    drawn = np.zeros(10)
    for _ in range(4000):
        chosen = draw(chances, rng)
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


def test_the_threshold_keeps_what_is_surely_right() -> None:
    rng = np.random.default_rng(0)
    sure = rng.random(4000)
    wrong = (rng.random(4000) > 0.5 + sure / 2).astype(float)  # a confidence of s errs with (1 − s) / 2
    found = risk_threshold(sure, wrong, 0.1)
    assert 0.55 < found.value < 0.85 and found.errors <= 0.1 >= found.bound


def test_no_threshold_where_the_judge_guesses() -> None:
    rng = np.random.default_rng(0)
    found = risk_threshold(rng.random(500), rng.integers(0, 2, 500), 0.1)
    assert found.value == float("inf") and found.kept == 0


def test_three_right_images_promise_nothing() -> None:
    found = risk_threshold(np.ones(30), np.zeros(30), 0.1, clusters=np.arange(30) % 3)
    assert found.kept == 0
