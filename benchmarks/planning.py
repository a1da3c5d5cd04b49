"""What ``visualjudge plan --goal rank`` promises, and what studies then reach.

    python benchmarks/planning.py [--plans 40]

Three models are scored on a pool of images, from which a study is planned. Then 400
studies of that design are drawn from the population that the pool comes from, with the
judge that the plan assumes: a study succeeds if all pairs of models that differ by the
effect are separated in the right order. Printed by number of images in the pool: the
mean power promised and reached, and how often the power reached lies in the range that
the plan states.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np
import polars as pl

from visualjudge.apps.planning import judge_simulation
from visualjudge.apps.planning.judge_simulation import Pool, pool_of
from visualjudge.apps.planning.plan_inputs import USUAL, Target
from visualjudge.apps.planning.study_designs import plan_of
from visualjudge.runs.budget import Prices

MEANS = {
    "all pairs apart": (5.0, 6.2, 7.6),
    "two of three pairs apart": (5.0, 5.0, 7.5),
}
EFFECT = 0.6
POPULATION = 4000
STUDIES = 400


def pool(
    means: tuple[float, ...], images: int, rng: np.random.Generator
) -> Pool:
    """The scores of models on so many images, and all their pairs."""
    scores = rng.normal(means, 1.5, (images, len(means)))
    scores = np.clip(scores + rng.normal(0, 1, (images, 1)), 0, 10)
    rows = []
    for image, own in enumerate(scores.tolist()):
        for a, b in combinations(range(len(means)), 2):
            if own[a] == own[b]:
                continue
            best, worst = (a, b) if own[a] > own[b] else (b, a)
            margin = own[best] - own[worst]
            rows.append((f"{image:05}", f"m{best}", f"m{worst}", margin))
    columns = ["image", "better", "worse", "margin"]
    return pool_of(pl.DataFrame(rows, columns, orient="row"))


def main() -> None:
    """Print a row for each design and size of the pool."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--plans", type=int, default=40)
    plans = options.parse_args().plans
    print("| Models | Pool | Promised | Reached | Difference |")
    print("|---|---:|---:|---:|---:|")
    for name, means in MEANS.items():
        population = pool(means, POPULATION, np.random.default_rng(0))
        judge = USUAL.at(USUAL.level, population)
        order = judge_simulation.orders(population, EFFECT)
        for images in (25, 60):
            rows = []
            for seed in range(plans):
                rng = np.random.default_rng([seed, images])
                target = Target(
                    "dataset",
                    "pool",
                    "task",
                    pool(means, images, rng),
                    judge,
                    "any",
                    None,
                    (),
                )
                made = plan_of(target, "rank", EFFECT, 0.8, Prices(), seed)
                studies = judge_simulation.simulated(
                    population, judge, made.chosen.design, STUDIES, rng
                )
                reached = judge_simulation.separated(studies, order).mean()
                rows.append((made.chosen.power, reached))
            promised, got = np.mean(rows, axis=0)
            print(
                f"| {name} | {images} | {promised:.0%} | {got:.0%} | "
                f"{100 * (got - promised):+.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
