"""The card's answer: how often a judge gets "yes", "no" or "unclear" where it is known what it
deserves.

``python benchmarks/card.py --runs 400`` prints a table in Markdown. Two generators of questions:

- *grid*: every two of five sources on every image, asked in both orders: 20 calls an image; the
  sources' mean scores lie 0.8 apart, with noise of an image and of an annotation;
- *ladder*: on each image four of six sources with errors of known severity, each two asked in both
  orders, by scores that fall with the severity; images differ in difficulty.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from visualjudge.analysis.accuracy_cells import accuracy, macro
from visualjudge.analysis.analysing import PAIRED
from visualjudge.analysis.bias import both_orders, preference, swap_figures
from visualjudge.analysis.decisions.card import Answer, Shown, answer_of
from visualjudge.analysis.decisions.checks import NOT_ASKED, read_thresholds
from visualjudge.analysis.pairwise_figures import Pairwise
from visualjudge.analysis.study_table import (
    VERDICT_SCHEMA,
    WIRE,
    Run,
    Study,
    asked_table,
    join,
    numbered,
)
from visualjudge.core.seeding import rng_for

RULES = read_thresholds()


@dataclass(frozen=True)
class Pairs:
    """Questions: image, the two sources and their scores; arrays (questions,) and (questions,
    2).
    """

    image: np.ndarray
    source: np.ndarray
    score: np.ndarray


def grid(images: int, rng: np.random.Generator) -> Pairs:
    """Every two of five sources."""
    truth = (
        np.linspace(7.6, 4.4, 5) + rng.normal(0, 0.7, (images, 1)) + rng.normal(0, 0.8, (images, 5))
    )
    rows = [(g, pair) for g in range(images) for pair in combinations(range(5), 2)]
    return _pairs(rows, truth, rng)


def ladder(images: int, rng: np.random.Generator) -> Pairs:
    """Four of six sources on each image."""
    severity = np.array([0.2, 0.6, 1.1, 1.7, 2.4, 3.2])
    truth = 9.5 - severity * rng.gamma(4, 0.35, (images, 1)) - rng.exponential(0.25, (images, 6))
    rows = []
    for g in range(images):
        shown = sorted(rng.choice(6, 4, replace=False).tolist())
        rows += [(g, pair) for pair in combinations(shown, 2)]
    return _pairs(rows, truth, rng)


def _pairs(
    rows: list[tuple[int, tuple[int, int]]], truth: np.ndarray, rng: np.random.Generator
) -> Pairs:
    image, source = np.array([g for g, _ in rows]), np.array([pair for _, pair in rows])
    turned = rng.random(len(rows)) < 0.5
    source[turned] = source[turned][:, ::-1]
    return Pairs(image, source, np.clip(truth[image[:, None], source], 0, 10).round(3))


Reply = Callable[[Pairs, np.random.Generator], tuple[np.ndarray, np.ndarray]]
"""What a judge says: whether it chose the first option as stored (2, questions), and whether the
reply can be used.
"""


def judge(
    right: float = 1.0,
    *,
    lift: float = 0.0,
    noise: float = 0.0,
    place: float = 0.0,
    failed: float = 0.0,
    bad_images: float = 0.0,
    bad: float = 0.0,
) -> Reply:
    """A judge that sees the scores with ``noise`` (and ``lift`` on the fourth source) and is right
    with ``right``.

    It takes the first place with ``place``, and fails on a share ``failed`` of calls and
    ``bad_images`` of images; on a share ``bad`` of images it says the opposite.
    """

    def reply(pairs: Pairs, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        seen = (
            pairs.score
            + lift * (pairs.source == 3)
            + rng.normal(0, noise or 1e-9, pairs.score.shape)
        )
        first, images = seen[:, 0] > seen[:, 1], int(pairs.image.max()) + 1
        first = first ^ (rng.random(images) < bad)[pairs.image]
        shape = (2, first.size)
        said = first ^ (rng.random(shape) >= right)
        takes = rng.random(shape) < place
        said = np.where(takes, np.array([[True], [False]]), said)
        used = (rng.random(shape) >= failed) & ~(rng.random(images) < bad_images)[pairs.image]
        return said, used

    return reply


def answered(pairs: Pairs, said: np.ndarray, used: np.ndarray) -> Answer:
    """The card's answer on these replies."""
    n = pairs.image.size
    ids = [f"q{i:05d}" for i in range(n)]
    names = [f"source {s}" for s in range(7)]
    better = np.where(pairs.score[:, 0] > pairs.score[:, 1], "A", "B")
    columns = {
        "id": ids,
        "task": ["object_detection"] * n,
        "encoding": ["text_xyxy"] * n,
        "question_type": ["pairwise"] * n,
        "image_id": [f"i{g:05d}" for g in pairs.image],
        "annotation_ids": [
            [f"{g}-{a}", f"{g}-{b}"] for g, (a, b) in zip(pairs.image, pairs.source, strict=True)
        ],
        "sources": [[names[a], names[b]] for a, b in pairs.source],
        "final_scores": pairs.score.tolist(),
        "answer": better.tolist(),
    }
    raw = pl.DataFrame(
        [pl.Series(name, columns.get(name, [None] * n), dtype=kind) for name, kind in WIRE.items()]
    )
    questions = numbered(asked_table(raw, pl.lit(True)))
    rows = {
        "id": ids * 2,
        "order": ["AB"] * n + ["BA"] * n,
        "repeat": [0] * 2 * n,
        "text": np.where(said, "A", "B").ravel().tolist(),
        "status": np.where(used, "ok", "refusal").ravel().tolist(),
    }
    verdicts = pl.DataFrame(
        [pl.Series(k, rows.get(k, [None] * 2 * n), dtype=t) for k, t in VERDICT_SCHEMA.items()]
    )
    study = Study(questions, (Run("judge", None, {}, join(questions, verdicts)),))
    table = study.kind(0, "pairwise", PAIRED)
    place = preference(table.filter("parsed"), "position").estimate
    swap = swap_figures(both_orders(table))
    figures = Pairwise(accuracy(table), n, 0.5, None, macro(table, "task"), None, swap, {})
    return answer_of(study, 0, Shown(figures, place, None, None), RULES, NOT_ASKED)


JUDGES: tuple[tuple[str, str, Reply], ...] = (
    ("perfect", "yes", judge()),
    ("lifts the fourth source to the second rank", "no", judge(lift=2.0)),
    ("the same, and right in 95 %", "no", judge(0.95, lift=2.0)),
    ("right in 90 %", "yes", judge(0.90)),
    ("right in 75 %", "not yes", judge(0.75)),
    ("chooses the first option in 20 %", "not yes", judge(place=0.2)),
    ("5 % of calls fail", "not yes", judge(failed=0.05)),
    ("all replies fail on 8 % of images", "not yes", judge(bad_images=0.08)),
    ("opposite on 25 % of images", "not yes", judge(bad=0.25)),
    ("guesses", "no", judge(0.5)),
)


def cells(
    only: str,
) -> Iterator[tuple[str, Callable[[int, np.random.Generator], Pairs], int, str, str, Reply]]:
    """Generator, number of images, judge, and what it deserves."""
    for name, make in (("grid", grid), ("ladder", ladder)):
        for images in (20, 45, 60):
            for kind, deserves, reply in JUDGES:
                if only in f"{name} {images} {kind}":
                    yield name, make, images, kind, deserves, reply


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=400)
    options.add_argument("--only", default="")
    options.add_argument(
        "--due", action="store_true", help="name the checks that no answer is due to"
    )
    chosen = options.parse_args()
    print("| generator | images | judge | deserves | yes | no | cannot tell | needs, median |")
    print("|---|---:|---|---|---:|---:|---:|---:|")
    for name, make, images, kind, deserves, reply in cells(chosen.only):
        seen, needs, due = Counter[str](), [], Counter[str]()
        for run in range(chosen.runs):
            rng = rng_for(run, name, kind, images)
            pairs = make(images, rng)
            found = answered(pairs, *reply(pairs, rng))
            seen[found.verdict] += 1
            needs += [found.needs_images] if found.needs_images else []
            due.update(
                f"{line.name} {line.state}"
                for line in found.checks
                if line.state in ("fail", "undecided")
            )
        shares = " | ".join(
            f"{100 * seen[word] / chosen.runs:.1f}" for word in ("yes", "no", "unclear")
        )
        print(
            f"| {name} | {images} | {kind} | {deserves} | {shares} | "
            f"{np.median(needs) if needs else 0:.0f} |",
            flush=True,
        )
        if chosen.due:
            print("  ", dict(due.most_common()))


if __name__ == "__main__":
    main()
