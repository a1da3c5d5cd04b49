"""Soft pairwise accuracy: does a metric tell systems apart with the certainty that people do?

1 − mean over pairs of |p by people − p by the metric|. Ties and near-ties cost little, confident
reversals cost most.

Source: Thompson, Mathur, Deutsch & Khayrallah 2024, "Improving statistical significance in human
evaluation of automatic metrics via soft pairwise accuracy" (the metric of WMT 2024).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from visualjudge.analysis.statistics.argument_checks import same_length, vector
from visualjudge.core.errors import UsageError
from visualjudge.core.records import FloatArray


@dataclass(frozen=True)
class SoftPairwiseAccuracy:
    """``value``, 0..1, over ``pairs`` pairs of systems."""

    value: float
    pairs: int


def soft_pairwise_accuracy(p_human: ArrayLike, p_metric: ArrayLike) -> SoftPairwiseAccuracy:
    """Of one-sided p-values that the first system of each pair is better, by people and by the
    metric.

    Both are (pairs,), or (systems, systems) matrices of which the upper triangle is read.

    Raises
    ------
    UsageError
        If the shapes differ, there is no pair, or a p is outside 0..1.
    """
    people, metric = _pairs("p_human", p_human), _pairs("p_metric", p_metric)
    same_length(p_human=people, p_metric=metric)
    return SoftPairwiseAccuracy(float(1 - np.abs(people - metric).mean()), people.size)


def _pairs(name: str, values: ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=float)
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        array = array[np.triu_indices(array.shape[0], 1)]
    flat = vector(name, array, least=1)
    if flat.min() < 0 or flat.max() > 1:
        raise UsageError(
            f"{name} must be between 0 and 1, got {flat.min() if flat.min() < 0 else flat.max()}"
        )
    return flat
