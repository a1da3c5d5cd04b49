"""Do stated probabilities come true? Reliability diagram, Brier score, expected calibration error.

Sources: Brier 1950; Murphy & Winkler 1977; Naeini et al. 2015 and Guo et al. 2017 (ECE); Roelofs et al. 2022 (bins of
equal mass). Intervals by resampling clusters; that of the ECE is reflected, since few items bias it upwards (Kumar et
al. 2019).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from visualjudge.analysis.statistics.arguments import cluster_codes, same_length, vector
from visualjudge.errors import UsageError
from visualjudge.records import FloatArray, IntArray
from visualjudge.seeding import rng_for

Interval = tuple[float, float]
DRAWS = 1000
LEAST_IMAGES = 5


@dataclass(frozen=True)
class Bin:
    """Items whose stated probability lies near ``stated``, and the share of them that came true."""

    stated: float
    observed: float
    n: int


@dataclass(frozen=True)
class Measure:
    """A figure with its 95 % interval, None with fewer than 5 images."""

    value: float
    interval: Interval | None


@dataclass(frozen=True)
class Calibration:
    """``brier`` (0 is perfect, 0.25 is "always one half"), ``ece`` (0 is calibrated), the diagram's ``bins``."""

    brier: Measure
    ece: Measure
    bins: tuple[Bin, ...]
    n: int
    images: int


def calibration(
    probability: ArrayLike, happened: ArrayLike, clusters: ArrayLike | None = None, *, bins: int = 10, seed: int = 0
) -> Calibration:
    """Of (n,) stated probabilities, 0..1, and (n,) outcomes, 0 or 1.

    Raises
    ------
    UsageError
        If lengths differ, there is no item, a probability is outside 0..1 or an outcome neither 0 nor 1.
    """
    stated, truth = vector("probability", probability, least=1), vector("happened", happened, least=1)
    same_length(probability=stated, happened=truth)
    if stated.min() < 0 or stated.max() > 1:
        raise UsageError("probability must be between 0 and 1")
    if not np.isin(truth, (0, 1)).all():
        raise UsageError("happened must be 0 or 1")
    codes = np.arange(stated.size) if clusters is None else cluster_codes("clusters", clusters, stated.size)
    which = _equal_mass(stated, bins)
    ones = np.ones((1, stated.size))
    squares = (stated - truth) ** 2
    weights = _resamples(codes, seed)
    images = int(codes.max()) + 1
    brier = (weights @ squares) / weights.sum(1)
    ece, draws = float(_ece(ones, stated, truth, which)[0]), _ece(weights, stated, truth, which)
    return Calibration(
        Measure(float(squares.mean()), _percentiles(brier, images)),
        Measure(ece, _percentiles(np.maximum(0, 2 * ece - draws), images)),  # basic bootstrap: the bias points up
        _diagram(stated, truth, which),
        stated.size,
        images,
    )


def _equal_mass(stated: FloatArray, bins: int) -> IntArray:
    """The bin of each item; equal probabilities share a bin."""
    edges = np.unique(np.quantile(stated, np.linspace(0, 1, bins + 1)[1:-1]))
    return np.asarray(np.unique(np.searchsorted(edges, stated, side="left"), return_inverse=True)[1])


def _ece(weights: FloatArray, stated: FloatArray, truth: FloatArray, which: ArrayLike) -> FloatArray:
    """Expected calibration error for each row of ``weights`` (draws × n)."""
    member = np.asarray(which)[:, None] == np.unique(np.asarray(which))
    gaps = np.abs(weights @ (member * (stated - truth)[:, None]))
    return np.asarray(gaps.sum(1) / weights.sum(1))


def _diagram(stated: FloatArray, truth: FloatArray, which: ArrayLike) -> tuple[Bin, ...]:
    groups = [np.asarray(which) == name for name in np.unique(np.asarray(which))]
    return tuple(Bin(float(stated[g].mean()), float(truth[g].mean()), int(g.sum())) for g in groups)


def _resamples(codes: ArrayLike, seed: int) -> FloatArray:
    """How often each item is taken when clusters are drawn with replacement, draws × n."""
    names = np.asarray(codes)
    images = int(names.max()) + 1
    drawn = rng_for(seed, "calibration", images).multinomial(images, np.full(images, 1 / images), size=DRAWS)
    return np.asarray(drawn[:, names], dtype=float)


def _percentiles(draws: FloatArray, images: int) -> Interval | None:
    if images < LEAST_IMAGES:
        return None
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)
