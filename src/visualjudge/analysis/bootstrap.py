"""Uncertainty by resampling images, never single verdicts: the questions about one image stand or fall together.

One :class:`Resampling` serves a whole report. Each draw takes as many images as there are, with replacement, so a
statistic that is a function of sums over images needs one matrix product for all draws, and two statistics of the
same draws are paired.

Sources: Field & Welsh 2007 (the cluster bootstrap); Hesterberg 2015, "What teachers should know about the
bootstrap" (quantiles widened to Student's t for few clusters); Clopper & Pearson 1934.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from visualjudge.records import FloatArray
from visualjudge.seeding import rng_for

DRAWS = 2000
LEAST_SPREAD = 1e-12
"""A spread below this is rounding: all images agree, and an interval would claim certainty."""
MIN_DRAWS = 400
CELLS = 40_000_000
CHUNK = 200
Interval = tuple[float, float]


@dataclass(frozen=True)
class Resampling:
    """``draws`` resamples of ``clusters`` images, drawn from ``seed``.

    ``wanted`` draws are made where clusters × draws stays below 40 million, fewer (at least 400) above, where the
    intervals are narrow and their Monte Carlo error with them.
    """

    clusters: int
    seed: int = 0
    wanted: int = DRAWS

    @property
    def draws(self) -> int:
        """How many resamples there are."""
        return int(min(self.wanted, max(MIN_DRAWS, CELLS // max(1, self.clusters))))

    @cached_property
    def weights(self) -> NDArray[np.uint8]:
        """How often each image is taken, draws × clusters."""
        rng = rng_for(self.seed, "bootstrap", self.clusters)
        out = np.empty((self.draws, self.clusters), dtype=np.uint8)
        for row in out:
            counts = np.bincount(rng.integers(0, self.clusters, self.clusters), minlength=self.clusters)
            row[:] = np.minimum(counts, 255)
        return out

    def sums(self, columns: Any) -> FloatArray:
        """Resampled totals, draws × C, of ``columns`` (clusters × C, dense or sparse: one row an image)."""
        matrix = sparse.csr_array(columns).T.tocsr()
        out = np.empty((self.draws, matrix.shape[0]))
        for start in range(0, self.draws, CHUNK):
            part = self.weights[start : start + CHUNK].T.astype(np.float64)
            out[start : start + CHUNK] = (matrix @ part).T
        return out

    def ratios(self, numerators: Any, denominators: Any) -> FloatArray:
        """Resampled ratios of totals, draws × C; NaN where a draw holds none of the images a column needs."""
        top, bottom = self.sums(numerators), self.sums(denominators)
        return np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom != 0)


def widened_tail(clusters: int, tail: float = 0.025) -> float:
    """The normal tail that gives Student's t at ``clusters`` - 1 degrees of freedom, with the √(n/(n−1)) correction."""
    reach = stats.t.isf(tail, clusters - 1) * np.sqrt(clusters / (clusters - 1))
    return float(stats.norm.sf(reach))


def percentile_interval(draws: FloatArray, clusters: int) -> Interval | None:
    """95 % percentile interval with Hesterberg's widened quantiles.

    None with fewer than two clusters, and where all draws agree: nothing varied, so nothing is known of the spread.
    """
    seen = draws[np.isfinite(draws)]
    if clusters < 2 or seen.size < MIN_DRAWS // 2 or np.ptp(seen) < LEAST_SPREAD:
        return None
    tail = widened_tail(clusters)
    low, high = np.quantile(seen, [tail, 1 - tail])
    return float(low), float(high)


def share_interval(draws: FloatArray, share: float, clusters: int) -> Interval | None:
    """95 % interval of a share: logit ± Student's t × the bootstrap's standard error on that scale.

    Of this interval, the percentile and BCa, this one came nearest 95 % with few images that differ. Where every image
    agrees (a share of exactly 0 or 1) there is nothing to resample and the bootstrap would claim certainty: the
    interval is then Clopper and Pearson's with each image counted once.
    """
    if clusters < 2:
        return None
    if share in (0.0, 1.0):
        edge = 0.025 ** (1 / clusters)
        return (0.0, 1 - edge) if share == 0 else (edge, 1.0)
    spread = standard_error(draws) / (share * (1 - share))
    if spread < LEAST_SPREAD:  # every image has this very share, as where one place is chosen in both orders
        return share, share
    ends = t_interval(float(np.log(share / (1 - share))), spread, clusters)
    return None if ends is None else (float(1 / (1 + np.exp(-ends[0]))), float(1 / (1 + np.exp(-ends[1]))))


def standard_error(draws: FloatArray) -> float:
    """Standard deviation over the draws that could be computed; NaN with fewer than two."""
    seen = draws[np.isfinite(draws)]
    return float(np.std(seen, ddof=1)) if seen.size > 1 else float("nan")


def t_interval(estimate: float, error: float, clusters: int) -> Interval | None:
    """estimate ± Student's t (``clusters`` - 1 degrees of freedom) × standard error; None where no image differs."""
    if clusters < 2 or not np.isfinite(error) or not np.isfinite(estimate) or error < LEAST_SPREAD:
        return None
    reach = float(stats.t.isf(0.025, clusters - 1)) * error * np.sqrt(clusters / (clusters - 1))
    return estimate - reach, estimate + reach


def t_test(estimate: float, error: float, clusters: int) -> float | None:
    """Two-sided p of ``estimate`` = 0, by Student's t with ``clusters`` - 1 degrees of freedom.

    Where no image differs from another (error 0) the p is a sign test's over images: 1 for an estimate of 0.
    """
    if clusters < 2 or not np.isfinite(estimate) or not np.isfinite(error):
        return None
    if error < LEAST_SPREAD:
        return 1.0 if abs(estimate) < 1e-12 else min(1.0, 2 * 0.5**clusters)
    scaled = abs(estimate) / (error * np.sqrt(clusters / (clusters - 1)))
    return float(2 * stats.t.sf(scaled, clusters - 1))


def fisher_interval(estimate: float | None, draws: FloatArray, clusters: int) -> Interval | None:
    """Interval of a correlation: symmetrical on Fisher's z scale, the spread taken from the draws."""
    if estimate is None or not abs(estimate) < 1:
        return None
    seen = draws[np.isfinite(draws)]
    spread = standard_error(np.arctanh(np.clip(seen, -0.999999, 0.999999)))
    span = t_interval(float(np.arctanh(estimate)), spread, clusters)
    return None if span is None else (float(np.tanh(span[0])), float(np.tanh(span[1])))
