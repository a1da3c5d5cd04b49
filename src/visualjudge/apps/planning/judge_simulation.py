"""Simulated studies: a model of a judge's verdicts, and studies drawn from it.
Simulated judges that answer a dataset are in ``judges/baseline.py``.

A verdict is right if a normal variable falls below a threshold that rises with the log
of the margin between the two scores. The variable is a sum of effects: of the image, of
the pair, of the order (a judge that prefers a position has a large one), and of the
repeat (a nested random-effects probit; Searle, Casella & McCulloch 1992). From a pilot
run, the threshold is fitted by maximum likelihood, and the correlations by the method
of moments on residuals: two verdicts that share an image, a pair, … are right together
as often as observed.

Images, with their pairs and true scores, are drawn with replacement from the available
ones, and the intervals and tests are those of the report, so the plan matches the
analysis of the study. The power to rank is an assurance (O'Hagan, Stevens & Campbell
2005): its mean over what the available images leave open of the models' scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from scipy import optimize, special

from visualjudge.analysis.estimate import (
    LEVEL,
    divided,
    holm,
    ratio,
    renumbered,
    share_test,
    shares,
)
from visualjudge.analysis.figures.variance_components import products
from visualjudge.core.records import BoolArray, FloatArray, IntArray

LEVELS = ("image", "pair", "order")
"""Factors that two verdicts may share, from the least to the most; each level includes
the previous ones.
"""
NODES = special.ndtri((np.arange(400) + 0.5) / 400)
"""Quantiles over which normal effects are averaged; steep functions rule out
polynomials."""
MOST_CELLS = 4_000_000
"""Number of verdicts drawn at once."""
ALMOST = 0.999


@dataclass(frozen=True, eq=False)
class Pool:
    """Available pairs of a study, (P,) each, sorted by image.

    ``image`` counts from 0; ``better`` and ``worse`` are indices into ``sources``, −1
    for unnamed ones; ``margin`` is the difference of the two scores, 0 … 10.
    """

    image: IntArray
    better: IntArray
    worse: IntArray
    margin: FloatArray
    sources: tuple[str, ...]

    @property
    def images(self) -> int:
        """Number of images."""
        return int(self.image.max(initial=-1)) + 1

    @property
    def per_image(self) -> IntArray:
        """Number of pairs of each image, (images,)."""
        return np.bincount(self.image, minlength=self.images)

    @cached_property
    def differences(self) -> FloatArray:
        """Mean difference of the scores of every two sources on the same images,
        sources × sources; NaN where they never meet.
        """
        size = len(self.sources)
        known = (self.better >= 0) & (self.worse >= 0)
        cell = self.better[known] * size + self.worse[known]
        total, count = (
            np.bincount(cell, values, size**2).reshape(size, size)
            for values in (self.margin[known], np.ones(cell.size))
        )
        met = count + count.T
        return divided(total - total.T, met, np.nan)

    @property
    def hardness(self) -> FloatArray:
        """Log of 1 + margin, centred, (P,): thresholds are linear on this scale."""
        logs = np.log1p(self.margin)
        return np.asarray(logs - logs.mean())


@dataclass(frozen=True)
class JudgeModel:
    """Assumed properties of a judge.

    ``level`` is the threshold at the mean log-margin and ``slope`` its rise, in
    standard deviations; ``shared`` are the correlations of two verdicts that share an
    image, pair, … (LEVELS); ``failed`` is the share of unusable replies. ``assumed``
    names what does not come from a pilot.
    """

    level: float
    slope: float
    shared: tuple[float, float, float]
    failed: float = 0.0
    assumed: tuple[str, ...] = ()

    def right(self, pool: Pool) -> float:
        """Return the accuracy over all verdicts; failed replies are wrong."""
        return float(special.ndtr(self.thresholds(pool)).mean()) * (
            1 - self.failed
        )

    def thresholds(self, pool: Pool) -> FloatArray:
        """Return the threshold of each pair, (P,)."""
        return self.level + self.slope * pool.hardness

    def at(self, share: float, pool: Pool) -> JudgeModel:
        """Return the same judge with accuracy ``share``."""
        wanted = min(share / (1 - self.failed), ALMOST)

        def beyond(level: float) -> float:
            return (
                float(special.ndtr(level + self.slope * pool.hardness).mean())
                - wanted
            )

        return replace(self, level=float(optimize.brentq(beyond, -8, 8)))

    @property
    def loads(self) -> tuple[float, ...]:
        """Standard deviations of the effects of image, pair, order and repeat; their
        squares sum to 1.
        """
        steps = np.diff(
            [
                0.0,
                *np.maximum.accumulate(np.clip(self.shared, 0, ALMOST)),
                1.0,
            ]
        )
        return tuple(float(x) for x in np.sqrt(np.maximum(steps, 0)))


@dataclass(frozen=True, order=True)
class Design:
    """Design of a study: pairs per image, orders (1 or 2), repeats."""

    images: int
    pairs: int = 1
    orders: int = 2
    repeats: int = 1


@dataclass(frozen=True, eq=False)
class Studies:
    """B simulated studies of one design.

    ``pair`` (B, n, k) is an index into the pool, valid where ``held``. ``right`` and
    ``read`` have shape (B, n, k, orders, repeats).
    """

    pool: Pool
    design: Design
    pair: IntArray
    held: BoolArray
    right: BoolArray
    read: BoolArray


# ---------------------------------------------------------------- from a pilot


def both_right(
    thresholds: FloatArray,
    correlation: float,
    *,
    apart: bool = False,
) -> float:
    """Return the mean over (N,) thresholds of P(two verdicts are both right): on the
    same pair, or on independent pairs of one image (``apart``). The correlation is
    below 1.
    """
    part = thresholds[:, None] - np.sqrt(correlation) * NODES
    right = special.ndtr(part / np.sqrt(1 - correlation))
    return float(((right.mean(0) if apart else right) ** 2).mean())


def correlation_of(
    covariance: float,
    thresholds: FloatArray,
    *,
    apart: bool = False,
) -> float:
    """Return the correlation, 0 … .999, at which the verdicts have this covariance
    beyond their thresholds.
    """
    few = thresholds[:: max(1, thresholds.size // 300)]
    alone = both_right(few, 0.0, apart=apart)

    def beyond(correlation: float) -> float:
        return both_right(few, correlation, apart=apart) - alone - covariance

    if beyond(0.0) >= 0:
        return 0.0
    return (
        ALMOST
        if beyond(ALMOST) <= 0
        else float(optimize.brentq(beyond, 0.0, ALMOST, xtol=1e-4))
    )


def fitted(verdicts: pl.DataFrame, default: JudgeModel) -> JudgeModel:
    """Fit the judge to a pilot's pairwise ``verdicts``; what they do not determine is
    taken from ``default``.

    ``verdicts`` has one row per verdict with cluster, pair, encoding, order, repeat,
    margin, right and usable.
    """
    asked = verdicts.with_columns(pl.col("right").fill_null(False))
    failed = 1 - float(asked["usable"].mean())  # type: ignore[arg-type]
    read = asked.filter("usable")
    logs = np.log1p(np.asarray(read["margin"].to_numpy(), dtype=float))
    x = logs - logs.mean()
    right = np.asarray(read["right"].to_numpy(), dtype=bool)
    level, slope = _threshold_line(x, right)
    line = level + slope * x
    table = read.select(
        "cluster", "pair", "encoding", "order", "repeat"
    ).with_columns(y=pl.Series(right - special.ndtr(line)))
    shared, unknown = _shared(table, line, default)
    return JudgeModel(
        level,
        slope,
        shared,
        failed,
        tuple(unknown),
    )


def _threshold_line(x: FloatArray, right: BoolArray) -> tuple[float, float]:
    """Fit the level and the slope on the margin, with weak normal priors."""
    side = np.where(right, 1.0, -1.0)

    def loss(line: FloatArray) -> float:
        level, slope = line
        fit = -special.log_ndtr(side * (level + slope * x)).sum()
        return float(fit + (slope**2 + level**2 / 9) / 2)

    level, slope = optimize.minimize(
        loss,
        np.zeros(2),
        method="BFGS",
    ).x.tolist()
    return level, slope


def _shared(
    table: pl.DataFrame,
    line: FloatArray,
    default: JudgeModel,
) -> tuple[tuple[float, float, float], list[str]]:
    """Return the correlations by level, from products of two residuals that share
    exactly that level."""
    keys = [
        "encoding",
        "cluster",
        "pair",
        "order",
    ]  # two encodings of a pair are two questions
    sums_of = [products(table, keys[: k + 2])[:, 0].tolist() for k in range(3)]
    sums_of.append([float((table["y"] ** 2).sum()), float(table.height)])
    collected: list[float | None] = []
    for k in range(3):
        count = sums_of[k][1] - sums_of[k + 1][1]
        moment = (
            None if count < 0.5 else (sums_of[k][0] - sums_of[k + 1][0]) / count
        )
        collected.append(
            None
            if moment is None
            else correlation_of(moment, line, apart=k == 0)
        )
    unknown = [
        name
        for name, value in zip(LEVELS, collected, strict=True)
        if value is None
    ]
    known = [
        default.shared[k] if value is None else value
        for k, value in enumerate(collected)
    ]
    image, pair, order = np.maximum.accumulate(known).tolist()
    return (image, pair, order), unknown


# ---------------------------------------------------------------- studies


def simulated(
    pool: Pool,
    judge: JudgeModel,
    design: Design,
    count: int,
    rng: np.random.Generator,
    *,
    like_these: bool = False,
) -> Studies:
    """Simulate ``count`` studies on images of the pool, or, with ``like_these``, on
    images of which the pool is a sample: each study has its own sample of the pool.
    """
    n = design.images
    k = design.pairs
    chosen = rng.integers(0, pool.images, (count, n))
    if like_these:
        sample = rng.integers(
            0,
            pool.images,
            (count, pool.images),
        )
        chosen = np.take_along_axis(sample, chosen, axis=1)
    start = np.cumsum(pool.per_image) - pool.per_image
    held_pairs = pool.per_image[chosen]
    most = int(pool.per_image.max())
    place = np.argsort(
        np.where(
            np.arange(most) < held_pairs[..., None],
            rng.random((count, n, most)),
            2.0,
        ),
        -1,
    )
    place = place[..., :k]
    held = np.arange(place.shape[-1]) < held_pairs[..., None]
    pair = np.where(
        held,
        start[chosen][..., None] + place,
        0,
    )
    effects = _effects(pair.shape, design, rng)
    edge = judge.thresholds(pool)[pair][..., None, None]
    noise = sum(
        load * effect for load, effect in zip(judge.loads, effects, strict=True)
    )
    read = np.asarray(rng.random(noise.shape) >= judge.failed)  # type: ignore[union-attr]
    return Studies(
        pool,
        design,
        pair,
        held,
        (noise < edge) & read,
        read,
    )


def _effects(
    shape: tuple[int, ...],
    design: Design,
    rng: np.random.Generator,
) -> list[FloatArray]:
    """Draw normal effects of image, pair, order and repeat, each as wide as the
    verdicts that share it."""
    orders = design.orders
    sizes = [
        (*shape[:2], 1, 1, 1),
        (*shape, 1, 1),
        (*shape, orders, 1),
        (*shape, orders, design.repeats),
    ]
    return [
        np.asarray(rng.standard_normal(size, dtype=np.float32), dtype=float)
        for size in sizes
    ]


# ---------------------------------------------------------------- goals


def share_intervals(studies: Studies) -> tuple[FloatArray, FloatArray]:
    """Return the interval of the accuracy of each study, (B,) each; failed replies are
    wrong."""
    held = np.broadcast_to(studies.held[..., None, None], studies.right.shape)
    top, bottom = (
        x.sum((2, 3, 4)).astype(float) for x in (studies.right & held, held)
    )
    column = np.repeat(np.arange(studies.pair.shape[0]), top.shape[1])
    result = shares(
        top.ravel(),
        bottom.ravel(),
        column,
        studies.pair.shape[0],
    )
    return result.low, result.high


def orders(pool: Pool, effect: float) -> FloatArray:
    """Return the sign of the difference of every two sources whose mean scores differ
    by ``effect`` or more, sources × sources; else 0.
    """
    gaps = np.nan_to_num(pool.differences)
    return np.where(
        np.abs(gaps) >= effect,
        np.sign(gaps),
        0.0,
    )


def separated(studies: Studies, order: FloatArray) -> BoolArray:
    """Return the studies in which every pair of sources that has an ``order``, sources
    × sources, is separated in that order, by judge and by truth: shares of direct
    questions against ½, Holm over the pairs.
    """
    pool = studies.pool
    (count, images) = studies.pair.shape[:2]
    better = pool.better[studies.pair]
    worse = pool.worse[studies.pair]
    read = studies.read.sum((3, 4))
    estimable = studies.held & (better >= 0) & (worse >= 0) & (read > 0)
    right = divided(studies.right.sum((3, 4)), read)
    low = np.minimum(better, worse)[estimable]
    high = np.maximum(better, worse)[estimable]
    two = low * len(pool.sources) + high
    study, image = (
        np.broadcast_to(np.arange(size).reshape(shape), estimable.shape)[
            estimable
        ]
        for size, shape in ((count, (-1, 1, 1)), (images, (1, -1, 1)))
    )
    twos, place = renumbered(two)
    cell, where = renumbered((study * twos.size + place) * images + image)
    column = cell // images
    columns = count * twos.size
    up = (better < worse)[estimable]
    bottom = np.bincount(where).astype(float)
    collected = []
    for outcome in (
        np.where(
            up,
            right[estimable],
            1 - right[estimable],
        ),
        up.astype(float),
    ):
        top = np.bincount(where, outcome).astype(float)
        value, spread = ratio(top, bottom, column, columns)
        p = share_test(
            value,
            spread,
            np.full(columns, np.inf),
        )
        known = np.where(
            spread.enough & np.isfinite(value),
            p,
            1.0,
        ).reshape(count, -1)
        adjusted = np.array([holm(row) for row in known.tolist()], dtype=float)
        collected.append(
            np.where(
                adjusted < LEVEL,
                np.sign(value - 0.5).reshape(count, -1),
                0.0,
            )
        )
    own = order[twos // len(pool.sources), twos % len(pool.sources)]
    in_order = (collected[0] == own) & (collected[1] == own)
    compared = np.count_nonzero(own)
    every = compared > 0 and compared == np.count_nonzero(np.triu(order))
    return np.asarray((in_order | (own == 0)).all(1) & every)


def pool_of(rows: pl.DataFrame) -> Pool:
    """Return a pool from one row per pair: image, better, worse (names or null),
    margin."""
    # the same pairs are simulated alike, from whatever they are read
    ordered = rows.sort("image", "better", "worse", "margin")
    names = sorted(
        {*ordered["better"].drop_nulls(), *ordered["worse"].drop_nulls()}
    )
    places = {name: k for k, name in enumerate(names)}

    image = renumbered(
        ordered["image"].rank("dense").cast(pl.Int64).to_numpy()
    )[1]
    better, worse = (
        np.array(
            [places.get(name, -1) for name in ordered[column].to_list()],
            dtype=np.int64,
        )
        for column in ("better", "worse")
    )
    return Pool(
        image,
        better,
        worse,
        np.asarray(ordered["margin"].to_numpy(), dtype=float),
        tuple(names),
    )
