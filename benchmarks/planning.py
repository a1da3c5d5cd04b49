"""Is the power that `visualjudge plan` states the power that studies then have?

    python benchmarks/planning.py [--studies 200] [--only NAME] [--components] [--judges]

Each design plans from one large pilot, so that only the method can be wrong, and then 200 studies
are made by another process than the planner supposes: logistic effects of images and pairs, images
on which the judge fails as a whole, and answers that depend on the margin by an exponential curve.
They are analysed as the report and the card analyse runs. `--components`: how often the intervals
of variance components hold the planted ones. `--judges`: whether what `plan --judges` chooses keeps
its risk on endless images, and how often its interval holds the error that it has there.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import special

from visualjudge.analysis.accuracy_cells import margin_bin
from visualjudge.analysis.analysing import pairwise_figures
from visualjudge.analysis.bias import preference
from visualjudge.analysis.comparisons import paired
from visualjudge.analysis.decisions.card import Shown, _evidence, answer_of, skill_of
from visualjudge.analysis.decisions.checks import NOT_ASKED, check, read_thresholds
from visualjudge.analysis.study_table import Run, Study
from visualjudge.analysis.variance import variance_row
from visualjudge.apps.planning import judge_simulation
from visualjudge.apps.planning.cheapest_judges import Candidate, plan_of
from visualjudge.apps.planning.judge_simulation import Design
from visualjudge.apps.planning.plan_inputs import USUAL, Target
from visualjudge.apps.planning.study_goals import Goal, Terms, question_of


@dataclass(frozen=True)
class World:
    """Sources, the judge, and how its errors go together."""

    name: str
    goal: Goal
    design: Design
    sources: int
    right: float
    effect: float | None = None
    spread: float = 0.5
    """Between the sources' mean scores, from each to the next."""
    image: float = 0.6
    """Deviation of the effect of the image, in logits."""
    pair: float = 0.8
    fails: float = 0.0
    """Share of images on which the judge guesses."""
    slope: float = 0.7
    """How fast answers become right with the margin."""
    lean: float = 0.0


WORLDS = (
    World("rank, 3 sources, 40 images, judge .85", "rank", Design(40, 3), 3, 0.85, spread=1.6),
    World(
        "rank, 10 sources, 200 images, .75, images fail",
        "rank",
        Design(200, 5),
        10,
        0.75,
        spread=0.4,
        fails=0.1,
    ),
    World(
        "rank, 40 sources, 180 images, judge .80",
        "rank",
        Design(180, 10, 1, 1),
        40,
        0.80,
        spread=0.12,
    ),
    World("right, 10 images, judge .66", "right", Design(10, 10, 2), 5, 0.66, image=0.4),
    World(
        "right, 100 images, judge .82, images fail", "right", Design(100, 5), 5, 0.82, fails=0.08
    ),
    World(
        "right, 14 images, judge .93, hard images",
        "right",
        Design(14, 3),
        5,
        0.93,
        image=1.2,
        slope=3,
    ),
    World(
        "bias, 40 images, lean .03",
        "bias",
        Design(40, 2),
        5,
        0.75,
        effect=0.03,
        lean=0.03,
        spread=0.8,
    ),
    World("compare, 400 images, 5 points", "compare", Design(400, 2, 1, 1), 5, 0.75, effect=0.05),
)


def pairs_of(world: World, images: int, most: int, rng: np.random.Generator) -> pl.DataFrame:
    """Pairs of each image with true scores; the number of pairs of an image differs."""
    scores = (
        5
        + world.spread * (np.arange(world.sources) - world.sources / 2)
        + 1.6 * rng.normal(size=(images, world.sources))
    )
    rows = []
    for g in range(images):
        twos = [(i, j) for i in range(world.sources) for j in range(i)]
        for t in rng.permutation(len(twos))[:most]:
            i, j = twos[t]
            better, worse = (i, j) if scores[g, i] > scores[g, j] else (j, i)
            rows.append(
                (g, f"s{better:02}", f"s{worse:02}", float(abs(scores[g, i] - scores[g, j])))
            )
    return pl.DataFrame(rows, schema=["image", "better", "worse", "margin"], orient="row")


def verdicts(
    world: World,
    pairs: pl.DataFrame,
    design: Design,
    shift: float,
    rng: np.random.Generator,
    shared: tuple | None = None,
) -> pl.DataFrame:
    """One row a verdict, as the analysis joins them."""
    image, margin = pairs["image"].to_numpy(), pairs["margin"].to_numpy()
    effect, fails, hard = shared or effects(world, pairs, rng)
    logit = shift + world.image * effect[image] + world.pair * hard
    knows = (1 - np.exp(-world.slope * margin)) / (1 + np.exp(-logit))
    chance = np.where(fails[image], 0.5, 0.5 + 0.5 * knows)
    a_better = rng.random(margin.size) < 0.5
    parts = []
    for e in range(design.encodings):
        for o in range(design.orders):
            for r in range(design.repeats):
                first_right = a_better ^ (o == 1)
                p = np.clip(chance + np.where(first_right, world.lean, -world.lean), 0, 1)
                right = rng.random(margin.size) < p
                says_a = right == a_better
                parts.append(
                    pairs.with_columns(
                        pl.Series("pair", np.arange(margin.size)), encoding=pl.lit(f"e{e}"),
                        order=pl.lit("BA" if o else "AB"), repeat=pl.lit(r), right=pl.Series(right),
                        first_right=pl.Series(first_right),
                        text=pl.Series(np.where(says_a, "A", "B")),
                        answer=pl.Series(np.where(a_better, "A", "B")),
                        said_first=pl.Series(says_a ^ (o == 1)),
                    )
                )  # fmt: skip
    table = pl.concat(parts).with_columns(
        task=pl.lit("task"), cluster=pl.col("image"), kind=pl.lit("pairwise"), parsed=pl.lit(True),
        status=pl.lit("ok"), cause=pl.lit(None, pl.String), error_type=pl.lit("x"),
        probe_design=pl.lit(None, pl.String),
        number=pl.lit(None, pl.Float64), truth=pl.lit(None, pl.Float64),
        probability_a=pl.lit(None, pl.Float64), tokens_in=pl.lit(None, pl.Int64),
        options=pl.lit(2, pl.Int32), latency_s=pl.lit(None, pl.Float64),
        question=pl.concat_str("pair", "encoding").rank("dense").cast(pl.Int32),
        id=pl.concat_str("pair", "encoding"),
    )  # fmt: skip
    first = pl.col("answer") == "A"
    names = [
        pl.when(first).then(x).otherwise(y) for x, y in (("better", "worse"), ("worse", "better"))
    ]
    scores = [
        pl.when(first).then(x).otherwise(y)
        for x, y in ((5 + pl.col("margin"), 5.0), (5.0, 5 + pl.col("margin")))
    ]
    return table.with_columns(
        sources=pl.concat_list(names), scores=pl.concat_list(scores), margin_bin=margin_bin(),
        annotations=pl.concat_list(pl.format("{}a", "pair"), pl.format("{}b", "pair")),
        ties=pl.lit([], pl.List(pl.String)),
    )  # fmt: skip


def effects(
    world: World, pairs: pl.DataFrame, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of images, of images that fail, and of pairs."""
    images = int(pairs["image"].max()) + 1
    return rng.normal(size=images), rng.random(images) < world.fails, rng.normal(size=pairs.height)


def shift_for(world: World, share: float) -> float:
    """The logit at which so many verdicts are right."""
    rng = np.random.default_rng(1)
    pairs = pairs_of(world, 1500, 6, rng)
    shared = effects(world, pairs, rng)
    low, high = -8.0, 12.0
    for _ in range(16):
        middle = (low + high) / 2
        found = float(
            verdicts(world, pairs, Design(0), middle, np.random.default_rng(2), shared)[
                "right"
            ].mean()
        )
        low, high = (middle, high) if found < share else (low, middle)
    return middle


def reached(
    world: World,
    pool: pl.DataFrame,
    shift: float,
    rng: np.random.Generator,
    state: str,
    other: float,
) -> bool:
    """One study, analysed as a run is."""
    design, rules = world.design, read_thresholds()
    pairs = drawn(pool, design, rng)
    if world.goal == "compare":
        # half of the variance of the effects is common to the two judges, as the plan supposes
        one, two = (effects(world, pairs, rng) for _ in range(2))
        mixed = tuple(
            (a + b) / np.sqrt(2) if a.dtype != bool else a for a, b in zip(one, two, strict=True)
        )
        a = verdicts(world, pairs, design, other, rng, mixed)
        b = verdicts(world, pairs, design, shift, rng, one)
        both = a.select("question", "right", "cluster").with_columns(right_b=b["right"])
        gap = paired(both, ("a", "b"), 0.05).gap.interval
        return gap is not None and gap[0] > 0
    table = verdicts(world, pairs, design, shift, rng)
    study = Study(table, (Run("judge", None, {}, table),))
    place = preference(table, "position").estimate
    shown = Shown(pairwise_figures(table), place, None, None)
    name = {"rank": "order_of_sources", "right": "macro_accuracy", "bias": "lean"}[world.goal]
    found = answer_of(study, 0, shown, rules, NOT_ASKED) if world.goal == "rank" else None
    if found is None:
        skill = skill_of(shown, rules.checks["macro_accuracy"])
        return check(name, _evidence(shown)[name], rules, skill=skill).state == state
    return next(row for row in found.checks if row.name == name).state == state


def drawn(pool: pl.DataFrame, design: Design, rng: np.random.Generator) -> pl.DataFrame:
    """Images of the pool with replacement, each with some of its pairs."""
    parts = pool.partition_by("image", maintain_order=True)
    out = []
    for g, k in enumerate(rng.integers(0, len(parts), design.images)):
        own = parts[k]
        kept = own[np.sort(rng.permutation(own.height)[: design.pairs])]
        out.append(kept.with_columns(image=pl.lit(g)))
    return pl.concat(out)


def planned_and_reached(world: World, studies: int) -> tuple[float, float, float]:
    """Planned power, its error, and the power that studies have."""
    rng = np.random.default_rng(sum(map(ord, world.name)))
    pool = pairs_of(world, 600, min(45, max(world.design.pairs * 2, 3)), rng)
    shift = shift_for(world, world.right)
    other = shift_for(world, world.right + 0.05) if world.goal == "compare" else 0.0
    pilot = pairs_of(world, 800, 4, rng)
    judge = judge_simulation.fitted(
        verdicts(world, pilot, Design(0, 4, 2, 2, 2), shift, rng), USUAL
    )
    rules = read_thresholds()
    effect = world.effect
    target = Target("run", "benchmark", "task", judge_simulation.pool_of(pool), judge, {}, ())
    if world.goal == "right":
        measured = float(
            np.mean(
                [verdicts(world, pool, Design(0), shift, rng)["right"].mean() for _ in range(40)]
            )
        )
        effect = measured - rules.checks["macro_accuracy"].value
    elif world.goal == "compare":
        target = replace(target, judge=judge.at(world.right, target.pool))
    question = question_of(target, world.goal, effect, rules, Terms(), 7)
    state = "fail" if "“fail”" in question.claim else "pass"
    power = question.reached(world.design, 600, 1000)
    hits = [reached(world, pool, shift, rng, state, other) for _ in range(studies)]
    return power.value, power.error, float(np.mean(hits))


def power_table(studies: int, only: str | None) -> None:
    print(f"{'design':45} {'planned':>9} {'reached':>9} {'apart':>7} {'seconds':>8}")
    near, count = 0, 0
    for world in WORLDS:
        if only and only not in world.name:
            continue
        start = time.process_time()
        planned, error, seen = planned_and_reached(world, studies)
        apart = 100 * (planned - seen)
        near, count = near + (abs(apart) <= 7), count + 1
        seconds = time.process_time() - start
        print(
            f"{world.name:45} {planned:7.1%}±{200 * error:.0f} {seen:9.1%} {apart:+7.1f} "
            f"{seconds:8.1f}",
            flush=True,
        )
    print(f"within 7 points: {near} of {count}")


# ---------------------------------------------------------------- variance components


def components_table(studies: int) -> None:
    """60 images with 4 pairs in 2 encodings, 2 orders and 2 repeats; normal effects."""
    shape = (60, 4, 2, 2, 2)
    image, pair, encoding, order, _ = np.indices(shape).reshape(5, -1)
    names = ("image", "item", "item_x_encoding", "order", "repeat")
    spread = (0.6, 0.5, 0.4, 0.3, 0.5)
    want = dict(zip(names, np.square(spread), strict=True))
    want["item"] += want["image"]  # a pair has that of its image, too
    held: dict[str, list[bool]] = {name: [] for name in names}
    for seed in range(studies):
        rng = np.random.default_rng(seed)
        y = sum(
            s * rng.normal(size=(*shape[: d + 1], *[1] * (4 - d))) for d, s in enumerate(spread)
        )
        columns = {"cluster": image, "pair": image * 4 + pair, "encoding": encoding, "order": order}
        row = variance_row(pl.DataFrame({**columns, "right": y.ravel()}), "t")
        for name in names:
            low, high = row.ends[name]
            held[name].append(low <= want[name] <= high)
    for name in names:
        print(f"{name:16} {np.mean(held[name]):.1%}")


# ---------------------------------------------------------------- judges


RIGHT = {"a": 0.80, "b": 0.82, "c": 0.84, "d": 0.95}
PRICES = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 10.0}


def answers(images: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Whether each judge is right on 4 pairs of each image in both orders: (pairs, 2). Difficulty
    is common to the judges by image and pair, and each judge has its own."""
    image = np.repeat(np.arange(images), 4)
    common = 0.7 * rng.normal(size=images)[image] + 0.7 * rng.normal(size=image.size)
    out = {}
    for name, share in RIGHT.items():
        own = common + 0.7 * rng.normal(size=image.size)
        edge = special.logit(share) * 1.3
        out[name] = rng.random((image.size, 2)) < special.expit(edge + own)[:, None]
    return out


def error_of(chosen: Candidate, right: dict[str, np.ndarray]) -> float:
    """Of a candidate on these answers, written once more."""
    told = [right[one.judge][:, : len(one.asks)] for one in chosen.members]
    if chosen.kind == "cascade":
        cheap, dear = told
        sure = cheap.all(1) | ~cheap.any(1)
        return 1 - float(np.where(sure, cheap.all(1), dear.all(1)).mean())
    votes = np.stack(told).sum(0) > len(told) / 2
    return 1 - float(votes.all(1).mean())


def judges_table(studies: int) -> None:
    everywhere = answers(50_000, np.random.default_rng(0))
    print(f"{'risk':>5} {'images':>6} {'reached':>8} {'keeps it':>9} {'held':>6}  kinds chosen")
    for risk, images in ((0.08, 120), (0.12, 120), (0.12, 40)):
        kept, held, kinds, reached = [], [], Counter[str](), 0
        for seed in range(studies):
            right = answers(images, np.random.default_rng(1000 + seed))
            names = [f"q{k}" for k in range(4 * images)]
            table = pl.DataFrame({"id": names, "cluster": np.repeat(np.arange(images), 4)})
            parts = {
                name: pl.concat(
                    table.with_columns(
                        order=pl.lit(order), repeat=pl.lit(0), answer=pl.lit("A"),
                        text=pl.Series(np.where(hits[:, o], "A", "B")), parsed=pl.lit(True),
                        kind=pl.lit("pairwise"), probability_a=pl.lit(None, pl.Float64),
                        tokens_in=pl.lit(None, pl.Int64), probe_design=pl.lit(None, pl.String),
                    )
                    for o, order in enumerate(("AB", "BA"))
                )
                for name, hits in right.items()
            }  # fmt: skip
            runs = tuple(Run(name, None, {}, part) for name, part in parts.items())
            found = plan_of(Study(table, runs), risk=risk, prices=PRICES, seed=seed)
            truth = error_of(found.chosen, everywhere)
            kinds[found.chosen.kind] += 1
            reached += found.reached
            kept += [truth <= risk] if found.reached else []
            ends = found.chosen.error.interval
            held += [] if ends is None else [ends[0] <= truth <= ends[1]]
        told = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        print(
            f"{risk:5} {images:6} {reached / studies:8.0%} {np.mean(kept or [np.nan]):9.0%} "
            f"{np.mean(held):6.0%}  {told}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--only")
    parser.add_argument("--components", action="store_true")
    parser.add_argument("--judges", action="store_true")
    asked = parser.parse_args()
    if asked.components:
        components_table(asked.studies)
    elif asked.judges:
        judges_table(asked.studies)
    else:
        power_table(asked.studies, asked.only)
