"""Stated probabilities: what their Brier score and calibration error promise holds."""

from __future__ import annotations

import numpy as np
import pytest

from visualjudge.analysis.statistics.calibration import calibration


def _held(
    images: int, steeper: float, brier: float, ece: float
) -> tuple[float, float]:
    """How often the two intervals hold the truth, for a judge of six answers an image;
    ``steeper``: overconfident.
    """
    held = np.zeros(2)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        image = np.repeat(np.arange(images), 6)
        logit = 0.5 * rng.normal(size=images)[image] + rng.normal(
            size=image.size
        )
        happened = rng.random(image.size) < 1 / (1 + np.exp(-logit))
        found = calibration(
            1 / (1 + np.exp(-steeper * logit)),
            happened.astype(float),
            image,
            seed=seed,
        )
        for k, (measure, truth) in enumerate(
            ((found.brier, brier), (found.ece, ece))
        ):
            assert measure.interval is not None
            held[k] += measure.interval[0] <= truth <= measure.interval[1]
    return held[0] / 60, held[1] / 60


@pytest.mark.parametrize("images", [8, 20])
def test_a_calibrated_judge_is_not_said_to_be_off(images: int) -> None:
    brier, ece = _held(images, 1.0, 0.1993, 0.0)
    assert brier >= 0.9 and ece >= 0.95


def test_an_overconfident_judge_is_within_its_interval() -> None:
    brier, ece = _held(20, 3.0, 0.2288, 0.1598)
    assert brier >= 0.9 and ece >= 0.9


def test_the_error_is_the_mean_gap_of_the_bins() -> None:
    stated, happened = (
        np.array([0.25] * 8 + [0.75] * 8),
        np.array([1.0] * 4 + [0.0] * 4 + [1.0] * 8),
    )
    found = calibration(stated, happened, np.tile(np.arange(8), 2))
    assert found.ece.value == pytest.approx(0.25)
    assert found.brier.value == pytest.approx(np.mean((stated - happened) ** 2))


def test_the_corrected_calibration_error_is_near_0_where_probabilities_come_true() -> (
    None
):
    found = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        stated = rng.uniform(0.5, 0.95, 200)
        happened = (rng.random(200) < stated).astype(float)
        found.append(
            calibration(stated, happened, np.repeat(np.arange(20), 10))
        )
    assert np.mean([row.ece.value for row in found]) > 0.06
    assert np.mean([row.ece_corrected.value for row in found]) < 0.03
    assert all(row.ece_corrected.value <= row.ece.value for row in found)


def test_a_large_calibration_error_is_hardly_corrected() -> None:
    rng = np.random.default_rng(0)
    stated = rng.uniform(0.5, 0.95, 400)
    found = calibration(
        stated,
        (rng.random(400) < stated - 0.3).astype(float),
        np.repeat(np.arange(40), 10),
    )
    assert 0.85 * found.ece.value < found.ece_corrected.value <= found.ece.value


@pytest.mark.parametrize("stated", [0.95, 1.0])
def test_a_judge_that_was_always_right_may_be_wrong_on_unseen_images(
    stated: float,
) -> None:
    found = calibration(np.full(30, stated), np.ones(30), np.arange(30))
    low, high = found.ece.interval or (None, None)
    assert low == 0 and high == pytest.approx(
        1 - stated + 1 - 0.025 ** (1 / 30)
    )
