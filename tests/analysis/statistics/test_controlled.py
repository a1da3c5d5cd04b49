"""Strengths at equal covariates: as logistic regression has them, and as the plain ones without."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm

from judged_records import pair, said
from visualjudge.analysis import analyse_study, study_of
from visualjudge.analysis.leaderboard import games_of
from visualjudge.analysis.statistics.bradley_terry import penalised
from visualjudge.analysis.statistics.controlled import controlled
from visualjudge.core.records import FloatArray, IntArray, OptionFeatures
from visualjudge.core.seeding import rng_for

STRENGTH, EFFECT = np.array([0.8, 0.2, -0.3, -0.7]), np.array([0.6, -0.4])
Games = tuple[IntArray, IntArray, FloatArray, FloatArray, IntArray]


def drawn(images: int, seed: int, tie: float = 0.0, apart: float = 0.0) -> Games:
    """Six games an image; ``apart``: the deviation of an image's own effects of the covariates."""
    rng = rng_for(seed, "controlled")
    a, b = (np.tile(side, images) for side in np.triu_indices(4, 1))
    image = np.repeat(np.arange(images), 6)
    z = rng.normal(size=(a.size, 2)) + 0.8 * (a == 0)[:, None]
    line = STRENGTH[a] - STRENGTH[b] + z @ EFFECT + apart * rng.normal(size=images)[image]
    outcome = (rng.random(a.size) < 1 / (1 + np.exp(-line))).astype(float)
    return a, b, np.where(rng.random(a.size) < tie, 0.5, outcome), z, image


def design(a: IntArray, b: IntArray, z: FloatArray) -> FloatArray:
    """The first three sources less the last, and the covariates."""
    x = np.zeros((a.size, 4))
    x[np.arange(a.size), a] += 1
    x[np.arange(a.size), b] -= 1
    return np.hstack([x[:, :3], z])


def test_without_ties_it_is_the_logistic_regression_of_statsmodels() -> None:
    a, b, outcome, z, image = drawn(80, 0)
    reference = sm.Logit(outcome, design(a, b, z)).fit(
        disp=0, cov_type="cluster", cov_kwds={"groups": image, "use_correction": False}
    )
    found = controlled(a, b, outcome, z, image, 4, ridge=0.0)
    against_last = found.log_strength[:3] - found.log_strength[3]
    np.testing.assert_allclose(against_last, reference.params[:3], atol=1e-6)
    np.testing.assert_allclose(found.effect, reference.params[3:], atol=1e-6)
    width = (found.effect_ends[:, 1] - found.effect_ends[:, 0]) / 2
    np.testing.assert_allclose(width, 1.99 * reference.bse[3:] * np.sqrt(80 / 79), rtol=0.02)


def test_without_covariates_it_is_the_plain_fit() -> None:
    a, b, outcome, _, image = drawn(30, 1, tie=0.2)
    games = games_of(pl.DataFrame({"a": a, "b": b, "outcome": outcome, "cluster": image}), 4)
    plain = penalised(games.wins.sum(0), games.ties.sum(0), 1.5)
    found = controlled(a, b, outcome, np.zeros((a.size, 0)), image, 4, added=plain.added)
    np.testing.assert_allclose(found.log_strength, plain.log_strength, atol=1e-6)
    assert found.log_tie == pytest.approx(plain.log_tie, abs=1e-6)


def test_strengths_are_those_at_equal_covariates_and_intervals_hold_them() -> None:
    within, off = [], []
    for seed in range(60):
        a, b, outcome, z, image = drawn(60, seed, apart=0.5)
        found = controlled(a, b, outcome, z, image, 4)
        planted = np.append(STRENGTH, EFFECT)
        ends = np.vstack([found.strength_ends, found.effect_ends])
        within.append((ends[:, 0] <= planted) & (planted <= ends[:, 1]))
        off.append(np.append(found.log_strength, found.effect) - planted)
    assert np.abs(np.mean(off, axis=0)).max() < 0.12
    assert 0.9 <= np.mean(within) <= 0.99


def test_a_judge_that_likes_long_texts_is_seen_through_in_the_report() -> None:
    """Sources are equal; one writes more, and the judge takes the longer text."""
    rng, questions, verdicts = rng_for(3, "long"), [], []
    for k in range(600):
        names = tuple(rng.permutation(["long", "short", "mid"])[:2])
        chars = [int({"long": 300, "mid": 220, "short": 140}[n] + rng.normal(0, 80)) for n in names]
        scores = (float(rng.uniform(0, 10)), float(rng.uniform(0, 10)))
        shown = tuple(OptionFeatures(text_chars=max(1, n)) for n in chars)
        question = pair(k, scores, id=f"q{k}", image_id=f"image{k % 100}", sources=names,
                        features=shown)  # fmt: skip
        longer = rng.random() < 1 / (1 + np.exp(-(chars[0] - chars[1]) / 80))
        questions.append(question)
        verdicts.append(said(question, "A" if longer else "B"))
    results = analyse_study(study_of(questions, {"judge": verdicts})).results
    (judge,) = results.judges
    rows = {row.source: row for row in judge.leaderboard.rows}
    assert rows["long"].strength.value - rows["short"].strength.value > 1.0  # type: ignore[operator]
    for row in rows.values():
        assert row.controlled.value == pytest.approx(0, abs=0.4)
        assert row.controlled.interval is not None
    effects = {row.name: row.effect for row in judge.leaderboard.controls}
    assert set(effects) == {"order shown", "text length"}, "no count and no file size is known"
    assert effects["text length"].interval is not None
    assert (effects["text length"].interval[0] or 0) > 1
    assert effects["order shown"].value == pytest.approx(0, abs=0.3)
