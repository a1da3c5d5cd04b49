"""Clustered shares: what must hold of every bound, whatever the images."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy import stats

from visualjudge.analysis.statistics.share_intervals import (
    SHARES,
    SINGLE,
    WHOLE_IMAGES,
    Supposed,
    one_share,
    shares,
    upper_bound,
)
from visualjudge.core.records import FloatArray

NEAR = 1e-7
SUPPOSED = st.sampled_from([SHARES, SINGLE, WHOLE_IMAGES])


@st.composite
def clusters(draw: st.DrawFn) -> tuple[FloatArray, FloatArray]:
    """Errors and cases of 5 to 16 images, of which some may hold many more cases than others."""
    cases = draw(st.lists(st.integers(1, 12) | st.integers(1, 300), min_size=5, max_size=16))
    errors = [draw(st.sampled_from([0, n]) | st.integers(0, n)) for n in cases]
    return np.array(errors, float), np.array(cases, float)


@given(
    data=clusters(),
    more=st.lists(st.integers(0, 300), min_size=16, max_size=16),
    supposed=SUPPOSED,
    tail=st.sampled_from([0.025, 0.1]),
)
@settings(deadline=None, max_examples=60)
def test_no_further_error_lowers_an_upper_bound(
    data: tuple[FloatArray, FloatArray], more: list[int], supposed: Supposed, tail: float
) -> None:
    errors, cases = data
    worse = np.minimum(cases, errors + np.array(more[: cases.size]))
    before, after = (upper_bound(x, cases, tail=tail, supposed=supposed) for x in (errors, worse))
    assert after >= before - NEAR


@given(data=clusters(), place=st.integers(0, 15))
@settings(deadline=None, max_examples=60)
def test_one_more_right_answer_raises_both_ends_or_leaves_them(
    data: tuple[FloatArray, FloatArray], place: int
) -> None:
    right, cases = data
    place %= cases.size
    assume(right[place] < cases[place])
    better = right.copy()
    better[place] += 1
    before, after = (one_share(x, cases).interval(0) for x in (right, better))
    assume(before is not None)
    assert before is not None
    assert after is not None
    assert after[0] >= before[0] - NEAR
    assert after[1] >= before[1] - NEAR


@given(data=clusters(), seed=st.integers(0, 99), supposed=SUPPOSED)
@settings(deadline=None, max_examples=40)
def test_the_order_of_images_does_not_matter(
    data: tuple[FloatArray, FloatArray], seed: int, supposed: Supposed
) -> None:
    errors, cases = data
    order = np.random.default_rng(seed).permutation(cases.size)
    one, other = (
        upper_bound(errors[o], cases[o], supposed=supposed) for o in (np.arange(cases.size), order)
    )
    assert one == pytest.approx(other, abs=NEAR)


@given(data=clusters(), supposed=SUPPOSED)
@settings(deadline=None, max_examples=40)
def test_cases_in_images_never_have_a_narrower_interval_than_each_case_alone(
    data: tuple[FloatArray, FloatArray], supposed: Supposed
) -> None:
    right, cases = data
    each = np.concatenate([np.arange(n) < x for x, n in zip(right, cases, strict=True)]).astype(
        float
    )
    together = one_share(right, cases, supposed=supposed).interval(0)
    assume(together is not None)
    alone = one_share(each, np.ones(each.size), supposed=supposed).interval(0)
    assert together is not None
    assert alone is not None
    assert together[0] <= alone[0] + NEAR
    assert together[1] >= alone[1] - NEAR


@given(
    share=st.integers(0, 6),
    size=st.integers(1, 30),
    images=st.sampled_from([10, 12, 16]),
    supposed=SUPPOSED,
)
@settings(deadline=None, max_examples=40)
def test_merging_images_that_err_alike_never_narrows(
    share: int, size: int, images: int, supposed: Supposed
) -> None:
    cases = np.full(images, 6.0 * size)
    right = np.where(np.arange(images) < images // 2, share * size, 6.0 * size)
    pairs = [np.add.reduceat(values, np.arange(0, images, 2)) for values in (right, cases)]
    apart, merged = (
        one_share(right, cases, supposed=supposed).interval(0),
        one_share(*pairs, supposed=supposed),
    )
    ends = merged.interval(0)
    assert apart is not None
    assert ends is not None
    assert ends[0] <= apart[0] + NEAR
    assert ends[1] >= apart[1] - NEAR


def test_graded_values_that_hardly_vary_have_a_narrow_interval() -> None:
    cases, low, high = np.full(40, 6.0), [], []
    rng = np.random.default_rng(3)
    for _ in range(40):
        value = 0.53 + 0.03 * rng.standard_normal(40)
        ends, wide = (
            one_share(value * cases, cases, whole=whole).interval(0) for whole in (False, True)
        )
        assert ends is not None and wide is not None
        assert wide[0] <= ends[0] and ends[1] <= wide[1]
        assert ends[1] - ends[0] < 0.025
        low.append(ends[0])
        high.append(ends[1])
    assert np.mean((np.array(low) < 0.53) & (np.array(high) > 0.53)) > 0.85


def test_graded_values_that_do_not_vary_have_the_interval_of_answers() -> None:
    cases = np.full(20, 4.0)
    ends, wide = (one_share(cases, cases, whole=whole).interval(0) for whole in (False, True))
    assert ends == wide is not None


@pytest.mark.parametrize("images", [10, 15, 20, 40])
def test_where_images_go_wrong_as_a_whole_every_share_is_covered(images: int) -> None:
    wrong = np.arange(images + 1)
    each = np.arange(images) < wrong[:, None]
    place = np.repeat(wrong, images)
    found = shares(20.0 * each.ravel(), np.full(each.size, 20.0), place, images + 1)
    truth = np.arange(0.01, 0.51, 0.01)[:, None]
    held = (found.low <= truth) & (truth <= found.high)
    coverage = (stats.binom.pmf(wrong, images, truth) * held).sum(1)
    assert coverage.min() > 0.92
    assert coverage.mean() > 0.95
