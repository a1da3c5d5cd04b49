"""Prediction-powered means of many systems at once, from one pool of items of which some carry a
label.

θ_s = λ · mean(f over the pool of s) + Σ w (y − λ f) over its labels, with weights w ∝ 1/π of the
label's probability: PPI++ where all π are equal, Zrnic and Candès's active estimator where they are
not. One λ serves all systems: it moves width, never the target. Errors are clustered by image over
the whole pool, so that two systems seen on the same images are compared as a pair.

Sources: Angelopoulos, Duchi & Zrnic 2023; Zrnic & Candès 2024; Hájek 1971 (weights that sum to
one); Bell & McCaffrey 2002 (residuals over √(1 − h)); Satterthwaite 1946.
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
from visualjudge.analysis.statistics.tails import t_isf, t_sf
from visualjudge.core.errors import UsageError
from visualjudge.core.records import BoolArray, FloatArray, IntArray

LEAST_IMAGES = 3
"""Fewer images with a label give no interval."""


@dataclass(frozen=True, eq=False)
class PooledMeans:
    """Per system (S,): ``naive`` (the judge's mean), ``values`` (corrected; NaN without enough
    labels), ``labels``.

    ``covariance`` (S, S) of the values; ``label_covariance`` is the part that more labels would
    shrink; ``freedom`` (S, S) of their differences, the diagonal of the values;
    ``effective_labels`` (S,): how many labels alone would be as precise; ``balance_p``: that the
    judge says on labelled items what it says on all.
    """

    naive: FloatArray
    values: FloatArray
    covariance: FloatArray
    label_covariance: FloatArray
    freedom: FloatArray
    labels: IntArray
    label_images: IntArray
    effective_labels: FloatArray
    lam: float
    balance_p: float | None

    def interval(self, system: int) -> tuple[float, float] | None:
        """95 %, by Student's t; None where the value or its spread is not known."""
        error = float(np.sqrt(self.covariance[system, system]))
        if not np.isfinite(self.values[system]) or not error > 0:
            return None
        reach = float(t_isf(0.025, self.freedom[system, system])) * error
        return float(self.values[system]) - reach, float(self.values[system]) + reach


@dataclass(frozen=True, eq=False)
class _Pool:
    f: FloatArray
    y: FloatArray
    weight: FloatArray
    system: IntArray
    image: IntArray
    size: tuple[int, int]

    def means(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted mean of ``values`` for each system; NaN where there is no weight."""
        top = np.bincount(self.system, weights=values * weights, minlength=self.size[1])
        bottom = np.bincount(self.system, weights=weights, minlength=self.size[1])
        return np.asarray(
            np.divide(top, bottom, out=np.full(self.size[1], np.nan), where=bottom > 0)
        )

    def sums(self, values: FloatArray) -> FloatArray:
        """Images × systems."""
        cells = self.image * self.size[1] + self.system
        flat = np.bincount(cells, weights=values, minlength=self.size[0] * self.size[1])
        return np.asarray(flat.reshape(self.size), dtype=float)


def pooled_means(
    f: ArrayLike,
    y: ArrayLike,
    systems: ArrayLike,
    clusters: ArrayLike,
    *,
    probability: ArrayLike | None = None,
    lam: float | None = None,
) -> PooledMeans:
    """Corrected means of S systems.

    Parameters
    ----------
    f
        (R,) what the judge says of every item of the pool.
    y
        (R,) the labels; NaN where undefined.
    systems
        (R,) numbers 0..S−1.
    clusters
        (R,) the image of each item.
    probability
        (R,) with which each labelled item was chosen; None or NaN: equal within its system.
    lam
        0..1; None: the value of least variance.

    Raises
    ------
    UsageError
        If lengths differ, a prediction or probability cannot be used, or nothing is labelled.
    """
    said, system = vector("f", f, least=1), np.asarray(systems, dtype=np.int64)
    truth = np.asarray(y, dtype=float)
    same_length(f=said, y=truth, systems=system)
    labelled = np.isfinite(truth)
    if not labelled.any():
        raise UsageError("y must hold at least one label, got none")
    image = cluster_codes("clusters", clusters, said.size)
    size = (int(image.max()) + 1, int(system.max()) + 1)
    weight = _weights(labelled, probability, system, size[1])
    pool = _Pool(said, np.where(labelled, truth, 0.0), weight, system, image, size)
    return _estimate(pool, labelled, None if lam is None else share("lam", lam))


def _weights(
    labelled: BoolArray, probability: ArrayLike | None, system: IntArray, count: int
) -> FloatArray:
    """w of every item: 1/π over its sum in the system, 0 without a label."""
    chances = (
        np.full(labelled.size, np.nan)
        if probability is None
        else np.asarray(probability, dtype=float)
    )
    same_length(probability=chances, systems=system)
    known = labelled & np.isfinite(chances)
    if known.any() and not ((chances[known] > 0) & (chances[known] <= 1)).all():
        raise UsageError("probability must be above 0 and at most 1")
    numbers = np.bincount(system, minlength=count)
    uniform = np.bincount(system, weights=labelled, minlength=count) / np.maximum(numbers, 1)
    chances = np.where(np.isfinite(chances), chances, uniform[system])
    raw = np.where(labelled, 1 / np.where(labelled, chances, 1.0), 0.0)
    total = np.bincount(system, weights=raw, minlength=count)
    return np.asarray(raw / np.where(total > 0, total, 1)[system])


def _estimate(pool: _Pool, labelled: BoolArray, lam: float | None) -> PooledMeans:
    ones = np.ones(pool.f.size)
    counts = np.bincount(pool.system, minlength=pool.size[1])
    naive = pool.means(pool.f, ones)
    held = pool.sums(pool.weight)
    label_images = np.asarray((held > 0).sum(0), dtype=np.int64)
    enough = label_images >= LEAST_IMAGES
    leverage = np.sqrt(np.maximum(1 - held, 1e-9))

    def label_part(values: FloatArray) -> FloatArray:
        centred = values - pool.means(values, pool.weight)[pool.system]
        return np.where(enough, pool.sums(pool.weight * np.nan_to_num(centred)) / leverage, 0.0)

    everything = np.where(
        enough, pool.sums((pool.f - naive[pool.system]) / counts[pool.system]), 0.0
    )
    truth, said = label_part(pool.y), label_part(pool.f)
    spent = int(lam is None)
    if lam is None:
        turned = said - everything
        below = float((turned * turned).sum())
        lam = float(np.clip((truth * turned).sum() / below, 0, 1)) if below > 0 else 0.0
    residual = truth - lam * said
    labels, rest = residual.T @ residual, lam * everything
    cross = rest.T @ residual
    images = pool.size[0]
    covariance = labels + cross + cross.T + rest.T @ rest * images / max(images - 1, 1)
    corrected = lam * naive + pool.means(pool.y - lam * pool.f, pool.weight)
    floor = np.maximum(np.diag(covariance), 1e-3 * np.diag(labels))
    covariance[np.diag_indices_from(covariance)] = floor
    alone = (truth * truth).sum(0)
    return PooledMeans(
        naive,
        np.where(enough, corrected, np.nan),
        covariance,
        labels,
        _freedom(covariance, labels, label_images, images, spent),
        np.bincount(pool.system, weights=labelled, minlength=pool.size[1]).astype(np.int64),
        label_images,
        np.where(
            floor > 0,
            np.divide(alone, floor, where=floor > 0, out=np.zeros_like(floor)) * label_images,
            np.nan,
        ),
        lam,
        _balance(said - everything, pool, naive, enough),
    )


def _freedom(
    covariance: FloatArray, labels: FloatArray, label_images: IntArray, images: int, spent: int
) -> FloatArray:
    """Satterthwaite's, for each value (diagonal) and each difference of two; ``spent``: one where λ
    was estimated.
    """

    def of_differences(matrix: FloatArray) -> FloatArray:
        own = np.diag(matrix)
        out = own[:, None] + own[None, :] - 2 * matrix
        out[np.diag_indices_from(out)] = own
        return np.asarray(np.maximum(out, 0.0))

    first = np.minimum(label_images[:, None], label_images[None, :]) - 1.0 - spent
    own, total = of_differences(labels), of_differences(covariance)
    rest = np.maximum(total - own, 0.0)
    below = own**2 / np.maximum(first, 1) + rest**2 / max(images - 1, 1)
    found = np.divide((own + rest) ** 2, below, out=np.ones_like(own), where=below > 0)
    return np.asarray(np.maximum(np.minimum(found, images - 1.0), np.maximum(first, 1)))


def _balance(
    influence: FloatArray, pool: _Pool, naive: FloatArray, enough: BoolArray
) -> float | None:
    """p that the weighted labelled items have the judge's mean of the pool, all systems in one
    test.
    """
    known = enough & np.isfinite(naive)
    if not known.any():
        return None
    gap = float((pool.means(pool.f, pool.weight) - naive)[known].sum())
    sums = influence[:, known].sum(1)
    error = float(np.sqrt((sums * sums).sum()))
    freedom = int((pool.sums(pool.weight)[:, known].sum(1) > 0).sum()) - 1
    return float(2 * t_sf(abs(gap) / error, freedom)) if error > 0 and freedom > 0 else None
