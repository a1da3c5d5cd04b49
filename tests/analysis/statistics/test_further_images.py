"""Further images after which a pair is probably separated, or a figure told from its
bar."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from folding import each
from visualjudge.analysis.resolution import further_images
from visualjudge.analysis.statistics.score_bar import images_needed
from visualjudge.analysis.value_and_interval import Estimate

TIMES = np.geomspace(0.05, 20, 60)
PARTS = np.linspace(0.025, 0.975, 20)


def _proven(z: np.ndarray, own: float, tail: float, freedom: int) -> np.ndarray:
    """Probability that one pair is proven after each number of further images."""
    size = (z**2).sum() / max(1, np.count_nonzero(z))
    weights = stats.gamma.pdf(
        1 - PARTS, freedom / 2 + 1, scale=2 / (freedom * size)
    )
    more = TIMES[:, None]
    # the effect has mean part·z and variance part, the images before count 1
    mean = own + more * PARTS * own
    deviation = np.sqrt(more + more**2 * PARTS)
    bar = stats.norm.isf(tail) * np.sqrt(1 + more)
    chances = stats.norm.sf(bar, mean, deviation)
    return np.asarray(np.average(chances, axis=1, weights=weights))


def _up(number: float) -> int:
    """Two digits, rounded up."""
    digits = max(0, len(str(math.ceil(number))) - 2)
    return math.ceil(number / 10**digits) * 10**digits


@each(
    ("judge", "truth"),
    [
        ([1.0, 2.5, 0.5, 3.0], [1.2, 2.0, 0.4, 2.8]),
        ([1.0, -2.5, 0.5, 0.0], [1.2, 2.4, 3.0, 2.8]),
        ([-1.0, 1.9, 1.8, 0.3], [-2.9, 2.4, 3.0, 0.1]),
        ([0.1, 0.1, -0.1, 0.0], [0.1, -0.2, 0.1, 0.0]),
        ([6.0, -4.0, 5.0, 3.0], [1.0, -2.0, 2.0, 3.0]),
    ],
)
def test_further_images_are_those_of_judge_and_truth_both_being_proven(
    judge: list[float], truth: list[float]
) -> None:
    sides = np.array(judge), np.array(truth)
    images = np.array([10, 40, 333, 90])
    for tail, freedom in ((0.025, 3), (0.001, 30)):
        expected: list[tuple[int, int] | None] = []
        for k in (2, 0, 1, 3):
            stronger = max(judge[k], truth[k], key=abs)
            order = np.sign(stronger)
            both = np.prod(
                [_proven(z, z[k] * order, tail, freedom) for z in sides], axis=0
            )
            settled = np.flatnonzero(both >= 0.8)
            expected.append(
                (
                    _up(TIMES[np.flatnonzero(both >= 0.5)[0]] * images[k]),
                    _up(TIMES[settled[0]] * images[k]),
                )
                if settled.size
                else None
            )
        found = further_images(
            sides, np.array([2, 0, 1, 3]), images, tail, freedom
        )
        assert found == expected


def test_promised_images_decide_as_often_as_stated() -> None:
    rng = np.random.default_rng(0)
    end = stats.norm.isf(0.025)
    decided = []
    for true in rng.uniform(-6, 6, 4000):
        now = true + rng.normal()
        figure = Estimate(now, (now - end, now + end), 100, 100)
        needed = images_needed(100, ["open"], [(figure, 0.0)])
        if abs(now) >= end or needed is None:
            continue
        times = needed / 100
        further = true + rng.normal() / np.sqrt(times - 1)
        later = (now + (times - 1) * further) / times
        decided.append(abs(later) > end / np.sqrt(times))
    assert 0.77 < np.mean(decided) < 0.84
