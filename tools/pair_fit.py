"""Logistic regression on the feature differences of pairs, with cross-validation by
image.

There is no intercept, so exchanging the options turns the log-odds round.
Cross-validation over images chooses the strength of the ridge regularisation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from visualjudge.core.records import FloatArray
from visualjudge.judges.local.judge import CLIP
from visualjudge.vision.view import Features

RIDGES = (0.3, 1.0, 3.0, 10.0, 30.0)
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Pair:
    """Two predictions of one group, with the better one first."""

    image: str
    group: str
    better: Features
    worse: Features


@dataclass(frozen=True, eq=False, slots=True)
class PairTable:
    """Feature differences of n pairs: ``units`` n×features in units of ``scale``,
    clipped; ``share`` the weight of each pair, ``fold`` that of its image.
    """

    names: tuple[str, ...]
    scale: FloatArray
    units: FloatArray
    share: FloatArray
    fold: np.ndarray


def table_of(pairs: Sequence[Pair]) -> PairTable:
    """Return the feature differences of pairs of at least two images.

    Raises
    ------
    ValueError
        If the pairs are of fewer than two images.
    """
    images = sorted({pair.image for pair in pairs})
    if len(images) < 2:
        raise ValueError("must have pairs of at least 2 images")
    names = tuple(sorted({name for pair in pairs for name in pair.better}))
    apart = np.array(
        [
            [pair.better.get(n, 0.0) - pair.worse.get(n, 0.0) for n in names]
            for pair in pairs
        ]
    )
    counts = Counter((pair.image, pair.group) for pair in pairs)
    share = np.array([counts[pair.image, pair.group] ** -0.5 for pair in pairs])
    scale = np.sqrt((apart**2).mean(axis=0)) + 1e-9
    fold = np.array([images.index(pair.image) % FOLDS for pair in pairs])
    return PairTable(
        names, scale, np.clip(apart / scale, -CLIP, CLIP), share, fold
    )


def held_out(
    table: PairTable, signs: FloatArray | None = None
) -> tuple[float, FloatArray]:
    """Return the best strength of the regularisation, and with it the log-odds that the
    better one of each pair is better, with weights fitted without its image's fold.
    """
    by_strength = {}
    for strength in RIDGES:
        log_odds = np.zeros(len(table.units))
        for k in np.unique(table.fold):
            rest = table.fold != k
            log_odds[~rest] = table.units[~rest] @ ridge(
                table, strength, signs, rest
            )
        by_strength[strength] = log_odds
    best = min(
        RIDGES, key=lambda strength: loss_of(by_strength[strength], table.share)
    )
    return best, by_strength[best]


def ridge(
    table: PairTable,
    strength: float,
    signs: FloatArray | None,
    rows: np.ndarray | slice,
) -> FloatArray:
    """Return the weights fitted to some rows; where ``signs`` is 1 or -1, of that sign
    or 0."""
    units, share = table.units[rows], table.share[rows]

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        log_odds = units @ weights
        slope = -(
            units.T @ (share / (1 + np.exp(np.clip(log_odds, -500, 500))))
        )
        penalty = strength / 2 * float(weights @ weights)
        return loss_of(log_odds, share) + penalty, slope + strength * weights

    start = np.zeros(units.shape[1])
    wanted = start if signs is None else signs
    bounds = [
        (0.0 if sign > 0 else None, 0.0 if sign < 0 else None)
        for sign in wanted
    ]
    exact = {"ftol": 1e-13, "gtol": 1e-9, "maxiter": 2000}
    return np.asarray(
        minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options=exact,
        ).x
    )


def loss_of(log_odds: FloatArray, share: FloatArray) -> float:
    """Return the weighted logistic loss."""
    return float((share * np.logaddexp(0, -log_odds)).sum())
