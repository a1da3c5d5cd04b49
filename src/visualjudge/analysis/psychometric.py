"""Accuracy as a function of the distance between the options, and the distance at which it is 75 %.

The psychometric function of a choice is ψ(m) = γ + (1 − γ − λ)(1 − exp(−(m/α)^β)), a Weibull curve
(Quick 1974; Wichmann & Hill 2001). γ is the accuracy of guessing (½ for two answers) times the
share of replies that were read, because a failed reply is wrong at any distance. λ is the share
lost at any distance (failed replies, lapses). The curve is fitted by penalised maximum likelihood
(weak priors on the shape and the lapses, as in psignifit: Schütt et al. 2016) with Fisher scoring,
for all bootstrap replicates at once. The just-noticeable difference is the m at which ψ = ¾.

The bootstrap resamples images, never single verdicts, because the questions about one image are
correlated. Only the interval of a 75 % point uses it; every other figure leaves out each image in
turn (:mod:`visualjudge.analysis.estimate`). One :class:`Resampling` serves a whole
report. Each draw takes as many images as there are, with replacement, so a statistic that is a
function of sums over images needs one matrix product for all draws.

Sources: Field & Welsh 2007 (the cluster bootstrap); Hesterberg 2015, "What teachers should know
about the bootstrap" (quantiles widened to Student's t for few clusters).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse, special

from visualjudge.analysis import estimate
from visualjudge.analysis.estimate import norm_sf, t_isf
from visualjudge.analysis.figures import CurvePoint, Sensitivity
from visualjudge.analysis.pairwise_figures import OF_TWO
from visualjudge.analysis.repeated_rows import ALL, holm_apart, originals
from visualjudge.analysis.study_table import clusters_of
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.records import FloatArray, IntArray
from visualjudge.core.seeding import rng_for

DRAWS = 400
LEAST_SPREAD = 1e-12
"""A spread below this is rounding error: all images agree, and an interval would claim
certainty.
"""
CHUNK = 200
Interval = tuple[float, float]


@dataclass(frozen=True)
class Resampling:
    """``draws`` resamples of ``clusters`` images, drawn with ``seed``."""

    clusters: int
    seed: int = 0
    draws: int = DRAWS

    @cached_property
    def weights(self) -> NDArray[np.uint8]:
        """How often each image is drawn, draws × clusters."""
        rng = rng_for(self.seed, "bootstrap", self.clusters)
        out = np.empty((self.draws, self.clusters), dtype=np.uint8)
        for row in out:
            counts = np.bincount(
                rng.integers(0, self.clusters, self.clusters), minlength=self.clusters
            )
            row[:] = np.minimum(counts, 255)
        return out

    def sums(self, columns: Any) -> FloatArray:
        """Return resampled totals, draws × C, of ``columns`` (clusters × C, dense or sparse, with
        one row per image).
        """
        matrix = sparse.csr_array(columns).T.tocsr()
        out = np.empty((self.draws, matrix.shape[0]))
        for start in range(0, self.draws, CHUNK):
            part = self.weights[start : start + CHUNK].T.astype(np.float64)
            out[start : start + CHUNK] = (matrix @ part).T
        return out


def widened_tail(clusters: int, tail: float = 0.025) -> float:
    """Return the normal tail that corresponds to Student's t with ``clusters`` - 1 degrees of
    freedom, including the √(n/(n−1)) correction.
    """
    reach = t_isf(tail, clusters - 1) * np.sqrt(clusters / (clusters - 1))
    return float(norm_sf(reach))


def standard_error(draws: FloatArray) -> float:
    """Return the standard deviation over the draws that could be computed; NaN with fewer
    than two.
    """
    seen = draws[np.isfinite(draws)]
    return float(np.std(seen, ddof=1)) if seen.size > 1 else float("nan")


def t_interval(estimate: float, error: float, clusters: int) -> Interval | None:
    """Return estimate ± Student's t (``clusters`` - 1 degrees of freedom) × standard error; None if
    the images do not differ.
    """
    if clusters < 2 or not np.isfinite(error) or not np.isfinite(estimate) or error < LEAST_SPREAD:
        return None
    reach = float(t_isf(0.025, clusters - 1)) * error * np.sqrt(clusters / (clusters - 1))
    return estimate - reach, estimate + reach


TARGET = 0.75
BINS = 40
LEAST_VERDICTS = 30
LEAST_IMAGES = 5
LEAST_BELOW = 20
LEAST_SHARE_BELOW = 0.05
SLOPE_LEVEL = 0.05
FIT_LEVEL = 0.01
FIT_GROUPS = 7
LEAST_FIT_IMAGES = 12
LEAST_FIT_GROUPS = 5
STEPS = 60
FLAT = 1e-9
"""A variance of ranks (as shares of their number) below this is rounding error."""
SHAPE = (0.1, 1.0)
LAPSE = (-3.5, 1.5)
"""Means and standard deviations of the normal priors on log β (β about 1.1) and on the logit of
lapses (3 %). They are wide, because a prior on more lapses would raise the 75 % point.
"""
SCALE_SPREAD = 2.5
NOT_FITTED = np.full((1, 3), np.nan)


@dataclass(frozen=True, eq=False)
class Binned:
    """Right answers by distance: ``x`` (bins,) is the mean distance; ``n`` and ``k`` are clusters ×
    bins, sparse.
    """

    x: FloatArray
    n: Any
    k: Any


def binned(distance: FloatArray, right: FloatArray, clusters: IntArray, count: int) -> Binned:
    """Bin the distance by its quantiles into at most 40 bins of about equal size."""
    edges = np.unique(np.quantile(distance, np.linspace(0, 1, BINS + 1)))
    which = np.clip(np.searchsorted(edges, distance, side="left") - 1, 0, max(0, edges.size - 2))
    _, which = estimate.renumbered(which)
    total = np.bincount(which)
    x = np.bincount(which, weights=distance) / total
    shape = (count, total.size)
    n = sparse.csr_array((np.ones(distance.size), (clusters, which)), shape=shape)
    k = sparse.csr_array((right.astype(float), (clusters, which)), shape=shape)
    return Binned(x, n, k)


class Limits(NamedTuple):
    """Where a curve begins, γ, and how far it rises without lapses: both times the share of replies
    that were read. Arrays (curves, 1) for several curves.
    """

    floor: Any
    room: Any


def _parts(theta: FloatArray, logx: FloatArray, limits: Limits) -> tuple[FloatArray, FloatArray]:
    """Return ψ (draws × bins) and its gradient (draws × bins × 3) in log α, log β and the logit of
    lapses.
    """
    shape = np.exp(theta[:, 1:2])
    z = np.clip(shape * (logx - theta[:, :1]), -40, 5)
    u = np.exp(z)
    left = np.exp(-u)
    sigma = 1 / (1 + np.exp(-theta[:, 2:3]))
    room = limits.room * (1 - sigma)
    psi = limits.floor + room * (1 - left)
    gradient = np.stack(
        [
            -room * left * u * shape,
            room * left * u * z,
            -limits.room * sigma * (1 - sigma) * (1 - left),
        ],
        axis=-1,
    )
    return np.clip(psi, 1e-9, 1 - 1e-9), gradient


def _prior(theta: FloatArray, centre: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    precision = 1 / np.array([SCALE_SPREAD, SHAPE[1], LAPSE[1]]) ** 2
    off = theta - [0.0, SHAPE[0], LAPSE[0]]
    off[:, 0] -= centre
    return -0.5 * (off**2 * precision).sum(1), -off * precision, precision


def _objective(
    theta: FloatArray,
    logx: FloatArray,
    n: FloatArray,
    k: FloatArray,
    centre: FloatArray,
    limits: Limits,
) -> FloatArray:
    psi, _ = _parts(theta, logx, limits)
    return np.asarray(
        (k * np.log(psi) + (n - k) * np.log1p(-psi)).sum(1) + _prior(theta, centre)[0]
    )


def fit(
    x: FloatArray, n: FloatArray, k: FloatArray, limits: Limits, start: FloatArray | None = None
) -> FloatArray:
    """Return θ = (log α, log β, logit of the part of ``limits.room`` lost to lapses) for each row
    of ``n`` and ``k``.

    ``n``, ``k``: draws × bins, at distances ``x`` > 0. With ``x`` of that shape too, each row is a
    curve of its own, which ends its steps by itself.
    ``start`` (3,) is where every row begins; by default the prior's centre.
    """
    logx, alone = np.log(x), x.ndim == 2
    weights = n if alone else n.sum(0)
    centre = (logx * weights).sum(-1) / weights.sum(-1)
    theta = np.tile([0.0, SHAPE[0], LAPSE[0]] if start is None else start, (n.shape[0], 1))
    if start is None:
        theta[:, 0] = centre
    damping, settled = np.full(n.shape[0], 1e-3), np.zeros(n.shape[0], dtype=bool)
    value = _objective(theta, logx, n, k, centre, limits)
    for _ in range(STEPS):
        step = _scoring_step(theta, logx, n, k, centre, damping, limits)
        proposal = theta + step
        new = _objective(proposal, logx, n, k, centre, limits)
        better = (new >= value) & ~(settled & alone)
        theta = np.where(better[:, None], proposal, theta)
        gain = np.where(better, new - value, 0)
        value = np.where(better, new, value)
        damping = np.where(better, damping * 0.3, damping * 8)
        settled = (better & (gain < 1e-6)) | (damping > 1e8) | (settled & alone)
        if settled.all():
            break
    return theta


def _scoring_step(
    theta: FloatArray,
    logx: FloatArray,
    n: FloatArray,
    k: FloatArray,
    centre: FloatArray,
    damping: FloatArray,
    limits: Limits,
) -> FloatArray:
    psi, gradient = _parts(theta, logx, limits)
    variance = psi * (1 - psi)
    _, slope, precision = _prior(theta, centre)
    score = (((k - n * psi) / variance)[:, None, :] @ gradient)[:, 0, :] + slope
    information = np.swapaxes(gradient * (n / variance)[:, :, None], 1, 2) @ gradient + np.diag(
        precision
    )
    information += (
        damping[:, None, None] * np.eye(3) * np.einsum("dpp->dp", information)[:, :, None]
    )
    return np.clip(np.linalg.solve(information, score[:, :, None])[:, :, 0], -1.5, 1.5)


def threshold(theta: FloatArray, limits: Limits, target: float = TARGET) -> FloatArray:
    """Return the distance at which each curve reaches ``target``; infinity if it never does."""
    room = limits.room / (1 + np.exp(theta[:, 2]))
    above = target - limits.floor
    reached = room > above
    inner = np.where(reached, 1 - above / np.where(reached, room, 1), 0.5)
    return np.asarray(
        np.where(
            reached, np.exp(theta[:, 0] + np.log(-np.log(inner)) / np.exp(theta[:, 1])), np.inf
        )
    )


@dataclass(frozen=True, eq=False)
class _Asked:
    """The binned verdicts of one curve, with the fitted parameters."""

    binned: Binned
    limits: Limits
    theta: FloatArray
    images: int
    n: int
    most: float
    distance: FloatArray
    right: FloatArray
    clusters: IntArray


@dataclass(frozen=True)
class Scope:
    """The questions that a curve is for, and the column that holds their distance."""

    scope: str
    value: str
    against: str
    column: str


def curves(
    parts: Sequence[tuple[Scope, pl.DataFrame]], resampling: Resampling, chance: float = OF_TWO
) -> tuple[Sensitivity, ...]:
    """:func:`curves_together` of one judge."""
    return curves_together([(parts, chance)], resampling)[0]


def curves_together(
    judges: Sequence[tuple[Sequence[tuple[Scope, pl.DataFrame]], float]], resampling: Resampling
) -> list[tuple[Sensitivity, ...]]:
    """The fitted curve of each part of each judge and its 75 % point, or the reason for its
    absence; beside the parts what a guess gets. All curves are fitted by the same steps.

    A 75 % point is given only if accuracy increases with distance (one-sided test clustered by
    image; Holm over the parts that differ, where all questions together have half of the level),
    the curve fits, and there are data below the 75 % point.
    """
    found = [_parts_of(parts, resampling, chance) for parts, chance in judges]
    known = [data for judge in found for data in judge.asked if data is not None]
    thetas = iter(_fitted([data.binned for data in known], [data.limits for data in known]))
    out = []
    for judge in found:
        asked = [
            None if data is None else replace(data, theta=next(thetas)) for data in judge.asked
        ]
        out.append(_of_judge(replace(judge, asked=asked), resampling))
    return out


def _fitted(asked: Sequence[Binned], limits: Sequence[Limits]) -> FloatArray:
    """θ of each curve, curves × 1 × 3."""
    if not asked:
        return np.empty((0, 1, 3))
    x = np.ones((len(asked), max(data.x.size for data in asked)))
    n, k = np.zeros_like(x), np.zeros_like(x)
    for row, data in enumerate(asked):
        bins = slice(data.x.size)  # the others hold no verdicts
        x[row, bins], n[row, bins], k[row, bins] = data.x, data.n.sum(0), data.k.sum(0)
    return fit(x, n, k, Limits(*np.array(limits).T[:, :, None]))[:, None]


@dataclass(frozen=True, eq=False)
class _OfJudge:
    """The parts of one judge; a part with the same verdicts as an earlier one (``whole``) has
    nothing ``asked`` of its own.
    """

    scopes: Sequence[Scope]
    apart: Sequence[pl.DataFrame]
    whole: Sequence[int]
    asked: Sequence[_Asked | None]


def _parts_of(
    parts: Sequence[tuple[Scope, pl.DataFrame]], resampling: Resampling, chance: float
) -> _OfJudge:
    apart = [
        rows.select("right", "parsed", "cluster", scope.column).filter(pl.col(scope.column) > 0)
        for scope, rows in parts
    ]
    scopes = [scope for scope, _ in parts]
    sizes = {scope: rows.height for scope, rows in zip(scopes, apart, strict=True)}
    whole = originals(scopes, lambda scope: (scope.against, sizes[scope]))
    asked = [
        _asked(rows, scope.column, resampling, chance) if whole[i] == i else None
        for i, (scope, rows) in enumerate(zip(scopes, apart, strict=True))
    ]
    return _OfJudge(scopes, apart, whole, asked)


def _of_judge(judge: _OfJudge, resampling: Resampling) -> tuple[Sensitivity, ...]:
    slopes = [
        None if data is None else slope_p(data.distance, data.right, data.clusters)
        for data in judge.asked
    ]
    weights = _weights(judge.scopes, slopes)
    adjusted, out = holm_apart(slopes, judge.whole, weights), list[Sensitivity]()
    for i, scope in enumerate(judge.scopes):
        if judge.whole[i] == i:
            found = (judge.apart[i], judge.asked[i], adjusted[i], resampling)
            out.append(_sensitivity(scope, *found))
        else:  # the same verdicts: the same curve
            out.append(replace(out[judge.whole[i]], scope=scope.scope, value=scope.value))
    return tuple(out)


def _weights(scopes: Sequence[Scope], slopes: Sequence[float | None]) -> list[float]:
    """Return Holm weights that give the tests of all questions half of the level, so that many
    tasks and error types do not hide what all questions together show.
    """
    of_all = [scope.scope == ALL for scope in scopes]
    tested = [whole for whole, p in zip(of_all, slopes, strict=True) if p is not None]
    wholes, parts = sum(tested), len(tested) - sum(tested)
    return [1 / max(1, wholes if whole else parts) for whole in of_all]


def _asked(rows: pl.DataFrame, column: str, resampling: Resampling, chance: float) -> _Asked | None:
    read = rows["parsed"].cast(pl.Float64).mean()
    images = rows["cluster"].n_unique()
    if (
        rows.height < LEAST_VERDICTS
        or images < LEAST_IMAGES
        or not isinstance(read, float)
        or not read
    ):
        return None
    limits = Limits(read * chance, read * (1 - chance))
    x, right, clusters = (
        rows[column].to_numpy().astype(float),
        rows["right"].to_numpy().astype(float),
        clusters_of(rows),
    )
    return _Asked(
        binned(x, right, clusters, resampling.clusters),
        limits,
        NOT_FITTED,
        images,
        rows.height,
        float(x.max()),
        x,
        right,
        clusters,
    )


def _sensitivity(
    scope: Scope,
    rows: pl.DataFrame,
    data: _Asked | None,
    slope: float | None,
    resampling: Resampling,
) -> Sensitivity:
    where = (scope.scope, scope.value, scope.against)
    if data is None:
        few = f"fewer than {LEAST_VERDICTS} verdicts or {LEAST_IMAGES} images"
        none = Estimate(None, None, rows.height, rows["cluster"].n_unique(), few)
        return Sensitivity(*where, none, None, None, None, None, None, few)
    n, k = (np.asarray(part.sum(0)).ravel() for part in (data.binned.n, data.binned.k))
    jnd, fits = float(threshold(data.theta, data.limits)[0]), fit_p(data)
    reason = _why_no_slope(slope, fits) or _why_none(jnd, data.binned.x, n, data.most)
    ends = None if reason else _jnd_ends(data, jnd, resampling)
    figure = Estimate(None if reason else jnd, ends, data.n, data.images, reason)
    (floor, room), (alpha, beta) = data.limits, np.exp(data.theta[0, :2])
    lapse = 1 - floor - room / (1 + np.exp(data.theta[0, 2]))
    fitted = (float(alpha), float(beta), float(lapse))
    return Sensitivity(
        *where, figure, *fitted, slope, fits, reason, _points(data.binned.x, n, k), floor
    )


def _jnd_ends(
    data: _Asked, jnd: float, resampling: Resampling
) -> tuple[float | None, float | None]:
    n, k = resampling.sums(data.binned.n), resampling.sums(data.binned.k)
    held = n.sum(1) > 0
    draws = threshold(fit(data.binned.x, n[held], k[held], data.limits, data.theta[0]), data.limits)
    low, high = _widest(draws, jnd, data.images, widened_tail(data.images))
    return (low if np.isfinite(low) else None), (high if np.isfinite(high) else None)


def slope_p(distance: FloatArray, right: FloatArray, clusters: IntArray) -> float | None:
    """Return the one-sided p of a test that accuracy increases with the rank of the distance. It
    uses least squares, with each image left out in turn.

    None if all distances are equal, or would be without one of the images.
    """
    x = pl.Series(distance).rank().to_numpy() / distance.size - 0.5
    image, place = estimate.renumbered(clusters)
    parts = np.stack(
        [
            estimate.sums(place, w, image.size)
            for w in (np.ones_like(x), x, x * x, right, x * right)
        ],
        1,
    )
    total = parts.sum(0, keepdims=True)

    def slope(sums: FloatArray) -> FloatArray:
        n, sx, sxx, sy, sxy = sums.T
        n = np.maximum(n, 1)
        wide = sxx - sx * sx / n
        return np.asarray(
            np.divide(sxy - sx * sy / n, wide, out=np.full(n.shape, np.nan), where=wide > FLAT * n)
        )

    value, without = slope(total), slope(total - parts)
    if not np.isfinite([*value, *without]).all():
        return None
    influence = value - without
    found = estimate.spread(influence, parts[:, 2], np.zeros(image.size, dtype=np.int64), 1)
    two_sided = float(estimate.test(value, found)[0])
    if not np.isfinite(two_sided):
        return None
    return two_sided / 2 if value[0] > 0 else 1 - two_sided / 2


def fit_p(data: _Asked) -> float | None:
    """Return the p of the lack of fit of the curve, by Pearson's X² over up to 7 groups of
    distance.

    X² is divided by the design effect, the variance of the residuals over images divided by that of
    independent verdicts (Rao & Scott 1984). Its degrees of freedom are the number of groups minus
    the curve's three parameters. None with fewer than 12 images or 5 groups.
    """
    n, k = data.binned.n.toarray(), data.binned.k.toarray()
    ends = np.cumsum(n.sum(0)) / n.sum()
    group = np.unique(
        np.minimum((ends * FIT_GROUPS - 1e-9).astype(int), FIT_GROUPS - 1), return_inverse=True
    )[1]
    groups = int(group.max()) + 1
    if data.images < LEAST_FIT_IMAGES or groups < LEAST_FIT_GROUPS:
        return None
    psi = _parts(data.theta, np.log(data.binned.x), data.limits)[0][0]
    member = (group[:, None] == np.arange(groups)).astype(float)
    residual, expected = (k - n * psi) @ member, (n.sum(0) * psi * (1 - psi)) @ member
    effect = max(1.0, float((residual**2).sum() / expected.sum()))
    statistic = float((residual.sum(0) ** 2 / expected).sum()) / effect
    free = groups - 3
    return float(special.fdtrc(free, data.images - 1, statistic / free))


def _why_no_slope(slope: float | None, fits: float | None) -> str | None:
    if slope is None or slope >= SLOPE_LEVEL:
        return "accuracy does not rise significantly with the difference"
    if fits is not None and fits < FIT_LEVEL:
        return "the curve does not fit"
    return None


def _widest(draws: FloatArray, jnd: float, images: int, tail: float) -> tuple[float, float]:
    """Return the union of the percentile interval and the t interval on the log scale.

    With few images each of them alone covers too little on the low side, because the estimate is a
    few per cent too high (benchmarks/coverage.py).
    """
    ends = np.quantile(draws, [tail, 1 - tail], method="nearest")
    finite = draws[np.isfinite(draws)]
    if not np.isfinite(jnd) or finite.size < draws.size / 2:
        return float(ends[0]), float(ends[1])
    around = t_interval(float(np.log(jnd)), standard_error(np.log(finite)), images)
    if around is None:
        return float(ends[0]), float(ends[1])
    return min(float(ends[0]), float(np.exp(around[0]))), max(
        float(ends[1]), float(np.exp(around[1]))
    )


def _why_none(jnd: float, x: FloatArray, n: FloatArray, most: float) -> str | None:
    """Return why the data do not support a 75 % point. A curve that is extrapolated below or above
    the distances that were asked is no evidence.
    """
    if not np.isfinite(jnd):
        return "75 % is never reached"
    if jnd > most:
        return f"75 % lies beyond the largest distance asked ({most:.3g})"
    below = n[x < jnd].sum()
    if below < max(LEAST_BELOW, LEAST_SHARE_BELOW * n.sum()):
        return f"above 75 % at nearly every distance asked (from {x[0]:.2g})"
    return None


def _points(x: FloatArray, n: FloatArray, k: FloatArray) -> tuple[CurvePoint, ...]:
    """Return about ten points of the data for the plot: mean distance, accuracy, verdicts."""
    ends = np.cumsum(n) / n.sum()
    which = np.minimum((ends * 10 - 1e-9).astype(int), 9)
    out = []
    for group in np.unique(which):
        part = which == group
        total = n[part].sum()
        out.append(
            CurvePoint(
                float((x[part] * n[part]).sum() / total), float(k[part].sum() / total), float(total)
            )
        )
    return tuple(out)


def curve(alpha: float, beta: float, lapse: float, floor: float, x: FloatArray) -> FloatArray:
    """Return ψ at ``x`` ≥ 0."""
    return np.asarray(floor + (1 - floor - lapse) * (1 - np.exp(-((x / alpha) ** beta))))
