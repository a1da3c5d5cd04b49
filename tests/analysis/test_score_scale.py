"""Scores on the scale of a study, and from 0 to 10."""

from __future__ import annotations

import pytest

from visualjudge.analysis.score_scale import ScoreScale


@pytest.mark.parametrize(
    ("low", "high", "middle", "steps"),
    [(1.0, 5.0, 3.0, 5), (0.0, 10.0, 5.0, 11), (-1.0, 1.0, 0.0, 3)],
)
def test_a_scale_goes_to_ten_and_back(
    low: float, high: float, middle: float, steps: int
) -> None:
    scale = ScoreScale(low, high)
    known = {low: 0.0, middle: 5.0, high: 10.0}
    assert {score: scale.ten(score) for score in known} == known
    assert {scale.score(ten): ten for ten in known.values()} == known
    assert scale.scores[0] == low and scale.scores[-1] == high
    assert len(scale.scores) == steps
    assert scale.size(10.0) == high - low
