"""Simulated studies: a model of a judge's verdicts, and studies drawn from it.

A verdict is right if a normal variable falls below a threshold that rises with the log of the
margin between the two scores. The variable is a sum of effects: of the image, of the pair, of the
pair in its encoding, of the order, and of the repeat (a nested random-effects probit; Searle,
Casella & McCulloch 1992). The position of the better option shifts the threshold by the judge's
position bias. From a pilot run, the threshold is fitted by maximum likelihood, and the correlations
by the method of moments on residuals: two verdicts that share an image, a pair, … are right
together as often as observed.

Images, with their pairs and true scores, are drawn with replacement from the available ones, and
the checks are those of the card (:mod:`visualjudge.analysis.decisions.checks`), so the plan matches
the analysis of the study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from scipy import optimize, stats

from visualjudge.analysis.decisions.checks import Check, Evidence, State, Thresholds, check
from visualjudge.analysis.estimate import Shares, renumbered, shares, sums
from visualjudge.analysis.statistics.systems import Sums, system_agreement
from visualjudge.analysis.variance import ordered_pairs
from visualjudge.core.records import BoolArray, FloatArray, IntArray

LEVELS = ("image", "pair", "encoding", "order")
"""Factors that two verdicts may share, from the least to the most; each level includes the previous
ones.
"""
NODES = stats.norm.ppf((np.arange(400) + 0.5) / 400)
"""Quantiles over which normal effects are averaged; steep functions rule out polynomials."""
MOST_CELLS = 4_000_000
"""Number of verdicts drawn at once."""
POPULATION_IMAGES = 20_000
ALMOST = 0.999


@dataclass(frozen=True, eq=False)
class Pool:
    """Available pairs of a study, (P,) each, sorted by image.

    ``image`` counts from 0; ``better`` and ``worse`` are indices into ``sources``, −1 for unnamed
    ones; ``margin`` is the difference of the two scores, 0 … 10.
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

    @property
    def hardness(self) -> FloatArray:
        """Log of 1 + margin, centred, (P,): thresholds are linear on this scale."""
        logs = np.log1p(self.margin)
        return np.asarray(logs - logs.mean())


@dataclass(frozen=True)
class JudgeModel:
    """Assumed properties of a judge.

    ``level`` is the threshold at the mean log-margin and ``slope`` its rise, in standard
    deviations; ``shared`` are the correlations of two verdicts that share an image, pair, …
    (LEVELS); ``lean`` is half the difference in accuracy between the better option shown first and
    second; ``failed`` is the share of unusable replies. ``assumed`` names what does not come from a
    pilot.
    """

    level: float
    slope: float
    shared: tuple[float, float, float, float]
    lean: float = 0.0
    failed: float = 0.0
    assumed: tuple[str, ...] = ()

    def right(self, pool: Pool) -> float:
        """Return the accuracy over all verdicts; failed replies are wrong."""
        return float(stats.norm.cdf(self.thresholds(pool)).mean()) * (1 - self.failed)

    def thresholds(self, pool: Pool) -> FloatArray:
        """Return the threshold of each pair, (P,)."""
        return np.asarray(self.level + self.slope * pool.hardness)

    def at(self, share: float, pool: Pool) -> JudgeModel:
        """Return the same judge with accuracy ``share``."""
        wanted = min(share / (1 - self.failed), ALMOST)

        def beyond(level: float) -> float:
            return float(stats.norm.cdf(level + self.slope * pool.hardness).mean()) - wanted

        return replace(self, level=float(optimize.brentq(beyond, -8, 8)))

    @property
    def loads(self) -> tuple[float, ...]:
        """Standard deviations of the effects of image, pair, encoding, order and repeat; their
        squares sum to 1.
        """
        steps = np.diff([0.0, *np.maximum.accumulate(np.clip(self.shared, 0, ALMOST)), 1.0])
        return tuple(float(x) for x in np.sqrt(np.maximum(steps, 0)))


@dataclass(frozen=True, order=True)
class Design:
    """Design of a study: pairs per image, encodings per pair, orders (1 or 2), repeats."""

    images: int
    pairs: int = 1
    encodings: int = 1
    orders: int = 2
    repeats: int = 1

    @property
    def calls(self) -> int:
        """Number of calls."""
        return self.images * self.pairs * self.encodings * self.orders * self.repeats


@dataclass(frozen=True, eq=False)
class Studies:
    """B simulated studies of one design.

    ``pair`` (B, n, k) is an index into the pool, valid where ``held``; ``first`` says whether the
    better option is stored first. ``right`` and ``read`` have shape (B, n, k, encodings, orders,
    repeats).
    """

    pool: Pool
    design: Design
    pair: IntArray
    held: BoolArray
    first: BoolArray
    right: BoolArray
    read: BoolArray

    @property
    def count(self) -> int:
        """Number of studies, B."""
        return int(self.pair.shape[0])


# ---------------------------------------------------------------- from a pilot


def both_right(thresholds: FloatArray, correlation: float) -> float:
    """Return the mean over (N,) thresholds of P(two verdicts on the same pair are both right)."""
    if correlation >= 1:
        return float(stats.norm.cdf(thresholds).mean())
    part = thresholds[:, None] - np.sqrt(correlation) * NODES
    return float((stats.norm.cdf(part / np.sqrt(1 - correlation)) ** 2).mean())


def both_right_apart(thresholds: FloatArray, correlation: float) -> float:
    """Return the same probability for two verdicts on independent pairs of one image."""
    part = thresholds[:, None] - np.sqrt(correlation) * NODES
    return float((stats.norm.cdf(part / np.sqrt(1 - correlation)).mean(0) ** 2).mean())


def correlation_of(covariance: float, thresholds: FloatArray, *, apart: bool = False) -> float:
    """Return the correlation, 0 … .999, at which the verdicts have this covariance beyond their
    thresholds.
    """
    together = both_right_apart if apart else both_right
    few = thresholds[:: max(1, thresholds.size // 300)]
    alone = both_right_apart(few, 0.0) if apart else float((stats.norm.cdf(few) ** 2).mean())

    def beyond(correlation: float) -> float:
        return together(few, correlation) - alone - covariance

    if beyond(0.0) >= 0:
        return 0.0
    return ALMOST if beyond(ALMOST) <= 0 else float(optimize.brentq(beyond, 0.0, ALMOST, xtol=1e-4))


def fitted(verdicts: pl.DataFrame, default: JudgeModel) -> JudgeModel:
    """Fit the judge to a pilot's pairwise ``verdicts``; what they do not determine is taken from
    ``default``.

    ``verdicts`` has one row per verdict with cluster, pair, encoding, order, repeat, margin, right,
    parsed, first_right and task.
    """
    asked = verdicts.with_columns(pl.col("right").fill_null(False))
    failed = 1 - float(asked["usable"].mean())  # type: ignore[arg-type]
    read = asked.filter("usable")
    logs = np.log1p(np.asarray(read["margin"].to_numpy(), dtype=float))
    x, right = logs - logs.mean(), np.asarray(read["right"].to_numpy(), dtype=bool)
    place = read["first_right"].replace_strict({True: 1.0, False: -1.0}, default=0.0).to_numpy()
    level, slope, shift = _threshold_line(x, place, right)
    plain = level + slope * x
    line = plain + shift * place
    table = read.select("cluster", "pair", "encoding", "order", "repeat").with_columns(
        y=pl.Series(right - stats.norm.cdf(line))
    )
    shared, unknown = _shared(table, line, default)
    lean = float((stats.norm.cdf(plain + shift) - stats.norm.cdf(plain - shift)).mean()) / 2
    return JudgeModel(level, slope, shared, lean, failed, tuple(unknown))


def _threshold_line(
    x: FloatArray, place: FloatArray, right: BoolArray
) -> tuple[float, float, float]:
    """Fit the level, the slope on the margin and the shift by position, with weak normal priors."""
    side = np.where(right, 1.0, -1.0)

    def loss(line: FloatArray) -> float:
        level, slope, shift = line
        fit = -stats.norm.logcdf(side * (level + slope * x + shift * place)).sum()
        return float(fit + (slope**2 + shift**2 + level**2 / 9) / 2)

    level, slope, shift = optimize.minimize(loss, np.zeros(3), method="BFGS").x.tolist()
    return level, slope, shift


def _shared(
    table: pl.DataFrame, line: FloatArray, default: JudgeModel
) -> tuple[tuple[float, float, float, float], list[str]]:
    """Return the correlations by level, from products of two residuals that share exactly that
    level.
    """
    keys = ["cluster", "pair", "encoding", "order"]
    sums_of = [ordered_pairs(table, keys[: k + 1]) for k in range(4)]
    sums_of.append((float((table["y"] ** 2).sum()), float(table.height)))
    found: list[float | None] = []
    for k in range(4):
        count = sums_of[k][1] - sums_of[k + 1][1]
        moment = None if count < 0.5 else (sums_of[k][0] - sums_of[k + 1][0]) / count
        found.append(None if moment is None else correlation_of(moment, line, apart=k == 0))
    unknown = [name for name, value in zip(LEVELS, found, strict=True) if value is None]
    out: list[float] = []
    for k, value in enumerate(found):
        least = out[-1] if out else 0.0
        out.append(max(least, default.shared[k] if value is None else value))
    return (out[0], out[1], out[2], out[3]), unknown


# ---------------------------------------------------------------- studies


def simulated(
    pool: Pool,
    judge: JudgeModel,
    design: Design,
    count: int,
    rng: np.random.Generator,
    *,
    labels_wrong: float = 0.0,
) -> Studies:
    """Simulate ``count`` studies; ``labels_wrong`` is the share of wrong labels."""
    n, k = design.images, design.pairs
    chosen = rng.integers(0, pool.images, (count, n))
    start, held_pairs = np.cumsum(pool.per_image) - pool.per_image, pool.per_image[chosen]
    most = int(pool.per_image.max())
    place = np.argsort(
        np.where(np.arange(most) < held_pairs[..., None], rng.random((count, n, most)), 2.0), -1
    )
    place = place[..., :k]
    held = np.arange(place.shape[-1]) < held_pairs[..., None]
    pair = np.where(held, start[chosen][..., None] + place, 0)
    first = rng.random(pair.shape) < 0.5
    flipped = rng.random(pair.shape) < labels_wrong
    effects = _effects(pair.shape, design, rng)
    edge = judge.thresholds(pool)[pair][..., None, None, None]
    shown_first = first[..., None] ^ (np.arange(design.orders) == 1)
    shift = _shift(judge, pool, judge.lean)
    edge = edge + np.where(shown_first, shift, -shift)[..., None, :, None]
    noise = sum(load * effect for load, effect in zip(judge.loads, effects, strict=True))
    read = np.asarray(rng.random(noise.shape) >= judge.failed)  # type: ignore[union-attr]
    right = (noise < edge) ^ flipped[..., None, None, None]
    return Studies(pool, design, pair, held, first, right & read, read)


def _effects(shape: tuple[int, ...], design: Design, rng: np.random.Generator) -> list[FloatArray]:
    """Draw normal effects of image, pair, encoding, order and repeat, each as wide as the verdicts
    that share it.
    """
    nested = (design.encodings, design.orders, design.repeats)
    sizes = [(*shape[:2], 1, 1, 1, 1)] + [(*shape, *nested[:d], *[1] * (3 - d)) for d in range(4)]
    return [np.asarray(rng.standard_normal(size, dtype=np.float32), dtype=float) for size in sizes]


def _shift(judge: JudgeModel, pool: Pool, lean: float) -> float:
    """Return how much this bias, −.5 … .5, adds to the thresholds of one position and takes from
    the other.
    """
    line = judge.thresholds(pool)[:: max(1, pool.margin.size // 300)]

    def beyond(shift: float) -> float:
        cdf = stats.norm.cdf
        return float((cdf(line + shift) - cdf(line - shift)).mean()) - 2 * min(abs(lean), 0.49)

    if not lean:
        return 0.0
    return float(np.copysign(optimize.brentq(beyond, 0, 12), lean))


# ---------------------------------------------------------------- checks of the card


def image_shares(studies: Studies, hit: BoolArray, asked: BoolArray | None = None) -> Shares:
    """Return the share of ``hit`` in each study, with the report's bounds; both (B, n, k, …)."""
    held = studies.held.reshape(*studies.held.shape, *[1] * (hit.ndim - 3))
    counted = np.broadcast_to(held if asked is None else held & asked, hit.shape)
    axes = tuple(range(2, hit.ndim))
    top, bottom = (hit & counted).sum(axes).astype(float), counted.sum(axes).astype(float)
    column = np.repeat(np.arange(studies.count), top.shape[1])
    return shares(top.ravel(), bottom.ravel(), column, studies.count)


def failures(studies: Studies) -> Shares:
    """Return the share of unusable replies, with the card's bounds."""
    held = np.broadcast_to(studies.held[..., None, None, None], studies.read.shape)
    axes = (2, 3, 4, 5)
    top = (held & ~studies.read).sum(axes).astype(float)
    column = np.repeat(np.arange(studies.count), top.shape[1])
    bottom = held.sum(axes).astype(float)
    return shares(top.ravel(), bottom.ravel(), column, studies.count)


def source_sums(studies: Studies, b: int) -> Sums:
    """Return the sums by judge and truth of each named source on each image of study ``b``."""
    pool, pair = studies.pool, studies.pair[b]
    read = studies.read[b].sum((3, 4))
    said = np.divide(studies.right[b].sum((3, 4)), read, out=np.zeros(read.shape), where=read > 0)
    told = (studies.held[b] & (pool.better[pair] >= 0) & (pool.worse[pair] >= 0))[..., None] & (
        read > 0
    )
    image, place, _ = np.nonzero(told)
    size, source = pair.shape[0], len(pool.sources)

    def total(best: FloatArray, worst: FloatArray) -> FloatArray:
        cells = [image * source + side[pair[image, place]] for side in (pool.better, pool.worse)]
        return sums(np.concatenate(cells), np.concatenate([best, worst]), size * source).reshape(
            size, source
        )

    value, ones = said[told], np.ones(image.size)
    judged, count = total(value, 1 - value), total(ones, ones)
    true = total(ones, 0 * ones)
    return Sums(judged, true, count)


def population_tau(
    pool: Pool, judge: JudgeModel, design: Design, rng: np.random.Generator
) -> float:
    """Return the τ-b of a study of unlimited size."""
    many = replace(
        design, images=POPULATION_IMAGES // max(1, design.pairs * design.encodings // 4), repeats=1
    )
    study = simulated(pool, judge, many, 1, rng)
    found = system_agreement(source_sums(study, 0))
    return float("nan") if found is None else found.tau_b().value


Checked = Mapping[str, Sequence[Check]]


def checked(studies: Studies, rules: Thresholds, names: Sequence[str]) -> Checked:
    """Return the checks of each study by name; only those in ``names``."""
    accuracy = image_shares(studies, studies.right)
    out: dict[str, list[Check]] = {name: [] for name in names}
    both = None
    if "right_in_both_orders" in names and studies.design.orders == 2:
        both = image_shares(studies, np.asarray(studies.right.all(4)))
    failed = failures(studies) if "failed" in names else None
    orders = _orders(studies) if "order_of_sources" in names else []
    for b in range(studies.count):
        shown = _evidence(accuracy, b)
        skill = Evidence(None, None, 0) if shown.value is None else _less_chance(shown)
        for name in names:
            match name:
                case "macro_accuracy":
                    evidence = shown
                case "right_in_both_orders":
                    evidence = Evidence(None, None, 0) if both is None else _evidence(both, b)
                case "failed":
                    assert failed is not None
                    evidence = _evidence(failed, b)
                case _:
                    evidence = orders[b]
            out[name].append(check(name, evidence, rules, skill=skill))
    return out


def _evidence(found: Shares, b: int) -> Evidence:
    value = float(found.value[b])
    known = value if np.isfinite(value) else None
    return Evidence(known, found.interval(b), int(found.images[b]))


def _less_chance(shown: Evidence) -> Evidence:
    ends = None if shown.interval is None else (shown.interval[0] - 0.5, shown.interval[1] - 0.5)
    return Evidence((shown.value or 0.0) - 0.5, ends, shown.images)


def _orders(studies: Studies) -> list[Evidence]:
    """Return each study's evidence on the order of the sources."""
    out = list[Evidence]()
    for b in range(studies.count):
        own = source_sums(studies, b)
        found, images = system_agreement(own), int((own.count.sum(1) > 0).sum())
        tau = None if found is None else found.tau_b()
        nothing = Evidence(None, None, images)
        out.append(nothing if tau is None else Evidence(tau.value, tau.interval, images))
    return out


@dataclass(frozen=True)
class Power:
    """Share of simulated studies that reach the goal, and the standard error of the simulation.

    ``width`` is the mean width of the 95 % interval, and ``states`` the frequency of each state.
    """

    value: float
    error: float
    studies: int
    width: float | None = None
    states: Mapping[str, float] = field(default_factory=dict)


def power_of(
    reached: Sequence[bool], widths: Sequence[float] = (), states: Sequence[State] = ()
) -> Power:
    """Return the power from one value per study; the error is binomial, with at least one study in
    doubt.
    """
    n = len(reached)
    value = sum(reached) / n
    bounded = min(max(value, 1 / n), 1 - 1 / n)
    shares_of = {str(state): states.count(state) / n for state in dict.fromkeys(states)}
    width = float(np.mean(widths)) if len(widths) else None
    return Power(value, float(np.sqrt(bounded * (1 - bounded) / n)), n, width, shares_of)


def pool_of(rows: pl.DataFrame) -> Pool:
    """Return a pool from one row per pair: image, better, worse (names or null), margin."""
    ordered = rows.sort("image")
    names = sorted({*ordered["better"].drop_nulls(), *ordered["worse"].drop_nulls()})
    places = {name: k for k, name in enumerate(names)}

    def numbers(column: str) -> IntArray:
        return np.array(
            [places.get(name, -1) for name in ordered[column].to_list()], dtype=np.int64
        )

    image = renumbered(ordered["image"].rank("dense").cast(pl.Int64).to_numpy())[1]
    margin = np.asarray(ordered["margin"].to_numpy(), dtype=float)
    return Pool(image, numbers("better"), numbers("worse"), margin, tuple(names))
