"""Uncertainty by resampling images, never single verdicts: the questions about one image stand or
fall together.

Only the interval of a 75 % point is found so; every other figure leaves out each image in turn
(:mod:`visualjudge.analysis.statistics.jackknife`). One :class:`Resampling` serves a whole report.
Each draw takes as many images as there are, with replacement, so a statistic that is a function of
sums over images needs one matrix product for all draws.

Sources: Field & Welsh 2007 (the cluster bootstrap); Hesterberg 2015, "What teachers should know
about the bootstrap" (quantiles widened to Student's t for few clusters).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visualjudge.analysis.statistics.tails import norm_sf, t_isf
from visualjudge.core.records import FloatArray
from visualjudge.core.seeding import rng_for

DRAWS = 400
LEAST_SPREAD = 1e-12
"""A spread below this is rounding: all images agree, and an interval would claim certainty."""
CHUNK = 200
Interval = tuple[float, float]


@dataclass(frozen=True)
class Resampling:
    """``draws`` resamples of ``clusters`` images, drawn from ``seed``."""

    clusters: int
    seed: int = 0
    draws: int = DRAWS

    @cached_property
    def weights(self) -> NDArray[np.uint8]:
        """How often each image is taken, draws × clusters."""
        rng = rng_for(self.seed, "bootstrap", self.clusters)
        out = np.empty((self.draws, self.clusters), dtype=np.uint8)
        for row in out:
            counts = np.bincount(
                rng.integers(0, self.clusters, self.clusters), minlength=self.clusters
            )
            row[:] = np.minimum(counts, 255)
        return out

    def sums(self, columns: Any) -> FloatArray:
        """Resampled totals, draws × C, of ``columns`` (clusters × C, dense or sparse: one row an
        image).
        """
        matrix = sparse.csr_array(columns).T.tocsr()
        out = np.empty((self.draws, matrix.shape[0]))
        for start in range(0, self.draws, CHUNK):
            part = self.weights[start : start + CHUNK].T.astype(np.float64)
            out[start : start + CHUNK] = (matrix @ part).T
        return out


def widened_tail(clusters: int, tail: float = 0.025) -> float:
    """The normal tail that gives Student's t at ``clusters`` - 1 degrees of freedom, with the
    √(n/(n−1)) correction.
    """
    reach = t_isf(tail, clusters - 1) * np.sqrt(clusters / (clusters - 1))
    return float(norm_sf(reach))


def standard_error(draws: FloatArray) -> float:
    """Standard deviation over the draws that could be computed; NaN with fewer than two."""
    seen = draws[np.isfinite(draws)]
    return float(np.std(seen, ddof=1)) if seen.size > 1 else float("nan")


def t_interval(estimate: float, error: float, clusters: int) -> Interval | None:
    """estimate ± Student's t (``clusters`` - 1 degrees of freedom) × standard error; None where no
    image differs.
    """
    if clusters < 2 or not np.isfinite(error) or not np.isfinite(estimate) or error < LEAST_SPREAD:
        return None
    reach = float(t_isf(0.025, clusters - 1)) * error * np.sqrt(clusters / (clusters - 1))
    return estimate - reach, estimate + reach
