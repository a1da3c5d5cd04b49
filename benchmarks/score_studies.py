"""What the figures of a study of scores hold: intervals, conformal ranges, and the bar
of `yes`.

    python benchmarks/score_studies.py [--sets 400] [--only NAME]

Goal: intervals of correlation, error, bias and gain cover 93 to 98 %, ranges 88 to 93 %
where true scores have no ties (else nearly the least that any ranges cover that hold
90 %), and a judge that knows nothing, or copies the mean of
its task, gets `yes` in at most 5 % of sets. True values come from 40,000 images.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from visualjudge.analysis.statistics.correlation import GROUPS
from visualjudge.analysis.statistics.score_agreement import (
    Figure,
    Scores,
    image_groups,
)
from visualjudge.analysis.statistics.score_bar import (
    Bar,
    error_level,
    order_level,
    over_tasks,
    state,
)
from visualjudge.analysis.statistics.score_ranges import score_ranges
from visualjudge.core.records import FloatArray, IntArray

MANY = 40_000
Rng = np.random.Generator


def steps(values: FloatArray, count: int) -> FloatArray:
    """Return values from 0 to 10 on a scale of ``count`` scores."""
    width = 10 / (count - 1)
    return np.asarray(np.clip(np.round(values / width), 0, count - 1) * width)


@dataclass(frozen=True)
class Design:
    """``images`` with ``items`` each (up to, if ``uneven``); quality has the mean
    ``level``, a part ``shared`` of its variance lies between images; the judge adds
    ``lenient`` and noise of ``error`` points, and both are rounded to their scales (0:
    not rounded).
    """

    name: str
    images: int
    items: int = 1
    uneven: bool = False
    level: float = 5.0
    shared: float = 0.0
    lenient: float = 0.0
    error: float = 2.0
    true_steps: int = 0
    judge_steps: int = 0


DESIGNS = (
    Design("continuous, 60 images", 60),
    Design("5 scores, 20 images", 20, true_steps=5, judge_steps=5),
    Design("5 scores, 5 items an image", 60, 5, shared=0.5, true_steps=5, judge_steps=5),
    Design("saturated: most at the top", 80, lenient=3.5, true_steps=5, judge_steps=5),
    Design("0 to 100 beside a mean", 1000, judge_steps=21, true_steps=0),
    Design("two scores only", 150, true_steps=11, judge_steps=2),
    Design("true scores near the top", 50, 3, level=8.5, shared=0.3, judge_steps=11),
    Design("uneven images, 11 scores", 40, 12, uneven=True, shared=0.6, true_steps=11, judge_steps=11),
)  # fmt: skip


def drawn(design: Design, rng: Rng, images: int = 0) -> tuple[FloatArray, ...]:
    """Return the scores of a judge and of a worse one, the true ones, and the image of
    each."""
    images = images or design.images
    count = np.full(images, design.items)
    if design.uneven:
        count = rng.integers(1, design.items + 1, images)
    image = np.repeat(np.arange(images), count)
    of_image = rng.normal(size=images)[image]
    alone = rng.normal(size=image.size)
    quality = (
        np.sqrt(design.shared) * of_image + np.sqrt(1 - design.shared) * alone
    )
    true = np.clip(design.level + 2 * quality, 0, 10)
    fault = np.sqrt(design.shared) * rng.normal(size=images)[image]
    found = []
    for scale in (1.0, 1.3):
        noise = fault + np.sqrt(1 - design.shared) * rng.normal(size=image.size)
        said = np.clip(
            true + design.lenient + scale * design.error * noise, 0, 10
        )
        found.append(
            steps(said, design.judge_steps) if design.judge_steps else said
        )
    if design.true_steps:
        true = steps(true, design.true_steps)
    return (*found, true, image)


def scores(judged: FloatArray, true: FloatArray, image: IntArray) -> Scores:
    """Return the scores as a judge's."""
    return Scores(judged, true, image, image_groups(image), GROUPS, 1.0)


FIGURES: dict[str, Callable[[Scores, Scores], Figure]] = {
    "Spearman": lambda a, b: a.spearman,
    "Pearson": lambda a, b: a.pearson,
    "bias": lambda a, b: a.bias,
    "error": lambda a, b: a.mae,
    "gain": lambda a, b: a.gain,
    "Spearman, difference": lambda a, b: a.spearman - b.spearman,
    "error, difference": lambda a, b: a.mae - b.mae,
}


def coverage(design: Design, sets: int) -> Iterator[tuple[str, float, float]]:
    """Yield name, coverage and mean width of each figure, and of ranges the same over
    new images."""
    rng = np.random.default_rng(7)
    a, b, true, image = drawn(design, rng, MANY)
    whole = scores(a, true, image), scores(b, true, image)
    truth = {name: of(*whole).value for name, of in FIGURES.items()}
    held = defaultdict[str, list[float]](list)
    widths = defaultdict[str, list[float]](list)
    inside, realised = [], []
    for _ in range(sets):
        a, b, true, image = drawn(design, rng)
        both = scores(a, true, image), scores(b, true, image)
        for name, of in FIGURES.items():
            ends = of(*both).estimate.interval
            if ends is None:
                held[f"{name}: no interval"].append(0.0)
                continue
            held[name].append(float(ends[0] <= truth[name] <= ends[1]))
            widths[name].append(ends[1] - ends[0])
        found = score_ranges(a, true, image)
        new = drawn(design, rng)
        tops = np.array([own.score_high for own in found.ranges])
        which = np.minimum(np.searchsorted(tops, new[0]), tops.size - 1)
        low, high = (
            np.array([getattr(own, k) for own in found.ranges])[which]
            for k in ("low", "high")
        )
        good = (new[2] >= low - 1e-9) & (new[2] <= high + 1e-9)
        inside.append(
            np.mean([good[new[3] == k].mean() for k in np.unique(new[3])])
        )
        realised.append(found.coverage.value)
        widths["ranges"].append(found.width)
    for name, hits in held.items():
        yield name, float(np.mean(hits)), float(np.mean(widths[name] or [0]))
    yield "ranges", float(np.mean(inside)), float(np.mean(widths["ranges"]))
    yield "ranges, as stated", float(np.mean(realised)), 0.0


def least_coverage(design: Design) -> tuple[float, float]:
    """Return the least coverage of at least 90 % that sets of true scores have if the
    population is known: the most likely scores behind each score of the judge, 90 % of
    each; and 90 % of all items, by one threshold of the probability.
    """
    judged, _, true, image = drawn(design, np.random.default_rng(7), MANY)
    said, row = np.unique(judged, return_inverse=True)
    values, column = np.unique(true, return_inverse=True)
    joint = np.zeros((said.size, values.size))
    np.add.at(joint, (row, column), 1 / np.bincount(image)[image] / MANY)
    behind = joint / joint.sum(axis=1, keepdims=True)
    covered = np.cumsum(-np.sort(-behind, axis=1), axis=1)
    enough = (covered >= 0.9).argmax(axis=1)
    by_score = joint.sum(axis=1) @ covered[np.arange(said.size), enough]
    likely_first = np.argsort(-behind, axis=None)
    together = np.cumsum(joint.ravel()[likely_first])
    return float(by_score), float(together[(together >= 0.9).argmax()])


def false_yes(
    images: int, tasks: int, copies: bool, sets: int
) -> tuple[float, float]:
    """Return how often a judge that guesses, or copies the mean of its task, gets
    `yes`, and `yes` or `in part`.
    """
    rng, found = np.random.default_rng(11), []
    for _ in range(sets):
        states = []
        for task in range(tasks):
            level = 3 + 4 * task / max(1, tasks - 1)
            true = steps(rng.normal(level, 2, images), 5)
            noise = 0.3 if copies else 3.0
            judged = np.clip(
                rng.normal(level if copies else 5, noise, images), 0, 10
            )
            own = scores(judged, true, np.arange(images))
            states.append(
                state(order_level(own, Bar()), error_level(own, Bar()))
            )
        found.append(over_tasks(states))
    return found.count("yes") / sets, (
        found.count("yes") + found.count("in_part")
    ) / sets


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    for design in DESIGNS:
        if options.only in design.name:
            print(design.name)
            for name, share, width in coverage(design, options.sets):
                print(f"  {name:24} {100 * share:5.1f} %  {width:5.2f}")
            if design.true_steps:
                by_score, together = least_coverage(design)
                print(f"  {'least of any ranges':24} {100 * by_score:5.1f} %")
                print(
                    f"  {'least of one threshold':24} {100 * together:5.1f} %"
                )
    for images, tasks in ((20, 1), (60, 5), (400, 14)):
        for copies in (False, True):
            yes, part = false_yes(images, tasks, copies, options.sets)
            print(f"{'copies the mean' if copies else 'knows nothing':16} {tasks} × "
                  f"{images}: yes "
                  f"{100 * yes:.1f} %, in part or yes {100 * part:.1f} %")  # fmt: skip


if __name__ == "__main__":
    main()
