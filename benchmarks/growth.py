"""What doubles when the data double: CPU seconds of fifteen shapes at doubled sizes,
and the exponent of each doubling.

python benchmarks/growth.py [--doublings 3] [--only "boxes an image, scored"]

An exponent of 1 is linear; one above 1.15 over all doublings is marked, with the reason
if there is one.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import many_sources
import numpy as np
import polars as pl

from visualjudge import encode, read_reply, score
from visualjudge.analysis import study_of
from visualjudge.analysis.analysing import analyse_study
from visualjudge.analysis.people_agreement import agreement
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.statistics.corrected_means import pooled_means
from visualjudge.analysis.study_table import Study
from visualjudge.core.records import Annotation, Question, Verdict
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.plan import stems_of
from visualjudge.dataset.sampling import sample
from visualjudge.options import SUBSETS, Caps
from visualjudge.vision.predictions import Detection, Detections
from visualjudge.vision.scoring.average_precision import CocoImages

ALLOWED = 1.15
REASONS = {
    "boxes an image, scored": "the image stays as it is: pairs near each other grow "
    "with the square"
}
LABELS = [f"class {k}" for k in range(20)]
PHOTOGRAPH = np.zeros((480, 640, 3), dtype=np.uint8)
SENTENCE = (
    "The boxes around the cars are closer to their outlines, though one dog at "
    "the left is missed. "
)


def sides(count: int) -> tuple[Detections, Detections]:
    """(prediction, truth) of one image."""
    rng = rng_for(0, "growth", count)
    corners = rng.uniform(0, 1, (count, 2)) * [600, 440]
    boxes = np.concatenate(
        [corners, corners + rng.uniform(8, 40, (count, 2))], axis=1
    )
    pair = (boxes + rng.normal(0, 2, boxes.shape), boxes)
    found, real = (
        Detections(
            tuple(
                Detection(LABELS[k % 20], tuple(box), 0.5)
                for k, box in enumerate(side.tolist())
            )
        )
        for side in pair
    )
    return found, real


def labelled(count: int) -> tuple[Detections, Detections]:
    """:func:`sides` of 1,000 boxes, of so many labels."""
    found, real = (
        Detections(
            tuple(
                replace(box, label=f"class {k % count}")
                for k, box in enumerate(side.items)
            )
        )
        for side in sides(1000)
    )
    return found, real


def labels_scored(count: int) -> Callable[[], object]:
    pair = labelled(count)
    return lambda: score("object_detection", *pair)


def labels_drawn(count: int) -> Callable[[], object]:
    found, _ = labelled(count)
    return lambda: encode("object_detection", "pixel_s1_m0", found, PHOTOGRAPH)


def scored(count: int) -> Callable[[], object]:
    pair = sides(count)
    return lambda: score("object_detection", *pair)


def drawn(count: int) -> Callable[[], object]:
    found, _ = sides(count)
    return lambda: encode("object_detection", "pixel_s1_m0", found, PHOTOGRAPH)


def matched(count: int) -> Callable[[], object]:
    pair = sides(count)
    return lambda: CocoImages("object_detection", [pair]).matches(0.5)


def images(count: int) -> Callable[[], object]:
    pairs = [sides(10)] * count
    return lambda: CocoImages("object_detection", pairs).average_precision()


def reply(count: int) -> Callable[[], object]:
    text = SENTENCE * (count // len(SENTENCE)) + "So I prefer B."
    return lambda: read_reply(text, "pairwise", 2)


def annotations(count: int, an_image: int) -> list[Annotation]:
    rng = rng_for(0, "growth", count)
    return [
        Annotation(
            f"n{k}",
            f"image {k // an_image}",
            "object_detection",
            {"detections": []},
            round(float(rng.uniform(0, 10)), 4),
            source=f"s{k % an_image}",
        )
        for k in range(count)
    ]


def sampled(
    notes: Sequence[Annotation], tasks: int = 1
) -> Callable[[], object]:
    stems = stems_of("object_detection")
    return lambda: [
        sample(f"task {k}", notes, stems, SUBSETS, Caps(), 42)
        for k in range(tasks)
    ]


def options(count: int) -> Callable[[], object]:
    return sampled(annotations(count, count))


def tasks(count: int) -> Callable[[], object]:
    return sampled(annotations(100, 5), count)


def _analysed(study: Study) -> Callable[[], object]:
    return lambda: card_of(analyse_study(study))


def sources(count: int) -> Callable[[], object]:
    return _analysed(many_sources.study(count, 20, 1))


def _asked(count: int, images: int, runs: int) -> Study:
    """``count`` pairs of four sources on ``images`` images in turn, answered by
    ``runs`` judges."""
    rng = rng_for(0, "growth", count)
    questions = []
    for k in range(count):
        a, b = rng.permutation(4)[:2].tolist()
        scores = rng.uniform(0, 10, 2).round(3).tolist()
        questions.append(
            Question(
                id=f"q{k}",
                task="generation_t2i",
                encoding="pixel",
                question_type="pairwise",
                subset=("judge_analysis",),
                image_id=f"i{k % images}",
                class_of_interest=None,
                error_type=None,
                annotation_ids=(f"a{k}", f"b{k}"),
                final_scores=tuple(scores),
                sources=(f"s{a}", f"s{b}"),
                prompt="",
                images=(),
                answer="A" if scores[0] >= scores[1] else "B",
            )
        )
    said = {
        f"judge{run}": [
            Verdict(
                q.id,
                "AB",
                str(q.answer) if rng.random() < 0.8 else "A",
                "ok",
                "",
            )
            for q in questions
        ]
        for run in range(runs)
    }
    return study_of(questions, said)


def runs(count: int) -> Callable[[], object]:
    return _analysed(_asked(200, 40, count))


def on_one_image(count: int) -> Callable[[], object]:
    return _analysed(_asked(count, 1, 1))


def an_image_each(count: int) -> Callable[[], object]:
    return _analysed(_asked(count, count, 1))


def labels(count: int) -> Callable[[], object]:
    rng = rng_for(0, "growth", count)
    said, system, image = (
        rng.uniform(0, 10, 10 * count),
        np.arange(10 * count) % 4,
        np.arange(10 * count) // 8,
    )
    truth = np.where(
        np.arange(10 * count) < count,
        said + rng.normal(0, 1, 10 * count),
        np.nan,
    )
    return lambda: pooled_means(said, truth, system, image)


def raters(count: int) -> Callable[[], object]:
    rng = rng_for(0, "growth", count)
    ratings = pl.DataFrame(
        [
            (
                f"i{item}",
                f"s{source}",
                f"r{rater}",
                "quality",
                float(rng.integers(0, 11)),
            )
            for rater in range(count)
            for item in range(20)
            for source in range(3)
        ],
        ["item", "source", "rater", "dimension", "score"],
        orient="row",
    )
    return lambda: agreement(ratings)


SHAPES: dict[str, tuple[Callable[[int], Callable[[], object]], int]] = {
    "boxes an image, scored": (scored, 500),
    "boxes an image, matched for AP": (matched, 500),
    "boxes an image, drawn with tags": (drawn, 500),
    "images, AP": (images, 500),
    "characters of a reply": (reply, 4000),
    "options of an image, sampled": (options, 100),
    "tasks, sampled": (tasks, 10),
    "labels of 1,000 boxes, scored": (labels_scored, 50),
    "labels of 1,000 boxes, drawn": (labels_drawn, 50),
    "sources": (sources, 125),
    "runs": (runs, 5),
    "questions on one image": (on_one_image, 2500),
    "questions, an image each": (an_image_each, 2500),
    "labels": (labels, 1000),
    "raters": (raters, 10),
}


def main() -> None:
    """Print a line a shape."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--doublings", type=int, default=3)
    parser.add_argument("--only", help="one of the shapes")
    chosen = parser.parse_args()
    for name, (make, smallest) in SHAPES.items():
        if chosen.only in (None, name):
            sizes = [smallest << k for k in range(chosen.doublings + 1)]
            cost = [_least(make(size)) for size in sizes]
            steps = " ".join(
                f"{math.log2(b / a):.2f}" for a, b in pairwise(cost)
            )
            whole = math.log2(cost[-1] / cost[0]) / chosen.doublings
            reason = REASONS.get(name, "no reason known")
            mark = f"  above {ALLOWED}: {reason}" if whole > ALLOWED else ""
            print(
                f"{name:<34}{sizes[0]:>7} to {sizes[-1]:<7}{cost[-1]:>8.3f} s   "
                f"{steps}   {whole:.2f}{mark}",
                flush=True,
            )


def _least(work: Callable[[], object]) -> float:
    """CPU seconds, the least of three."""
    work()
    times = []
    for _ in range(3):
        before = time.process_time()
        work()
        times.append(time.process_time() - before)
    return max(min(times), 1e-6)


if __name__ == "__main__":
    main()
