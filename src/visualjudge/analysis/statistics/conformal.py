"""The radius that covers a new residual, by split conformal prediction.

Sources: Vovk, Gammerman & Shafer 2005; Lei et al. 2018 (the ⌈(n + 1)(1 − α)⌉-th smallest residual);
Lee, Barber & Willett 2023, "Distribution-free inference with hierarchical data" (clusters).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from visualjudge.analysis.estimate import renumbered
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
    residuals: FloatArray, alpha: float, clusters: IntArray
) -> ConformalRadius:
    """Return the radius from (n,) residuals of a calibration set that was not used for training.

    ``clusters`` names the image of each residual: the guarantee then holds for an item of a *new*
    image, each image has the same weight, and 1/(images + 1) of the weight is at infinity.
    """
    sizes = np.abs(residuals)
    codes = renumbered(clusters)[1]
    images = int(codes.max()) + 1
    weights = 1 / ((images + 1) * np.bincount(codes)[codes])
    order = np.argsort(sizes, kind="stable")
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, (1 - alpha) - 1e-12))
    value = float(sizes[order][place]) if place < sizes.size else float("inf")
    return ConformalRadius(value, alpha, sizes.size, images)
