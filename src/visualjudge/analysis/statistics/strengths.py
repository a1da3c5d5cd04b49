"""Strengths of sources from who beat whom: Bradley and Terry's model, with ties as Davidson's.

P(i beats j) = π_i/(π_i + π_j + ν√(π_i π_j)), P(tie) = ν√(π_i π_j)/(same). Maximum likelihood by Newton's method on
log π and log ν. Without ties ν = 0 and this is Bradley–Terry, equal to ``choix`` (tested).
Sources: Bradley & Terry 1952; Davidson 1970; Ford 1957 (a finite maximum exists only if the graph of wins is strongly
connected); Zermelo 1929; Haldane 1956 (half a game); Pregibon 1981 (leaving one out by a Newton step).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from visualjudge.analysis.statistics.jackknife import ALIKE, FEW, TAIL, TINY, Spread, enough, reaches, spread
from visualjudge.core.records import BoolArray, FloatArray, IntArray

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


# ---------------------------------------------------------------- how sure


@dataclass(frozen=True, eq=False)
class StrengthEnds:
    """95 % interval of each source's strength: NaN = that side is open; ``why`` where neither end can be given."""

    low: FloatArray
    high: FloatArray
    images: IntArray
    why: tuple[str | None, ...]


def with_half_games(wins: FloatArray, ties: FloatArray) -> FloatArray:
    """``wins`` with half a win each way between sources that met (Haldane 1956): every maximum is then finite."""
    met = (wins + wins.T + ties) > 0
    return np.asarray(wins + 0.5 * met)


def open_sides(wins: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Sources that have no finite lower end, and no finite upper end, by Ford's condition.

    A source has no upper end where neither it nor any source that it is tied to by wins both ways ever lost to another.
    """
    _, strong = csgraph.connected_components(sparse.csr_array(wins > 0), directed=True, connection="strong")
    outside = strong[:, None] != strong[None, :]
    beats, loses = ((wins > 0) & outside), ((wins.T > 0) & outside)
    groups = int(strong.max()) + 1
    won = np.bincount(strong, beats.any(1), groups) > 0
    lost = np.bincount(strong, loses.any(1), groups) > 0
    return (lost & ~won)[strong], (won & ~lost)[strong]


def strength_ends(fit: Strengths, wins: FloatArray, ties: FloatArray, regular: FloatArray) -> StrengthEnds:
    """Intervals of ``fit`` from leaving out each image.

    ``wins``, ``ties``: images × S × S; ``regular``: S × S of wins that belong to no image (:func:`with_half_games`).
    Each strength without one image is one Newton step from the whole (Pregibon 1981), which is exact to second order.
    A source's interval counts its own images. A source that never lost (won) has an open upper (lower) side; its other
    end is Clopper and Pearson's, each image a case, against the mean strength of those it met.
    """
    total_wins, total_ties = wins.sum(0), ties.sum(0)
    moved = _without_each(fit, wins, ties, total_wins + regular, total_ties)
    games = (wins + np.swapaxes(wins, 1, 2) + ties).sum(2)
    size = games.shape[1]
    place = np.broadcast_to(np.arange(size), games.shape)
    own = games > 0
    influence = -moved
    found = spread(influence[own], games[own], place[own], size)
    every = spread(influence.ravel(), np.ones(influence.size), place.ravel(), size)
    error = np.sqrt(np.maximum(every.variance, found.variance))
    down, up = reaches(found, error, np.zeros(size))
    told = enough(found)
    low, high = (np.where(told, ends, np.nan) for ends in (fit.log_strength - down, fit.log_strength + up))
    low, high = _opened(fit, total_wins, total_ties, found, low, high)
    flat = high - low < TINY
    low, high = (np.where(flat, np.nan, ends) for ends in (low, high))
    why = tuple(FEW if not ok else ALIKE if same else None for ok, same in zip(told, flat, strict=True))
    return StrengthEnds(low, high, found.images, why)


def _opened(
    fit: Strengths, wins: FloatArray, ties: FloatArray, found: Spread, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    no_low, no_high = open_sides(wins)
    met = wins + wins.T + ties
    rivals = (met * fit.log_strength[None, :]).sum(1) / np.maximum(met.sum(1), 1)
    edge = TAIL ** (1 / np.maximum(found.effective, 1))
    reach = np.log(edge / (1 - edge))
    low = np.where(no_high & np.isfinite(low), np.minimum(rivals + reach, fit.log_strength), low)
    high = np.where(no_low & np.isfinite(high), np.maximum(rivals - reach, fit.log_strength), high)
    return np.where(no_low, np.nan, low), np.where(no_high, np.nan, high)


def _without_each(
    fit: Strengths, wins: FloatArray, ties: FloatArray, all_wins: FloatArray, all_ties: FloatArray
) -> FloatArray:
    """How far each strength moves when one image is left out, images × S, mean 0 in a component."""
    size, eta = all_wins.shape[0], fit.log_tie
    keep = size + (eta is not None)
    theta, tie = fit.log_strength, -np.inf if eta is None else eta
    pin = np.zeros((keep, keep))
    for group in np.unique(fit.component):
        member = np.append(fit.component == group, [False] * (keep - size))
        pin += np.outer(member, member)
    _, whole = _derivatives(theta, tie, all_wins, all_ties, 0.0)
    out = np.zeros((wins.shape[0], size))
    for g in range(wins.shape[0]):
        gradient, hessian = _derivatives(theta, tie, wins[g], ties[g], 0.0)
        left = whole[:keep, :keep] - hessian[:keep, :keep] + pin + 1e-9 * np.eye(keep)
        out[g] = np.linalg.solve(left, -gradient[:keep])[:size]
    for group in np.unique(fit.component):
        member = fit.component == group
        out[:, member] -= out[:, member].mean(1, keepdims=True)
    return out
