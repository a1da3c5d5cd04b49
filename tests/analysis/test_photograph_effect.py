"""Does a judge need the photograph? Planted judges on pairs with it, over grey, and
over another photograph.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from visualjudge.analysis.figures.photograph import (
    NEEDS,
    Photograph,
    Without,
    photograph_need,
)
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.records import Probe, Question

Rng = np.random.Generator
Judge = Callable[[int, Rng], np.ndarray]
"""(number of pairs, generator) → whether each answer is right, 3 × pairs in the order
of VERSIONS.
"""
VERSIONS = (
    ("control", "control"),
    ("grey", "photograph"),
    ("other", "photograph"),
)


def ignores(pairs: int, rng: Rng) -> np.ndarray:
    """Answers by the predictions alone, so the same three times."""
    return np.tile(rng.random(pairs) < 0.75, (3, 1))


def looks(pairs: int, rng: Rng) -> np.ndarray:
    """Right in 75 % with the photograph, and at chance without."""
    return rng.random((3, pairs)) < np.array([[0.75], [0.5], [0.5]])


def declines_grey(pairs: int, rng: Rng) -> np.ndarray:
    """Answers by the predictions alone, and nothing over grey."""
    right = ignores(pairs, rng)
    right[1] = False
    return right


def answered(
    judge: Judge, seed: int, pairs: int = 60, images: int = 30
) -> pl.DataFrame:
    right = judge(pairs, np.random.default_rng(seed))
    return pl.concat(
        [
            pl.DataFrame(
                {
                    "probe_design": design,
                    "probe_name": name,
                    "probe_group": [f"g{k}" for k in range(pairs)],
                    "task": [
                        "detection" if k % 2 else "depth" for k in range(pairs)
                    ],
                    "order": "AB",
                    "repeat": 0,
                    "cluster": [k % images for k in range(pairs)],
                    "right": right[row],
                }
            )
            for row, (name, design) in enumerate(VERSIONS)
        ]
    )


def need(judge: Judge, seed: int, pairs: int = 60) -> tuple[Photograph, ...]:
    return photograph_need(answered(judge, seed, pairs))


def test_a_judge_that_ignores_the_image_does_not_need_the_photograph() -> None:
    assert {need(ignores, seed)[0].state for seed in range(8)} == {"not_needed"}


def test_a_fair_judge_that_looks_is_not_accused() -> None:
    """benchmarks/probes.py --photograph counts more seeds."""
    states = [need(looks, seed)[0].state for seed in range(8)]
    assert "not_needed" not in states and "needed" in states


def test_two_chances_to_call_the_photograph_unneeded_share_one_level() -> None:
    """A judge that gains 15 points over both was called so in 6 to 11 % of studies."""

    def gains(pairs: int, rng: Rng) -> np.ndarray:
        return rng.random((3, pairs)) < np.array([[0.85], [0.7], [0.7]])

    states = [
        photograph_need(answered(gains, seed, 300, 100))[0].state
        for seed in range(100)
    ]
    assert states.count("not_needed") <= 6


def test_a_judge_that_only_declines_to_answer_over_grey_does_not_need_the_photograph() -> (
    None
):
    row = need(declines_grey, 1)[0]
    assert row.grey is not None and (row.grey.blind.value, row.state) == (
        0.0,
        "not_needed",
    )


def test_the_gain_is_the_paired_difference() -> None:
    whole, *found = need(looks, 3)
    grey = whole.grey
    assert (
        grey is not None
        and grey.seen.value is not None
        and grey.blind.value is not None
    )
    assert grey.gain.value == pytest.approx(grey.seen.value - grey.blind.value)
    assert [row.task for row in found] == ["depth", "detection"]
    assert {part.questions for row in found for part in row.asked} == {30}
    assert {row.state for row in found} == {"not_shown"}


def test_without_twins_nothing_is_told() -> None:
    assert (
        photograph_need(
            answered(looks, 0).filter(pl.col("probe_design") == "control")
        )
        == ()
    )


def question(k: int, name: str, design: str) -> Question:
    return Question(
        id=f"{name}{k}",
        task="object_detection",
        encoding="e",
        question_type="pairwise",
        subset=(),
        image_id=f"i{k % 20}",
        class_of_interest=None,
        error_type=None,
        annotation_ids=("a", "b"),
        final_scores=(6.0, 4.0),
        sources=(None, None),
        prompt="",
        images=(),
        answer="A",
        probe=Probe(name, design, f"g{k}", "", "answer"),  # type: ignore[arg-type]
    )


def test_the_gain_that_is_stated_is_the_smaller_one() -> None:
    def without(gain: float, low: float) -> Without:
        share = Estimate(0.7, (0.6, 0.8), 400, 40)
        return Without(
            share, share, Estimate(gain, (low, 0.3), 400, 40), (low, 0.2), 400
        )

    row = Photograph("all", without(0.3, 0.1), without(0.1, -0.05))
    assert row.least.value == 0.1 and row.state == "not_shown"
    assert (
        row.sentence
        == f"{NEEDS['not_shown']}: +10.0 (−5.0 to 30.0) percentage points of accuracy compared "
        "with another photograph."
    )
