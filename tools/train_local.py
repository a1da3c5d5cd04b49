"""Train the local judge.

``make train-local`` makes the weights that the package ships, and ``python
tools/train_local.py --data DATA --out model.vj`` those of a data folder with scored
predictions.

Scenes with exact truth (``local_scenes.py``), controlled errors of every type as
ladders and matched, mixtures of two types, and classical filters as restorations. The
same number of scenes gives the same bytes. No image of the demo is used.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import cv2
import numpy as np
from local_scenes import LABELS, Scene, degraded, scene
from local_training import (
    Sample,
    Trained,
    pairs_of,
    save,
    train,
    train_on_folder,
)

from visualjudge.apps.demo.data import boxes_of
from visualjudge.core.records import Pixels
from visualjudge.core.seeding import rng_for
from visualjudge.judges.local import judge
from visualjudge.judges.local.features import features_of
from visualjudge.vision.error_types import (
    PAIRINGS,
    error_type_named,
    error_types,
    perturbed,
)
from visualjudge.vision.errors import levels
from visualjudge.vision.errors.groups import graded
from visualjudge.vision.predictions import (
    DepthMap,
    Masks,
    Prediction,
    WholeImage,
)
from visualjudge.vision.score import score
from visualjudge.vision.tasks import TASKS
from visualjudge.vision.view import Given

LEVELS = 4
MIXED = 4
MOST_EXPRESSIONS = 3
SEED = 42
Taught = tuple[str, Sample]
"""The task and the sample."""
LESSONS_OF_OTHERS = ("ladder", "matched", "mixed")
LESSONS = dict.fromkeys(
    ("detection", "instance", "semantic", "referring", "depth"),
    ("ladder", "matched"),
)
"""By type, which predictions teach it."""
RESTORED_EVERY = 5
"""Restorations are made of every fifth scene: they take longest, and need the
fewest."""
RESTORED = tuple(name for name, task in TASKS.items() if task.restored)


def main() -> None:
    """Train and write the file."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--data", type=Path, help="Data folder to learn from instead of scenes."
    )
    options.add_argument("--scenes", type=int, default=40)
    options.add_argument(
        "--workers", type=int, help="Processes; by default one a processor."
    )
    options.add_argument(
        "--out", type=Path, default=Path(judge.__file__).with_name("default.vj")
    )
    chosen = options.parse_args()
    if chosen.data is None:
        done = train_on_scenes(chosen.scenes, chosen.workers)
    else:
        done = train_on_folder(chosen.data)
    save(done.model, chosen.out)
    for task, fitted in done.fits.items():
        right = sum(row.hits for row in fitted.right) / fitted.pairs
        print(f"{task}: {right:.3f} of {fitted.pairs} held-out pairs")
    for task, why in done.declined.items():
        print(f"{task}: not trained: {why}")


def train_on_scenes(scenes: int, workers: int | None) -> Trained:
    """Fit the weights to scenes made here."""
    compared: defaultdict[str, list[Sample]] = defaultdict(list)
    with ProcessPoolExecutor(workers) as pool:
        for number, rows in enumerate(pool.map(_samples_of, range(scenes)), 1):
            for task, sample in rows:
                compared[task].append(sample)
            print(f"scene {number} of {scenes}", flush=True)
    return train(
        {task: pairs_of(rows) for task, rows in compared.items()},
        f"{scenes} made scenes",
    )


def _samples_of(number: int) -> list[Taught]:
    cv2.setNumThreads(1)
    made = scene(number, people=number % 3)
    restored = _restorations(made) if number % RESTORED_EVERY == 0 else ()
    return [*scene_samples(made), *restored]


def scene_samples(made: Scene) -> Iterator[Taught]:
    """Every training sample of one scene but restorations, with its task."""
    photo, given = made.photo, Given(made.photo.pixels)
    around = levels.ErrorScene(
        photo.size,
        LABELS,
        LEVELS,
        None,
        tuple(item.mask for item in photo.objects),
    )
    truths: list[tuple[str, str, Prediction]] = [
        ("object_detection", "", boxes_of(photo)),
        ("instance_segmentation", "", Masks(photo.size, photo.objects)),
        ("semantic_segmentation", "", Masks(photo.size, photo.segments)),
        ("depth_estimation", "", DepthMap(made.depth, inverse=True)),
    ]
    regions = photo.objects[:MOST_EXPRESSIONS]
    truths += [
        ("referring_segmentation", str(k), Masks(photo.size, (item,)))
        for k, item in enumerate(regions)
    ]
    for task, key, truth in truths:
        yield from _with_errors(
            task, f"{photo.name} {key}", photo.name, truth, around, given
        )


def _with_errors(
    task: str,
    key: str,
    image: str,
    truth: Prediction,
    around: levels.ErrorScene,
    given: Given,
) -> Iterator[Taught]:
    lessons = LESSONS.get(TASKS[task].type, LESSONS_OF_OTHERS)
    for error_type, pairing in product(error_types(task), PAIRINGS):
        ladder = pairing == "ladder"
        if pairing not in lessons or not (
            ladder or error_type_named(task, error_type).matched
        ):
            continue
        for item in graded(
            task,
            error_type,
            truth,
            around,
            seed=SEED,
            key=key,
            with_truth=ladder,
            pairing=pairing,
        ):
            features = features_of(task, item.prediction, given)
            group = f"{key} {error_type} {pairing}"
            yield task, Sample(image, group, features, item.final_score)
    for k in range(MIXED if "mixed" in lessons else 0):
        prediction = _mixed(
            task, truth, around, np.random.default_rng([SEED, k]), f"{key} {k}"
        )
        features, value = (
            features_of(task, prediction, given),
            score(task, prediction, truth),
        )
        yield task, Sample(image, f"{key} mixed", features, value)


def _mixed(
    task: str,
    truth: Prediction,
    around: levels.ErrorScene,
    rng: np.random.Generator,
    key: str,
) -> Prediction:
    """A truth with errors of two types, one on top of the other, each of a random
    severity."""
    found = truth
    for error_type in rng.choice(error_types(task), 2):
        applies = error_type_named(task, str(error_type)).applies
        if applies is None or applies(found, around):
            steps = list(
                perturbed(
                    task, str(error_type), found, around, seed=SEED, key=key
                )
            )
            found = steps[int(rng.integers(len(steps)))][1]
    return found


def _restorations(made: Scene) -> Iterator[Taught]:
    clean, name = made.photo.pixels, made.photo.name
    truth = WholeImage(clean)
    for task in RESTORED:
        spoilt = degraded(clean, task, rng_for(SEED, "degrade", task, name))
        given = Given(spoilt)
        yield from _with_errors(
            task,
            name,
            name,
            truth,
            levels.ErrorScene(made.photo.size, (), LEVELS, spoilt),
            given,
        )
        for output in _filtered(
            cv2.resize(
                spoilt, clean.shape[1::-1], interpolation=cv2.INTER_CUBIC
            )
        ):
            restored = WholeImage(output)
            value = score(task, restored, truth)
            yield (
                task,
                Sample(
                    name,
                    f"{name} filters",
                    features_of(task, restored, given),
                    value,
                ),
            )


def _filtered(pixels: Pixels) -> Iterator[Pixels]:
    """What classical filters make of an image."""
    yield pixels
    for size in (3, 5, 7):
        yield np.asarray(cv2.medianBlur(pixels, size), dtype=np.uint8)
    for sigma in (1.2, 2.5):
        soft = cv2.GaussianBlur(pixels, (0, 0), sigma)
        yield np.asarray(soft, dtype=np.uint8)
        yield np.asarray(
            cv2.addWeighted(pixels, 1.8, soft, -0.8, 0), dtype=np.uint8
        )
    yield np.asarray(cv2.bilateralFilter(pixels, 7, 40, 5), dtype=np.uint8)
    yield np.asarray(
        cv2.morphologyEx(pixels, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)),
        dtype=np.uint8,
    )


if __name__ == "__main__":
    main()
