"""The test by sign flips against its definition, and what a leaning's interval and p say."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

from visualjudge.analysis.bias import preference
from visualjudge.analysis.statistics.bias_within_strata import Cases, lean, sign_flip_p


def _enumerated(scores: np.ndarray) -> float:
    """p over all signs; one that is exactly as large counts half."""
    sums = np.abs(np.array(list(product((-1, 1), repeat=scores.size))) @ scores)
    seen = abs(scores.sum())
    return float(((sums > seen + 1e-9).mean() + (sums > seen - 1e-9).mean()) / 2)


@pytest.mark.parametrize("shift", [0.0, 0.4, 0.8, 1.1])
def test_tail_is_that_of_all_signs(shift: float) -> None:
    scores = np.random.default_rng(3).normal(size=14) + shift
    assert sign_flip_p(scores) == pytest.approx(_enumerated(scores), rel=0.06, abs=0.002)


def test_p_is_never_below_what_so_many_images_can_show() -> None:
    assert sign_flip_p(np.ones(8)) == 2.0**-7
    assert sign_flip_p(np.zeros(8)) == 1.0


def _cases(
    seed: int, lean_by: float, images: int = 20, pairs: int = 8, by_image: float = 0.25
) -> Cases:
    """Replies to ``pairs`` pairs an image, twelve each; images differ in difficulty by
    ``by_image``.
    """
    rng = np.random.default_rng(seed)
    image = np.repeat(np.arange(images), pairs)
    more = rng.random(image.size) < 0.5
    easy = 0.7 + by_image * rng.choice([-1.0, 1.0], size=images)[image]
    n = np.full(image.size, 12)
    right = rng.binomial(n, np.clip(easy + np.where(more, lean_by, -lean_by), 0, 1))
    pair, nowhere = np.arange(image.size), np.zeros(image.size, dtype=np.int64)
    return Cases(
        nowhere,
        image,
        pair,
        more,
        rng.uniform(0, 5, image.size),
        n.astype(float),
        right.astype(float),
    )


def test_differences_between_images_do_not_blur_a_leaning() -> None:
    """Without the image's other pairs as a baseline a lean of 5 points is found in half of
    these.
    """
    found = [lean(_cases(seed, 0.05)).p() < 0.01 for seed in range(40)]
    assert np.mean(found) > 0.9


def test_interval_holds_what_is_not_rejected() -> None:
    found = lean(_cases(1, 0.05))
    ends = found.ends()
    assert ends is not None and ends[0] < found.preference < ends[1]
    assert [found.p(end) for end in ends] == pytest.approx([0.05, 0.05], abs=1e-6)


def test_feature_that_never_changes_inside_an_image_still_tells() -> None:
    """The baseline takes the same from the feature as from the answers, so the figure does not
    shrink.
    """
    cases = _cases(5, 0.0, images=200, by_image=0.0)
    more = cases.image % 2 == 0
    right = cases.n * np.where(more, 0.8, 0.6)
    rows = Cases(cases.stratum, cases.image, cases.pair, more, cases.margin, cases.n, right)
    assert lean(rows).preference == pytest.approx(0.1, abs=0.005)


def test_few_images_have_no_interval() -> None:
    assert lean(_cases(2, 0.1, images=4)).ends() is None


def test_images_that_all_agree_leave_an_interval_with_width() -> None:
    cases = _cases(4, 0.0)
    always_first = Cases(
        cases.stratum,
        cases.image,
        cases.pair,
        cases.more,
        cases.margin,
        cases.n,
        np.where(cases.more, cases.n, 0.0),
    )
    found = lean(always_first)
    ends = found.ends()
    assert found.preference == pytest.approx(0.5)
    assert ends is not None and 0.35 < ends[0] < 0.45 and ends[1] == 0.5


@pytest.mark.parametrize("apart", [False, True])
def test_a_lean_to_the_place_is_none_to_a_feature_that_is_often_shown_first(apart: bool) -> None:
    rng = np.random.default_rng(5)
    n = 600
    first, follows = rng.random((2, n)) < np.array([[0.5], [0.8]])
    more = np.where(follows, first, ~first)
    right = np.where(rng.random(n) < 0.4, first, rng.random(n) < 0.8).astype(float)
    image, number, margin = np.arange(n) // 30, np.arange(n), rng.random(n)
    one = np.ones(n)
    cases = Cases(
        np.zeros(n, dtype=np.int64),
        image,
        number,
        more,
        margin,
        one,
        right,
        first if apart else None,
    )
    assert (lean(cases).p() < 0.01) is not apart


def test_a_rare_lean_to_the_place_may_be_larger_than_it_looks() -> None:
    """A judge that is right but takes the first place in 10 %: the upper end of its lean is seldom
    below 0.05.
    """
    images, each = 20, 5
    below = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        pair = np.arange(images * each).repeat(2)
        first_right = np.tile([True, False], images * each)
        right = first_right | (rng.random(pair.size) >= 0.1)
        table = pl.DataFrame(
            {
                "cluster": pair // each,
                "pair": pair,
                "task": ["any"] * pair.size,
                "margin": rng.random(images * each)[pair],
                "right": right,
                "first_right": first_right,
            }
        )
        ends = preference(table, "position").estimate.interval
        assert ends is not None and ends[0] is not None and ends[1] is not None
        below += ends[1] < 0.05
    assert below <= 3
