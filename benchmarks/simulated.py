"""Simulated verdicts with a known truth, for benchmarks/coverage.py: tables as the analysis joins
them.

Images differ in difficulty, so do pairs inside an image and encodings of a pair: verdicts of one
image go together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from visualjudge.analysis.accuracy_cells import margin_bin
from visualjudge.analysis.study_table import lead, more_of

SOURCES = 4
FEATURES = ("text_chars", "count", "area", "png_bytes")


@dataclass(frozen=True)
class Design:
    """How verdicts are made. ``alike``: deviations of the effects of image, pair, and pair ×
    encoding, in logits.
    """

    name: str
    images: int
    accuracy: float
    encodings: int = 6
    swap: bool = True
    sizes: str = "even"
    failed: float = 0.0
    alike: tuple[float, float, float] = (0.9, 0.8, 0.4)
    slope: float | None = None
    """Right with accuracy at a wide margin, and by ½ + (accuracy - ½)(1 - exp(-slope · margin))
    else.
    """
    lean: float = 0.0
    """How often it says the first option (or the one with more boxes, see ``leans_to``) without
    looking.
    """
    leans_to: str = "position"
    confounded: float = 0.0
    """Share of pairs whose count feature points to the better option where, and only where, the
    margin is wide.
    """
    better: float = 0.0
    """Logits by which the first encoding is better than the others."""


SEVEN = (
    Design("10 images, .75", 10, 0.75),
    Design("20 images, .97", 20, 0.97),
    Design(
        "20 images, .85, heavy-tailed sizes, 5 % failures", 20, 0.85, sizes="heavy", failed=0.05
    ),
    Design("20 images, .75, one encoding, no swap", 20, 0.75, encodings=1, swap=False),
    Design("50 images, .55, no swap", 50, 0.55, swap=False),
    Design(
        "50 images, .90, informative sizes, 5 % failures",
        50,
        0.90,
        sizes="informative",
        failed=0.05,
    ),
    Design("50 images, .97", 50, 0.97),
)


def sizes(design: Design, effect: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Pairs of each image."""
    m = effect.size
    if design.sizes == "heavy":
        return np.clip(np.round(np.exp(1.5 + 0.9 * rng.normal(size=m))), 1, 80).astype(int)
    if design.sizes == "informative":
        return np.clip(
            np.round(np.exp(1.8 - 0.3 * effect + 0.4 * rng.normal(size=m))), 1, 60
        ).astype(int)
    return rng.integers(4, 13, m)


@dataclass(frozen=True, eq=False)
class World:
    """Pairs of predictions: their image, scores, sources, features, and how hard they are."""

    image: np.ndarray
    effect: np.ndarray
    scores: np.ndarray
    sources: np.ndarray
    features: dict[str, np.ndarray]

    @property
    def margin(self) -> np.ndarray:
        return np.abs(self.scores[:, 0] - self.scores[:, 1])


def world(design: Design, images: int, rng: np.random.Generator) -> World:
    """Draw the pairs."""
    of_image = rng.normal(size=images)
    image = np.repeat(np.arange(images), sizes(design, of_image, rng))
    n = image.size
    first = rng.integers(0, SOURCES, n)
    sources = np.stack([first, (first + rng.integers(1, SOURCES, n)) % SOURCES], 1)
    scores = np.clip(3 + 1.2 * sources + 2.5 * rng.normal(size=(n, 2)), 0, 10)
    tied = scores[:, 0] == scores[:, 1]
    scores[tied, 0] = np.clip(scores[tied, 0] - 0.5, 0, 10) + rng.uniform(0, 0.4, int(tied.sum()))
    features = {name: rng.normal(size=(n, 2)) for name in FEATURES}
    better = np.argmax(scores, 1)
    follows = rng.random(n) < design.confounded
    wide = np.abs(scores[:, 0] - scores[:, 1]) > 2.5
    more = np.where(wide, better, 1 - better)
    forced = np.stack(
        [np.where(more == side, 1.0, 0.0) + 1e-3 * features["count"][:, side] for side in (0, 1)], 1
    )
    features["count"] = np.where(follows[:, None], forced, features["count"])
    effect = design.alike[0] * of_image[image] + design.alike[1] * rng.normal(size=n)
    return World(image, effect, scores, sources, features)


def chance_right(
    design: Design, shift: float, effect: np.ndarray, margin: np.ndarray
) -> np.ndarray:
    """P(right) before leaning."""
    if design.slope is not None:
        scaled = design.slope * np.exp(effect) * margin
        return 0.5 + (design.accuracy - 0.5) * (1 - np.exp(-scaled))
    return 1 / (1 + np.exp(-(shift + effect)))


def judged(design: Design, seen: World, shift: float, rng: np.random.Generator) -> pl.DataFrame:
    """One judge's verdicts on ``seen``, as the analysis joins them."""
    n, orders = seen.image.size, ("AB", "BA") if design.swap else ("AB",)
    a_right = seen.scores[:, 0] > seen.scores[:, 1]
    parts = []
    for e in range(design.encodings):
        effect = (
            seen.effect + design.alike[2] * rng.normal(size=n) + (design.better if e == 0 else 0.0)
        )
        chance = chance_right(design, shift, effect, seen.margin)
        for order in orders:
            right = rng.random(n) < chance
            says_a = right == a_right
            drawn = rng.random(n) < design.lean
            leaning = (
                (order == "AB")
                if design.leans_to == "position"
                else _has_more(seen, design.leans_to)
            )
            says_a = np.where(drawn, leaning, says_a)
            parsed = rng.random(n) >= design.failed
            parts.append(_rows(seen, e, order, says_a, parsed, a_right))
    return _joined(pl.concat(parts), seen)


def _has_more(seen: World, feature: str) -> np.ndarray:
    values = seen.features[feature]
    return values[:, 0] > values[:, 1]


def _rows(
    seen: World,
    encoding: int,
    order: str,
    says_a: np.ndarray,
    parsed: np.ndarray,
    a_right: np.ndarray,
) -> pl.DataFrame:
    number = np.arange(seen.image.size)
    return pl.DataFrame(
        {"pair": number, "cluster": seen.image, "says_a": says_a, "parsed": parsed, "a": a_right}
    ).select(
        "pair",
        "cluster",
        "parsed",
        id=pl.format("q{}-{}", "pair", pl.lit(encoding)),
        question=pl.col("pair") * 100 + encoding,
        item=pl.format("pair{}", "pair"),
        encoding=pl.lit(f"e{encoding}"),
        order=pl.lit(order),
        repeat=pl.lit(0),
        task=pl.lit("task"),
        kind=pl.lit("pairwise"),
        status=pl.when("parsed").then(pl.lit("ok")).otherwise(pl.lit("unparseable")),
        cause=pl.when(~pl.col("parsed")).then(pl.lit("unparseable")),
        text=pl.when("says_a").then(pl.lit("A")).otherwise(pl.lit("B")),
        answer=pl.when("a").then(pl.lit("A")).otherwise(pl.lit("B")),
        right=pl.col("parsed") & (pl.col("says_a") == pl.col("a")),
        said_first=pl.when("parsed").then(pl.col("says_a") ^ pl.lit(order == "BA")),
        first_right=pl.col("a") ^ pl.lit(order == "BA"),
        tokens_in=pl.lit(None, dtype=pl.Int64),
    )


def _joined(rows: pl.DataFrame, seen: World) -> pl.DataFrame:
    def pairs(values: np.ndarray) -> pl.Series:
        return pl.Series(values).arr.to_list()

    names = pl.DataFrame({"a": seen.sources[:, 0], "b": seen.sources[:, 1]}).select(
        pl.concat_list(pl.format("source{}", "a"), pl.format("source{}", "b"))
    )
    number = pl.Series(np.arange(seen.image.size))
    facts = pl.DataFrame(
        {
            "pair": number,
            "margin": seen.margin,
            "scores": pairs(seen.scores),
            "sources": names.to_series(),
            **{lead(name): values[:, 0] - values[:, 1] for name, values in seen.features.items()},
        }
    ).with_columns(annotations=pl.concat_list(pl.format("a{}", "pair"), pl.format("b{}", "pair")))
    return rows.join(facts, on="pair", how="left", maintain_order="left").with_columns(
        *map(more_of, FEATURES), margin_bin=margin_bin()
    )


def scored(design: Design, images: int, rng: np.random.Generator) -> pl.DataFrame:
    """A scoring judge: numbers that follow the score, with an effect of the image, rounded to whole
    points.
    """
    of_image = rng.normal(size=images)
    cluster = np.repeat(np.arange(images), np.clip(sizes(design, of_image, rng), 2, 60))
    n = cluster.size
    truth = np.clip(5 + 1.5 * rng.normal(size=images)[cluster] + 2 * rng.normal(size=n), 0, 10)
    noise = 3.0 * (1.02 - design.accuracy) / 0.3
    said = np.round(
        np.clip(0.7 * truth + 1.5 + of_image[cluster] + noise * rng.normal(size=n), 0, 10)
    )
    parsed = rng.random(n) >= design.failed
    group = [f"image{c}" for c in cluster]
    fixed = {"task": "task", "encoding": "e0", "classes": "x", "error_type": "x", "repeat": 0}
    table = pl.DataFrame(
        {"cluster": cluster, "image": group, "truth": truth, "number": said, "parsed": parsed}
    )
    status = pl.when("parsed").then(pl.lit("ok")).otherwise(pl.lit("unparseable"))
    return table.with_columns(
        status=status, **{name: pl.lit(value) for name, value in fixed.items()}
    )


def ranked(design: Design, images: int, rng: np.random.Generator) -> pl.DataFrame:
    """A ranking judge of three to five options."""
    of_image = rng.normal(size=images)
    cluster = np.repeat(np.arange(images), sizes(design, of_image, rng))
    noise = 3.0 * (1.02 - design.accuracy) / 0.3
    rows = []
    for c in cluster:
        k = int(rng.integers(3, 6))
        score = rng.uniform(0, 10, k)
        seen = score + noise * np.exp(0.4 * of_image[c]) * rng.normal(size=k)
        order = lambda x: "".join("ABCDE"[i] for i in np.argsort(-x))  # noqa: E731
        rows.append(
            (
                int(c),
                order(score),
                order(seen),
                score.tolist(),
                k,
                bool(rng.random() >= design.failed),
            )
        )
    names = ["cluster", "answer", "text", "scores", "options", "parsed"]
    return pl.DataFrame(rows, schema=names, orient="row")


def shift_for(design: Design, images: int = 20_000) -> float:
    """The logit at which the design's accuracy holds in the population (failures wrong)."""
    if design.slope is not None:
        return 0.0
    rng = np.random.default_rng(5)
    plain = replace(design, failed=0.0)
    seen = world(plain, images, rng)
    extra = design.alike[2] * rng.normal(size=seen.image.size)
    low, high = -6.0, 14.0
    for _ in range(40):
        middle = (low + high) / 2
        share = chance_right(plain, middle, seen.effect + extra, seen.margin).mean() * (
            1 - design.failed
        )
        low, high = (middle, high) if share < design.accuracy else (low, middle)
    return middle


def cases(size: int | str, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """How many cases each image has: ``size``, or "1 to 20", or 3 but for one image ("one of
    20").
    """
    if size == "1 to 20":
        return np.clip(np.round(np.exp(1.3 + 0.9 * rng.normal(size=shape))), 1, 20)
    n = np.full(shape, float(size) if isinstance(size, int) else 3.0)
    n[:, 0] = n[:, 0] if isinstance(size, int) else 20.0
    return n


def right_of(
    share: float, alike: float | None, n: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Right cases of images of ``n``, correlated by ``alike``; None: an image is right throughout,
    or half wrong.
    """
    count = n.astype(int)
    if alike is None:
        return np.where(
            rng.random(n.shape) < 2 * (1 - share), rng.binomial(count, 0.5), count
        ).astype(float)
    if alike in (0, 1):
        return (
            n * (rng.random(n.shape) < share) if alike else rng.binomial(count, share).astype(float)
        )
    beta = 1 / alike - 1
    return rng.binomial(count, rng.beta(share * beta, (1 - share) * beta, n.shape)).astype(float)
