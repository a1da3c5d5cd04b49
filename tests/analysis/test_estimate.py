"""Intervals by image: known values, guards, and coverage in the designs that break
naive ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from visualjudge.analysis.estimate import (
    gap_ends,
    gap_p,
    holm,
    ratio,
    shares,
    test as p_of_zero,
)
from visualjudge.core.seeding import rng_for


def interval(right: ArrayLike, asked: ArrayLike) -> tuple[float, float]:
    found = shares(np.asarray(right, float), np.asarray(asked, float))[
        0
    ].interval
    assert found is not None
    return found


def test_one_case_an_image_is_clopper_and_pearson() -> None:
    right = np.r_[np.ones(43), np.zeros(7)]
    exact = stats.binomtest(43, 50).proportion_ci(method="exact")
    # leaving out one gives the variance p (1 - p) / (n - 1): a design effect of 1
    assert interval(right, np.ones(50)) == pytest.approx(
        (exact.low, exact.high), abs=0.004
    )


def test_all_right_is_bounded_by_images_not_by_verdicts() -> None:
    low, high = interval(np.full(20, 7.0), np.full(20, 7.0))
    assert (low, high) == (pytest.approx(0.025 ** (1 / 20)), 1.0)
    heavy = interval([30.0, *[1.0] * 19], [30.0, *[1.0] * 19])
    assert heavy[0] < 0.3, (
        "an image that holds nearly all cases is nearly the only one"
    )


def test_few_images_have_no_interval_and_say_why() -> None:
    found = shares(np.full(4, 3.0), np.full(4, 4.0))
    assert found[0].interval is None and found[0].why == "fewer than 5 images"


def test_images_that_agree_by_luck_are_as_wide_as_independent_cases() -> None:
    low, high = interval(np.full(10, 3.0), np.full(10, 4.0))
    exact = stats.binomtest(30, 40).proportion_ci(method="exact")
    assert low <= exact.low + 1e-9 and high >= exact.high - 1e-9


@pytest.mark.parametrize(
    ("sizes", "share", "alike", "fail"),
    [
        ([100] + [10] * 10, 0.8, 0.1, 0.0),
        ([10] * 8, 0.8, 0.2, 0.0),
        ([10] * 30, 0.9, 0.3, 0.0),
        ([10] * 30, 1.0, 0.0, 0.08),
    ],
)
def test_shares_of_clustered_verdicts_are_covered(
    sizes: list[int], share: float, alike: float, fail: float
) -> None:
    rng, cases = rng_for(0, "coverage"), np.array(sizes)
    own = np.full((300, cases.size), share)
    if alike:
        own = rng.beta(
            share * (1 / alike - 1), (1 - share) * (1 / alike - 1), own.shape
        )
    right = rng.binomial(cases, own) * (rng.random(own.shape) >= fail)
    column = np.repeat(np.arange(300), cases.size)
    found = shares(
        right.ravel().astype(float),
        np.tile(cases, 300).astype(float),
        column,
        300,
    )
    true = share * (1 - fail)
    assert ((found.low <= true) & (true <= found.high)).mean() >= 0.93


def test_p_and_interval_of_a_paired_difference_agree() -> None:
    rng = rng_for(1, "paired")
    for _ in range(200):
        gaps, cases = rng.integers(-2, 4, 12).astype(float), np.full(12, 5.0)
        value, found = ratio(gaps, cases)
        apart = np.array([np.abs(gaps).sum() + 4])
        low, high = gap_ends(value, found, apart, np.array([60.0]))
        p = gap_p(value, found, apart, np.array([60.0]))[0]
        assert (p < 0.05) == (low[0] > 0 or high[0] < 0)


def test_judges_that_never_differ_are_not_shown_to_be_equal() -> None:
    value, found = ratio(np.zeros(20), np.full(20, 5.0))
    low, high = gap_ends(value, found, np.zeros(1), np.array([100.0]))
    assert high[0] == -low[0] == pytest.approx(1 - 0.025 ** (1 / 20))
    assert gap_p(value, found, np.zeros(1), np.array([100.0]))[0] == 1
    assert p_of_zero(value, found)[0] == 1


def test_holm_steps_down_keeps_gaps_and_divides_by_weight() -> None:
    assert holm([0.01, None, 0.03, 0.02]) == pytest.approx(
        [0.03, None, 0.04, 0.04]
    )
    assert holm([0.02, 0.01], [1, 2]) == pytest.approx([0.02, 0.015])
