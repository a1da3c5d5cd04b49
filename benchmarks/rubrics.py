"""What the figures of rubrics hold: coverage of their intervals, habits beside their
baseline, and a planted rate of contradictions.

    python benchmarks/rubrics.py [--sets 400] [--only NAME]

Goal: intervals of judges whose reason is right in 0, 50 and 100 % cover 93 to 98 %; a
judge that always points at the middle, or names the commonest error, is above its
baseline in at most 5 % of sets; contradictions planted in 10 % are found; the size at
which 75 % is reached is covered.

Faults have a kind and a place that questions of one image share in part, and lie around
the middle of the image, so that habits have something to gain.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from visualjudge.analysis.figures.criteria import (
    criteria_together,
    criterion_figures,
)
from visualjudge.analysis.figures.psychometric_curve import curves_of
from visualjudge.analysis.figures.reasons import reason_of, right_reason_of
from visualjudge.analysis.stated_reasons import NEAR_IOU, exchanged, points_at
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.records import BoolArray, FloatArray, IntArray
from visualjudge.vision.raster.overlaps import box_ious

MANY = 20_000
KINDS = 4
SHARES = (0.55, 0.25, 0.15, 0.05)
Rng = np.random.Generator


@dataclass(frozen=True)
class Design:
    """``images`` with ``items`` questions each; a judge that is right in ``right`` of
    them, and has the right reason in ``reason``, ``shared`` of both between images.
    """

    images: int
    items: int
    right: float = 0.8
    reason: float = 0.5
    shared: float = 0.3
    habit: bool = False

    def __str__(self) -> str:
        reason = (
            "a habit"
            if self.habit
            else f"right reason {100 * self.reason:.0f} %"
        )
        return f"{self.images} × {self.items}, {reason}"


DESIGNS = tuple(
    Design(*size, reason=reason)
    for size in ((20, 4), (50, 1), (60, 5), (200, 2))
    for reason in (0.0, 0.5, 1.0)
)
HABITS = tuple(
    Design(*size, habit=True) for size in ((20, 4), (60, 5), (200, 2))
)


def happens(
    rng: Rng, chance: float, shared: float, image: IntArray
) -> BoolArray:
    """Return whether an event happens to each item, (n,); items of an image share it in
    part."""
    if chance in (0.0, 1.0):
        return np.full(image.size, bool(chance))
    of_image = rng.random(image.max() + 1)[image]
    alone = rng.random(image.size)
    common = rng.random(image.size) < shared
    return np.asarray(np.where(common, of_image, alone) < chance)


@dataclass(frozen=True, eq=False)
class Study:
    """Questions with the kind and the place (n, 4) of their fault, and a judge's word
    and place."""

    image: IntArray
    right: BoolArray
    kind: IntArray
    place: FloatArray
    word: IntArray
    pointed: FloatArray


def drawn(design: Design, rng: Rng, images: int = 0) -> Study:
    """Return a study of a design."""
    images = images or design.images
    image = np.repeat(np.arange(images), design.items)
    n = image.size
    alike = rng.random(n) < 0.5
    kinds = rng.choice(KINDS, images, p=SHARES)
    kind = np.where(alike, kinds[image], rng.choice(KINDS, n, p=SHARES))
    centres = np.clip(rng.normal(500, 170, (images, 2)), 100, 900)
    own = np.clip(rng.normal(500, 170, (n, 2)), 100, 900)
    centre = np.where(alike[:, None], centres[image], own)
    half = rng.uniform(20, 150, (n, 2))
    place = np.concatenate([centre - half, centre + half], axis=1)
    if design.habit:
        word = np.zeros(n, dtype=int)
        pointed = np.tile([450.0, 450, 550, 550], (n, 1))
    else:
        reason = happens(rng, design.reason, design.shared, image)
        wrong = (kind + rng.integers(1, KINDS, n)) % KINDS
        word = np.where(reason, kind, wrong)
        away = (centre + 500) % 1000
        middle = np.where(
            reason[:, None],
            centre + rng.uniform(-0.9, 0.9, (n, 2)) * half,
            away,
        )
        pointed = np.concatenate([middle - 15, middle + 15], axis=1)
    right = happens(rng, design.right, design.shared, image)
    return Study(image, right, kind, place, word, pointed)


def hits_of(study: Study) -> dict[str, Callable[[int, IntArray], BoolArray]]:
    """Return by reason whether the answers to other questions are right for one."""

    def names(row: int, others: IntArray) -> BoolArray:
        return np.asarray(study.word[others] == study.kind[row])

    def points(row: int, others: IntArray) -> BoolArray:
        return points_at(study.pointed[others], study.place[row][None])

    return {"names": names, "points": points}


def figures_of(study: Study) -> dict[str, Estimate]:
    """Return the figures of reasons, as a report has them."""
    n = study.image.size
    task = np.full(n, "t", dtype=object)
    columns = {}
    for name, hits in hits_of(study).items():
        own, gap = exchanged(hits, np.ones(n, dtype=bool), task, study.image)
        columns |= {name: own, f"{name}_gap": gap}
    table = pl.DataFrame(
        {"cluster": study.image, "right": study.right, **columns}
    )
    found = {}
    for name in hits_of(study):
        reason = reason_of(name, "all", table)
        found |= {f"{name}: share": reason.right, f"{name}: gain": reason.gain}
        both = right_reason_of(name, table.with_columns(reason=pl.col(name)))
        for part in (
            "right",
            "both",
            "reasoned",
            "with_reason",
            "without_reason",
        ):
            found[f"{name}: {part}"] = getattr(both, part)
    return found


def hit(boxes: FloatArray, places: FloatArray) -> BoolArray:
    """Return whether each box (n, 4) points at its own place, (n,)."""
    rows = zip(
        np.array_split(boxes, boxes.shape[0] // 50),
        np.array_split(places, boxes.shape[0] // 50),
        strict=True,
    )
    near = (
        np.concatenate([np.diagonal(box_ious(*pair)) for pair in rows])
        >= NEAR_IOU
    )
    centre = (boxes[:, :2] + boxes[:, 2:]) / 2
    inside = (centre >= places[:, :2]) & (centre <= places[:, 2:])
    return np.asarray(inside.all(axis=1) | near)


def truth_of(design: Design) -> dict[str, float]:
    """Return the true value of each figure, from many images."""
    study = drawn(design, np.random.default_rng(5), MANY)
    found: dict[str, float] = {}
    right = study.right
    far = 1000 * design.items
    word, pointed = (
        np.roll(of, far, axis=0) for of in (study.word, study.pointed)
    )
    hits = {
        "names": (study.word == study.kind, word == study.kind),
        "points": (hit(study.pointed, study.place), hit(pointed, study.place)),
    }
    for name, (own, swapped) in hits.items():
        found |= {
            f"{name}: share": own.mean(),
            f"{name}: gain": own.mean() - swapped.mean(),
            f"{name}: right": right.mean(),
            f"{name}: both": (right & own).mean(),
            f"{name}: reasoned": own[right].mean(),
            f"{name}: with_reason": right[own].mean() if own.any() else np.nan,
            f"{name}: without_reason": right[~own].mean()
            if (~own).any()
            else np.nan,
        }
    return found


def covered(
    truth: dict[str, float], found: Iterator[dict[str, Estimate]]
) -> dict[str, tuple[float, float]]:
    """Return by figure the share of sets whose interval holds the true value, and of
    those whose interval is above 0; sets without an interval do not count.
    """
    held = defaultdict[str, list[bool]](list)
    above = defaultdict[str, list[bool]](list)
    for figures in found:
        for name, figure in figures.items():
            if figure.interval is not None and np.isfinite(truth[name]):
                low, high = figure.interval
                held[name].append(low - 1e-9 <= truth[name] <= high + 1e-9)
                above[name].append(low > 0)
    return {name: (np.mean(held[name]), np.mean(above[name])) for name in held}


def reasons(design: Design, sets: int) -> dict[str, tuple[float, float]]:
    """Return :func:`covered` of a design's figures of reasons."""
    rng = np.random.default_rng(7)
    found = (figures_of(drawn(design, rng)) for _ in range(sets))
    return covered(truth_of(design), found)


def criteria(
    images: int, items: int, sets: int
) -> dict[str, tuple[float, float]]:
    """Return :func:`covered` of figures of criteria, three of which are each right in
    80 %, and the verdict is that of the first, contradicted where all agree in 10 %.
    """

    def made(rng: Rng, count: int) -> tuple[pl.DataFrame, FloatArray]:
        image = np.repeat(np.arange(count), items)
        best = np.where(rng.random(image.size) < 0.5, 1, -1)
        right = np.stack(
            [happens(rng, 0.8, 0.3, image) for _ in range(3)], axis=1
        )
        signs = np.where(right, best[:, None], -best[:, None]).astype(float)
        alike = np.abs(signs.sum(axis=1)) == 3
        against = alike & happens(rng, 0.1, 0.3, image)
        chosen = np.where(against, -signs[:, 0], signs[:, 0])
        letters = {
            name: np.where(v > 0, "A", "B")
            for name, v in (("chosen", chosen), ("answer", best))
        }
        table = pl.DataFrame({"cluster": image, **letters})
        value = np.where(signs[:, 1] > 0, "A", "B")
        return table.with_columns(
            value=pl.Series(value), truth=pl.col("answer")
        ), signs

    def figures(rng: Rng, count: int) -> dict[str, Estimate]:
        table, signs = made(rng, count)
        one = criterion_figures("second", table, pl.lit(value=True))
        every = criteria_together(table, signs)
        return {
            "criterion: truth": one.truth,
            "criterion: verdict": one.verdict,
            "all: contradicted": every.contradicted,
            "all: predicts the truth": every.truth,
        }

    whole = figures(np.random.default_rng(5), MANY)
    truth = {name: float(figure.value or 0) for name, figure in whole.items()}
    rng = np.random.default_rng(7)
    return covered(truth, (figures(rng, images) for _ in range(sets)))


def sizes(images: int, items: int, sets: int) -> tuple[float, float]:
    """Return the share of sets whose interval of the size at which 75 % is reached
    holds it, and that of sets with a size.
    """
    true = 40.0
    rng = np.random.default_rng(7)
    held = []
    for _ in range(sets):
        image = np.repeat(np.arange(images), items)
        side = np.exp(rng.normal(np.log(40), 0.8, image.size))
        shape = 1.2
        scale = true / np.log(2) ** (1 / shape)
        chance = 1 - 0.5 * np.exp(-((side / scale) ** shape))
        of_image = rng.random(images)[image]
        common = rng.random(image.size) < 0.2
        luck = np.where(common, of_image, rng.random(image.size))
        columns = {
            "distance": side,
            "right": luck < chance,
            "usable": True,
            "cluster": image,
        }
        (row,) = curves_of(
            [(("all", "all", "size"), pl.DataFrame(columns))], 0.5
        )
        if row.jnd.interval is not None:
            low, high = row.jnd.interval
            held.append((low or 0.0) <= true <= (high or np.inf))
    return float(np.mean(held)), len(held) / sets


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    for design in (*DESIGNS, *HABITS):
        if options.only not in f"reasons {design}":
            continue
        print(f"reasons {design}")
        for name, (share, above) in reasons(design, options.sets).items():
            print(
                f"  {name:24} covers {100 * share:5.1f} %, above 0 in "
                f"{100 * above:5.1f} %",
                flush=True,
            )
    for size in ((20, 4), (60, 5), (200, 2)):
        if options.only not in f"criteria {size}":
            continue
        print(f"criteria {size}")
        for name, (share, above) in criteria(*size, options.sets).items():
            print(
                f"  {name:24} covers {100 * share:5.1f} %, above 0 in "
                f"{100 * above:5.1f} %",
                flush=True,
            )
        share, stated = sizes(*size, options.sets)
        print(
            f"  {'size at 75 %':24} covers {100 * share:5.1f} %, stated in "
            f"{100 * stated:5.1f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()
