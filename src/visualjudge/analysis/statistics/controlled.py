"""Strengths of sources at equal covariates: Davidson's model with covariate effects.

The log odds of i over j are θ_i − θ_j + z·β, where z is the difference of the covariates of i and j
in this game (style control: Chiang et al. 2024, "Chatbot Arena"); P(tie) is as in
:mod:`visualjudge.analysis.statistics.bradley_terry`, and so are the added wins, at equal
covariates. Without ties and added wins this is logistic regression (tested against statsmodels).
Standard errors are computed from sums of scores by image (Liang & Zeger 1986).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from visualjudge.analysis.statistics.bradley_terry import wider
from visualjudge.analysis.statistics.jackknife import NORMAL, effective_number
from visualjudge.core.records import FloatArray, IntArray

if TYPE_CHECKING:
    from scipy import sparse

STEPS, CLOSE = 60, 1e-10
DENSE = 100_000
"""Cells of a design up to which a plain array is faster than a sparse one."""
RIDGE = 0.01
"""Precision of the normal prior on effects, which keeps them finite."""


@dataclass(frozen=True, eq=False)
class Controlled:
    """Fitted model: ``log_strength`` (S,) with mean 0, ``effect`` (C,), both with 95 % intervals
    (…, 2); ``log_tie`` is None without ties.
    """

    log_strength: FloatArray
    strength_ends: FloatArray
    effect: FloatArray
    effect_ends: FloatArray
    log_tie: float | None


def controlled(
    a: IntArray,
    b: IntArray,
    outcome: FloatArray,
    covariates: FloatArray,
    image: IntArray,
    size: int,
    *,
    added: FloatArray | None = None,
    start: FloatArray | None = None,
    ridge: float = RIDGE,
) -> Controlled:
    """Fit n games between ``size`` sources, which must be linked by games.

    Parameters
    ----------
    a, b, outcome
        The sources of each game, and 1, ½ or 0 for ``a``; (n,).
    covariates
        Covariates of ``a`` less those of ``b``, (n, C).
    image
        The image of each game, (n,); games of one image are a cluster.
    added
        Wins of i over j to add as a penalty, (S, S).
    start
        Initial strengths, (S,).
    ridge
        Precision of the prior on effects.
    """
    from scipy import sparse  # takes long to import

    n, count = a.size, covariates.shape[1]
    x = _design(a, b, covariates, size)
    weight, won = np.ones(n), 2 * outcome - 1
    if added is not None:
        i, j = np.nonzero(added)
        x = sparse.vstack([x, _design(i, j, np.zeros((i.size, count)), size)]).tocsr()
        weight, won = np.append(weight, added[i, j]), np.append(won, np.ones(i.size))
    if np.prod(x.shape) <= DENSE:
        x = x.toarray()
    tied = won == 0
    line, eta = np.zeros(size + count), -1.0 if tied.any() else -np.inf
    line[:size] = 0.0 if start is None else start
    prior = np.append(np.zeros(size), np.full(count, ridge))
    pin = np.zeros((size + count, size + count))
    pin[:size, :size] = 1.0
    for _ in range(STEPS):
        residual, curve, lead, tie = _odds(x @ line, eta, won)
        gradient = x.T @ (weight * residual) - prior * line
        hessian = _dense(x.T @ (x * (weight * curve)[:, None])) + np.diag(prior) + pin
        if tied.any():
            cross = -(x.T @ (weight * lead * tie / 2))
            own = float(weight @ (tie * (1 - tie)))
            hessian = np.block([[hessian, cross[:, None]], [cross[None, :], np.array([[own]])]])
            gradient = np.append(gradient, weight @ (tied - tie))
        step = np.clip(np.linalg.solve(hessian, gradient), -2, 2)
        line = line + step[: size + count]
        eta += float(step[-1]) if tied.any() else 0.0
        if np.abs(step).max() < CLOSE:
            break
    line[:size] -= line[:size].mean()
    residual, *_ = _odds(x @ line, eta, won)
    inverse = np.asarray(np.linalg.inv(hessian), dtype=float)
    spread = _spread(x[:n], residual[:n], image, inverse[: line.size, : line.size])
    reach = NORMAL * spread * _widths(a, b, image, size, count)
    ends = line[:, None] + reach[:, None] * np.array([-1.0, 1.0])
    log_tie = float(eta) if tied.any() else None
    return Controlled(line[:size], ends[:size], line[size:], ends[size:], log_tie)


def _dense(table: Any) -> FloatArray:
    return np.asarray(table if isinstance(table, np.ndarray) else table.toarray())


def _design(a: IntArray, b: IntArray, covariates: FloatArray, size: int) -> sparse.csr_array:
    from scipy import sparse

    row, one = np.arange(a.size), np.ones(a.size)
    sides = sparse.csr_array(
        (np.append(one, -one), (np.append(row, row), np.append(a, b))), shape=(a.size, size)
    )
    return sparse.hstack([sides, sparse.csr_array(covariates)]).tocsr()


def _odds(
    line: FloatArray, eta: float, won: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the slope and curvature of the log-likelihood in the log odds, P(win) − P(loss), and
    P(tie).
    """
    half = line / 2
    top = np.maximum(np.abs(half), max(eta, 0.0))
    win, lose, tie = np.exp(half - top), np.exp(-half - top), np.exp(eta - top)
    total = win + lose + tie
    lead, level = (win - lose) / total, tie / total
    return (won - lead) / 2, (1 - level - lead**2) / 4, lead, level


def _spread(
    x: sparse.csr_array | FloatArray, residual: FloatArray, image: IntArray, inverse: FloatArray
) -> FloatArray:
    """Return the standard errors of all parameters, clustered by image."""
    from scipy import sparse

    _, place = np.unique(image, return_inverse=True)
    groups = int(place.max()) + 1
    pick = sparse.csr_array(
        (np.ones(place.size), (place, np.arange(place.size))), shape=(groups, place.size)
    )
    scores = _dense(pick @ (x * residual[:, None])) @ inverse
    return np.asarray(np.sqrt((scores**2).sum(0) * groups / max(groups - 1, 1)))


def _widths(a: IntArray, b: IntArray, image: IntArray, size: int, count: int) -> FloatArray:
    """Return the ratio of Student's t to the normal quantile, by the effective images of each
    source and of all games.
    """
    _, place = np.unique(image, return_inverse=True)
    cells, held = np.unique(
        np.concatenate([place * size + a, place * size + b]), return_counts=True
    )
    by_source = effective_number(held.astype(float), cells % size, size)
    total = np.bincount(place).astype(float)
    whole = effective_number(total, np.zeros(total.size, dtype=np.int64), 1)
    return wider(np.append(by_source, np.repeat(whole, count)), 0.0)
