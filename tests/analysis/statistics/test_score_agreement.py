"""A judge's scores beside true ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from visualjudge.analysis.statistics.calibration import abstaining
from visualjudge.analysis.statistics.score_agreement import (
    Scores,
    image_groups,
    weighted_mean,
)
from visualjudge.analysis.statistics.score_bar import (
    Bar,
    error_level,
    order_level,
    over_tasks,
    state,
)
from visualjudge.analysis.statistics.score_ranges import (
    prediction_range,
    score_ranges,
)

TEN = (0.0, 10.0)


def scores(judged, true, image=None, step=1.0):
    judged, true = np.asarray(judged, float), np.asarray(true, float)
    image = np.arange(true.size) if image is None else np.asarray(image)
    group = image_groups(image)
    return Scores(judged, true, image, group, int(group.max()) + 1, step)


def noisy(images, error, items=1, seed=0):
    rng = np.random.default_rng(seed)
    true = np.clip(np.round(rng.normal(5, 2, images * items)), 0, 10)
    judged = np.clip(np.round(true + rng.normal(0, error, true.size)), 0, 10)
    return scores(judged, true, np.repeat(np.arange(images), items))


def judged_state(own, bar=None):
    bar = bar or Bar()
    return state(order_level(own, bar), error_level(own, bar))


def test_the_figures_of_few_scores_are_those_computed_by_hand():
    own = scores([4, 5, 5, 5, 1, 2], [3, 5, 4, 2, 1, 1])
    assert own.bias.value == pytest.approx(1.0)
    assert own.mae.value == pytest.approx(1.0)
    assert own.constant == 2.5
    assert own.constant_mae.value == pytest.approx(8 / 6)
    assert own.gain.value == pytest.approx(2 / 6)
    assert (own.exact.value, own.within_one.value) == (2 / 6, 5 / 6)
    assert (own.saturation.value, own.usual) == (0.5, 5.0)
    columns = own.judged, own.true
    assert own.spearman.value == pytest.approx(stats.spearmanr(*columns)[0])
    assert own.pearson.value == pytest.approx(stats.pearsonr(*columns)[0])


def test_the_items_of_an_image_are_not_independent():
    alone = noisy(40, 2)
    # the same numbers four times on each image hold no more than once
    four = scores(
        *(
            np.repeat(part, 4)
            for part in (alone.judged, alone.true, alone.image)
        )
    )
    for name in ("spearman", "mae", "bias", "gain"):
        once, more = getattr(alone, name).estimate, getattr(four, name).estimate
        assert more.interval == pytest.approx(once.interval)
        assert (once.images, more.images, more.n) == (40, 40, 160)


def test_the_difference_of_two_judges_is_paired():
    a = noisy(100, 1.0)
    b = scores(a.judged + 0.5, a.true)
    worse = (b.mae - a.mae).estimate
    assert worse.value == pytest.approx(b.mae.value - a.mae.value)
    assert worse.interval[0] > 0
    assert b.mae.estimate.interval[0] < a.mae.estimate.interval[1]
    assert (a.spearman - a.spearman).p == 1.0


def test_intervals_do_not_depend_on_the_order_of_the_items():
    own = noisy(450, 1.5, items=2)
    order = np.random.default_rng(1).permutation(own.true.size)
    other = scores(own.judged[order], own.true[order], own.image[order])
    ends = other.mae.estimate.interval
    assert own.mae.estimate.interval == pytest.approx(ends, abs=1e-12)


def test_the_mean_over_tasks_knows_no_difference_between_tasks():
    rng = np.random.default_rng(3)
    task = np.repeat([0, 1], 100)
    true = np.round(np.clip(2 + 6 * task + rng.normal(0, 1, 200), 0, 10))
    copies = 2.0 + 6 * task + rng.normal(0, 0.1, 200)
    group = image_groups(np.arange(200))
    parts = [
        Scores(
            copies[own], true[own], np.flatnonzero(own), group[own], 200, 1.0
        )
        for own in (task == 0, task == 1)
    ]
    low, high = weighted_mean(
        [part.spearman for part in parts], 200
    ).estimate.interval
    assert low < 0 < high
    assert scores(copies, true).spearman.value > 0.7
    assert over_tasks(judged_state(part) for part in parts) == "no"


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        (
            lambda true, rng: np.clip(
                true + rng.normal(0, 1, true.size), 0, 10
            ),
            "yes",
        ),
        (lambda true, rng: np.full(true.size, 5.0), "no"),
        (lambda true, rng: rng.integers(0, 11, true.size), "no"),
        (lambda true, rng: np.clip(true + 4, 0, 10), "in_part"),
    ],
    ids=["good", "constant", "guesses", "lenient"],
)
def test_the_bar_asks_for_order_and_for_error(judged, expected):
    rng = np.random.default_rng(0)
    true = np.round(np.clip(rng.normal(4, 2, 200), 0, 10))
    own = scores(judged(true, rng), true)
    assert judged_state(own) == expected
    assert judged_state(scores(own.judged[:9], true[:9])) == "too_few"
    assert judged_state(own, Bar(spearman=0.999, error=0.001)) in (
        "no",
        "in_part",
    )


def test_the_states_of_tasks_make_one_state():
    assert over_tasks(["yes", "too_few", "yes"]) == "yes"
    assert over_tasks(["yes", "no"]) == "in_part"
    assert over_tasks(["too_few"]) == "too_few"


def test_a_range_is_two_order_statistics_and_reaches_no_further_than_the_scale():
    true = np.array([3.0, *np.linspace(4, 5, 29), 9.0])
    # 31 images: ⌊32 · 0.1⌋ − 1 = 2 places are left out; both above is narrower than one
    # at each end
    assert prediction_range(true, np.arange(31), TEN, 0.1) == (0.0, 5.0)
    assert prediction_range(true, np.arange(31), (-5.0, 20.0), 0.1) == (
        3.0,
        9.0,
    )
    low, high = prediction_range(true, np.arange(31), TEN, 0.2)
    assert 4 <= low < high <= 5
    assert prediction_range(true[:8], np.arange(8), TEN, 0.1) == TEN


def test_ranges_cover_what_they_state():
    rng = np.random.default_rng(5)
    true = rng.uniform(0, 10, 600)
    judged = np.round(np.clip(true + rng.normal(0, 1, 600), 0, 10))
    found = score_ranges(judged, true, np.arange(600))
    assert 0.87 <= found.coverage.value <= 0.94
    assert found.width < 5
    assert [own.score for own in found.ranges] == sorted(set(judged))
    assert all(own.low <= own.score <= own.high for own in found.ranges)
    few = score_ranges(judged[:40], true[:40], np.arange(40)).ranges
    assert [(own.score, own.score_high) for own in few] == [
        (judged[:40].min(), judged[:40].max())
    ]


def test_a_category_has_thirty_images_each_counted_once():
    judged = np.repeat([1.0, 2.0, 3.0], 30)
    image = np.arange(90)
    image[30] = image[31]
    ranges = score_ranges(judged, judged, image).ranges
    categories = [(own.score, own.score_high, own.images) for own in ranges]
    assert categories == [(1.0, 1.0, 30), (2.0, 3.0, 59)]


def test_abstaining_gains_where_confidence_means_something():
    rng = np.random.default_rng(2)
    sure = rng.integers(1, 6, 300) / 5
    loss = np.abs(rng.normal(0, 3 * (1.2 - sure)))
    image = np.arange(300)
    rows = abstaining(sure, loss, image % 200, image)
    gains = [row.gain for row in rows]
    assert all(gain.interval[0] > 0 for gain in gains)
    assert [row.answered for row in rows] == sorted(
        (row.answered for row in rows), reverse=True
    )
    assert rows[0].loss.value == pytest.approx(
        loss[sure >= rows[0].least].mean()
    )
    nothing = abstaining(rng.permutation(sure), loss, image % 200, image)
    assert all(row.gain.interval[0] < 0 for row in nothing)
    assert abstaining(np.ones(300), loss, image % 200, image) == ()


def test_the_share_of_wrong_ones_among_the_surest_choices_is_held():
    """Of 25 images, few choices are wrong: a symmetrical interval held it in 80 % of
    studies, and had none where none was wrong.
    """
    held = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        image = np.repeat(np.arange(25), 4)
        sure = rng.uniform(size=100)
        wrong = (rng.random(100) < np.where(sure < 0.25, 0.4, 0.03)).astype(
            float
        )
        (row,) = abstaining(sure, wrong, image, image, [0.75], choices=True)
        low, high = row.loss.interval
        held.append(low <= 0.03 <= high)
    assert np.mean(held) >= 0.9


def test_a_mean_error_of_few_images_is_above_0_and_reaches_far_enough():
    """A symmetrical interval of skewed errors ends below 0, or too early above."""
    image = np.arange(20)
    above = 0
    for seed in range(300):
        error = np.random.default_rng(seed).exponential(size=20)
        made = Scores(error, np.zeros(20), image, image, 20, 1.0)
        above += made.mae.estimate.interval[1] < 1
    assert above <= 0.055 * 300
    one = Scores(8.0 * (image == 3), np.zeros(20), image, image, 20, 1.0)
    assert one.mae.estimate.interval[0] > 0
