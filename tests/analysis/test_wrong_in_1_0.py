"""What 1.0 got wrong in new designs, each a test of its kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from decided import World, choices_of
from judged_records import pair, said
from visualjudge.analysis import analyse_study, study_of
from visualjudge.analysis.figures.bias import BIAS
from visualjudge.analysis.separation import Comparisons, PairsOfModels, separate
from visualjudge.analysis.statistics.corrected_means import pooled_means
from visualjudge.analysis.statistics.favour import fair_fit
from visualjudge.core.seeding import rng_for


def _numbers(value: Any) -> Any:
    """Metrics without what a seed decides: 75 % points, the halves of images for
    encodings."""
    if isinstance(value, dict):
        skipped = ("sensitivity", "encodings", "bootstrap", "probabilities")
        return {k: _numbers(v) for k, v in value.items() if k not in skipped}
    return (
        [_numbers(v) for v in value]
        if isinstance(value, list | tuple)
        else value
    )


def test_no_headline_depends_on_the_seed() -> None:
    questions = World.of(30, 5, gap=0.3).pair_questions()
    verdicts = choices_of(questions, 0.8, 1, swap=True)
    found = [
        _numbers(
            dict(
                analyse_study(
                    study_of(questions, {"judge": verdicts}, seed=seed)
                ).metrics
            )
        )
        for seed in (0, 1, 7)
    ]
    assert found[0] == found[1] == found[2]


def _compared(true: np.ndarray, judged: np.ndarray) -> PairsOfModels:
    """Models with these values, images × models."""
    first, second = np.triu_indices(true.shape[1], 1)
    image = np.repeat(np.arange(len(true)), first.size)
    wins = [
        ((np.sign(v[:, first] - v[:, second]) + 1) / 2).ravel()
        for v in (judged, true)
    ]
    names = tuple(f"m{k}" for k in range(true.shape[1]))
    places = np.tile(first, len(true)), np.tile(second, len(true)), image
    difference = (true[:, first] - true[:, second]).ravel()
    return separate(
        Comparisons(names, ("t",) * len(names), *places, *wins, difference)
    )


@pytest.mark.parametrize("sources", [10, 20])
def test_bounds_of_tau_hold_that_of_many_images_with_close_sources(
    sources: int,
) -> None:
    rng = rng_for(0, "close", sources)
    quality = 0.02 * np.arange(sources)
    held = 0
    for _ in range(12):
        true = quality + rng.normal(0, 1, (40, sources))
        ends = _compared(
            true, true + rng.normal(0, 0.7, true.shape)
        ).tau_b.interval
        assert ends is not None
        # on unlimited images both orders are those of quality
        held += ends[0] <= 1.0 <= ends[1]
    assert held >= 11


def test_a_pair_that_is_always_right_is_bounded_by_images() -> None:
    """A perfect judge of eight images: no pair of close sources is certain."""
    true = np.random.default_rng(0).normal(0, 1, (8, 4)) + 0.1 * np.arange(4)
    found = _compared(true, true).tau_b
    assert found.value == 1
    ends = found.interval
    assert ends is not None and ends[0] < 0 and ends[1] == 1


def _convicted(
    rng: np.random.Generator, favour: float, *, uneven: bool
) -> np.ndarray:
    """Which of five sources a judge is convicted of favouring; the best is shown on
    hard images."""
    images, pairs = (
        60,
        np.array([(i, j) for i in range(5) for j in range(i + 1, 5)]),
    )
    hard = rng.normal(0, 1, images)
    score = 0.5 * np.arange(5)[::-1] + rng.normal(0, 1, (images, 5))
    order = rng.random((images, 10))
    easy = (hard < 0) & (rng.random(images) < 0.9) & uneven
    order += 2 * (easy[:, None] & (pairs == 0).any(1))
    a, b = pairs[np.argsort(order, axis=1)[:, :6].ravel()].T
    image = np.repeat(np.arange(images), 6)
    margin = score[image, a] - score[image, b]
    lift = favour * ((a == 2) * 1.0 - (b == 2))
    judged = (
        margin + lift + rng.normal(0, 1, a.size) * np.exp(0.9 * hard[image])
    )
    said = (judged > 0).astype(float)
    fit = fair_fit(
        np.concatenate([said, 1 - said]), np.concatenate([margin > 0, margin < 0]) * 1.0,
        np.concatenate([margin, -margin]), np.concatenate([a, b]), np.tile(np.arange(a.size), 2),
        np.tile(image, 2), np.zeros(2 * a.size, int), np.zeros(5, int),
    )  # fmt: skip
    assert fit is not None
    return np.array([row.sure for row in fit.favours()])


def test_a_fair_judge_of_harder_images_is_not_convicted_and_a_favouring_one_is() -> (
    None
):
    rng = rng_for(2, "favour")
    fair = [_convicted(rng, 0.0, uneven=True).any() for _ in range(40)]
    favouring = [_convicted(rng, 1.0, uneven=False)[2] for _ in range(20)]
    assert np.mean(fair) <= 0.13 and np.mean(favouring) >= 0.8


def test_one_question_asked_in_both_orders_gives_no_interval_of_position_bias() -> (
    None
):
    question = pair(0, (8.0, 2.0))
    verdicts = [said(question, "A", order) for order in ("AB", "BA")]
    place = analyse_study(study_of([question], {"judge": verdicts})).judges[0][
        BIAS
    ][0]
    assert (
        place.estimate.interval is None
        and place.estimate.why == "fewer than 5 images"
    )


def test_labels_of_unequal_probability_count_as_fewer() -> None:
    rng = rng_for(5, "unequal")
    image, truth = np.arange(200), (rng.random(200) < 0.6).astype(float)
    said_ = np.where(rng.random(200) < 0.8, truth, 1 - truth)
    chosen = rng.permutation(200)[:12]
    labels = np.full(200, np.nan)
    labels[chosen] = truth[chosen]
    freedom = []
    for low in (0.06, 0.01):
        chance = np.full(200, np.nan)
        chance[chosen] = np.where(np.arange(12) % 2, 0.06, low)
        found = pooled_means(
            said_,
            labels,
            np.zeros(200, int),
            image,
            probability=chance,
            lam=0.5,
        )
        freedom.append(float(found.freedom[0, 0]))
    assert freedom[1] < freedom[0]
