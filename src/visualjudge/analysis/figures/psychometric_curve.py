"""The psychometric curve: accuracy as a function of the distance between the options'
scores, and the distance at which it is 75 %. Accuracy against the size of the error in
pixels is in ``fault_size.py``.

The psychometric function of a choice is ψ(m) = γ + (1 − γ − λ)(1 − exp(−(m/α)^β)), a
Weibull curve (Quick 1974; Wichmann & Hill 2001). γ is the accuracy of guessing (½ for
two answers) times the share of replies that were read, because a failed reply is wrong
at any distance. λ is the share lost at any distance (failed replies, lapses). The curve
is fitted by penalised maximum likelihood (weak priors on the shape and the lapses, as
in psignifit: Schütt et al. 2016) with Fisher scoring. The just-noticeable difference is
the m at which ψ = ¾. Errors are clustered by image
(:func:`visualjudge.analysis.fits.moved`), with Student's t. Its interval begins by the
delta method and ends where the lower end of the curve's band reaches ¾: of a curve that
levels off near ¾, little is known of how far away it reaches it, which no symmetrical
interval shows. It is open where the band does not reach ¾ within the distances asked.
Weakness: with few images the 75 % point is a few per cent too high.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from visualjudge.analysis.estimate import (
    LEAST_IMAGES,
    TAIL,
    holm,
    renumbered,
    t_isf,
)
from visualjudge.analysis.figures.figure_parts import (
    ALL,
    NONE,
    Column,
    Ends,
    Estimate,
    FigurePlot,
    JudgeFigure,
    Layout,
    Section,
    Shown,
    Trace,
    as_named,
    by_rows,
    counts,
    guessed_among_used,
    lines_of_judges,
    named,
    number,
    percent,
    plain_name,
    with_ends,
)
from visualjudge.analysis.fits import effective, moved, rising_p
from visualjudge.analysis.pairwise_verdicts import OF_TWO
from visualjudge.core.records import FloatArray


@dataclass(frozen=True)
class Sensitivity:
    """Accuracy against distance: the fitted curve, and the distance at which it reaches
    75 %.

    ``points`` are mean distances, accuracies at them, and their numbers of verdicts;
    ``floor`` is the lower asymptote (accuracy of guessing times the share of replies
    that were read); ``slope_p`` is that of a one-sided clustered test that accuracy
    increases with distance, by Holm over the judge's curves. ``band`` are distances,
    the curve, and its pointwise 95 % ends.
    """

    scope: str
    value: str
    against: str
    jnd: Estimate
    alpha: float | None = None
    beta: float | None = None
    lapse: float | None = None
    slope_p: float | None = None
    points: tuple[tuple[float, float, float], ...] = ()
    floor: float = OF_TWO
    band: tuple[tuple[float, float, float, float], ...] = ()


TARGET = 0.75
DIFFERENCES = {"margin": "true score", "severity": "severity"}
"""What a distance is, in words."""
BINS = 40
POINTS = 10
DRAWN = 48
"""Number of places at which a curve is drawn."""
TRIED = 400
"""Number of distances at which the end of an interval is looked for."""
LEAST_VERDICTS = 30
LEAST_BELOW = 20
LEAST_SHARE_BELOW = 0.05
SLOPE_LEVEL = 0.05
STEPS = 60
Scope = tuple[str, str, str]
"""Scope, value and distance of a :class:`.Sensitivity`."""
CENTRE = np.array([0.0, 0.1, -3.5])
PRECISION = 1 / np.array([2.5, 1.0, 1.5]) ** 2
"""Normal priors on log α (around the mean log distance), log β (β about 1.1) and the
logit of lapses (3 %). They are wide, because a prior on more lapses would raise the 75
% point.
"""


def _psi(
    theta: FloatArray, logx: FloatArray, limits: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """Return ψ (bins,) and its gradient (bins, 3) in log α, log β and the logit of
    lapses; ``limits``: where the curve begins, γ, and how far it rises without lapses.
    """
    floor, rise = limits
    shape = np.exp(theta[1])
    z = np.clip(shape * (logx - theta[0]), -40, 5)
    u = np.exp(z)
    left = np.exp(-u)
    sigma = 1 / (1 + np.exp(-theta[2]))
    room = rise * (1 - sigma)
    lapses = -rise * sigma * (1 - sigma) * (1 - left)
    gradient = np.stack(
        [-room * left * u * shape, room * left * u * z, lapses], axis=-1
    )
    return np.clip(floor + room * (1 - left), 1e-9, 1 - 1e-9), gradient


def _fit(
    x: FloatArray, n: FloatArray, k: FloatArray, limits: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """Return θ = (log α, log β, logit of lapses) for ``k`` right answers of ``n``
    (bins,) at distances ``x`` > 0, and its information (3, 3).
    """
    logx = np.log(x)
    theta = prior = CENTRE + np.eye(3)[0] * (logx * n).sum() / n.sum()

    def objective(theta: FloatArray) -> float:
        psi, _ = _psi(theta, logx, limits)
        likelihood = (k * np.log(psi) + (n - k) * np.log1p(-psi)).sum()
        return float(
            likelihood - 0.5 * ((theta - prior) ** 2 * PRECISION).sum()
        )

    damping = 1e-3
    value = objective(theta)
    gain = np.inf
    for _ in range(STEPS):
        psi, gradient = _psi(theta, logx, limits)
        variance = psi * (1 - psi)
        score = ((k - n * psi) / variance) @ gradient - (
            theta - prior
        ) * PRECISION
        information = (
            gradient * (n / variance)[:, None]
        ).T @ gradient + np.diag(PRECISION)
        if gain < 1e-6 or damping > 1e8:
            break
        step = np.linalg.solve(
            information + damping * np.diag(np.diag(information)), score
        )
        proposal = theta + np.clip(step, -1.5, 1.5)
        new = objective(proposal)
        if new >= value:
            theta = proposal
            gain = new - value
            value = new
            damping = damping * 0.3
        else:
            damping *= 8
    return theta, information


def _threshold(theta: FloatArray, limits: tuple[float, float]) -> float:
    """Return the distance at which the curve reaches 75 %; infinity if it never
    does."""
    room = limits[1] / (1 + np.exp(theta[2]))
    above = TARGET - limits[0]
    if room <= above:
        return float("inf")
    return float(
        np.exp(theta[0] + np.log(-np.log(1 - above / room)) / np.exp(theta[1]))
    )


@dataclass(frozen=True, eq=False)
class _Curve:
    """Verdicts in bins of distance ``x``: counts ``n`` and right answers ``k``, all
    (bins,); the fitted ``theta``, how far each image ``moved`` it and the log of the
    share of replies that were read (images, 4), its 75 % point ``jnd``, the relative
    standard error of that point, and Student's t for the effective number of images
    behind it.
    """

    x: FloatArray
    n: FloatArray
    k: FloatArray
    limits: tuple[float, float]
    theta: FloatArray
    moved: FloatArray
    jnd: float
    error: float
    t: float
    slope: float | None


def _parts_of(
    pairs: pl.DataFrame, *, scored: bool
) -> Iterator[tuple[Scope, pl.DataFrame]]:
    """Yield what curves are fitted to, pairs with their ``distance``: the margin of
    all, each task and each error type, where true scores are known; the gap in
    severity, where it is known, of all and each error type. A part that is all is left
    out.
    """
    for against, column, keys in (
        ("margin", "margin", ("task", "error_type")),
        ("severity", "severity_gap", ("error_type",)),
    ):
        rows = pairs.select(
            "task", "error_type", "right", "usable", "cluster", distance=column
        )
        rows = rows.filter(pl.col("distance") > 0)
        if rows.is_empty() or (against == "margin" and not scored):
            continue
        yield (ALL, ALL, against), rows
        for key in keys:
            parts = rows.partition_by(key, as_dict=True)
            for (value,), part in sorted(parts.items()):
                if part.height < rows.height:
                    yield (key, str(value), against), part


def curves(
    pairs: pl.DataFrame, chance: float = OF_TWO, *, scored: bool = True
) -> tuple[Sensitivity, ...]:
    """Return the fitted curves and their 75 % points, or the reason for their absence.

    A 75 % point is given only if accuracy increases with distance (one-sided test
    clustered by image; Holm over the parts, where all questions together have half of
    the level), the curve fits, and there are data below the 75 % point.
    """
    return curves_of(list(_parts_of(pairs, scored=scored)), chance)


def curves_of(
    selected: Sequence[tuple[Scope, pl.DataFrame]], chance: float
) -> tuple[Sensitivity, ...]:
    """Return :func:`curves` of parts with the columns ``distance, right, usable,
    cluster``; a part whose scope is "all" has half of the level.
    """
    collected = [_curve(rows, chance) for _, rows in selected]
    slopes = [None if item is None else item.slope for item in collected]
    whole = [scope == ALL for (scope, _, _), _ in selected]
    tested = [
        item for item, p in zip(whole, slopes, strict=True) if p is not None
    ]
    of_all = max(1, sum(tested))
    of_parts = max(1, len(tested) - sum(tested))
    adjusted = holm(
        slopes, [1 / (of_all if item else of_parts) for item in whole]
    )
    return tuple(
        _sensitivity(*part, curve, p)
        for part, curve, p in zip(selected, collected, adjusted, strict=True)
    )


def _curve(rows: pl.DataFrame, chance: float) -> _Curve | None:
    read = float(rows["usable"].mean() or 0)  # type: ignore[arg-type]
    if (
        rows.height < LEAST_VERDICTS
        or rows["cluster"].n_unique() < LEAST_IMAGES
        or not read
    ):
        return None
    x, right = (
        rows[name].to_numpy().astype(float) for name in ("distance", "right")
    )
    edges = np.unique(np.quantile(x, np.linspace(0, 1, BINS + 1)))
    left = np.searchsorted(edges, x, side="left") - 1
    which = renumbered(np.clip(left, 0, max(0, edges.size - 2)))[1]
    n = np.bincount(which).astype(float)
    k = np.bincount(which, right).astype(float)
    limits = (read * chance, read * (1 - chance))
    mean = np.bincount(which, x) / n
    theta, information = _fit(mean, n, k, limits)
    jnd = _threshold(theta, limits)
    clusters = rows["cluster"].to_numpy().astype(np.int64)
    psi, gradient = _psi(theta, np.log(mean), limits)
    weight = 1 / (psi * (1 - psi))[which]
    image = renumbered(clusters)[1]
    inverse = np.linalg.inv(information)
    rest = (right - psi[which]) * weight
    far = moved(
        gradient[which], weight, rest, image, np.asarray(inverse, float)
    )
    # ψ is proportional to the share of replies that were read, which has an error too
    usable = rows["usable"].to_numpy().astype(float)
    others = image.size - np.bincount(image)
    more_read = np.bincount(image, usable - read) / others / read
    turned = inverse @ gradient[which].T @ (weight * psi[which])
    far = np.column_stack([far - np.outer(more_read, turned), more_read])
    # how log m moves with θ where ψ(m; θ) = ¾: ψ's gradient over its slope in log m
    level, slopes = _psi(theta, np.log([min(jnd, x.max())]), limits)
    error = float(np.linalg.norm(far @ np.append(slopes, level) / slopes[0, 0]))
    images = effective(
        (gradient[which] @ inverse @ slopes[0]) * np.sqrt(weight), image
    )
    t = float(t_isf(TAIL, max(images - 1, 1.0)))
    slope = rising_p(x, right, clusters)
    return _Curve(mean, n, k, limits, theta, far, jnd, error, t, slope)


def _sensitivity(
    scope: Scope, rows: pl.DataFrame, curve: _Curve | None, slope: float | None
) -> Sensitivity:
    images = rows["cluster"].n_unique()
    if curve is None:
        few = f"fewer than {LEAST_VERDICTS} verdicts or {LEAST_IMAGES} images"
        return Sensitivity(
            *scope, Estimate(None, None, rows.height, images, few)
        )
    most = float(rows["distance"].max())  # type: ignore[arg-type]
    reason = _why_none(curve, slope, most)
    figure = Estimate(
        None if reason else curve.jnd,
        None if reason else _ends(curve, most),
        rows.height,
        images,
        reason,
    )
    floor, room = curve.limits
    alpha, beta = np.exp(curve.theta[:2]).tolist()
    lapse = float(1 - floor - room / (1 + np.exp(curve.theta[2])))
    band = _band(curve, np.linspace(curve.x[0], curve.x[-1], DRAWN))
    return Sensitivity(
        *scope,
        figure,
        alpha,
        beta,
        lapse,
        slope,
        _points(curve),
        floor,
        band,
    )


def _ends(curve: _Curve, most: float) -> Ends:
    """Return the interval of the 75 % point, which is at ``most`` the largest distance
    asked.
    """
    beyond = _band(curve, np.geomspace(curve.jnd, most, TRIED))
    high = next((x for x, _, low, _ in beyond if low >= TARGET), None)
    return max(0.0, curve.jnd * (1 - curve.error * curve.t)), high


def _band(
    curve: _Curve, x: FloatArray
) -> tuple[tuple[float, float, float, float], ...]:
    """Return the distances ``x`` (n,), the curve, and its pointwise 95 % ends, by the
    delta method on log-odds.
    """
    psi, gradient = _psi(curve.theta, np.log(x), curve.limits)
    slopes = np.column_stack([gradient, psi])
    error = np.linalg.norm(curve.moved @ slopes.T, axis=0) / (psi * (1 - psi))
    odds = np.log(psi / (1 - psi))
    reach = curve.t * error
    low = 1 / (1 + np.exp(reach - odds))
    high = 1 / (1 + np.exp(-reach - odds))
    return tuple(map(tuple, np.stack([x, psi, low, high], axis=1).tolist()))


def _why_none(curve: _Curve, slope: float | None, most: float) -> str | None:
    """Return why the data do not support a 75 % point. A curve that is extrapolated
    below or above the distances that were asked is no evidence.
    """
    jnd = curve.jnd
    below = curve.n[curve.x < jnd].sum()
    reasons = (
        (slope is None or slope >= SLOPE_LEVEL,
         f"right in {percent(curve.k.sum() / curve.n.sum())} over all, without a "
         "significant rise"),
        (not np.isfinite(jnd), "75 % is never reached"),
        (jnd > most, f"75 % lies beyond the largest distance asked ({most:.3g})"),
        (below < max(LEAST_BELOW, LEAST_SHARE_BELOW * curve.n.sum()),
         f"above 75 % at nearly every distance asked (from {curve.x[0]:.2g})"),
    )  # fmt: skip
    return next((reason for holds, reason in reasons if holds), None)


def _points(curve: _Curve) -> tuple[tuple[float, float, float], ...]:
    part = np.cumsum(curve.n) / curve.n.sum()
    tenth = (part * POINTS - 1e-9).astype(int)
    group = renumbered(np.minimum(tenth, POINTS - 1))[1]
    total, right, far = (
        np.bincount(group, values)
        for values in (curve.n, curve.k, curve.x * curve.n)
    )
    return tuple(
        zip(
            (far / total).tolist(),
            (right / total).tolist(),
            total.tolist(),
            strict=True,
        )
    )


MARKERS = "larger markers stand for more verdicts."
CURVE = (
    "A curve is drawn only where right answers rise significantly: Weibull’s psychometric "
    "function with its 95 % band by image, and a hollow marker where it reaches 75 %, "
    "with its interval."
)


COLUMNS = Layout[Sensitivity](
    named("value", "Questions"),
    named("against", "Distance"),
    *counts("jnd"),
    Column("jnd", "jnd.value"),
    Column("ci95", "jnd.interval"),
    *as_named("scope", "alpha", "beta", "lapse", "floor", "slope_p"),
    Column("reason", "jnd.why"),
    Column(
        "points",
        lambda row: [
            dict(zip(("x", "share", "n"), point, strict=True))
            for point in row.points
        ],
    ),
)


def trace(rows: Sequence[Sensitivity], against: str) -> Trace:
    """Return the points of all questions by one distance, and their curve if right
    answers rise; empty without three points.
    """
    for row in rows:
        if (row.scope, row.against) == (ALL, against) and len(row.points) > 2:
            rises = row.slope_p is not None and row.slope_p < SLOPE_LEVEL
            return Trace(row.points, row.band if rises else (), row.jnd)
    return Trace()


def answers(
    rows: Iterable[tuple[str, Sensitivity]],
    what: str,
    show: Callable[[float | None], str] = number,
) -> list[str]:
    """Return what each judge, by name, needs to be right in 75 % of all pairs."""
    return [
        f"{judge}: 75 % right from a {what} of {with_ends(row.jnd, show)}."
        if row.jnd.value is not None
        else f"{judge}, by {what}: {row.jnd.why}."
        for judge, row in rows
        if row.scope == ALL and row.points[2:]
    ]


def _section(view: Shown) -> Section:
    cells = {
        (
            f"{DIFFERENCES[row.against]} ({plain_name(row.value)})",
            judge.name,
        ): with_ends(row.jnd, number)
        for judge in view.judges
        for row in judge[SENSITIVITY]
        if row.jnd.value is not None
    }
    return Section(
        "sensitivity",
        "How small a difference does the judge see?",
        "The difference from which 75 % of verdicts are right." * bool(cells),
        [by_rows("Difference in", view.judges, cells, NONE)],
        [
            line
            for against, words in DIFFERENCES.items()
            for line in answers(
                (
                    (judge.name, row)
                    for judge in view.judges
                    for row in judge[SENSITIVITY]
                    if row.against == against
                ),
                f"difference in {words}",
            )
        ],
    )


def _plot(against: str, label: str, words: str) -> FigurePlot:
    difference = DIFFERENCES[against]
    return lines_of_judges(
        against,
        f"Right answers by the difference in {difference}",
        f"Share of verdicts that are right, by how far {words} differ; {MARKERS}",
        (against, "accuracy"),
        lambda judge: trace(judge[SENSITIVITY], against),
        (label, "Right answers"),
        CURVE,
        f"too few questions whose options differ in {difference}, or all by the same",
    )


SENSITIVITY = JudgeFigure(
    "sensitivity",
    lambda judge: curves(
        judge.pairs,
        guessed_among_used(judge.pairs),
        scored="scores" in judge.has,
    ),
    COLUMNS,
    needs={"truth"},
    place=50,
    section=_section,
    plots=(
        _plot(
            "margin",
            "Difference in true score, of 10",
            "the true scores (0 to 10) of the two options",
        ),
        _plot(
            "severity",
            "Difference in severity",
            "the severities (0 to 1) of the errors made in the two options",
        ),
    ),
)
