"""The mean of what people would say, from few labels and many predictions of a judge (PPI++).

θ = λ · mean(f of the unlabelled) + mean(y − λ f of the labelled): the judge's mean, corrected by
its error on the labelled items. No bias of the judge makes θ wrong; a good judge (λ near 1) makes
its interval narrow, a useless one (λ = 0) leaves the mean of the labels.

Sources: Angelopoulos, Bates, Fannjiang, Jordan & Zrnic 2023, "Prediction-powered inference";
Angelopoulos, Duchi & Zrnic 2023, "PPI++" (λ); without clusters this is ``ppi_mean_ci`` of
ppi-python 0.2.3 (tested). Zrnic & Candès 2024, "Active statistical inference" (labels of unequal
probability). Satterthwaite 1946 (degrees of freedom).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from visualjudge.analysis.statistics.argument_checks import (
    cluster_codes,
    same_length,
    share,
    vector,
)
from visualjudge.analysis.statistics.tails import norm_isf, t_isf
from visualjudge.core.errors import UsageError
from visualjudge.core.records import FloatArray, IntArray

Interval = tuple[float, float]
Clusters = ArrayLike | tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True)
class PPIMean:
    """A mean from ``labels`` labelled and ``predictions`` other items.

    ``effective_labels``: how many labels alone would give an interval as narrow (n_eff); NaN where
    it has no width. ``images``: clusters, or items where no clusters were given.
    """

    value: float
    interval: Interval | None
    standard_error: float
    lam: float
    labels: int
    predictions: int
    effective_labels: float
    images: int


def ppi_mean(
    y: ArrayLike,
    f: ArrayLike,
    f_unlabelled: ArrayLike,
    *,
    lam: float | None = None,
    clusters: Clusters | None = None,
) -> PPIMean:
    """Prediction-powered mean with a 95 % interval.

    Parameters
    ----------
    y, f
        (n,) labels, and the judge's predictions of the same items.
    f_unlabelled
        (N,) the judge's predictions of items without a label.
    lam
        How far the judge is used, 0 (labels only) to 1; None: the value that makes the variance
        least, clipped to
        0..1.
    clusters
        None: items are independent; the interval is normal and equals ppi-python's. Otherwise the
        image of every item: a pair (labelled, unlabelled), one array over both (labelled first, n +
        N), or one array over the labelled (the unlabelled then count as independent). The interval
        is then cluster-robust with Student's t.

    Raises
    ------
    UsageError
        If lengths differ, a value is not finite, fewer than two labels are given, or ``lam`` is
        outside 0..1.
    """
    truth, said = vector("y", y, least=2), vector("f", f, least=2)
    rest = vector("f_unlabelled", f_unlabelled, least=1)
    same_length(y=truth, f=said)
    if lam is not None:
        share("lam", lam)
    if clusters is None:
        return _independent(truth, said, rest, lam)
    return _clustered(truth, said, rest, lam, _both(clusters, truth.size, rest.size))


def _independent(y: FloatArray, f: FloatArray, rest: FloatArray, lam: float | None) -> PPIMean:
    n, many = y.size, rest.size
    if lam is None:
        spread = (1 + n / many) * np.var(np.concatenate([f, rest]), ddof=1)
        lam = float(np.clip(np.cov(y, f, ddof=0)[0, 1] / spread, 0, 1)) if spread > 0 else 0.0
    value = lam * rest.mean() + np.mean(y - lam * f)
    error = float(np.sqrt(lam**2 * rest.var() / many + np.var(y - lam * f) / n))
    reach = float(norm_isf(0.025)) * error
    return PPIMean(
        float(value),
        (value - reach, value + reach),
        error,
        lam,
        n,
        many,
        _effective(y.var(), error),
        n + many,
    )


def _effective(variance: float, error: float) -> float:
    return float(variance / error**2) if error > 0 else float("nan")


def _both(clusters: Clusters, n: int, many: int) -> IntArray:
    """The cluster of every row, labelled first."""
    if isinstance(clusters, tuple | list) and len(clusters) == 2:
        first, second = (np.asarray(part) for part in clusters)
        if first.shape == (n,) and second.shape == (many,):
            return cluster_codes("clusters", np.concatenate([first, second]), n + many)
    names = np.asarray(clusters)
    if names.shape == (n,):
        own = cluster_codes("clusters", names, n)
        return np.concatenate([own, own.max() + 1 + np.arange(many)])
    if names.shape != (n + many,):
        raise UsageError(
            f"clusters must hold one image for each of {n} + {many} items, got shape {names.shape}"
        )
    return cluster_codes("clusters", names, n + many)


def _clustered(
    y: FloatArray, f: FloatArray, rest: FloatArray, lam: float | None, codes: IntArray
) -> PPIMean:
    n, many = y.size, rest.size
    images, labelled = int(codes.max()) + 1, np.unique(codes[:n]).size
    if labelled < 2:
        raise UsageError(f"labels must be of at least 2 images, got {labelled}")

    def by_image(values: FloatArray, rows: IntArray) -> FloatArray:
        return np.bincount(rows, weights=values - values.mean(), minlength=images) / values.size

    truth, said, others = by_image(y, codes[:n]), by_image(f, codes[:n]), by_image(rest, codes[n:])
    if lam is None:
        turned = said - others
        lam = float(np.clip(truth @ turned / (turned @ turned), 0, 1)) if turned.any() else 0.0
    residual = truth - lam * said
    own = float(residual @ residual) * labelled / (labelled - 1)
    shared = float(lam**2 * (others @ others) + 2 * lam * (residual @ others))
    total = max(own + shared, own * 1e-3)
    freedom = satterthwaite(own, labelled - 1, total - own, images - 1)
    value, error = float(lam * rest.mean() + np.mean(y - lam * f)), float(np.sqrt(total))
    plain = float(truth @ truth) * labelled / (labelled - 1)
    reach = float(t_isf(0.025, freedom)) * error
    interval = (value - reach, value + reach) if error > 0 else None
    return PPIMean(value, interval, error, lam, n, many, _effective(plain * n, error), images)


def satterthwaite(
    first: float, first_freedom: float, second: float, second_freedom: float
) -> float:
    """Degrees of freedom of the sum of two variances, each estimated with its own; never below the
    smaller.
    """
    second = max(second, 0.0)
    if first + second <= 0:
        return float(max(1.0, first_freedom))
    below = first**2 / max(first_freedom, 1) + second**2 / max(second_freedom, 1)
    return float(max(min(first_freedom, second_freedom), (first + second) ** 2 / below, 1.0))
