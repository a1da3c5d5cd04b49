"""Argument checks of the statistics: shapes, finite values, ranges. Errors name the argument."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from visualjudge.core.errors import UsageError
from visualjudge.core.records import FloatArray, IntArray


def vector(name: str, values: ArrayLike, *, least: int = 0) -> FloatArray:
    """Return ``values`` as a vector of at least ``least`` finite floats.

    Raises
    ------
    UsageError
        If it is not one-dimensional, too short, or contains a value that is not finite.
    """
    array = np.asarray(values, dtype=float)
    if array.ndim != 1:
        raise UsageError(f"{name} must be one-dimensional, got shape {array.shape}")
    if array.size < least:
        raise UsageError(f"{name} must hold at least {least} values, got {array.size}")
    if not np.isfinite(array).all():
        raise UsageError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}")
    return array


def same_length(**arrays: FloatArray | IntArray) -> None:
    """Raise UsageError unless all arrays have the same length."""
    sizes = {name: len(array) for name, array in arrays.items()}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise UsageError(f"{' and '.join(sizes)} must have the same length, got {said}")


def share(name: str, value: float) -> float:
    """Return ``value``, which must lie in 0..1."""
    if not 0 <= value <= 1:
        raise UsageError(f"{name} must be between 0 and 1, got {value}")
    return float(value)


def risk(name: str, value: float) -> float:
    """Return ``value``, which must lie strictly between 0 and 1."""
    if not 0 < value < 1:
        raise UsageError(f"{name} must be above 0 and below 1, got {value}")
    return float(value)


def cluster_codes(name: str, clusters: ArrayLike, length: int) -> IntArray:
    """Return clusters (names or numbers, one per row) as 0, 1, 2, …"""
    names = np.asarray(clusters)
    if names.shape != (length,):
        raise UsageError(
            f"{name} must hold one cluster for each of {length} rows, got shape {names.shape}"
        )
    return np.asarray(np.unique(names, return_inverse=True)[1], dtype=np.int64)
