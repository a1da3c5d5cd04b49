"""The accuracy in a gate's file."""

from __future__ import annotations

import polars as pl
import pytest

from visualjudge.apps.gate.lock import Accuracy, accuracy_of


@pytest.mark.parametrize(("right", "value"), [(0, 0.0), (1, 0.5), (2, 1.0)])
def test_a_judge_that_is_never_right_is_locked_as_such(
    right: int, value: float
) -> None:
    images = [f"i{k}" for k in range(20)]
    table = pl.DataFrame({"image": images}).with_columns(right=right, asks=2)
    found = accuracy_of(table)
    assert found.value == value
    assert found.ci95 is not None
    low, high = found.ci95
    assert low <= value <= high
    assert (found.questions, found.images) == (20, 20)


def test_an_accuracy_without_an_interval_has_none() -> None:
    table = pl.DataFrame({"image": ["a"], "right": [1], "asks": [1]})
    assert accuracy_of(table) == Accuracy(1.0, None, 1, 1)


def test_an_accuracy_has_four_digits() -> None:
    images = [f"i{k}" for k in range(21)]
    right = [k % 3 == 0 for k in range(21)]
    found = accuracy_of(
        pl.DataFrame({"image": images, "right": right, "asks": 1}).cast(
            {"right": pl.Int64}
        )
    )
    assert found.value == 0.3333
    assert found.ci95 is not None
    assert found.ci95 == tuple(round(end, 4) for end in found.ci95)
