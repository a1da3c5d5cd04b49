"""Strengths of sources from who beat whom: Bradley and Terry's model, with ties as Davidson's.

P(i beats j) = π_i/(π_i + π_j + ν√(π_i π_j)), P(tie) = ν√(π_i π_j)/(same). Maximum likelihood by Newton's method on
log π and log ν. Without ties ν = 0 and this is Bradley–Terry, equal to ``choix`` (tested).
Sources: Bradley & Terry 1952; Davidson 1970; Ford 1957 (a finite maximum exists only if the graph of wins is strongly
connected); Zermelo 1929.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from visualjudge.records import FloatArray

NEWTON_STEPS = 200
RIDGE = 0.01


@dataclass(frozen=True, eq=False)
class Strengths:
    """``log_strength`` (sources,), mean 0 in a component; ``component`` numbers the sources that can be compared."""

    log_strength: FloatArray
    component: FloatArray
    log_tie: float | None
    regularised: bool


def components(wins: FloatArray, ties: FloatArray) -> tuple[FloatArray, bool]:
    """Which sources are compared, directly or through others, and whether each group is strongly connected by wins.

    Ties link sources, but do not bound their strengths: wins and ties without a loss grow with ν without end.
    """
    links = sparse.csr_array((wins > 0) | (ties > 0))
    _, weak = csgraph.connected_components(links, directed=True, connection="weak")
    _, strong = csgraph.connected_components(sparse.csr_array(wins > 0), directed=True, connection="strong")
    return weak, len(set(zip(weak, strong, strict=True))) == len(set(weak))


def davidson(wins: FloatArray, ties: FloatArray | None = None, *, ridge: float | None = None) -> Strengths:
    """Fit ``wins`` (S × S, [i, j] = times i beat j) and ``ties`` (S × S, symmetrical).

    ``ridge`` is the precision of a normal prior on log strengths; by default 0, or 0.01 where some source won, or
    lost, everything, so that no finite maximum exists (``regularised`` then says so).
    """
    tied = np.zeros_like(wins, dtype=float) if ties is None else np.asarray(ties, float)
    groups, finite = components(wins, tied)
    if not np.any(wins):  # nothing but ties: equal strengths, and no finite tie parameter
        return Strengths(np.zeros(len(wins)), groups, None, True)
    penalty = (0.0 if finite else RIDGE) if ridge is None else ridge
    theta, log_tie = _newton(np.asarray(wins, float), tied, groups, penalty)
    for group in np.unique(groups):
        theta[groups == group] -= theta[groups == group].mean()
    return Strengths(theta, groups, log_tie, penalty > 0)


def _newton(wins: FloatArray, ties: FloatArray, groups: FloatArray, ridge: float) -> tuple[FloatArray, float | None]:
    """Damped Newton steps; the shift of each component is pinned by a unit of curvature along it."""
    size, any_ties = wins.shape[0], bool(ties.sum() > 0)
    theta, eta = np.zeros(size), -1.0 if any_ties else -np.inf
    pin = sum(np.outer(groups == g, groups == g).astype(float) for g in np.unique(groups))
    value = _log_likelihood(theta, eta, wins, ties, ridge)
    for _ in range(NEWTON_STEPS):
        gradient, hessian = _derivatives(theta, eta, wins, ties, ridge)
        hessian[:size, :size] += pin
        keep = size + any_ties
        step = np.linalg.solve(hessian[:keep, :keep], gradient[:keep])
        scale, gain = 1.0, -np.inf
        while scale > 1e-10:
            moved = theta + scale * step[:size]
            tie = float(eta + scale * step[size]) if any_ties else eta
            gain = _log_likelihood(moved, tie, wins, ties, ridge) - value
            if gain >= -1e-12 * max(1.0, abs(value)):
                theta, eta, value = moved, tie, value + gain
                break
            scale /= 2
        if np.abs(step).max() < 1e-10 or scale <= 1e-10:
            break
    return theta, float(eta) if any_ties else None


def _odds(theta: FloatArray, eta: float) -> tuple[FloatArray, FloatArray]:
    """P(i beats j) and P(tie), S × S."""
    half = (theta[:, None] - theta[None, :]) / 2
    top = np.maximum(np.abs(half), max(eta, 0.0))
    win, lose, tie = np.exp(half - top), np.exp(-half - top), np.exp(eta - top)
    total = win + lose + tie
    return win / total, tie / total


def _log_likelihood(theta: FloatArray, eta: float, wins: FloatArray, ties: FloatArray, ridge: float) -> float:
    win, tie = _odds(theta, eta)
    tied = float((np.triu(ties) * np.log(np.maximum(tie, 1e-300))).sum()) if np.isfinite(eta) else 0.0
    return (
        float((wins * np.log(np.maximum(win, 1e-300))).sum())
        + tied
        - ridge / 2 * (float(theta @ theta) + (eta**2 if np.isfinite(eta) else 0.0))
    )


def _derivatives(
    theta: FloatArray, eta: float, wins: FloatArray, ties: FloatArray, ridge: float
) -> tuple[FloatArray, FloatArray]:
    """Gradient (S + 1) and negative Hessian, in log strengths and log ν."""
    size = theta.size
    win, tie = _odds(theta, eta)
    games = wins + wins.T + ties
    lead, edge = win - win.T, (wins - wins.T) / 2
    gradient = np.append(edge.sum(1) - (games * lead / 2).sum(1) - ridge * theta, 0.0)
    spread = games * (1 - tie - lead**2) / 4
    cross = (games * lead * tie / 2).sum(1)
    hessian = np.zeros((size + 1, size + 1))
    hessian[:size, :size] = np.diag(spread.sum(1) + ridge) - spread
    gradient[size] = (np.triu(ties) - np.triu(games) * tie).sum() - (ridge * eta if np.isfinite(eta) else 0.0)
    hessian[size, size] = (np.triu(games) * tie * (1 - tie)).sum() + ridge
    hessian[:size, size] = hessian[size, :size] = -cross
    return gradient, hessian
