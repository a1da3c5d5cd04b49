"""How the share of right answers grows with the distance between the options, and the distance at which it is 75 %.

The curve of a two-alternative choice: ψ(m) = ½ + (½ − λ)(1 − exp(−(m/α)^β)), Weibull's (Quick 1974; Wichmann & Hill
2001), with λ the share lost at any distance (lapses, failed replies). Fitted by penalised maximum likelihood (weak
priors on the shape and the lapses, as psignifit's: Schütt et al. 2016), by Fisher scoring, for all bootstrap
replicates at once. The just-noticeable difference is the m at which ψ = ¾.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from visualjudge.analysis.bootstrap import Resampling, standard_error, t_interval, widened_tail
from visualjudge.analysis.join import clusters_of
from visualjudge.records import FloatArray, IntArray

TARGET = 0.75
BINS = 40
LEAST_VERDICTS = 30
LEAST_IMAGES = 5
LEAST_BELOW = 20
LEAST_SHARE_BELOW = 0.05
REPLICATES = 400
STEPS = 60
SHAPE = (0.1, 1.0)
LAPSE = (-3.5, 1.5)
"""Means and deviations of the normal priors on log β (β about 1.1) and logit 2λ (λ about 1.5 %): wide, since a prior on
more lapses pulls the 75 % point up."""
SCALE_SPREAD = 2.5


@dataclass(frozen=True, eq=False)
class Binned:
    """Right answers by distance: ``x`` (bins,) mean distance; ``n`` and ``k`` clusters × bins, sparse."""

    x: FloatArray
    n: Any
    k: Any


def binned(distance: FloatArray, right: FloatArray, clusters: IntArray, count: int) -> Binned:
    """At most 40 bins of about equal size, by quantiles of the distance."""
    edges = np.unique(np.quantile(distance, np.linspace(0, 1, BINS + 1)))
    which = np.clip(np.searchsorted(edges, distance, side="left") - 1, 0, max(0, edges.size - 2))
    _, which = np.unique(which, return_inverse=True)
    total = np.bincount(which)
    x = np.bincount(which, weights=distance) / total
    shape = (count, total.size)
    n = sparse.csr_array((np.ones(distance.size), (clusters, which)), shape=shape)
    k = sparse.csr_array((right.astype(float), (clusters, which)), shape=shape)
    return Binned(x, n, k)


def _parts(theta: FloatArray, logx: FloatArray) -> tuple[FloatArray, FloatArray]:
    """ψ (draws × bins) and its gradient (draws × bins × 3) in log α, log β, logit 2λ."""
    shape = np.exp(theta[:, 1:2])
    z = np.clip(shape * (logx - theta[:, :1]), -40, 5)
    u = np.exp(z)
    left = np.exp(-u)
    sigma = 1 / (1 + np.exp(-theta[:, 2:3]))
    room = 0.5 * (1 - sigma)
    psi = 0.5 + room * (1 - left)
    gradient = np.stack(
        [-room * left * u * shape, room * left * u * z, -0.5 * sigma * (1 - sigma) * (1 - left)],
        axis=-1,
    )
    return np.clip(psi, 1e-9, 1 - 1e-9), gradient


def _prior(theta: FloatArray, centre: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    mean = np.array([centre, SHAPE[0], LAPSE[0]])
    precision = 1 / np.array([SCALE_SPREAD, SHAPE[1], LAPSE[1]]) ** 2
    off = theta - mean
    return -0.5 * (off**2 * precision).sum(1), -off * precision, precision


def _objective(theta: FloatArray, logx: FloatArray, n: FloatArray, k: FloatArray, centre: float) -> FloatArray:
    psi, _ = _parts(theta, logx)
    return np.asarray((k * np.log(psi) + (n - k) * np.log1p(-psi)).sum(1) + _prior(theta, centre)[0])


def fit(x: FloatArray, n: FloatArray, k: FloatArray, start: FloatArray | None = None) -> FloatArray:
    """θ = (log α, log β, logit 2λ) of each row of ``n`` and ``k`` (draws × bins) at distances ``x`` > 0.

    ``start`` (3,) is where every row begins; by default the prior's centre.
    """
    logx = np.log(x)
    centre = float(np.average(logx, weights=n.sum(0)))
    theta = np.tile([centre, SHAPE[0], LAPSE[0]] if start is None else start, (n.shape[0], 1))
    damping = np.full(n.shape[0], 1e-3)
    value = _objective(theta, logx, n, k, centre)
    for _ in range(STEPS):
        step = _scoring_step(theta, logx, n, k, centre, damping)
        proposal = theta + step
        new = _objective(proposal, logx, n, k, centre)
        better = new >= value
        theta = np.where(better[:, None], proposal, theta)
        gain = np.where(better, new - value, 0)
        value = np.where(better, new, value)
        damping = np.where(better, damping * 0.3, damping * 8)
        if np.all((better & (gain < 1e-6)) | (damping > 1e8)):
            break
    return theta


def _scoring_step(
    theta: FloatArray, logx: FloatArray, n: FloatArray, k: FloatArray, centre: float, damping: FloatArray
) -> FloatArray:
    psi, gradient = _parts(theta, logx)
    variance = psi * (1 - psi)
    _, slope, precision = _prior(theta, centre)
    score = (((k - n * psi) / variance)[:, None, :] @ gradient)[:, 0, :] + slope
    information = np.swapaxes(gradient * (n / variance)[:, :, None], 1, 2) @ gradient + np.diag(precision)
    information += damping[:, None, None] * np.eye(3) * np.einsum("dpp->dp", information)[:, :, None]
    return np.clip(np.linalg.solve(information, score[:, :, None])[:, :, 0], -1.5, 1.5)


def threshold(theta: FloatArray, target: float = TARGET) -> FloatArray:
    """The distance at which each curve reaches ``target``; infinity where it never does."""
    room = 0.5 / (1 + np.exp(theta[:, 2]))
    reached = room > target - 0.5
    inner = np.where(reached, 1 - (target - 0.5) / np.where(reached, room, 1), 0.5)
    return np.asarray(np.where(reached, np.exp(theta[:, 0] + np.log(-np.log(inner)) / np.exp(theta[:, 1])), np.inf))


def sensitivity(table: pl.DataFrame, distance: str, resampling: Resampling) -> dict[str, Any]:
    """The fitted curve and its 75 % point, with interval, over pairwise verdicts; ``reason`` where there is none.

    ``distance`` is a column > 0 (rows where it is null or 0 are left out). ``ci95`` may hold None for a side that the
    replicates do not bound.
    """
    rows = table.filter(pl.col(distance) > 0)
    images = rows["cluster"].n_unique()
    blank = {"n": rows.height, "images": images, "jnd": None, "ci95": None, "alpha": None, "beta": None, "lapse": None}
    if rows.height < LEAST_VERDICTS or images < LEAST_IMAGES:
        return {**blank, "reason": f"fewer than {LEAST_VERDICTS} verdicts or {LEAST_IMAGES} images", "points": []}
    x = rows[distance].to_numpy().astype(float)
    data = binned(x, rows["right"].to_numpy(), clusters_of(rows), resampling.clusters)
    n, k = (np.asarray(part.sum(0)).reshape(1, -1) for part in (data.n, data.k))
    theta = fit(data.x, n, k)
    return {**blank, **_figures(theta, data, resampling, float(x.max()), images), "points": _points(data.x, n[0], k[0])}


def _figures(theta: FloatArray, data: Binned, resampling: Resampling, most: float, images: int) -> dict[str, Any]:
    some = Resampling(resampling.clusters, resampling.seed, REPLICATES)
    n, k = some.sums(data.n), some.sums(data.k)
    held = n.sum(1) > 0
    draws = threshold(fit(data.x, n[held], k[held], theta[0]))
    jnd, tail = float(threshold(theta)[0]), widened_tail(images)
    low, high = _widest(draws, jnd, images, tail)
    reason = _why_none(jnd, data.x, np.asarray(data.n.sum(0)).ravel(), most)
    return {
        "jnd": jnd if reason is None else None,
        "ci95": None
        if reason is not None
        else (float(low) if np.isfinite(low) else None, float(high) if np.isfinite(high) else None),
        "alpha": float(np.exp(theta[0, 0])),
        "beta": float(np.exp(theta[0, 1])),
        "lapse": float(0.5 / (1 + np.exp(-theta[0, 2]))),
        "reason": reason,
    }


def _widest(draws: FloatArray, jnd: float, images: int, tail: float) -> tuple[float, float]:
    """On each side the further end of the percentile interval and of t on the log scale.

    Either alone misses low with few images, where the estimate runs some per cent high (benchmarks/coverage.py).
    """
    ends = np.quantile(draws, [tail, 1 - tail], method="nearest")
    finite = draws[np.isfinite(draws)]
    if not np.isfinite(jnd) or finite.size < draws.size / 2:
        return float(ends[0]), float(ends[1])
    around = t_interval(float(np.log(jnd)), standard_error(np.log(finite)), images)
    if around is None:
        return float(ends[0]), float(ends[1])
    return min(float(ends[0]), float(np.exp(around[0]))), max(float(ends[1]), float(np.exp(around[1])))


def _why_none(jnd: float, x: FloatArray, n: FloatArray, most: float) -> str | None:
    """Why the data do not hold a 75 % point; the curve alone, run on below or above what was asked, is no evidence."""
    if not np.isfinite(jnd):
        return "75 % is never reached"
    if jnd > most:
        return f"75 % lies beyond the largest distance asked ({most:.3g})"
    below = n[x < jnd].sum()
    if below < max(LEAST_BELOW, LEAST_SHARE_BELOW * n.sum()):
        return f"above 75 % at nearly every distance asked (from {x[0]:.2g})"
    return None


def _points(x: FloatArray, n: FloatArray, k: FloatArray) -> list[dict[str, float]]:
    """About ten points of the data, for the picture: mean distance, share right, verdicts."""
    ends = np.cumsum(n) / n.sum()
    which = np.minimum((ends * 10 - 1e-9).astype(int), 9)
    out = []
    for group in np.unique(which):
        part = which == group
        total = n[part].sum()
        out.append(
            {"x": float((x[part] * n[part]).sum() / total), "share": float(k[part].sum() / total), "n": float(total)}
        )
    return out


def curve(alpha: float, beta: float, lapse: float, x: FloatArray) -> FloatArray:
    """ψ at ``x`` ≥ 0."""
    return np.asarray(0.5 + (0.5 - lapse) * (1 - np.exp(-((x / alpha) ** beta))))
