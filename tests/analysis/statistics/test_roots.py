"""Roots in a bracket, beside SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import optimize
from scipy.sparse import csgraph

from visualjudge.analysis.statistics.bias_within_strata import root
from visualjudge.analysis.statistics.bradley_terry import parts_of


@given(st.floats(-3, 3), st.floats(0.05, 30), st.sampled_from([1, 3, 9]))
def test_a_root_is_where_scipy_finds_it(at: float, steep: float, power: int) -> None:
    def function(x: float) -> float:
        return float(np.tanh(steep * (x - at)) + 0.1 * (x - at) ** power)

    found = root(function, -4.0, 5.0, 1e-13)
    assert found == pytest.approx(optimize.brentq(function, -4, 5, xtol=1e-14), abs=1e-11)


def test_an_end_may_be_the_root_and_a_bracket_without_one_is_refused() -> None:
    assert root(lambda x: x, 0.0, 1.0, 1e-9) == 0.0
    assert root(lambda x: x - 1, 0.0, 1.0, 1e-9) == 1.0
    with pytest.raises(ValueError, match="must change its sign"):
        root(lambda x: x + 1, 0.0, 1.0, 1e-9)


@given(st.integers(1, 12), st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_parts_are_those_that_scipy_finds(size: int, links: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = np.zeros((size, size), dtype=bool)
    graph[rng.integers(0, size, links), rng.integers(0, size, links)] = True
    theirs = csgraph.connected_components(graph, connection="strong")[1]
    ours = parts_of(graph)
    assert ((ours[:, None] == ours) == (theirs[:, None] == theirs)).all()
    assert set(ours.tolist()) == set(range(int(ours.max()) + 1))
    weak = csgraph.connected_components(graph, connection="weak")[1]
    assert (parts_of(graph | graph.T) == weak).all()
