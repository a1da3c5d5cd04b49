"""Intervals of figures over systems."""

from __future__ import annotations

import numpy as np
import pytest

from visualjudge.analysis.statistics.image_sums import MANY_IMAGES, Sums, resampled_rows
from visualjudge.analysis.statistics.systems import _measured, contrast, system_agreement


def test_a_figure_that_no_image_changes_has_an_interval_with_width() -> None:
    found = _measured(np.zeros(500), 48, 48, -1.0)
    assert found.interval is not None
    assert found.interval[0] < -0.1 < 0.1 < found.interval[1]


def _two(own: np.ndarray, others: np.ndarray) -> Sums:
    """A judge's errors on one item an image of its own family, and on five of others."""
    judged = np.column_stack([others, own]).astype(float)
    count = np.column_stack([np.full(own.size, 5.0), np.ones(own.size)])
    return Sums(judged, judged, np.zeros_like(judged), count)


def test_a_family_on_which_the_judge_did_not_err_yet_has_the_error_of_the_others() -> None:
    rng = np.random.default_rng(0)
    others = rng.normal(0, 1, (30, 5)).sum(1)
    spotless = contrast(_two(np.full(30, 0.2), others))
    erring = contrast(_two(0.2 + rng.normal(0, 0.45, 30), others))
    assert spotless is not None and erring is not None
    assert spotless.interval is not None and erring.interval is not None
    width, usual = (ends[1] - ends[0] for ends in (spotless.interval, erring.interval))
    own = float(np.std(others / 5, ddof=1) / 30**0.5)
    assert width > 2 * 2.0 * own * 1.3 and width == pytest.approx(usual, rel=0.25)


def test_a_family_of_usual_error_is_hardly_widened() -> None:
    rng = np.random.default_rng(1)
    own, others = rng.normal(0.3, 1, 40), rng.normal(0, 1, (40, 5)).sum(1)
    found = contrast(_two(own, others))
    plain = own - others / 5
    reach = 2.0227 * plain.std(ddof=1) / 40**0.5
    assert found is not None and found.interval is not None
    assert np.allclose(found.interval, (plain.mean() - reach, plain.mean() + reach), atol=0.01)


@pytest.mark.parametrize("different", [False, True])
def test_many_images_are_resampled_as_few_are(different: bool) -> None:
    rng, images = np.random.default_rng(2), MANY_IMAGES
    judged = (rng.random((images, 2)) < 0.2).astype(float)
    true = rng.random((images, 2)) if different else rng.integers(0, 2, (images, 2)).astype(float)
    sums = Sums(judged, true, true, np.ones((images, 2)))
    rows, weights = resampled_rows(sums, 0)
    assert len(rows.count) == (images if different else 16)
    assert (weights.sum(1) == images).all()
    np.testing.assert_allclose(weights[0] @ rows.judged, judged.sum(0))
    means = weights[1:] @ rows.judged / images
    np.testing.assert_allclose(means.mean(0), judged.mean(0), atol=0.002)
    assert weights[1:].sum(0).min() > 0
    np.testing.assert_allclose(means.std(0), judged.std(0) / images**0.5, rtol=0.15)
    shares = weights[0] / images
    spread = weights[1:].var(0).mean() / (images * shares * (1 - shares)).mean()
    assert spread == pytest.approx(1, abs=0.1)
    found = system_agreement(sums)
    assert found is not None
    np.testing.assert_allclose(found.judged, judged.mean(0))
