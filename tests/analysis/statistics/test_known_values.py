"""Values that were published or computed by the reference implementations."""

from __future__ import annotations

import numpy as np
import pytest

from folding import each
from visualjudge.analysis.statistics.alternative_annotator import (
    AltTest,
    alt_test,
)
from visualjudge.analysis.statistics.corrected_means import pooled_means

Y = [int(c) for c in "1100101011"]
F = [int(c) for c in "1001101011"]
UNLABELLED = [int(c) for c in "11010101110110110110" * 5]


def test_a_corrected_mean_equals_ppi_python_s() -> None:
    """``ppi_mean_ci`` of ppi-python 0.2.3: with full weight, the unlabelled items alone
    count."""
    said, labels = np.array([*F, *UNLABELLED]), np.full(110, np.nan)
    labels[:10] = Y
    found = pooled_means(
        said, labels, np.zeros(110, int), np.arange(110), lam=1
    )
    rectifier = np.mean(np.subtract(Y, F))
    assert found.values[0] == pytest.approx(said.mean() + rectifier, abs=1e-12)
    assert np.mean(UNLABELLED) + rectifier == pytest.approx(0.65, abs=1e-12)


def _reference_alt_test(human, judge, epsilon, score):  # type: ignore[no-untyped-def]
    """The source's definition, written out: ω and ρ."""
    from scipy import stats

    p_values, advantages = [], []
    for name, answers in human.items():
        items = [
            i
            for i in answers
            if i in judge and any(i in a for n, a in human.items() if n != name)
        ]
        ours, hers = [], []
        for item in items:
            rest = [
                a[item] for n, a in human.items() if n != name and item in a
            ]
            ours.append(score(judge[item], rest) >= score(answers[item], rest))
            hers.append(score(answers[item], rest) >= score(judge[item], rest))
        difference = np.array(hers, int) - np.array(ours, int)
        p_values.append(
            stats.ttest_1samp(difference, epsilon, alternative="less").pvalue
        )
        advantages.append(np.mean(ours))
    m = len(p_values)
    thresholds = (
        np.arange(1, m + 1) / m * 0.05 / np.sum(1 / np.arange(1, m + 1))
    )
    below = np.flatnonzero(np.sort(p_values) <= thresholds)
    return (below[-1] + 1 if below.size else 0) / m, np.mean(advantages)


@each("noise", [0.3, 1.0, 2.5])
def test_alt_test_equals_its_definition(noise: float) -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(1, 6, 80)
    human = {
        f"person {p}": {
            i: int(np.clip(truth[i] + rng.integers(-1, 2), 1, 5))
            for i in range(80)
            if rng.random() < 0.8
        }
        for p in range(5)
    }
    judge = {i: float(truth[i] + rng.normal(0, noise)) for i in range(78)}

    def score(answer: float, others: list[float]) -> float:
        return -float(np.sqrt(np.mean([(answer - o) ** 2 for o in others])))

    found = alt_test(human, judge, lambda item: item, epsilon=0.1)
    omega, rho = _reference_alt_test(human, judge, 0.1, score)
    assert (found.omega, found.advantage) == pytest.approx((omega, rho))


def test_alt_test_leaves_out_people_with_few_items() -> None:
    human = {
        "a": dict.fromkeys(range(40), 1),
        "b": dict.fromkeys(range(40), 1),
        "c": dict.fromkeys(range(5), 1),
    }
    judge = dict.fromkeys(range(40), 1)
    found = alt_test(human, judge, lambda item: item, epsilon=0.1, nominal=True)
    assert (found.people, found.omega, found.advantage) == (2, 1, 1)


def test_repeating_the_items_of_an_image_changes_the_published_alt_test_alone() -> (
    None
):
    rng = np.random.default_rng(8)
    truth = rng.integers(1, 4, 40)
    people = [
        np.where(rng.random(40) < 0.7, truth, rng.integers(1, 4, 40))
        for _ in range(5)
    ]
    said = np.where(rng.random(40) < 0.7, truth, rng.integers(1, 4, 40))

    def found(times: int) -> AltTest:
        items = [(g, k) for g in range(40) for k in range(times)]
        human = {
            f"person {p}": {(g, k): int(people[p][g]) for g, k in items}
            for p in range(5)
        }
        judge = {(g, k): int(said[g]) for g, k in items}
        return alt_test(
            human, judge, lambda item: item[0], epsilon=0.1, nominal=True
        )

    once, many = found(1), found(20)
    assert once.by_image == many.by_image < many.omega
    assert once.advantage == many.advantage


def test_a_person_who_is_nowhere_ahead_on_few_images_proves_little() -> None:
    human = {
        name: {(g, k): 1 for g in range(8) for k in range(10)} for name in "abc"
    }
    judge = {(g, k): 1 for g in range(8) for k in range(10)}
    found = alt_test(
        human, judge, lambda item: item[0], epsilon=0.1, nominal=True
    )
    assert (found.omega, found.by_image) == (1.0, 0.0)


def _p_by_image(ahead: np.ndarray, image: np.ndarray, epsilon: float) -> float:
    """Johnson's t of a mean clustered by image, written out."""
    from scipy import stats

    names, sizes = np.unique(image, return_counts=True)
    apart = np.array([ahead.mean() - ahead[image != k].mean() for k in names])
    variance = (1 - 1 / names.size) * (apart**2).sum()
    variance = max(variance, epsilon * (1 - epsilon) / ahead.size)
    t = (ahead.mean() - epsilon) / variance**0.5
    skewness = (apart**3).sum() / (apart**2).sum() ** 1.5
    if t < 0 < skewness:
        t = min(0, t + skewness * (2 * min(t**2, 9) + 1) / 6)
    p = float(stats.t.cdf(t, sizes.sum() ** 2 / (sizes**2).sum() - 1))
    nowhere = epsilon > 0 and (ahead <= 0).all()
    return max(p, (1 - epsilon) ** names.size) if nowhere else p


def test_the_test_by_image_is_johnson_s_t_of_images_left_out() -> None:
    rng = np.random.default_rng(5)
    rejected = []
    for _ in range(120):
        images, epsilon = rng.integers(5, 40), rng.choice([0.0, 0.1, 0.2])
        image = np.sort(rng.integers(0, images, rng.integers(30, 60)))
        rare = rng.random(images) < 0.15
        ours, hers = rng.random((2, image.size)) < 0.9 - 0.4 * np.stack(
            [rare[image], rng.random() < 0.5 * ~rare[image]]
        )
        if np.unique(image).size < 5:
            continue
        items = [*enumerate(image.tolist())]
        human = {
            "she": dict(zip(items, hers.astype(int).tolist(), strict=True))
        }
        # the others are right, and have too few items to be tested themselves
        human |= {f"{k}": dict.fromkeys(items[k::3], 1) for k in range(3)}
        judge = dict(zip(items, ours.astype(int).tolist(), strict=True))
        found = alt_test(
            human,
            judge,
            lambda item: item[1],
            epsilon=float(epsilon),
            nominal=True,
        )
        assert found.people == 1
        ahead = hers.astype(float) - ours
        if not ahead.any():
            continue
        p = _p_by_image(ahead, image, float(epsilon))
        assert found.by_image == (p <= 0.05), p
        rejected.append(found.by_image)
    assert 15 < sum(rejected) < len(rejected) - 15
