"""Draws depend on their keys alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from visualjudge.seeding import rng_for, seed_for

KEYS = st.lists(st.one_of(st.text(), st.integers(), st.none()), max_size=4)


@given(st.integers(0, 2**31), KEYS)
def test_same_keys_give_the_same_draws_whatever_was_drawn_before(seed: int, keys: list[object]) -> None:
    first = rng_for(seed, *keys).integers(0, 2**63, 4).tolist()
    rng_for(seed, "something else").random(100)
    assert rng_for(seed, *keys).integers(0, 2**63, 4).tolist() == first


@given(st.integers(0, 2**31), KEYS, KEYS)
def test_other_keys_give_another_seed(seed: int, first: list[object], second: list[object]) -> None:
    assert (seed_for(seed, *first) == seed_for(seed, *second)) == (first == second)


def test_joined_keys_are_not_confused() -> None:
    assert seed_for(1, "ab", "c") != seed_for(1, "a", "bc")
