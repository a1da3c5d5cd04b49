"""Do the intervals cover, are biased judges flagged and fair ones not, is the 75 % point found?

    python benchmarks/coverage.py [--simulations 500] [--images 40]

Simulated judges of known properties answer simulated questions, many to an image; images differ in difficulty, so that
verdicts on one image go together. The true value is the population's: 200 000 images of the same recipe. Prints one
row a figure: the share of simulations whose 95 % interval holds the truth, or in which a bias is flagged.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
import polars as pl

from visualjudge.analysis.bias import PREFERRED, preferences
from visualjudge.analysis.bootstrap import Resampling
from visualjudge.analysis.cells import pairwise_cells
from visualjudge.analysis.psychometric import sensitivity
from visualjudge.analysis.scores import scoring_block
from visualjudge.seeding import rng_for


@dataclass(frozen=True)
class Judge:
    """A simulated judge: right with ``base``, or by margin with scale ``alpha``; images differ by ``spread`` logits."""

    name: str
    base: float = 0.8
    spread: float = 0.0
    first: float = 0.0
    """How often it says the first option without looking."""
    alpha: float | None = None
    failed: float = 0.0


JUDGES = (
    Judge("oracle:0.8"),
    Judge("oracle:0.6", base=0.6),
    Judge("oracle:0.95", base=0.95),
    Judge("oracle:0.8, images differ", spread=1.0),
    Judge("oracle:0.8, first 15 %", first=0.15),
    Judge("oracle:0.8, images differ, 5 % fail", spread=1.0, failed=0.05),
    Judge("by margin", alpha=2.0),
    Judge("by margin, images differ", alpha=2.0, spread=0.5),
)


def chance_right(judge: Judge, margin: np.ndarray, effect: np.ndarray) -> np.ndarray:
    """P(right) of each question before the bias for the first place."""
    if judge.alpha is not None:
        return 0.5 + 0.5 * (1 - np.exp(-((margin / (judge.alpha * np.exp(effect))) ** 1.2)))
    logit = np.log(judge.base / (1 - judge.base)) + effect
    return 1 / (1 + np.exp(-logit))


def verdicts(judge: Judge, images: int, rng: np.random.Generator) -> pl.DataFrame:
    """A table as the analysis joins it: 4 to 24 questions an image, half of them with A right."""
    per_image = rng.integers(4, 25, images)
    cluster = np.repeat(np.arange(images), per_image)
    effect = judge.spread * rng.normal(size=images)[cluster]
    margin = rng.uniform(0.02, 10, cluster.size)
    right = rng.random(cluster.size) < chance_right(judge, margin, effect)
    a_right = rng.random(cluster.size) < 0.5
    says_a = np.where(rng.random(cluster.size) < judge.first, True, right == a_right)
    parsed = rng.random(cluster.size) >= judge.failed
    said = pl.when(pl.col("parsed")).then(pl.col("says_a"))
    table = pl.DataFrame(
        {"cluster": cluster, "margin": margin, "first_right": a_right, "says_a": says_a, "parsed": parsed}
    )
    noise = [pl.Series(name, rng.random((cluster.size, 2))).cast(pl.List(pl.Float64)) for name in PREFERRED][1:]
    letters = {"text": pl.col("says_a"), "answer": pl.col("first_right")}
    return table.with_columns(
        *noise,
        *(pl.when(side).then(pl.lit("A")).otherwise(pl.lit("B")).alias(name) for name, side in letters.items()),
        said_first=said,
        right=(pl.col("parsed") & (pl.col("says_a") == pl.col("first_right"))),
    )


def truth(judge: Judge) -> tuple[float, float | None]:
    """Population accuracy and 75 % point (None where accuracy does not depend on the margin)."""
    table = verdicts(judge, 200_000, rng_for(0, "truth", judge.name))
    accuracy = float(table["right"].mean())  # type: ignore[arg-type]
    if judge.alpha is None:
        return accuracy, None
    margin, step = np.linspace(0.01, 10, 4000), rng_for(0, "effects").normal(size=4000)
    curve = [chance_right(judge, np.full(step.size, m), judge.spread * step).mean() for m in margin]
    return accuracy, float(np.interp(0.75, curve, margin))


def covers(ends: object, value: float) -> bool:
    """Whether an interval, open sides infinite, holds ``value``."""
    if not isinstance(ends, tuple):
        return False
    low = -np.inf if ends[0] is None else ends[0]
    high = np.inf if ends[1] is None else ends[1]
    return bool(low <= value <= high)


def one_judge(judge: Judge, simulations: int, images: int) -> dict[str, float | str]:
    """Coverage and flags of one judge."""
    accuracy, jnd = truth(judge)
    held = flagged = alarms = found = bounded = 0
    for s in range(simulations):
        table = verdicts(judge, images, rng_for(1, judge.name, s, images))
        resampling = Resampling(images, s)
        held += covers(pairwise_cells(table, [], resampling)[0]["ci95"], accuracy)
        found_bias = [row["feature"] for row in preferences(table, resampling) if row["flagged"]]
        flagged += "position" in found_bias
        alarms += any(feature != "position" for feature in found_bias)
        if jnd is not None:
            fitted = sensitivity(table, "margin", resampling)
            found += covers(fitted["ci95"], jnd)
            bounded += fitted["jnd"] is not None
    row: dict[str, float | str] = {"judge": judge.name, "truth": round(accuracy, 4), "covered": held / simulations}
    row |= {"place flagged": flagged / simulations, "other flagged": alarms / simulations}
    if jnd is not None:
        row |= {"jnd": round(jnd, 3), "jnd covered": found / simulations, "jnd found": bounded / simulations}
    return row


def scoring(simulations: int, images: int) -> dict[str, float | str]:
    """Coverage of the intervals of Spearman, Pearson, MAE and bias for a judge that adds noise and an image effect."""

    def sample(count: int, rng: np.random.Generator) -> pl.DataFrame:
        cluster = np.repeat(np.arange(count), rng.integers(2, 8, count))
        score = rng.uniform(0, 10, cluster.size)
        said = np.clip(0.6 * score + 2 + rng.normal(size=count)[cluster] + 1.5 * rng.normal(size=cluster.size), 0, 10)
        same = {name: ["x"] * cluster.size for name in ("image", "task", "encoding", "classes", "error_type")}
        return pl.DataFrame({"cluster": cluster, "truth": score, "number": said.round(), "parsed": True, **same})

    whole = sample(100_000, rng_for(0, "scoring truth"))
    population = scoring_block(whole.with_columns(image=pl.int_range(pl.len()).cast(pl.String)), Resampling(100_000))
    names = {"spearman": "ci95", "pearson": "pearson_ci95", "mae": "mae_ci95", "bias": "bias_ci95"}
    held = dict.fromkeys(names, 0)
    for s in range(simulations):
        block = scoring_block(sample(images, rng_for(2, "scoring", s)), Resampling(images, s))
        for name, ends in names.items():
            held[name] += covers(block[ends], population[name])
    return {"judge": "scoring", **{name: hits / simulations for name, hits in held.items()}}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=500)
    parser.add_argument("--images", type=int, default=40)
    parser.add_argument("--only", default="", help="judges whose name holds this")
    args = parser.parse_args()
    started = time.perf_counter()
    rows = []
    for judge in (j for j in JUDGES if args.only in j.name):
        row = one_judge(judge, args.simulations, args.images)
        rows.append(row)
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    print("  ".join(f"{key} {value}" for key, value in scoring(args.simulations, args.images).items()))
    print(f"{args.simulations} simulations of {args.images} images each; {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
