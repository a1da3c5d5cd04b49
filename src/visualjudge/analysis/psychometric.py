"""Accuracy as a function of the distance between the options, and the distance at which it is 75 %.

The psychometric function of a choice is ψ(m) = γ + (1 − γ − λ)(1 − exp(−(m/α)^β)), a Weibull curve
(Quick 1974; Wichmann & Hill 2001). γ is the accuracy of guessing (½ for two answers) times the
share of replies that were read, because a failed reply is wrong at any distance. λ is the share
lost at any distance (failed replies, lapses). The curve is fitted by penalised maximum likelihood
(weak priors on the shape and the lapses, as in psignifit: Schütt et al. 2016) with Fisher scoring.
The just-noticeable difference is the m at which ψ = ¾; its interval resamples images (Field & Welsh
2007), with the quantiles widened to Student's t (Hesterberg 2015). Weakness: with few images the
75 % point is a few per cent too high.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse, special

from visualjudge.analysis.estimate import (
    LEAST_IMAGES,
    TAIL,
    Resampling,
    holm,
    renumbered,
    t_isf,
)
from visualjudge.analysis.figures import ALL, Sensitivity
from visualjudge.analysis.fits import rising_p
from visualjudge.analysis.pairwise_figures import OF_TWO
from visualjudge.analysis.study_table import clusters_of
from visualjudge.analysis.value_and_interval import Ends, Estimate
from visualjudge.core.records import FloatArray

TARGET, BINS, POINTS = 0.75, 40, 10
LEAST_VERDICTS, LEAST_BELOW, LEAST_SHARE_BELOW = 30, 20, 0.05
SLOPE_LEVEL, STEPS = 0.05, 60
Scope = tuple[str, str, str]
"""Scope, value and distance of a :class:`.Sensitivity`."""
CENTRE = np.array([0.0, 0.1, -3.5])
PRECISION = 1 / np.array([2.5, 1.0, 1.5]) ** 2
"""Normal priors on log α (around the mean log distance), log β (β about 1.1) and the logit of
lapses (3 %). They are wide, because a prior on more lapses would raise the 75 % point.
"""


def _parts(
    theta: FloatArray, logx: FloatArray, limits: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """Return ψ (draws × bins) and its gradient (draws × bins × 3) in log α, log β and the logit of
    lapses; ``limits``: where the curve begins, γ, and how far it rises without lapses.
    """
    floor, rise = limits
    shape = np.exp(theta[:, 1:2])
    z = np.clip(shape * (logx - theta[:, :1]), -40, 5)
    u = np.exp(z)
    left, sigma = np.exp(-u), 1 / (1 + np.exp(-theta[:, 2:3]))
    room = rise * (1 - sigma)
    lapses = -rise * sigma * (1 - sigma) * (1 - left)
    gradient = np.stack([-room * left * u * shape, room * left * u * z, lapses], axis=-1)
    return np.clip(floor + room * (1 - left), 1e-9, 1 - 1e-9), gradient


def fit(
    x: FloatArray,
    n: FloatArray,
    k: FloatArray,
    limits: tuple[float, float],
    start: FloatArray | None = None,
) -> FloatArray:
    """Return θ = (log α, log β, logit of lapses) for each row of ``n`` and ``k`` (draws × bins), at
    distances ``x`` > 0; ``start`` (3,) is where every row begins.
    """
    logx, total = np.log(x), n.sum(0)
    prior = CENTRE + np.eye(3)[0] * (logx * total).sum() / total.sum()
    theta = np.tile(prior if start is None else start, (n.shape[0], 1))

    def objective(theta: FloatArray) -> FloatArray:
        psi, _ = _parts(theta, logx, limits)
        likelihood = (k * np.log(psi) + (n - k) * np.log1p(-psi)).sum(1)
        return np.asarray(likelihood - 0.5 * ((theta - prior) ** 2 * PRECISION).sum(1))

    damping, value = np.full(n.shape[0], 1e-3), objective(theta)
    for _ in range(STEPS):
        psi, gradient = _parts(theta, logx, limits)
        variance = psi * (1 - psi)
        score = (((k - n * psi) / variance)[:, None, :] @ gradient)[:, 0, :]
        score = score - (theta - prior) * PRECISION
        weighted = np.swapaxes(gradient * (n / variance)[:, :, None], 1, 2)
        information = weighted @ gradient + np.diag(PRECISION)
        own = np.einsum("dpp->dp", information)[:, :, None]
        information = information + damping[:, None, None] * np.eye(3) * own
        step = np.linalg.solve(information, score[:, :, None])[:, :, 0]
        proposal = theta + np.clip(step, -1.5, 1.5)
        new = objective(proposal)
        better = new >= value
        gain = np.where(better, new - value, 0)
        theta, value = np.where(better[:, None], proposal, theta), np.where(better, new, value)
        damping = np.where(better, damping * 0.3, damping * 8)
        if ((better & (gain < 1e-6)) | (damping > 1e8)).all():
            break
    return theta


def threshold(theta: FloatArray, limits: tuple[float, float]) -> FloatArray:
    """Return the distance at which each curve reaches 75 %; infinity if it never does."""
    room, above = limits[1] / (1 + np.exp(theta[:, 2])), TARGET - limits[0]
    reached = room > above
    inner = np.where(reached, 1 - above / np.where(reached, room, 1), 0.5)
    found = np.exp(theta[:, 0] + np.log(-np.log(inner)) / np.exp(theta[:, 1]))
    return np.asarray(np.where(reached, found, np.inf))


@dataclass(frozen=True, eq=False)
class _Curve:
    """Verdicts in bins of distance ``x``: counts ``n`` and right answers ``k``, clusters × bins,
    their ``totals`` over clusters, and the fitted ``theta`` (1, 3).
    """

    x: FloatArray
    n: Any
    k: Any
    totals: tuple[FloatArray, FloatArray]
    limits: tuple[float, float]
    theta: FloatArray
    slope: float | None


def _parts_of(pairs: pl.DataFrame, *, scored: bool) -> Iterator[tuple[Scope, pl.DataFrame]]:
    """Yield what curves are fitted to, pairs with their ``distance``: the margin of all, each task
    and each error type, where true scores are known; the gap in severity, where it is known, of all
    and each error type. A part that is all is left out.
    """
    for against, column, keys in (
        ("margin", "margin", ("task", "error_type")),
        ("severity", "severity_gap", ("error_type",)),
    ):
        rows = pairs.select("task", "error_type", "right", "usable", "cluster", distance=column)
        rows = rows.filter(pl.col("distance") > 0)
        if not scored if against == "margin" else rows.is_empty():
            continue
        yield (ALL, ALL, against), rows
        for key in keys:
            parts = rows.partition_by(key, as_dict=True)
            for (value,), part in sorted(parts.items()):
                if part.height < rows.height:
                    yield (key, str(value), against), part


def curves(
    pairs: pl.DataFrame, resampling: Resampling, chance: float = OF_TWO, *, scored: bool = True
) -> tuple[Sensitivity, ...]:
    """Return the fitted curves and their 75 % points, or the reason for their absence.

    A 75 % point is given only if accuracy increases with distance (one-sided test clustered by
    image; Holm over the parts, where all questions together have half of the level), the curve
    fits, and there are data below the 75 % point.
    """
    kept = list(_parts_of(pairs, scored=scored))
    found = [_curve(rows, resampling, chance) for _, rows in kept]
    slopes = [None if one is None else one.slope for one in found]
    whole = [scope == ALL for (scope, _, _), _ in kept]
    tested = [one for one, p in zip(whole, slopes, strict=True) if p is not None]
    of_all, of_parts = max(1, sum(tested)), max(1, len(tested) - sum(tested))
    adjusted = holm(slopes, [1 / (of_all if one else of_parts) for one in whole])
    return tuple(
        _sensitivity(*part, curve, p, resampling)
        for part, curve, p in zip(kept, found, adjusted, strict=True)
    )


def _curve(rows: pl.DataFrame, resampling: Resampling, chance: float) -> _Curve | None:
    read = float(rows["usable"].mean() or 0)  # type: ignore[arg-type]
    if rows.height < LEAST_VERDICTS or rows["cluster"].n_unique() < LEAST_IMAGES or not read:
        return None
    x, right = (rows[name].to_numpy().astype(float) for name in ("distance", "right"))
    edges = np.unique(np.quantile(x, np.linspace(0, 1, BINS + 1)))
    left = np.searchsorted(edges, x, side="left") - 1
    which = renumbered(np.clip(left, 0, max(0, edges.size - 2)))[1]
    clusters, total = clusters_of(rows), np.bincount(which)
    n, k = (
        sparse.csr_array((values, (clusters, which)), (resampling.clusters, total.size))
        for values in (np.ones(x.size), right)
    )
    limits, mean = (read * chance, read * (1 - chance)), np.bincount(which, x) / total
    asked, hits = (np.asarray(part.sum(0)).ravel() for part in (n, k))
    theta = fit(mean, asked[None], hits[None], limits)
    rises = rising_p(x, right, clusters)
    return _Curve(mean, n, k, (asked, hits), limits, theta, rises)


def _sensitivity(
    scope: Scope,
    rows: pl.DataFrame,
    curve: _Curve | None,
    slope: float | None,
    resampling: Resampling,
) -> Sensitivity:
    images = rows["cluster"].n_unique()
    if curve is None:
        few = f"fewer than {LEAST_VERDICTS} verdicts or {LEAST_IMAGES} images"
        return Sensitivity(*scope, Estimate(None, None, rows.height, images, few))
    jnd = float(threshold(curve.theta, curve.limits)[0])
    reason = _why_none(curve, jnd, slope, float(rows["distance"].max()))  # type: ignore[arg-type]
    ends = None if reason else _jnd_ends(curve, resampling, images)
    figure = Estimate(None if reason else jnd, ends, rows.height, images, reason)
    (floor, room), (alpha, beta) = curve.limits, np.exp(curve.theta[0, :2]).tolist()
    lapse = float(1 - floor - room / (1 + np.exp(curve.theta[0, 2])))
    return Sensitivity(*scope, figure, alpha, beta, lapse, slope, _points(curve), floor)


def _jnd_ends(curve: _Curve, resampling: Resampling, images: int) -> Ends:
    n, k = resampling.sums(curve.n), resampling.sums(curve.k)
    held = n.sum(1) > 0
    draws = threshold(fit(curve.x, n[held], k[held], curve.limits, curve.theta[0]), curve.limits)
    tail = float(special.ndtr(-t_isf(TAIL, images - 1) * np.sqrt(images / (images - 1))))
    low, high = np.quantile(draws, [tail, 1 - tail], method="nearest")
    return (float(low) if np.isfinite(low) else None), (float(high) if np.isfinite(high) else None)


def _why_none(curve: _Curve, jnd: float, slope: float | None, most: float) -> str | None:
    """Return why the data do not support a 75 % point. A curve that is extrapolated below or above
    the distances that were asked is no evidence.
    """
    n, below = curve.totals[0], curve.totals[0][curve.x < jnd].sum()
    reasons = (
        (slope is None or slope >= SLOPE_LEVEL,
         "accuracy does not rise significantly with the difference"),
        (not np.isfinite(jnd), "75 % is never reached"),
        (jnd > most, f"75 % lies beyond the largest distance asked ({most:.3g})"),
        (below < max(LEAST_BELOW, LEAST_SHARE_BELOW * n.sum()),
         f"above 75 % at nearly every distance asked (from {curve.x[0]:.2g})"),
    )  # fmt: skip
    return next((reason for holds, reason in reasons if holds), None)


def _points(curve: _Curve) -> tuple[tuple[float, float, float], ...]:
    n, k = curve.totals
    tenth = (np.cumsum(n) / n.sum() * POINTS - 1e-9).astype(int)
    group = renumbered(np.minimum(tenth, POINTS - 1))[1]
    total, right, far = (np.bincount(group, values) for values in (n, k, curve.x * n))
    return tuple(zip((far / total).tolist(), (right / total).tolist(), total.tolist(), strict=True))


def curve(alpha: float, beta: float, lapse: float, floor: float, x: FloatArray) -> FloatArray:
    """Return ψ at ``x`` ≥ 0."""
    return np.asarray(floor + (1 - floor - lapse) * (1 - np.exp(-((x / alpha) ** beta))))
