"""What the intervals, tests and rank sets hold, in designs that break naive ones; a
generator of its own.

    python benchmarks/coverage.py [--sets 400] [--only strengths] [--write]

``--write`` puts the tables into docs/analysis.md. Judges are right with a probit
probability that rises with the margin between two sources' scores and falls with the
image's difficulty; some images fail whole. True values come from 20,000 images. With
400 sets, the error of the simulation (one standard error) of a share of 95 % is 1.1
points where a set has one figure.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from scipy import special

from visualjudge.analysis.estimate import shares
from visualjudge.analysis.figures.bias import preference
from visualjudge.analysis.figures.comparisons import paired
from visualjudge.analysis.figures.strengths import leaderboard
from visualjudge.analysis.separation import Comparisons, cells_of, separate
from visualjudge.analysis.statistics.favour import fair_fit
from visualjudge.analysis.statistics.rater_agreement import alpha, kappa
from visualjudge.core.records import FloatArray, IntArray

PAGE = Path(__file__).parents[1] / "docs/analysis.md"
BLOCK = re.compile(r"<!-- coverage -->\n.*?<!-- end of coverage -->", re.DOTALL)
MANY = 20_000
Rng = np.random.Generator
Cell = dict[str, tuple[float, float]]
"""Share of sets in which a figure held, and the mean width of its interval."""


@dataclass(frozen=True)
class Design:
    """``images`` with ``pairs`` each of ``sources`` models ``apart`` in quality;
    ``difficulty`` is the standard deviation of images, ``fail`` the share that fails
    whole, ``absent`` whether a source is missing on each image, ``uneven`` whether the
    best source is shown mostly on hard images, ``favour`` what source 2 gains, in
    ranks.

    ``sizes``: an image may hold half of all questions, or Pareto's numbers of them, the
    largest images being the hardest. ``alike``: the standard deviation of an image's
    own effect on whether its answers are right, in those of an answer (1: a correlation
    of .5).
    """

    name: str
    images: int
    pairs: int = 6
    apart: float = 0.5
    difficulty: float = 0.5
    skill: float = 1.0
    fail: float = 0.0
    absent: bool = False
    uneven: bool = False
    favour: float = 0.0
    lean: float = 0.0
    sources: int = 5
    sizes: Literal["equal", "half", "pareto"] = "equal"
    alike: float = 0.0

    @property
    def twos(self) -> IntArray:
        """Every two sources, (K, 2)."""
        return np.array(list(combinations(range(self.sources), 2)))

    def questions(self, images: int, rng: Rng) -> IntArray:
        """Number of questions of each image, (images,)."""
        size = np.full(images, self.pairs)
        if self.sizes == "half":
            share = (
                self.images - 1
            )  # of so many images, the first one has as many as the others
            size[:: self.images] *= min(share, 40)
        if self.sizes == "pareto":
            size = np.ceil(self.pairs * (rng.pareto(1.5, images) + 0.3)).clip(
                1, 60
            )
        return size.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Pairs of sources ``a`` and ``b`` with their ``margin`` (scores of a less b), the
    judge's choice of ``a``, whether a is shown first, and whether it has more of a
    feature.
    """

    image: IntArray
    a: IntArray
    b: IntArray
    margin: FloatArray
    chose_a: FloatArray
    first: FloatArray
    more: FloatArray


def draw(design: Design, rng: Rng, images: int | None = None) -> Drawn:
    """Draw a study."""
    count, sources, twos = images or design.images, design.sources, design.twos
    hard = rng.normal(0, 1, count)
    best_first = np.arange(sources)[::-1] * design.apart
    score = best_first + rng.normal(0, 1, (count, sources))
    order = rng.random((count, len(twos)))
    if design.absent:
        order += 2 * (
            rng.integers(0, sources, count)[:, None, None] == twos
        ).any(2)
    if design.uneven:
        easy = (hard < 0) & (rng.random(count) < 0.9)
        order += 2 * (easy[:, None] & (twos == 0).any(1))
    size = design.questions(count, rng)
    if design.sizes == "pareto":
        hard[np.argsort(size, kind="stable")] = np.sort(hard)
    place = np.arange(size.max())
    chosen = np.argsort(order, axis=1)[:, place % len(twos)]
    image = np.repeat(np.arange(count), size)
    a, b = twos[chosen[place < size[:, None]]].T
    turned = rng.random(a.size) < 0.5
    a, b = np.where(turned, b, a), np.where(turned, a, b)
    margin = score[image, a] - score[image, b]
    first, more = (
        np.where(rng.random(a.size) < 0.5, 1.0, -1.0) for _ in range(2)
    )
    shift = design.favour * design.apart * ((a == 2) * 1.0 - (b == 2) * 1.0)
    z = (
        (margin + shift)
        * design.skill
        * np.exp(-design.difficulty * hard[image])
    )
    if design.alike:
        z += design.alike * rng.normal(0, 1, count)[image] * np.sign(margin)
    said = rng.random(a.size) < special.ndtr(z + design.lean * first)
    failed = (rng.random(count) < design.fail)[image]
    return Drawn(
        image,
        a,
        b,
        margin,
        np.where(failed, margin < 0, said) * 1.0,
        first,
        more,
    )


def table(found: Drawn) -> pl.DataFrame:
    """Return the table of answers."""
    n, right = found.image.size, (found.margin > 0) == (found.chose_a > 0)
    first = found.first > 0
    letters = {name: np.where(on, "A", "B") for name, on in (
        ("text", found.chose_a > 0), ("answer", found.margin > 0))}  # fmt: skip
    names = [f"s{k}" for k in range(max(found.a.max(), found.b.max()) + 1)]
    return pl.DataFrame(
        {
            "question": np.arange(n), "pair": np.arange(n), "cluster": found.image,
            "repeat": np.zeros(n, int), "order": np.where(first, "AB", "BA"), **letters,
            "task": ["t"] * n, "usable": np.full(n, True), "tie": np.full(n, False),
            "right": right, "margin": np.abs(found.margin),
            "first_right": (found.margin > 0) == first,
            "more_count": (found.margin > 0) == (found.more > 0),
            "sources": [[names[i], names[j]] for i, j in zip(found.a, found.b, strict=True)],
            "annotations": [[f"{i}", f"{i}b"] for i in range(n)],
            "scores": [[5.0 + x / 2, 5.0 - x / 2] for x in found.margin],
        },
        schema_overrides={"sources": pl.List(pl.Categorical), "order": pl.Categorical},
    )  # fmt: skip


def by_image(found: Drawn, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sums of ``values`` and the number of cases of each image."""
    return np.bincount(found.image, values), np.bincount(found.image).astype(
        float
    )


def held(
    ends: tuple[float | None, float | None] | None, true: float
) -> tuple[float, float]:
    """Return whether an interval holds the true value, and its width; NaN without an
    interval."""
    if ends is None:
        return np.nan, np.nan
    low, high = (np.nan if end is None else end for end in ends)
    return bool(not low > true and not high < true), float(high - low)


def right_of(found: Drawn) -> FloatArray:
    return ((found.margin > 0) == (found.chose_a > 0)) * 1.0


def accuracy(
    found: Drawn, rng: Rng, true: Truth
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Shares, agreement, and paired differences of two judges."""
    yield (
        "accuracy",
        held(
            shares(*by_image(found, right_of(found)))[0].interval, true.accuracy
        ),
    )
    other = replace(
        found,
        chose_a=np.where(rng.random(found.a.size) < 0.7, found.chose_a, 1.0),
    )
    both = pl.DataFrame({"question": np.arange(found.a.size), "cluster": found.image,
                         "right": right_of(found) > 0, "right_b": right_of(other) > 0})  # fmt: skip
    yield (
        "difference",
        held(paired(both, ("a", "b")).gap.interval, true.difference),
    )
    ratings = np.stack([found.chose_a, (found.margin > 0) * 1.0])
    yield "κ", held(kappa(ratings, found.image)[1], true.kappa)
    pair = np.stack([found.chose_a, other.chose_a])
    yield "α", held(alpha(pair, "nominal", found.image)[1], true.alpha)


def strengths(
    found: Drawn, rng: Rng, true: Truth
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Strengths and rank sets."""
    board = leaderboard(table(found), table(found), {})
    place = {row.source: row for row in board.rows}
    for name, row in place.items():
        ends = row.strength.interval or row.bound
        yield "strength", held(ends, true.strengths[int(name[1])])
        inside = (
            row.rank_set is None
            or row.rank_set[0] <= int(name[1]) + 1 <= row.rank_set[1]
        )
        yield (
            "a rank set",
            (inside, float(np.subtract(*(row.rank_set or (0, 0))[::-1]))),
        )


def leanings(
    found: Drawn, rng: Rng, true: Truth
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Leanings to a position and to a feature that the judge ignores."""
    own = table(found)
    yield (
        "position",
        held(preference(own, "position").estimate.interval, true.position),
    )
    fair = preference(own, "count")
    yield "a feature that the judge ignores", held(fair.estimate.interval, 0.0)


def favours(
    found: Drawn, rng: Rng, true: Truth
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Convictions of any source and of the favoured one; pairs called in the wrong
    order."""
    del rng
    n = found.a.size
    image, item = np.tile(found.image, 2), np.tile(np.arange(n), 2)
    source = np.concatenate([found.a, found.b])
    said = np.concatenate([found.chose_a, 1 - found.chose_a])
    truth, level = (
        np.concatenate([found.margin > 0, found.margin < 0]) * 1.0,
        found.margin,
    )
    levels, task = (
        np.concatenate([level, -level]),
        np.zeros(2 * n, dtype=np.int64),
    )
    group = np.zeros(source.max() + 1, dtype=np.int64)
    fit = fair_fit(said, truth, levels, source, item, image, task, group)
    assert fit is not None
    sure = [favour.sure for favour in fit.favours()]
    yield "any model convicted", (any(sure), np.nan)
    yield "model 2 convicted", (sure[2], np.nan)
    pairs = separate(compared(found)).pairs
    # the sources are named in their true order
    wrong = any(
        pair.judge_order * ((pair.a < pair.b) * 2 - 1) < 0 for pair in pairs
    )
    yield "a pair in the wrong order", (wrong, np.nan)


def compared(found: Drawn) -> Comparisons:
    """Return the comparisons of the sources, which are named in their true order."""
    sources = int(max(found.a.max(), found.b.max())) + 1
    names = tuple(f"s{k}" for k in range(sources))
    turned = found.a > found.b
    places = (
        np.minimum(found.a, found.b),
        np.maximum(found.a, found.b),
        found.image,
    )
    wins = (found.chose_a, (found.margin > 0) * 1.0)
    ordered = (np.where(turned, 1 - value, value) for value in wins)
    margin = np.where(turned, -found.margin, found.margin)
    return Comparisons(names, ("t",) * sources, *places, *ordered, margin)


def pairs_of_models(
    found: Drawn, rng: Rng, true: Truth
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Win rates of pairs by judge and truth, and separations of pairs that are
    equal."""
    del rng
    pairs = separate(compared(found)).pairs
    invented = hidden = False
    for pair in pairs:
        two = min(pair.a, pair.b), max(pair.a, pair.b)
        turned = pair.a > pair.b
        rates = [1 - rate if turned else rate for rate in true.rates[two]]
        ends = pair.judge_ci95, pair.truth_ci95
        for name, own, rate in zip(
            ("judge", "truth"), ends, rates, strict=True
        ):
            if own is not None and turned:
                own = 1 - own[1], 1 - own[0]
            yield f"{name}'s win rate", held(own, rate)
        equal = [abs(rate - 0.5) < NO_DIFFERENCE for rate in rates]
        hidden |= any(equal)
        invented |= equal[0] and pair.judge_order != 0
        invented |= equal[1] and pair.truth_order != 0
    yield "an equal pair separated", (invented if hidden else np.nan, np.nan)


def more_images(
    design: Design, sets: int, most: int = 20
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Undecided pairs with a promise that the upper end of the promised images settles,
    and the number of images that was promised.
    """
    for seed in range(sets):
        rng = np.random.default_rng([seed, 11])
        found = draw(design, rng, design.images * (most + 1))
        for pair in separate(
            compared(first_images(found, design.images))
        ).pairs:
            if pair.needs_images is None:
                continue
            images = design.images + pair.needs_images[1]
            later = separate(compared(first_images(found, images))).pairs
            (same,) = (p for p in later if {p.a, p.b} == {pair.a, pair.b})
            settled = same.state in ("right", "wrong")
            yield "settled", (settled, float(pair.needs_images[1]))


def first_images(found: Drawn, images: int) -> Drawn:
    """Return the study of the first so many images."""
    inside = found.image < images
    return Drawn(*(values[inside] for values in vars(found).values()))


LEAST = 0.93
NO_DIFFERENCE = 1e-3
"""Two win rates that differ by less are equal."""


class Truth:
    """True values of a design, from a study of many images, each computed when it is
    read."""

    def __init__(self, design: Design) -> None:
        rng = np.random.default_rng(1)
        self.design = design
        self.found = draw(design, rng, MANY)
        same = rng.random(self.found.a.size) < 0.7
        self.other = replace(
            self.found, chose_a=np.where(same, self.found.chose_a, 1.0)
        )

    @cached_property
    def accuracy(self) -> float:
        return float(right_of(self.found).mean())

    @cached_property
    def difference(self) -> float:
        return self.accuracy - float(right_of(self.other).mean())

    @cached_property
    def kappa(self) -> float:
        ratings = np.stack([self.found.chose_a, (self.found.margin > 0) * 1.0])
        return kappa(ratings, self.found.image)[0] or 0.0

    @cached_property
    def alpha(self) -> float:
        return (
            alpha(np.stack([self.found.chose_a, self.other.chose_a]))[0] or 0.0
        )

    @cached_property
    def table(self) -> pl.DataFrame:
        return table(self.found)

    @cached_property
    def strengths(self) -> FloatArray:
        rows = leaderboard(self.table, self.table, {}).rows
        board = {row.source: row.strength.value for row in rows}
        return np.array(
            [board[f"s{k}"] for k in range(self.design.sources)], float
        )

    @cached_property
    def position(self) -> float:
        return preference(self.table, "position").estimate.value or 0.0

    @cached_property
    def rates(self) -> dict[tuple[str, str], tuple[float, float]]:
        """Win rates over images of each two sources, by judge and truth; exactly ½
        where nothing is apart.
        """
        cells = cells_of(compared(self.found))
        names = cells.rows.names
        count = np.bincount(cells.pair)
        means = [
            np.bincount(cells.pair, v) / count
            for v in (cells.judge, cells.truth)
        ]
        fair = self.design.apart == 0 and not self.design.favour
        return {
            (names[a], names[b]): (0.5, 0.5)
            if fair
            else (means[0][k], means[1][k])
            for k, (a, b) in enumerate(cells.twos.tolist())
        }


Measure = Callable[
    [Drawn, Rng, Truth], Iterator[tuple[str, tuple[float, float]]]
]
USUAL = (
    Design("8 images × 6", 8),
    Design("20 × 6", 20),
    Design("60 × 6", 60),
    Design("60 × 6, difficulty 1", 60, difficulty=1.0),
    Design("30 × 6, 8 % of images fail whole", 30, fail=0.08),
    Design("100 × 3, close models", 100, pairs=3, apart=0.1),
)
HARD = (
    *USUAL,
    Design("30 × 6, one image holds half", 30, sizes="half"),
    Design("60 × 3, one image holds half, close models", 60, 3, 0.1, sizes="half"),
    Design("40 × Pareto sizes, larger ones harder", 40, 4, sizes="pareto"),
    Design("100 × Pareto sizes, larger ones harder", 100, 3, 0.3, sizes="pareto"),
    Design("20 × 6, 15 % fail whole, weak judge", 20, skill=0.6, fail=0.15),
    Design("100 × 6, 8 % fail whole, weak judge", 100, skill=0.6, fail=0.08),
    Design("10 × 10, icc .5", 10, 10, alike=1.0),
    Design("25 × 10, icc .7", 25, 10, alike=1.5),
    Design("40 × 28, 8 equal models", 40, 28, 0.0, sources=8),
    Design("150 × 8, 8 equal models, one image holds half", 150, 8, 0.0, sources=8,
           sizes="half"),
)  # fmt: skip
UNDECIDED = (
    Design("3 models, 20 × 3", 20, 3, 0.4, sources=3),
    Design("3 models, 40 × 3, weak judge", 40, 3, 0.4, skill=0.5, sources=3),
    Design("5 models, 60 × 6", 60, 6, 0.2),
    Design("5 models, 60 × 6, favour of 1 rank", 60, 6, 0.3, favour=1.0),
    Design(
        "3 models, 30 × 3, favour of 1 rank", 30, 3, 0.3, favour=1.0, sources=3
    ),
)
PARTS: dict[str, tuple[Measure, tuple[Design, ...]]] = {
    "pairs of models": (pairs_of_models, HARD),
    "judges": (accuracy, USUAL),
    "strengths": (strengths, USUAL[1:]),
    "preferences": (
        leanings,
        (*USUAL[1:], Design("60 × 6, position .3", 60, lean=0.3)),
    ),
    "favouritism": (
        favours,
        (
            *USUAL[1:],
            Design(
                "60 × 6, best model on hard images",
                60,
                difficulty=0.9,
                uneven=True,
            ),
            Design(
                "100 × 10, best model on hard images",
                100,
                10,
                difficulty=0.9,
                uneven=True,
            ),
            Design(
                "300 × 6, best model on hard images",
                300,
                difficulty=0.9,
                uneven=True,
            ),
            Design("60 × 6, absent models", 60, absent=True),
            Design("100 × 6, favour of 2 ranks", 100, favour=2.0),
            Design("100 × 3, favour of 2 ranks", 100, pairs=3, favour=2.0),
        ),
    ),
}
CERTAIN = {
    "one image holds half, icc .1": ([90] + [10] * 9, 0.8, 0.1, 0.0),
    "heavy-tailed sizes, icc .1": (None, 0.8, 0.1, 0.0),
    "5 × 10, icc .2": ([10] * 5, 0.8, 0.2, 0.0),
    "8 × 10, icc .2": ([10] * 8, 0.8, 0.2, 0.0),
    "30 × 10, .9, icc 0": ([10] * 30, 0.9, 0.0, 0.0),
    "30 × 10, .9, icc .3": ([10] * 30, 0.9, 0.3, 0.0),
    "100 × 10, .97": ([10] * 100, 0.97, 0.0, 0.0),
    "30 × 10, 8 % of images fail whole": ([10] * 30, 1.0, 0.0, 0.08),
}
"""Beta-binomial images: sizes, share, correlation within an image, share of images that
fail."""


def of_more_images(sets: int) -> dict[str, Cell]:
    """How often promised images settle a pair, in the designs of UNDECIDED."""
    out: dict[str, Cell] = {}
    for design in UNDECIDED:
        rows = [row for _, row in more_images(design, sets)]
        settled, images = np.array(rows).mean(0) if rows else (np.nan, np.nan)
        out[design.name] = {"settled": (settled, images)}
        out[design.name]["promises a set"] = (len(rows) / sets, np.nan)
        print(design.name, out[design.name], flush=True)
    return out


def of_shares(sets: int) -> dict[str, Cell]:
    """Coverage of shares in the designs of CERTAIN."""
    rng, out = np.random.default_rng(0), {}
    for name, (sizes, share, alike, fail) in CERTAIN.items():
        seen = []
        for _ in range(sets):
            drawn = (
                np.ceil(3 * rng.pareto(1.1, 20) + 1).clip(1, 500).astype(int)
            )
            cases = drawn if sizes is None else np.array(sizes)
            k = 1 / alike - 1 if alike else 0.0
            own = (
                rng.beta(share * k, (1 - share) * k, cases.size)
                if alike
                else share
            )
            right = rng.binomial(cases, own) * (rng.random(cases.size) >= fail)
            found = shares(right.astype(float), cases.astype(float))
            seen.append(held(found[0].interval, share * (1 - fail)))
        out[name] = {"share": (float(np.nanmean([s[0] for s in seen])),
                               float(np.nanmean([s[1] for s in seen])))}  # fmt: skip
    return out


def measured(part: str, sets: int) -> dict[str, Cell]:
    """Each design's figures."""
    measure, designs = PARTS[part]
    out: dict[str, Cell] = {}
    for design in designs:
        true, seen = Truth(design), defaultdict(list)
        for seed in range(sets):
            rng = np.random.default_rng([seed, 7])
            for name, one in measure(draw(design, rng), rng, true):
                seen[name].append(one)
        out[design.name] = {
            name: (
                float(np.nanmean([x[0] for x in rows])),
                float(np.nanmean([x[1] for x in rows])),
            )
            for name, rows in seen.items()
        }
        print(design.name, out[design.name], flush=True)
    return out


def _cell(name: str, share: float, width: float) -> str:
    """Return a share in %, bold if it is an interval's and below 93, and the width."""
    words = f"{100 * share:.1f}"
    if np.isnan(width):
        return words
    bold = share < LEAST and name != "settled"
    return f"**{words}** / {width:.2f}" if bold else f"{words} / {width:.2f}"


def markdown(found: dict[str, Cell]) -> str:
    """Return a table: a row a design, share of sets in % / mean width."""
    names = list(
        dict.fromkeys(name for cell in found.values() for name in cell)
    )
    lines = [
        "| Design | " + " | ".join(names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for design, cell in found.items():
        cells = [_cell(name, *cell[name]) for name in names]
        lines.append(f"| {design} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sets", type=int, default=400)
    options.add_argument("--only", choices=["shares", *PARTS, "more images"])
    options.add_argument("--write", action="store_true")
    told = options.parse_args()
    others = {"shares": of_shares, "more images": of_more_images}
    parts = (
        ["shares", *PARTS, "more images"] if told.only is None else [told.only]
    )
    tables = []
    warnings.simplefilter("ignore", RuntimeWarning)
    for part in parts:
        known = part in others
        own = others[part](told.sets) if known else measured(part, told.sets)
        tables.append(f"**{part.capitalize()}**\n\n{markdown(own)}")
        print(tables[-1], flush=True)
    if told.write:
        text = (
            f"Of {told.sets} sets, in %, how many an interval holds (or what is "
            "said); / mean "
        )
        text += (
            'width. A design is "images × questions of each". Bold: below 93 %.\n\n'
            + "\n\n".join(tables)
        )
        text = f"<!-- coverage -->\n{text}"
        page = PAGE.read_text("utf-8")
        PAGE.write_text(
            BLOCK.sub(lambda _: f"{text}\n<!-- end of coverage -->", page),
            "utf-8",
        )


if __name__ == "__main__":
    main()
