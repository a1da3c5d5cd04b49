"""Clustered shares and bounds: coverage, width, and promises kept, by a generator of its own.

    python benchmarks/clustered_shares.py [--replications 400] [--only
    shares|whole|bounds|cascade|encodings]

Images get a probability of an error each, from a normal on the logit scale ("logit"), from a beta
distribution with a given intraclass correlation ("beta"), or a few images fail nearly throughout
("rare"). Width is the mean width over that of the exact binomial interval (three quarters of the
count seen) for n over the true design effect.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import polars as pl
from scipy import optimize, special, stats

from visualjudge.analysis.encoding_choice import recommend
from visualjudge.analysis.statistics import risk_threshold
from visualjudge.analysis.statistics.share_intervals import WHOLE_IMAGES, shares, upper_bounds

EDGE = 1e-9
POINTS, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


KINDS = (("beta", 0.0), ("beta", 0.1), ("logit", 1.0), ("beta", 0.3), ("beta", 0.6), ("rare", 0.0))


def chances(
    kind: str, error: float, alike: float, shape: tuple[int, int], rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Each image's probability of an error, and the intraclass correlation that it implies."""
    if kind == "beta":
        if alike == 0:
            return np.full(shape, error), 0.0
        size = 1 / alike - 1
        return rng.beta(error * size, (1 - error) * size, shape), alike
    if kind == "rare":
        often = 0.8
        variance = often * error - error**2
        return np.where(rng.random(shape) < error / often, often, 0.0), variance / (
            error * (1 - error)
        )
    centre = optimize.brentq(
        lambda a: float(WEIGHTS @ special.expit(a + alike * POINTS)) - error, -20, 20
    )
    variance = float(WEIGHTS @ special.expit(centre + alike * POINTS) ** 2) - error**2
    return special.expit(centre + alike * rng.normal(size=shape)), variance / (error * (1 - error))


def coverage(replications: int) -> Iterator[tuple[str, ...]]:
    """Two-sided intervals."""
    for images in (10, 20, 30, 60):
        for size in ("8", "20", "2 to 20"):
            for kind, alike in KINDS:
                cells = []
                for error in (0.4, 0.25, 0.1, 0.04):
                    rng = np.random.default_rng([images, int(100 * error), int(10 * alike)])
                    shape = (replications, images)
                    n = (
                        rng.integers(2, 21, shape)
                        if size == "2 to 20"
                        else np.full(shape, int(size))
                    )
                    chance, correlation = chances(kind, error, alike, shape, rng)
                    wrong = rng.binomial(n, chance)
                    place = np.repeat(np.arange(replications), images)
                    found = shares(
                        wrong.ravel().astype(float), n.ravel().astype(float), place, replications
                    )
                    effect = 1 + correlation * ((n**2).sum(1) / n.sum(1) - 1)
                    single = n.sum(1) / effect
                    low, high = (
                        1 - exact(single * (1 - found.value), single),
                        exact(single * found.value, single),
                    )
                    held = ((found.low <= error) & (found.high >= error)).mean()
                    known = ((low <= error) & (high >= error)).mean()
                    none = no_error(n)
                    widths = (
                        found.high - found.low,
                        np.maximum(high, none) - np.minimum(low, 1 - none),
                    )
                    width, least = (float(x.mean() / (high - low).mean()) for x in widths)
                    cells.append(f"{100 * held:.1f} ({100 * known:.1f}), {width:.2f} ({least:.2f})")
                yield str(images), size, f"{kind} {alike:g}", *cells


def whole_images(_replications: int) -> Iterator[tuple[str, ...]]:
    """Exact coverage where the cases of an image are all right or all wrong, for shares from 1 to
    50 %.
    """
    truth = np.linspace(0.01, 0.5, 99)[:, None]
    for images in (10, 15, 20, 30, 40, 60):
        for cases in (5, 20):
            wrong = np.arange(images + 1)
            each = np.arange(images) < wrong[:, None]
            n = np.full(each.size, float(cases))
            found = shares(n * each.ravel(), n, np.repeat(wrong, images), images + 1)
            held = (found.low <= truth + EDGE) & (truth - EDGE <= found.high)
            coverage = (stats.binom.pmf(wrong, images, truth) * held).sum(1)
            least, at = coverage.min(), truth[coverage.argmin(), 0]
            yield (
                f"{images}",
                f"{cases}",
                f"{100 * least:.1f} (at {100 * at:.1f} %)",
                f"{100 * coverage.mean():.1f}",
            )


def no_error(n: np.ndarray) -> np.ndarray:
    """The upper bounds of (rows, images) cases without an error: no monotone bound of any errors is
    below them.
    """
    place = np.repeat(np.arange(len(n)), n.shape[1])
    return upper_bounds(np.zeros(n.size), n.ravel().astype(float), place, len(n))


def exact(hits: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The upper end of the binomial interval with three quarters of the count seen."""
    low, high = np.clip(hits / n, 0, 1), np.ones(n.size)
    for _ in range(40):
        middle = (low + high) / 2
        below = np.where(
            hits > 1e-9, special.betaincc(np.maximum(hits, 1e-9), n - hits + 1, middle), 0
        )
        tail = 0.75 * special.betaincc(hits + 1, np.maximum(n - hits, 1e-9), middle) + 0.25 * below
        low, high = np.where(tail > 0.025, middle, low), np.where(tail > 0.025, high, middle)
    return high


def bounds(replications: int) -> Iterator[tuple[str, ...]]:
    """One-sided bounds for promises, at 90 %."""
    for images in (20, 50, 200):
        for kind, alike in (("rare", 0.0), ("logit", 1.5), ("beta", 1 - 1e-6), ("beta", 0.0)):
            cells = []
            for error in (0.03, 0.055, 0.1):
                rng = np.random.default_rng([images, int(1000 * error)])
                chance, _ = chances(kind, error, alike, (replications, images), rng)
                wrong = rng.binomial(20, chance).ravel().astype(float)
                place = np.repeat(np.arange(replications), images)
                found = upper_bounds(
                    wrong,
                    np.full(wrong.size, 20.0),
                    place,
                    replications,
                    tail=0.1,
                    supposed=WHOLE_IMAGES,
                )
                cells.append(f"{100 * (found >= error).mean():.1f}, {np.median(found):.3f}")
            yield str(images), f"{kind} {alike:g}", *cells


CASCADES = (
    (20, 20, 0.055, 0.05),
    (20, 20, 0.055, 0.1),
    (50, 10, 0.055, 0.1),
    (50, 10, 0.11, 0.1),
    (100, 10, 0.06, 0.05),
    (100, 10, 0.03, 0.05),
)
ENCODINGS = ((20, 10, 0.56, 0.35), (20, 10, 0.75, 0.5), (50, 10, 0.56, 0.35))


def cascade(replications: int) -> Iterator[tuple[str, ...]]:
    """How often the risk is kept where a share of the images fools the judge at any confidence."""
    for images, size, bad, risk in CASCADES:
        kept, used = 0, 0.0
        for r in range(replications):
            rng = np.random.default_rng([r, images, int(1000 * bad)])
            image = np.repeat(np.arange(images), size)
            wrong = rng.random(image.size) < np.where((rng.random(images) < bad)[image], 1.0, 0.002)
            found = risk_threshold(
                rng.random(image.size), wrong.astype(float), risk, clusters=image
            )
            kept += not np.isfinite(found.value) or bad + (1 - bad) * 0.002 <= risk
            used += found.kept
        yield (
            f"{images} × {size}",
            f"{bad:.1%}",
            f"{risk:g}",
            f"{kept / replications:.1%}",
            f"{used / replications:.1%}",
        )


def encodings(replications: int) -> Iterator[tuple[str, ...]]:
    """Nine encodings alike and one that is worse: the figure of the one recommended, less the
    truth.
    """
    for images, pairs, good, bad in ENCODINGS:
        errors, held, named = [], 0, 0
        for r in range(replications):
            rng = np.random.default_rng([r, images])
            pair = np.repeat(np.arange(images * pairs), 10)
            encoding = np.tile(np.arange(10), images * pairs)
            shift = (
                rng.normal(0, 0.05, images)[pair // pairs]
                + rng.normal(0, 0.1, images * pairs)[pair]
            )
            right = rng.random(pair.size) < np.clip(
                np.where(encoding == 9, bad, good) + shift, 0, 1
            )
            table = pl.DataFrame(
                {
                    "pair": pair,
                    "cluster": pair // pairs,
                    "encoding": [f"e{k}" for k in encoding],
                    "right": right,
                    "tokens_in": 100,
                }
            )
            choice = recommend(table, "task", r)
            if (
                choice.recommended
                and choice.chosen.value is not None
                and choice.chosen.interval is not None
            ):
                truth = bad if choice.recommended == "e9" else good
                low, high = choice.chosen.interval
                errors.append(choice.chosen.value - truth)
                named, held = named + 1, held + (low <= truth <= high)
        mean, error = np.mean(errors), np.std(errors) / max(1, len(errors)) ** 0.5
        yield (
            f"{images} × {pairs}",
            f"{good:g}, {bad:g}",
            f"{named / replications:.0%}",
            f"{100 * mean:+.1f} ± {100 * error:.1f}",
            f"{100 * held / max(1, named):.1f}",
        )


TABLES = {
    "shares": (coverage, ("Images", "Cases", "Images differ", "40 %", "25 %", "10 %", "4 % wrong")),
    "whole": (whole_images, ("Images", "Cases", "Least coverage", "Mean")),
    "bounds": (bounds, ("Images", "Images differ", "3 %", "5.5 %", "10 % wrong")),
    "cascade": (
        cascade,
        ("Images × questions", "Images that fool", "Risk", "Kept", "Answers kept"),
    ),
    "encodings": (encodings, ("Images × pairs", "Right", "Recommended", "Points off", "Covered")),
}


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replications", type=int, default=400)
    parser.add_argument("--only", choices=list(TABLES))
    args = parser.parse_args()
    for name, (rows, columns) in TABLES.items():
        if args.only in (None, name):
            print(
                f"\n### {name}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True
            )
            for row in rows(args.replications):
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
