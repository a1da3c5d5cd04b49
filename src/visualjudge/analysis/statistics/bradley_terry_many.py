"""Strengths of many sources, with the model and the draws of
:mod:`~visualjudge.analysis.statistics.bradley_terry`.

Only pairs that met are computed, so memory and time grow with the number of games.

Newton's steps are solved by conjugate gradients on the graph of the pairs (Hestenes & Stiefel
1952), all draws at once. Two things are approximated: the leverage of a pair is computed as if the
strengths of its other opponents were known, a (1/hᵢ + 1/hⱼ), where a is the information of the
pair's games and h that of all games of a source, scaled to sum to S − 1; and rank sets use
differences divided by their standard deviations rather than quantiles (Romano & Wolf 2005).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from visualjudge.analysis.estimate import (
    LEAST_IMAGES,
    NORMAL,
    TAIL,
    TINY,
    all_alike,
    effective_number,
    renumbered,
    too_few,
)
from visualjudge.analysis.statistics.bradley_terry import (
    FARTHEST,
    LEAST_DRAWS,
    NEVER_LOST,
    NEVER_WON,
    NEWTON_STEPS,
    wider,
)
from visualjudge.analysis.statistics.ranks import RankSet
from visualjudge.core.records import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from scipy import sparse

CELLS = 100_000
"""Number of pairs times draws processed at once, chosen to fit a processor's cache."""
CLOSE, NEAR = 1e-7, 2e-3
"""Convergence limits for the root mean square of a step: of the estimate, and of a draw."""
ROUNDS = 4
"""Convergence limit of the penalty, whose leverages are approximate."""
MOST_PRODUCTS, SHARPER = 25, 0.1
"""Maximum number of conjugate-gradient steps, and the residual at which they stop."""


@dataclass(frozen=True, eq=False)
class Met:
    """Games of P pairs that met: wins of the first, wins of the second, and ties; (P, D) for D
    draws, or (P, 1).
    """

    first: FloatArray
    second: FloatArray
    tied: FloatArray

    @property
    def games(self) -> FloatArray:
        """Number of games of each pair."""
        return self.first + self.second + self.tied


@dataclass(frozen=True, eq=False)
class Duels:
    """N games of S sources: the ``image``, the two sources, and the result of the first (1, ½, 0);
    arrays (N,).
    """

    image: IntArray
    a: IntArray
    b: IntArray
    outcome: FloatArray
    size: int

    def pairs(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the first and second source of each pair that met (P,), and the pair of each game
        (N,).
        """
        low, high = np.minimum(self.a, self.b), np.maximum(self.a, self.b)
        codes, place = np.unique(low * self.size + high, return_inverse=True)
        return codes // self.size, codes % self.size, place

    def by_image(self, place: IntArray, pairs: int) -> tuple[sparse.csr_array, ...]:
        """Return the wins of the pair's first and second source, and the ties: each (P, images)."""
        from scipy import sparse  # takes long to import

        _, image = renumbered(self.image)
        gained = np.where(self.a < self.b, self.outcome, 1 - self.outcome)
        shape = pairs, int(image.max()) + 1
        return tuple(
            sparse.csr_array((np.ones(int(kept.sum())), (place[kept], image[kept])), shape=shape)
            for kept in (gained > 0.5, gained < 0.5, gained == 0.5)
        )


@dataclass(frozen=True, eq=False)
class ManyStrengths:
    """Strengths ``log_strength`` (S,) with mean 0, their uncertainty as in
    :class:`~strengths.Standing`, and ``draws`` (D, S).
    """

    log_strength: FloatArray
    log_tie: float | None
    dispersion: float
    low: FloatArray
    high: FloatArray
    why: tuple[str | None, ...]
    alone: tuple[RankSet | None, ...]
    together: tuple[RankSet | None, ...]
    draws: FloatArray
    wide: FloatArray
    known: BoolArray
    endless: bool

    def difference(self, i: int, j: int) -> tuple[float, float, float]:
        """Return the interval of the strength of i less that of j, and its p-value; NaN where
        unknown.
        """
        if not (self.known[i] and self.known[j]):
            return np.nan, np.nan, np.nan
        gap, spread = (
            self.log_strength[i] - self.log_strength[j],
            self.draws[:, i] - self.draws[:, j],
        )
        wide = max(self.wide[i], self.wide[j])
        below, above = np.quantile(spread, (TAIL, 1 - TAIL))
        down, up = gap - below, above - gap
        down, up = max(down, (down + up) / 4), max(up, (down + up) / 4)
        beyond = int((spread <= gap * (1 - 1 / wide)).sum())
        p = 2 * (min(beyond, spread.size - beyond) + 1) / (spread.size + 1)
        return gap - wide * down, gap + wide * up, min(1.0, p)


class _Graph:
    """Graph of the pairs: differences along its edges, and sums at its nodes."""

    def __init__(self, first: IntArray, second: IntArray, size: int) -> None:
        from scipy import sparse

        pairs = np.arange(first.size)
        ends, sign = np.concatenate([first, second]), np.repeat((1.0, -1.0), first.size)
        self.first, self.second, self.size = first, second, size
        self.along = sparse.csr_array((sign, (np.tile(pairs, 2), ends)), shape=(first.size, size))
        self.at = self.along.T.tocsr()
        self.both = abs(self.at)

    def only(self, kept: BoolArray) -> _Graph:
        """Return the graph restricted to the pairs ``kept``."""
        return _Graph(self.first[kept], self.second[kept], self.size)


@dataclass(frozen=True, eq=False)
class _Slopes:
    """Gradient and curvature of the log-likelihood: by node (S, D), by pair (P, D), and in log ν
    (D,).
    """

    gradient: FloatArray
    slope: FloatArray
    spread: FloatArray
    cross: FloatArray
    curve: FloatArray


def _odds(apart: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return P(first wins) − P(second wins), and P(tie), for a difference in strength."""
    half = apart / 2
    top = np.maximum(np.abs(half), np.maximum(eta, 0.0))
    win, lose, tie = np.exp(half - top), np.exp(-half - top), np.exp(eta - top)
    total = win + lose + tie
    return (win - lose) / total, tie / total


def _slopes(graph: _Graph, met: Met, theta: FloatArray, eta: FloatArray) -> _Slopes:
    lead, tie = _odds(graph.along @ theta, eta)
    games = met.games
    uneven = games * lead * tie / 2
    return _Slopes(
        graph.at @ ((met.first - met.second - games * lead) / 2),
        (met.tied - games * tie).sum(0),
        games * (1 - tie - lead**2) / 4,
        -uneven,
        (games * tie * (1 - tie)).sum(0),
    )


def _solved(
    graph: _Graph, at: _Slopes, gradient: FloatArray, slope: FloatArray, *, sharp: float
) -> FloatArray:
    """Return the step (S + 1, D), in strengths and log ν, by preconditioned conjugate gradients."""
    scale = np.vstack([graph.both @ at.spread, at.curve]) + TINY

    tied = bool(at.curve.any())

    def times(v: FloatArray) -> FloatArray:
        apart = graph.along @ v[:-1]
        if not tied:
            return np.vstack([graph.at @ (at.spread * apart), np.zeros_like(v[-1:])])
        pulled = graph.at @ (at.spread * apart + at.cross * v[-1])
        return np.vstack([pulled, (at.cross * apart).sum(0) + at.curve * v[-1]])

    left = np.vstack([gradient, slope])
    step, towards = np.zeros_like(left), left / scale
    way, rho = towards.copy(), (left * towards).sum(0)
    goal = sharp**2 * rho
    for _ in range(MOST_PRODUCTS):
        product = times(way)
        length = rho / np.maximum((way * product).sum(0), TINY)
        step, left = step + length * way, left - length * product
        towards = left / scale
        now = (left * towards).sum(0)
        if (now <= goal + TINY**2).all():
            break
        way, rho = towards + now / np.maximum(rho, TINY**2) * way, now
    return step


def _maximum(
    graph: _Graph, met: Met, theta: FloatArray, eta: FloatArray, *, close: float
) -> tuple[FloatArray, FloatArray]:
    """Return the strengths (S, D), each with mean 0, and log ν (D,), by Newton steps of at most 2
    per parameter.
    """
    ties = bool(np.isfinite(eta).all())
    for _ in range(NEWTON_STEPS):
        at = _slopes(graph, met, theta, eta)
        if not ties:
            at = replace(at, slope=np.zeros_like(at.slope), curve=np.zeros_like(at.curve))
        step = np.clip(_solved(graph, at, at.gradient, at.slope, sharp=SHARPER), -2, 2)
        theta = np.clip(theta + step[:-1], -FARTHEST, FARTHEST)
        theta = theta - theta.mean(0)
        eta = eta + step[-1] if ties else eta
        if np.sqrt((step**2).mean(0)).max() < close:
            break
    return theta, eta


def _leverage(graph: _Graph, met: Met, theta: FloatArray, eta: FloatArray) -> FloatArray:
    """Return the leverage of each pair's games on the strengths (P, 1); it sums to S − 1."""
    spread = _slopes(graph, met, theta, eta).spread
    own = np.maximum(graph.both @ spread, TINY)
    lever = np.minimum(spread * (1 / own[graph.first] + 1 / own[graph.second]), 1.0) + TINY
    return np.asarray(lever * (graph.size - 1) / lever.sum())


def _fit(
    graph: _Graph, met: Met, dispersion: float, start: tuple[FloatArray, FloatArray] | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the penalised strengths (S, 1), log ν (1,), and the wins that the penalty adds each
    way (P, 1).
    """
    theta, eta = start or (
        np.zeros((graph.size, 1)),
        np.full(1, -1.0 if met.tied.any() else -np.inf),
    )
    for _ in range(ROUNDS):
        added = dispersion / 2 * _leverage(graph, met, theta, eta)
        theta, eta = _maximum(
            graph, Met(met.first + added, met.second + added, met.tied), theta, eta, close=CLOSE
        )
    return theta, eta, added


def many_strengths(
    duels: Duels, repeats: float, images: IntArray, rng: np.random.Generator
) -> ManyStrengths:
    """Return the strengths of the sources of ``duels``, all connected, with their uncertainty.

    ``repeats`` is the minimum number of correlated games; ``images`` (S,) counts each source's
    distinct images.
    """
    first, second, place = duels.pairs()
    graph, parts = _Graph(first, second, duels.size), duels.by_image(place, first.size)
    met = Met(*(np.asarray(part.sum(1), float)[:, None] for part in parts))
    theta, eta, _ = _fit(graph, met, repeats)
    together = _dispersion(graph, parts, theta, eta, repeats)
    theta, eta, added = _fit(graph, met, together, (theta, eta))
    draws = _drawn(graph, parts, (theta, eta, added, together), rng)
    return _standing(duels, graph, parts, met, theta, eta, together, images, draws)


def strengths_alone(duels: Duels, repeats: float) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Return the strengths (S,) without their uncertainty, and which sources never won and never
    lost.
    """
    first, second, place = duels.pairs()
    graph, parts = _Graph(first, second, duels.size), duels.by_image(place, first.size)
    met = Met(*(np.asarray(part.sum(1), float)[:, None] for part in parts))
    theta, eta, _ = _fit(graph, met, repeats)
    theta, _, _ = _fit(graph, met, _dispersion(graph, parts, theta, eta, repeats), (theta, eta))
    return theta[:, 0], *_never(graph, met)


def _never(graph: _Graph, met: Met) -> tuple[BoolArray, BoolArray]:
    won, lost, tied = (np.zeros(graph.size) for _ in range(3))
    for mine, theirs, own in (
        (met.first, met.second, graph.first),
        (met.second, met.first, graph.second),
    ):
        np.add.at(won, own, mine[:, 0])
        np.add.at(lost, own, theirs[:, 0])
        np.add.at(tied, own, met.tied[:, 0])
    return (won == 0) & (tied == 0), (lost == 0) & (tied == 0)


def _strong(graph: _Graph, met: Met) -> IntArray:
    """Return the number of each source's strongly connected part in the graph of wins."""
    from scipy import sparse
    from scipy.sparse import csgraph  # takes as long to import as NumPy

    forth, back = met.first[:, 0] > 0, met.second[:, 0] > 0
    winner = np.concatenate([graph.first[forth], graph.second[back]])
    loser = np.concatenate([graph.second[forth], graph.first[back]])
    wins = sparse.csr_array((np.ones(winner.size), (winner, loser)), shape=(graph.size, graph.size))
    return np.asarray(csgraph.connected_components(wins, connection="strong")[1], dtype=np.int64)


def _scores(
    graph: _Graph, parts: tuple[sparse.csr_array, ...], theta: FloatArray, eta: FloatArray
) -> FloatArray:
    """Return each image's contribution to the gradient in each strength, (S, images)."""
    lead, _ = _odds(graph.along @ theta, eta)
    first, second, tied = parts
    games = first + second + tied
    return np.asarray((graph.at @ ((first - second - games.multiply(lead)) / 2)).todense())


def _dispersion(
    graph: _Graph,
    parts: tuple[sparse.csr_array, ...],
    theta: FloatArray,
    eta: FloatArray,
    least: float,
) -> float:
    """Compute :func:`~visualjudge.analysis.statistics.bradley_terry.dispersion` over the pairs that
    met.
    """
    met = Met(*(np.asarray(part.sum(1), float)[:, None] for part in parts))
    strong = _strong(graph, met)
    free = graph.size - int(strong.max()) - 1
    inside = strong[graph.first] == strong[graph.second]
    if not free:
        return least
    kept, own = graph.only(inside), tuple(part[inside] for part in parts)
    scores = _scores(kept, own, theta, eta)
    at = _slopes(kept, Met(met.first[inside], met.second[inside], met.tied[inside]), theta, eta)
    at = replace(at, curve=np.zeros_like(at.curve))
    solved = _solved(kept, at, scores, np.zeros(scores.shape[1]), sharp=SHARPER / 10)[:-1]
    images = scores.shape[1]
    spread = float((scores * solved).sum()) * images / max(images - 1, 1)
    return float(max(least, spread / free))


def _drawn(
    graph: _Graph,
    parts: tuple[sparse.csr_array, ...],
    fit: tuple[FloatArray, FloatArray, FloatArray, float],
    rng: np.random.Generator,
) -> FloatArray:
    """Draw strengths as :func:`~visualjudge.analysis.statistics.bradley_terry.drawn` does; draws ×
    S.
    """
    theta, eta, added, together = fit
    step = max(1, CELLS // graph.first.size)
    out = []
    for start in range(0, LEAST_DRAWS, step):
        count = min(step, LEAST_DRAWS - start)
        weights = rng.standard_exponential((parts[0].shape[1], count))
        first, second, tied = (part @ weights for part in parts)
        extra = (
            together * rng.standard_gamma(added / together, (added.shape[0], count))
            for _ in range(2)
        )
        met = Met(first + next(extra), second + next(extra), tied)
        found, _ = _maximum(graph, met, np.tile(theta, (1, count)), np.tile(eta, count), close=NEAR)
        out.append(found.T)
    return np.concatenate(out)


def _standing(
    duels: Duels,
    graph: _Graph,
    parts: tuple[sparse.csr_array, ...],
    met: Met,
    theta: FloatArray,
    eta: FloatArray,
    together: float,
    images: IntArray,
    draws: FloatArray,
) -> ManyStrengths:
    value = theta[:, 0]
    codes, count = np.unique(
        np.concatenate([duels.a, duels.b]) + duels.size * np.tile(duels.image, 2),
        return_counts=True,
    )
    effective = effective_number(count.astype(float), codes % duels.size, duels.size)
    never_won, never_lost = _never(graph, met)
    strong = _strong(graph, met)
    still = np.abs(_scores(graph, parts, theta, eta)).max(1) < TINY
    alike = still & (np.bincount(strong)[strong] > 1)
    told = (images >= LEAST_IMAGES) & (effective >= 2)
    reasons = np.select(
        [~told, alike, never_lost, never_won], [too_few(), all_alike(), NEVER_LOST, NEVER_WON], ""
    )
    why = tuple(str(reason) or None for reason in reasons)
    known = told & ~alike
    lever = min((duels.size - 1) / parts[0].shape[1], 0.5) * (1 - 1 / together)
    wide = wider(effective, lever)
    ends = value + wide * (np.quantile(draws, (TAIL, 1 - TAIL), axis=0) - value)
    low, high = np.minimum(ends[0], value), np.maximum(ends[1], value)
    alone, all_at_once = _rank_sets(value, draws, wide, known)
    return ManyStrengths(
        value,
        float(eta[0]) if np.isfinite(eta[0]) else None,
        together,
        np.where(known & ~never_won, low, np.nan),
        np.where(known & ~never_lost, high, np.nan),
        why,
        alone,
        all_at_once,
        draws,
        wide,
        known,
        len(np.unique(strong)) > 1,
    )


def _rank_sets(
    value: FloatArray, draws: FloatArray, wide: FloatArray, known: BoolArray
) -> tuple[tuple[RankSet | None, ...], tuple[RankSet | None, ...]]:
    """Return the possible ranks of each source, individually and jointly."""
    size = value.size
    off = (draws - value).astype(np.float32)
    squares = off.T @ off / len(draws)
    own = np.diag(squares)
    reach = NORMAL * np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * squares, TINY))
    farthest = np.empty((len(draws), size), dtype=np.float32)
    for i in range(size):
        inverse = np.where(known & known[i] & (np.arange(size) != i), 1 / reach[i], 0)
        apart = (off[:, i, None] - off) * inverse
        farthest[:, i] = np.maximum(apart.max(1), -apart.min(1))
    alone = np.maximum(np.quantile(farthest, 1 - 2 * TAIL, axis=0), 1.0)
    together = np.full(size, max(float(np.quantile(farthest.max(1), 1 - 2 * TAIL)), 1.0))
    return tuple(  # type: ignore[return-value]
        tuple(
            _ranks(value, factor[i] * np.maximum(wide[i], wide) * reach[i], known, i)
            for i in range(size)
        )
        for factor in (alone, together)
    )


def _ranks(value: FloatArray, reach: FloatArray, known: BoolArray, i: int) -> RankSet:
    """Return the best and the worst rank of source ``i``."""
    if not known[i]:
        return 1, value.size
    gap = value[i] - value
    sure = known & (np.abs(gap) > reach)
    return 1 + int((sure & (gap < 0)).sum()), value.size - int((sure & (gap > 0)).sum())
