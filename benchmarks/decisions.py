"""Do the answers to decide by keep their word? Simulated sources, images and judges; the truth is
known.

    python benchmarks/decisions.py                  # the sizes of the table in benchmarks/README.md
    python benchmarks/decisions.py --quick          # a look

- coverage of corrected means, win rates and rank sets: 20, 50 and 200 images; fair and biased
  judges; labels drawn by item, by image, and as `visualjudge label` draws them. Wanted: 93 to 97 %
  for means, win rates, and rank sets of sources with a near tie; where sources differ by more than
  their errors a set of whole numbers holds the rank always.
- `label`: bias, and root mean squared error beside labels drawn at random.
- the cascade: in how many of 1,000 calibration sets the risk is kept. Wanted: at least 1 - delta.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from visualjudge.analysis.statistics import (
    draw,
    inclusion_probabilities,
    pooled_means,
    pooled_probabilities,
    rank_sets,
    risk_threshold,
)
from visualjudge.core.seeding import rng_for

SOURCES = 6
QUALITY = 5 + np.linspace(1.2, -1.2, SOURCES)
CLOSE = 5 + np.array([3.0, 2.99, 0.0, -0.01, -3.0, -3.01])
"""Pairs of sources that are nearly alike, far from the others: where a set of ranks misses most
often.
"""


@dataclass(frozen=True)
class Pool:
    """R items: what the judge says, what is true, whose and of which image they are, how unsure the
    judge is.
    """

    said: np.ndarray
    true: np.ndarray
    system: np.ndarray
    image: np.ndarray
    doubt: np.ndarray


def scores(
    rng: np.random.Generator, images: int, biased: bool, quality: np.ndarray = QUALITY
) -> Pool:
    """Scores of every source on every image; noise differs from item to item, and the judge knows
    how much.
    """
    shape = (images, SOURCES)
    true = quality + rng.normal(0, 1, (images, 1)) + rng.normal(0, 1, shape)
    doubt = rng.gamma(1.0, 0.8, shape)
    lean = np.where(np.arange(SOURCES) % 3 == 0, 1.5, -0.3) if biased else 0.0
    said = (
        1.0 + 0.8 * true + lean + rng.normal(0, 0.3, (images, 1)) + doubt * rng.normal(0, 1, shape)
    )
    return _pool(said, true, doubt, images)


def _pool(said: np.ndarray, true: np.ndarray, doubt: np.ndarray, images: int) -> Pool:
    system, image = np.tile(np.arange(SOURCES), images), np.repeat(np.arange(images), SOURCES)
    return Pool(said.ravel(), true.ravel(), system, image, doubt.ravel())


def wins(
    rng: np.random.Generator, images: int, biased: bool, quality: np.ndarray = QUALITY
) -> Pool:
    """One pair of sources in a row after the other on every image: each question is an item of both
    its sources.
    """
    pairs = np.array(list(itertools.combinations(range(SOURCES), 2)))
    true = quality + rng.normal(0, 1.2, (images, SOURCES))
    gap = true[:, pairs[:, 0]] - true[:, pairs[:, 1]]
    won = (gap > 0).astype(float)
    right = rng.random(gap.shape) < 1 - 0.5 * np.exp(-np.abs(gap))
    said = np.where(right, won, 1 - won)
    if biased:
        swayed = rng.random(gap.shape) < 0.25
        said = np.where(
            swayed & (pairs[:, 0] == 3), 1.0, np.where(swayed & (pairs[:, 1] == 3), 0.0, said)
        )
    columns = [np.stack([part, 1 - part], -1).ravel() for part in (said, won)]
    system = np.tile(pairs.ravel(), images)
    image = np.repeat(np.arange(images), pairs.size)
    return Pool(*columns, system, image, np.ones(said.size * 2))


def win_rates(quality: np.ndarray = QUALITY) -> np.ndarray:
    """The true win rates: the difference of two sources is normal."""
    from scipy import stats

    chance = stats.norm.cdf((quality[:, None] - quality) / (1.2 * np.sqrt(2)))
    np.fill_diagonal(chance, np.nan)
    return np.nanmean(chance, axis=1)


def labelled(
    rng: np.random.Generator, pool: Pool, how: str, n: int, paired: bool
) -> tuple[np.ndarray, np.ndarray]:
    """y with NaN where there is no label, and the probabilities. ``paired``: both rows of a
    question are labelled.
    """
    step = 2 if paired else 1
    heads = np.arange(0, pool.said.size, step)
    if how == "image":
        chosen = np.flatnonzero(
            np.isin(pool.image[heads], rng.choice(pool.image.max() + 1, n, replace=False))
        )
        chances = np.full(heads.size, n / (pool.image.max() + 1))
    else:
        error = pool.doubt[heads] if how == "label" else np.ones(heads.size)
        chances = inclusion_probabilities(error, n)
        chosen = draw(chances, rng, pool.system[heads])
    y, probability = np.full(pool.said.size, np.nan), np.repeat(chances, step)
    rows = (heads[chosen][:, None] + np.arange(step)).ravel()
    y[rows] = pool.true[rows]
    return y, probability


@dataclass
class Tally:
    """Hits and cases."""

    hits: float = 0
    cases: int = 0

    def add(self, values: list[bool] | np.ndarray) -> None:
        """Count them."""
        self.hits += float(np.sum(values))
        self.cases += len(values)

    @property
    def share(self) -> float:
        """Hits over cases."""
        return self.hits / max(self.cases, 1)


def coverage(replications: int) -> Iterator[tuple[str, ...]]:
    """One row a design."""
    makers = {
        "means": (scores, QUALITY, False),
        "means, near ties": (partial(scores, quality=CLOSE), CLOSE, False),
        "win rates": (wins, win_rates(), True),
        "win rates, near ties": (partial(wins, quality=CLOSE), win_rates(CLOSE), True),
    }
    for name, (make, target, paired) in makers.items():
        order = 1 + np.argsort(np.argsort(-target))
        for images, biased, how in itertools.product(
            (20, 50, 200), (False, True), ("item", "image", "label")
        ):
            if paired and how == "label":
                continue
            n = {"item": 60 if not paired else 120, "label": 60, "image": 10}[how]
            inside, ranks, widths = Tally(), Tally(), []
            for i in range(replications):
                rng = rng_for(i, "decisions", name, images, biased, how)
                pool = make(rng, images, biased)
                y, probability = labelled(rng, pool, how, n, paired)
                found = pooled_means(pool.said, y, pool.system, pool.image, probability=probability)
                ends = [found.interval(s) for s in range(SOURCES)]
                inside.add(
                    [e is not None and e[0] <= t <= e[1] for e, t in zip(ends, target, strict=True)]
                )
                widths += [e[1] - e[0] for e in ends if e is not None]
                sets = rank_sets(found.values, found.covariance, found.freedom)
                ranks.add(
                    [s is not None and s[0] <= k <= s[1] for s, k in zip(sets, order, strict=True)]
                )
            judge = "biased" if biased else "fair"
            figures = (f"{inside.share:.1%}", f"{np.mean(widths):.3f}", f"{ranks.share:.1%}")
            yield (name, str(images), judge, f"{n} by {how}", *figures)


def queue(replications: int) -> Iterator[tuple[str, ...]]:
    """`label` beside random labels: bias and root mean squared error of the corrected means, in
    units of the score.
    """
    for images, n in ((50, 60), (200, 60), (200, 120)):
        errors: dict[str, list[np.ndarray]] = {"item": [], "label": []}
        for i in range(replications):
            rng = rng_for(i, "queue", images, n)
            pool = scores(rng, images, True)
            finite = np.bincount(pool.system, pool.true) / images
            for how in errors:
                y, probability = labelled(rng, pool, how, n, False)
                found = pooled_means(pool.said, y, pool.system, pool.image, probability=probability)
                errors[how].append(found.values - finite)
        tables = {how: np.array(values) for how, values in errors.items()}
        cells = [
            f"{t.mean():+.4f} ± {t.mean(1).std() / np.sqrt(len(t)):.4f}" for t in tables.values()
        ]
        spread = [float(np.sqrt((t**2).mean())) for t in tables.values()]
        yield (
            str(images),
            str(n),
            *cells,
            *(f"{s:.3f}" for s in spread),
            f"{1 - (spread[1] / spread[0]) ** 2:.0%}",
        )


def rounds(replications: int) -> Iterator[tuple[str, ...]]:
    """RMSE of labels in rounds, pooled and with probability 1 for earlier rounds (as version 0.2
    had it).
    """
    for images, sizes in itertools.product((50, 200), ((50,), (50, 50), (25, 25, 25, 25), (100,))):
        errors: dict[str, list[np.ndarray]] = {"pooled": [], "one": []}
        for i in range(replications):
            rng = rng_for(i, "rounds", images, len(sizes), sum(sizes))
            pool = scores(rng, images, True)
            own, number = np.full(pool.said.size, np.nan), np.zeros(pool.said.size, dtype=int)
            for r, n in enumerate(sizes, 1):
                left = np.flatnonzero(number == 0)
                chances = inclusion_probabilities(pool.doubt[left], n)
                drawn = draw(chances, rng, pool.system[left])
                own[left[drawn]], number[left[drawn]] = chances[drawn], r
            kept = number > 0
            pooled = own.copy()
            pooled[kept] = pooled_probabilities(
                own[kept], number[kept], pool.system[kept], np.bincount(pool.system)
            )
            for name, chance in (
                ("pooled", pooled),
                ("one", np.where(number < len(sizes), 1.0, own)),
            ):
                y = np.where(kept, pool.true, np.nan)
                found = pooled_means(
                    pool.said,
                    y,
                    pool.system,
                    pool.image,
                    probability=np.where(kept, chance, np.nan),
                )
                errors[name].append(found.values - np.bincount(pool.system, pool.true) / images)
        cells = [f"{np.sqrt(np.nanmean(np.array(table) ** 2)):.3f}" for table in errors.values()]
        yield (str(images), " + ".join(map(str, sizes)), *cells)


def cascades(
    replications: int, alpha: float = 0.1, delta: float = 0.1
) -> Iterator[tuple[str, ...]]:
    """How often the risk is kept on new questions, for judges whose confidence tells little and
    much.
    """
    for images, alike, skill in itertools.product((50, 200), (False, True), (0.5, 1.5)):
        kept, used = Tally(), []
        for i in range(replications):
            rng = rng_for(i, "cascade", images, alike, skill)
            image = np.repeat(np.arange(images), 10)
            sure = rng.random(image.size)
            shift = rng.normal(0, 1.0 if alike else 0.0, images)[image]
            wrong = rng.random(image.size) < _wrong(sure, shift, skill)
            found = risk_threshold(sure, wrong.astype(float), alpha, delta=delta, clusters=image)
            kept.add([_true_risk(found.value, alike, skill) <= alpha])
            used.append(found.kept)
        design = "alike within image" if alike else "independent"
        yield (str(images), design, f"{skill:g}", f"{kept.share:.1%}", f"{np.mean(used):.1%}")


def _wrong(sure: np.ndarray, shift: np.ndarray, skill: float) -> np.ndarray:
    """The probability of an error falls with the confidence; hard images err more."""
    from scipy.special import expit

    return expit(-1.2 - skill * 4 * (sure - 0.5) + shift)


def _true_risk(threshold: float, alike: bool, skill: float) -> float:
    if not np.isfinite(threshold):
        return 0.0
    grid = np.linspace(min(threshold, 1.0), 1, 200)[:, None]
    points, weights = np.polynomial.hermite_e.hermegauss(30)
    shift = points * (1.0 if alike else 0.0)
    return float((_wrong(grid, shift, skill) @ (weights / weights.sum())).mean())


def table(title: str, columns: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> None:
    """Print as Markdown, row by row."""
    print(f"\n### {title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    """All tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="100 replications instead of 1,000")
    n = 100 if parser.parse_args().quick else 1000
    columns = ("Figure", "Images", "Judge", "Labels", "Coverage", "Width", "Ranks covered")
    table("Corrected figures", columns, coverage(n))
    columns = (
        "Images",
        "Labels",
        "Bias, random",
        "Bias, label",
        "RMSE, random",
        "RMSE, label",
        "Variance saved",
    )
    table("What to label next", columns, queue(n))
    columns = ("Images", "Labels", "RMSE", "RMSE, earlier rounds with probability 1")
    table("Labels in rounds", columns, rounds(n))
    columns = ("Images", "Errors", "Skill", "Risk kept", "Answers kept")
    table("Cascade, risk 0.1, delta 0.1", columns, cascades(n))


if __name__ == "__main__":
    main()
