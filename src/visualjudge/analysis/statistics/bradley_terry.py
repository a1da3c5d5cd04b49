"""Strengths of sources from pairwise wins: Bradley and Terry's model, with Davidson's ties and
Firth's penalty.

P(i beats j) = π_i/(π_i + π_j + ν√(π_i π_j)), P(tie) = ν√(π_i π_j)/(same), by Newton's method on log
π and log ν.

:func:`davidson` maximises the likelihood. Without ties ν = 0 and this is Bradley–Terry, equal to
``choix`` (tested). :func:`penalised` adds h/2 wins each way between sources that met, where h is
the leverage of their games. Without ties this is the penalty of Firth (1993), Jeffreys' prior,
which removes the first-order bias and keeps every strength finite (Kosmidis & Firth 2021). It adds
S - 1 games in total, one per free strength, however many pairs met. If the games of an image are
correlated, the bias grows with the dispersion φ (Rao & Scott 1984), and so does the penalty.
:func:`drawn` draws strengths from the weighted-likelihood bootstrap: each image has an exponential
weight (Rubin 1981; Newton & Raftery 1994), each half game of the penalty a gamma weight (Fong,
Lyddon & Holmes 2019). For two sources with one game per image, these are draws from Jeffreys'
posterior, Beta(wins + ½, losses + ½), so a source without a loss has a long upper tail rather than
an infinite one.

Other sources: Bradley & Terry 1952; Davidson 1970; Ford 1957 (a finite maximum of the likelihood
exists only if the graph of wins is strongly connected); Zermelo 1929.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from visualjudge.analysis.estimate import (
    LEAST_IMAGES,
    NORMAL,
    TAIL,
    TINY,
    all_alike,
    effective_number,
    t_isf,
    too_few,
)
from visualjudge.analysis.statistics.ranks import RankSet
from visualjudge.core.records import BoolArray, FloatArray, IntArray

NEWTON_STEPS = 200
RIDGE = 0.01
STEADY = 1e-11
"""Change of strengths between two rounds of the penalty below which the fit has converged."""
MOST_DRAWS, LEAST_DRAWS, CELLS = 1000, 200, 4_000_000
STEP = 30_000
"""Number of cells of all draws at a time, whose tables fit in the processor's cache."""
FARTHEST = 40.0
"""Limit of drawn strengths, from their mean: an odds ratio of 10^17 says no more than a larger one.
"""
NEVER_LOST, NEVER_WON = "it never lost", "it never won"


@dataclass(frozen=True, eq=False)
class Strengths:
    """Strengths ``log_strength`` (sources,), with mean 0 in each component; ``component`` numbers
    the groups of sources that can be compared.
    """

    log_strength: FloatArray
    component: IntArray
    log_tie: float | None
    regularised: bool


def parts_of(links: BoolArray) -> IntArray:
    """Return the number of each node's strongly connected part, (S,), numbered by their first
    nodes.

    ``links`` (S × S) says whether an edge leads from one node to the other.
    ``scipy.sparse.csgraph`` does the same for sparse graphs, but takes as long to import as NumPy.
    """
    reached = links | np.eye(links.shape[0], dtype=bool)
    ways = -1
    while ways != (ways := int(reached.sum())):
        reached = (reached.astype(np.float32) @ reached.astype(np.float32)) > 0
    first = (reached & reached.T).argmax(axis=1)
    return np.asarray(np.unique(first, return_inverse=True)[1], dtype=np.int64)


def components(wins: FloatArray, ties: FloatArray) -> tuple[IntArray, bool]:
    """Return the component of each source (those compared directly or through others), and whether
    each is strongly connected by wins.

    Ties connect sources but do not bound their strengths: with wins and ties but no loss, the
    strength grows with ν without limit.
    """
    links = (wins > 0) | (ties > 0)
    weak, strong = parts_of(links | links.T), parts_of(wins > 0)
    return weak, len(set(zip(weak, strong, strict=True))) == len(set(weak))


def davidson(
    wins: FloatArray, ties: FloatArray | None = None, *, ridge: float | None = None
) -> Strengths:
    """Fit ``wins`` (S × S, [i, j] = times i beat j) and ``ties`` (S × S, symmetrical).

    ``ridge`` is the precision of a normal prior on log strengths. The default is 0, or 0.01 if a
    source won or lost all its games, so that no finite maximum exists (then ``regularised`` is
    true).
    """
    tied = np.zeros_like(wins, dtype=float) if ties is None else np.asarray(ties, float)
    groups, finite = components(wins, tied)
    if not np.any(wins):  # only ties: equal strengths, and no finite tie parameter
        return Strengths(np.zeros(len(wins)), groups, None, True)
    penalty = (0.0 if finite else RIDGE) if ridge is None else ridge
    theta, log_tie = _newton(np.asarray(wins, float), tied, groups, penalty)
    for group in np.unique(groups):
        theta[groups == group] -= theta[groups == group].mean()
    return Strengths(theta, groups, log_tie, penalty > 0)


def _newton(
    wins: FloatArray,
    ties: FloatArray,
    groups: IntArray,
    ridge: float,
    start: tuple[FloatArray, float] | None = None,
) -> tuple[FloatArray, float | None]:
    """Take damped Newton steps; the shift of each component is fixed by unit curvature along it."""
    size, any_ties = wins.shape[0], bool(ties.sum() > 0)
    theta, eta = start or (np.zeros(size), -1.0 if any_ties else -np.inf)
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
    """Return P(i beats j) and P(tie), S × S."""
    half = (theta[:, None] - theta[None, :]) / 2
    top = np.maximum(np.abs(half), max(eta, 0.0))
    win, lose, tie = np.exp(half - top), np.exp(-half - top), np.exp(eta - top)
    total = win + lose + tie
    return win / total, tie / total


def _log_likelihood(
    theta: FloatArray, eta: float, wins: FloatArray, ties: FloatArray, ridge: float
) -> float:
    win, tie = _odds(theta, eta)
    tied = (
        float((np.triu(ties) * np.log(np.maximum(tie, 1e-300))).sum()) if np.isfinite(eta) else 0.0
    )
    return (
        float((wins * np.log(np.maximum(win, 1e-300))).sum())
        + tied
        - ridge / 2 * (float(theta @ theta) + (eta**2 if np.isfinite(eta) else 0.0))
    )


def _derivatives(
    theta: FloatArray, eta: float, wins: FloatArray, ties: FloatArray, ridge: float
) -> tuple[FloatArray, FloatArray]:
    """Return the gradient (S + 1) and negative Hessian, in log strengths and log ν."""
    size = theta.size
    win, tie = _odds(theta, eta)
    games = wins + wins.T + ties
    lead, edge = win - win.T, (wins - wins.T) / 2
    gradient = np.append(edge.sum(1) - (games * lead / 2).sum(1) - ridge * theta, 0.0)
    spread = games * (1 - tie - lead**2) / 4
    cross = (games * lead * tie / 2).sum(1)
    hessian = np.zeros((size + 1, size + 1))
    hessian[:size, :size] = np.diag(spread.sum(1) + ridge) - spread
    gradient[size] = (np.triu(ties) - np.triu(games) * tie).sum() - (
        ridge * eta if np.isfinite(eta) else 0.0
    )
    hessian[size, size] = (np.triu(games) * tie * (1 - tie)).sum() + ridge
    hessian[:size, size] = hessian[size, :size] = -cross
    return gradient, hessian


# ---------------------------------------------------------------- penalised


@dataclass(frozen=True, eq=False)
class Penalised:
    """Penalised fit: ``log_strength`` (S,) with mean 0, ``added`` (S, S) with the wins added by the
    penalty, and the ``dispersion`` of clustered games.
    """

    log_strength: FloatArray
    log_tie: float | None
    added: FloatArray
    dispersion: float


def penalised(wins: FloatArray, ties: FloatArray, dispersion: float = 1.0) -> Penalised:
    """Fit ``wins`` (S × S, [i, j] = times i beat j) and ``ties`` (S × S, symmetrical) of connected
    sources.
    """
    games = wins + wins.T + ties
    met, group = games > 0, np.zeros(wins.shape[0], dtype=np.int64)
    lever = met * (wins.shape[0] - 1) / max(np.triu(met).sum(), 1)
    theta, log_tie = np.zeros(wins.shape[0]), -1.0 if ties.any() else -np.inf
    for _ in range(NEWTON_STEPS):
        moved, tie = _newton(wins + dispersion * lever / 2, ties, group, 0.0, (theta, log_tie))
        moved = moved - moved.mean()
        still = bool(np.abs(moved - theta).max() < STEADY)
        theta, log_tie = moved, -np.inf if tie is None else tie
        if still:
            break
        lever = _leverage(theta, log_tie, wins, ties)
    return Penalised(
        theta, log_tie if np.isfinite(log_tie) else None, dispersion * lever / 2, dispersion
    )


def _leverage(theta: FloatArray, eta: float, wins: FloatArray, ties: FloatArray) -> FloatArray:
    """Return the leverage of each pair's games on the strengths, S × S; it sums to S - 1 over
    pairs.
    """
    _, hessian = _derivatives(theta, eta, wins, ties, 0.0)
    information = hessian[:-1, :-1]
    inverse = np.linalg.inv(
        information + np.ones_like(information) * np.trace(information) / theta.size**2
    )
    own = np.diag(inverse)
    between = information - np.diag(np.diag(information))
    return np.asarray(np.abs(between * (own[:, None] + own[None, :] - 2 * inverse)))


def dispersion(fit: Penalised, wins: FloatArray, ties: FloatArray, least: float = 1.0) -> float:
    """Return the clustered variance of the strengths divided by that of independent games, at least
    ``least``: Rao and Scott's mean generalised design effect. ``wins``, ``ties``: images × S × S.

    Only games within a strongly connected part count: elsewhere one side always won, so nothing
    varied.
    """
    strong = parts_of(wins.sum(0) > 0)
    inside = strong[:, None] == strong[None, :]
    free = strong.size - int(strong.max()) - 1
    if not free:
        return least
    wins, ties = wins * inside, ties * inside
    theta, eta = fit.log_strength, -np.inf if fit.log_tie is None else fit.log_tie
    _, hessian = _derivatives(theta, eta, wins.sum(0), ties.sum(0), 0.0)
    scores, images = _scores(fit, wins, ties), wins.shape[0]
    inverse = np.linalg.pinv(hessian[:-1, :-1], rcond=1e-10, hermitian=True)
    spread = np.einsum("gs,st,gt->", scores, inverse, scores) * images / max(images - 1, 1)
    return max(least, float(spread) / free)


def _scores(fit: Penalised, wins: FloatArray, ties: FloatArray) -> FloatArray:
    """Return each image's contribution to the gradient in each strength, images × S."""
    win, _ = _odds(fit.log_strength, -np.inf if fit.log_tie is None else fit.log_tie)
    games = wins + np.swapaxes(wins, 1, 2) + ties
    return np.asarray(((wins - np.swapaxes(wins, 1, 2) - games * (win - win.T)) / 2).sum(2))


def drawn(
    fit: Penalised, wins: FloatArray, ties: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw strengths given the images, draws × S, mean 0. ``wins``, ``ties``: images × S × S."""
    images, size = wins.shape[:2]
    count = int(np.clip(CELLS // size**2, LEAST_DRAWS, MOST_DRAWS))
    weights = rng.standard_exponential((count, images))
    won, tied = (
        (weights @ table.reshape(images, -1)).reshape(count, size, size) for table in (wins, ties)
    )
    shape = fit.added / fit.dispersion
    won = won + fit.dispersion * rng.standard_gamma(shape, (count, size, size))
    step = max(1, STEP // size**2)
    theta = np.concatenate(
        [
            _solved(fit, won[start : start + step], tied[start : start + step])
            for start in range(0, count, step)
        ]
    )
    return np.asarray(theta - theta.mean(1, keepdims=True))


def _solved(fit: Penalised, won: FloatArray, tied: FloatArray) -> FloatArray:
    """Return the strengths of some draws from their wins and ties, draws × S."""
    count, size = won.shape[:2]
    theta = np.tile(fit.log_strength, (count, 1))
    eta = np.full(count, -np.inf if fit.log_tie is None else fit.log_tie)
    active = np.arange(count)
    for _ in range(NEWTON_STEPS):
        step = _steps(theta[active], eta[active], won[active], tied[active])
        theta[active] = np.clip(theta[active] + step[:, :size], -FARTHEST, FARTHEST)
        if step.shape[1] > size:
            eta[active] += step[:, size]
        active = active[np.abs(step).max(1) > 1e-5]
        if not active.size:
            break
    return theta


def _steps(theta: FloatArray, eta: FloatArray, wins: FloatArray, ties: FloatArray) -> FloatArray:
    """Return a Newton step of each draw, at most 2 per parameter: draws × S, and log ν if there are
    ties.
    """
    size, lost = theta.shape[1], np.swapaxes(wins, 1, 2)
    half, level = (theta[:, :, None] - theta[:, None, :]) / 2, eta[:, None, None]
    top = np.maximum(np.abs(half), np.maximum(level, 0.0))
    win, tie = np.exp(half - top), np.exp(level - top)
    total = win + np.swapaxes(win, 1, 2) + tie
    win, tie = win / total, tie / total
    lead, games = win - np.swapaxes(win, 1, 2), wins + lost + ties
    gradient = ((wins - lost - games * lead) / 2).sum(2)
    spread = games * (1 - tie - lead**2) / 4
    hessian = -spread
    diagonal = np.arange(size)
    hessian[:, diagonal, diagonal] += spread.sum(2) + 1e-9
    hessian += spread.sum((1, 2))[:, None, None] / size**2
    if np.isfinite(eta).all():
        slope = ((ties - games * tie) / 2).sum((1, 2))
        curve = (games * tie * (1 - tie) / 2).sum((1, 2)) + 1e-9
        cross = -(games * lead * tie / 2).sum(2)
        hessian = np.block(
            [[hessian, cross[:, :, None]], [cross[:, None, :], curve[:, None, None]]]
        )
        gradient = np.append(gradient, slope[:, None], 1)
    return np.clip(np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0], -2, 2)


# ---------------------------------------------------------------- how sure


@dataclass(frozen=True, eq=False)
class Standing:
    """Uncertainty of the strengths of S sources, and of their differences.

    ``low`` and ``high`` (S,) are the ends of the 95 % intervals, NaN for an open side; ``images``
    counts each source's distinct images. ``below`` and ``above`` (S, S) are the interval ends of
    the strength of i less that of j, and ``p`` (S, S) its two-sided p-value. ``alone`` and
    ``together`` are the possible ranks of each source, at 95 % for each source and for all jointly.
    """

    low: FloatArray
    high: FloatArray
    why: tuple[str | None, ...]
    below: FloatArray
    above: FloatArray
    p: FloatArray
    alone: tuple[RankSet | None, ...]
    together: tuple[RankSet | None, ...]


def never(wins: FloatArray, ties: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Return the sources that never won, and those that never lost, without ties: one side of their
    interval is open.
    """
    tied = ties.sum(1) > 0
    return (wins.sum(1) == 0) & ~tied, (wins.sum(0) == 0) & ~tied


def standing(
    fit: Penalised, wins: FloatArray, ties: FloatArray, images: IntArray, draws: FloatArray
) -> Standing:
    """Return intervals, differences and ranks from ``draws`` (draws × S); ``wins``, ``ties``:
    images × S × S.

    Draws are widened around the strengths by Student's t, with the source's effective images less
    one as degrees of freedom. Simultaneous sets come from a credible band over all differences
    (Besag, Green, Higdon & Mengersen 1995), from which rank sets are derived as in Mogstad, Romano,
    Shaikh & Wilhelm (2024). A source with too few images has no interval and may have any rank.
    """
    value, own = fit.log_strength, (wins + np.swapaxes(wins, 1, 2) + ties).sum(2)
    image, source = np.nonzero(own)
    effective = effective_number(own[image, source], source, value.size)
    told = (images >= LEAST_IMAGES) & (effective >= 2)
    why = _why(fit, wins, ties, told)
    lever = min((value.size - 1) / wins.shape[0], 0.5) * (1 - 1 / fit.dispersion)
    widths = wider(effective, lever)
    ends = value + widths * (np.quantile(draws, (TAIL, 1 - TAIL), axis=0) - value)
    known = np.array([reason in (None, NEVER_LOST, NEVER_WON) for reason in why])
    low, high = (
        np.where(known, np.minimum(ends[0], value), np.nan),
        np.where(known, np.maximum(ends[1], value), np.nan),
    )
    no_low, no_high = never(wins.sum(0), ties.sum(0))
    gap, spread = value[:, None] - value[None, :], draws[:, :, None] - draws[:, None, :]
    wide = wider(np.minimum(effective[:, None], effective[None, :]), lever)
    reach = gap - np.quantile(spread, TAIL, axis=0)
    reach = np.maximum(reach, (reach + reach.T) / 4)
    both = known[:, None] & known[None, :] & ~np.eye(value.size, dtype=bool)
    beyond = (spread <= gap * (1 - 1 / wide)).sum(0)
    one_sided = (np.minimum(beyond, len(draws) - beyond) + 1) / (len(draws) + 1)
    below = np.where(both, gap - wide * reach, np.nan)
    far = np.where(both, (gap - spread) / np.where(reach > TINY, reach, np.inf), 0.0).max(2)
    near = np.where(both, (spread - gap) / np.where(reach.T > TINY, reach.T, np.inf), 0.0).max(2)
    alone, together = _factor(np.maximum(far, near)), _factor(far.max(1)[:, None])
    return Standing(
        np.where(no_low, np.nan, low),
        np.where(no_high, np.nan, high),
        why,
        below,
        -below.T,
        np.where(both, np.minimum(1.0, 2 * one_sided), np.nan),
        _ranks(gap, alone[:, None] * wide * reach, alone[:, None] * wide * reach.T, both),
        _ranks(gap, together * wide * reach, together * wide * reach.T, both),
    )


def wider(effective: FloatArray, lever: float) -> FloatArray:
    """Return the factor by which the spread of the draws is widened, given the effective images.

    ``lever`` is the mean leverage of an image with correlated games (Bell & McCaffrey 2002).
    """
    n = np.maximum(effective, 2.0)
    return np.asarray(t_isf(TAIL, n - 1) / NORMAL * np.sqrt(n / (n - 1) / (1 - lever)))


def _factor(farthest: FloatArray) -> FloatArray:
    """Return the 95 % quantile over draws of the largest difference in units of its half-width, at
    least 1.
    """
    return np.asarray(np.maximum(np.quantile(farthest, 1 - 2 * TAIL, axis=0), 1.0))


def _ranks(
    gap: FloatArray, down: FloatArray, up: FloatArray, known: BoolArray
) -> tuple[RankSet | None, ...]:
    above, below = ((known & (gap + up < 0)).sum(1), (known & (gap - down > 0)).sum(1))
    size = len(gap)
    return tuple(
        (1 + int(a), size - int(b)) if size > 1 else None for a, b in zip(above, below, strict=True)
    )


def _why(
    fit: Penalised, wins: FloatArray, ties: FloatArray, told: BoolArray
) -> tuple[str | None, ...]:
    """Explain why a source has no interval, or an open one. Strengths that no image affects have
    none.
    """
    no_low, no_high = never(wins.sum(0), ties.sum(0))
    total = wins.sum(0)
    strong = parts_of(total > 0)
    inside = np.bincount(strong)[strong] > 1
    still = np.abs(_scores(fit, wins, ties)).max(0) < TINY
    alike = (still & inside) | ~total.any()
    found = np.select(
        [~told, alike, no_high, no_low], [too_few(), all_alike(), NEVER_LOST, NEVER_WON], ""
    )
    return tuple(str(reason) or None for reason in found)
