"""The confidence above which a cheap judge's answers are accepted, and the radius that covers a new
residual.

Thresholds are tested from strict to lenient, and the first that fails ends the search (fixed
sequence testing). Three searches start from keeping 5, 25 and 60 % of the answers, each at level
δ/3, because few answers prove nothing and many may err too often. The guarantee holds for the
chosen threshold: with probability ≥ 1 − δ over calibration sets, the share of errors among the kept
answers is at most α. The bound of that share is that of every
share (:mod:`~visualjudge.analysis.estimate`).

Sources: Bauer 1991 (fixed sequences); Angelopoulos et al. 2021, "Learn then test"; Jung, Brahman &
Choi 2024, "Trust or escalate".

The radius is that of split conformal prediction. Sources: Vovk, Gammerman & Shafer 2005; Lei et al.
2018 (the ⌈(n + 1)(1 − α)⌉-th smallest residual); Lee, Barber & Willett 2023, "Distribution-free
inference with hierarchical data" (clusters).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from visualjudge.analysis import estimate
from visualjudge.analysis.estimate import renumbered
from visualjudge.analysis.statistics.argument_checks import cluster_codes, risk, same_length, vector
from visualjudge.core.errors import UsageError
from visualjudge.core.records import FloatArray, IntArray


@dataclass(frozen=True)
class ConformalRadius:
    """Radius ``value``: the absolute value of a new residual is at most this with probability ≥ 1 −
    ``alpha``.

    Infinite with too few residuals (or images) for a guarantee.
    """

    value: float
    alpha: float
    n: int
    images: int


def conformal_radius(
    residuals: ArrayLike, alpha: float, clusters: ArrayLike | None = None
) -> ConformalRadius:
    """Return the radius from (n,) residuals of a calibration set that was not used for training.

    ``clusters`` names the image of each residual: the guarantee then holds for an item of a *new*
    image, each image has the same weight, and 1/(images + 1) of the weight is at infinity.

    Raises
    ------
    UsageError
        If ``residuals`` is empty or not finite, or ``alpha`` is not between 0 and 1.
    """
    sizes = np.abs(vector("residuals", residuals, least=1))
    risk("alpha", alpha)
    codes = (
        np.arange(sizes.size)
        if clusters is None
        else cluster_codes("clusters", clusters, sizes.size)
    )
    images = int(codes.max()) + 1
    weights = 1 / ((images + 1) * np.bincount(codes)[codes])
    order = np.argsort(sizes, kind="stable")
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, (1 - alpha) - 1e-12))
    value = float(sizes[order][place]) if place < sizes.size else float("inf")
    return ConformalRadius(value, alpha, sizes.size, images)


STEPS = 20
STARTS = (0.05, 0.25, 0.6)
"""Shares of the answers kept by the strictest threshold of each search."""


@dataclass(frozen=True)
class RiskThreshold:
    """Threshold ``value``: answers with at least this confidence are kept; infinite if no threshold
    meets the risk.

    ``errors`` is the observed share of errors among kept answers, and ``bound`` its upper bound at
    level 1 − ``delta``.
    """

    value: float
    alpha: float
    delta: float
    kept: float
    errors: float
    bound: float
    n: int
    images: int


def risk_threshold(
    confidence: ArrayLike,
    wrong: ArrayLike,
    alpha: float,
    *,
    delta: float = 0.1,
    clusters: ArrayLike | None = None,
) -> RiskThreshold:
    """Return the lowest threshold of (n,) confidences at which (n,) errors, 0 or 1, are bounded by
    ``alpha``.

    Raises
    ------
    UsageError
        If lengths differ, there is no answer, an error is neither 0 nor 1, or ``alpha`` or
        ``delta`` is not between 0 and 1.
    """
    sure, errors = vector("confidence", confidence, least=1), vector("wrong", wrong, least=1)
    same_length(confidence=sure, wrong=errors)
    risk("alpha", alpha)
    risk("delta", delta)
    if not np.isin(errors, (0, 1)).all():
        raise UsageError("wrong must be 0 or 1")
    codes = (
        np.arange(sure.size) if clusters is None else cluster_codes("clusters", clusters, sure.size)
    )
    chosen, bound = min(
        _search(sure, errors, codes, start, alpha, delta / len(STARTS)) for start in STARTS
    )
    kept = sure >= chosen
    rate = float(errors[kept].mean()) if kept.any() else 0.0
    return RiskThreshold(
        chosen,
        alpha,
        delta,
        float(kept.mean()),
        rate,
        bound if kept.any() else 0.0,
        sure.size,
        int(codes.max()) + 1,
    )


def _search(
    sure: FloatArray, errors: FloatArray, codes: IntArray, start: float, alpha: float, delta: float
) -> tuple[float, float]:
    """Return the lowest threshold before the first that fails, with its bound; infinite if the
    first fails.
    """
    chosen, bound = float("inf"), 1.0
    quantiles = np.quantile(sure, 1 - np.linspace(start, 1, STEPS), method="inverted_cdf")
    for threshold in np.unique(quantiles)[::-1]:
        kept = sure >= threshold
        upper = upper_bound(errors[kept], codes[kept], delta)
        if upper > alpha:
            break
        chosen, bound = float(threshold), upper
    return chosen, bound


def upper_bound(wrong: FloatArray, codes: IntArray, delta: float) -> float:
    """Return the upper bound, at level 1 − ``delta``, of the share of errors, allowing whole images
    to go wrong.
    """
    where = renumbered(codes)[1]
    return estimate.upper_bound(
        np.bincount(where, wrong).astype(float), np.bincount(where).astype(float), delta
    )
