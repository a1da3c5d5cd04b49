"""Draws depend on their keys alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from visualjudge.core.seeding import rng_for, seed_for, uniforms_for

KEYS = st.lists(st.one_of(st.text(), st.integers(), st.none()), max_size=4)


@given(st.integers(0, 2**31), KEYS)
def test_same_keys_give_the_same_draws_whatever_was_drawn_before(
    seed: int, keys: list[object]
) -> None:
    first = rng_for(seed, *keys).integers(0, 2**63, 4).tolist()
    rng_for(seed, "something else").random(100)
    assert rng_for(seed, *keys).integers(0, 2**63, 4).tolist() == first


@given(st.integers(0, 2**31), KEYS, KEYS)
def test_other_keys_give_another_seed(
    seed: int, first: list[object], second: list[object]
) -> None:
    assert (seed_for(seed, *first) == seed_for(seed, *second)) == (
        first == second
    )


def test_joined_keys_are_not_confused() -> None:
    assert seed_for(1, "ab", "c") != seed_for(1, "a", "bc")


def test_uniform_draws_fill_the_unit_interval_and_depend_on_their_keys() -> (
    None
):
    drawn = np.array([uniforms_for(7, "q", k) for k in range(4000)])
    assert uniforms_for(7, "q", 3) == tuple(drawn[3])
    assert drawn.min() >= 0
    assert drawn.max() < 1
    for column in drawn.T:
        counts = np.histogram(column, 20, (0, 1))[0]
        assert (
            (counts - 200) ** 2 / 200
        ).sum() < 51  # chi-squared of 19 degrees: 1 in 10,000
    assert abs(np.corrcoef(drawn.T) - np.eye(4)).max() < 0.08
