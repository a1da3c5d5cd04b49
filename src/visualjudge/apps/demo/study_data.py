"""The demo's study: views of the photographs, and four simulated models with similar
errors. All tasks are in ``data.py``.

Errors are matched: the options of a question differ only in their distance from the
truth, which only the photograph shows.
"""

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from visualjudge.apps.demo import STUDY_TASKS
from visualjudge.apps.demo.data import Pages, boxes_of
from visualjudge.apps.demo.photographs import Photograph, photographs
from visualjudge.core.atomic import atomic_path
from visualjudge.core.records import Mask
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.folder import load_dataset
from visualjudge.vision.error_types import error_types
from visualjudge.vision.errors.groups import Graded, graded, labels_shown
from visualjudge.vision.errors.levels import ErrorScene, Rng
from visualjudge.vision.faults import faults_of
from visualjudge.vision.predictions import Masks, Prediction
from visualjudge.vision.raster.images import resized_rgb
from visualjudge.vision.raster.masks import mask_from_array

VIEWS = 100
SIDE = 256
"""Width and height of a view in pixels."""
CLOSEST = 140
"""Width and height of the smallest region that a view enlarges, in pixels."""
LEAST_SHARE = 0.4
LEAST_AREA = 150
"""Minimum visible share, and minimum number of visible pixels, for an object to belong
to a view.
"""
TRIES = 50
MODELS = ("alder", "birch", "cedar", "dogwood")
"""Models from best to worst, on average."""
SPREAD = 0.9
"""Standard deviation of a model's rank: how often a worse model is better on an
image."""


def views(seed: int) -> Iterator[Photograph]:
    """Yield square regions of the photographs, some of them mirrored, with their
    visible objects.
    """
    photos = photographs()
    for number in range(VIEWS):
        photo = photos[number % len(photos)]
        rng = rng_for(seed, "view", str(number))
        view = next(
            filter(None, (_view(photo, rng) for _ in range(TRIES))), None
        )
        if view is not None:
            yield replace(view, name=f"{photo.name}_{number:03d}")


def _view(photo: Photograph, rng: Rng) -> Photograph | None:
    height, width = photo.size
    side = int(rng.integers(CLOSEST, min(height, width) + 1))
    top, left = (
        int(rng.integers(0, size - side + 1)) for size in (height, width)
    )
    step = int(rng.choice((-1, 1)))
    region = np.s_[top : top + side, left : left + side]
    objects = tuple(
        replace(item, mask=mask)
        for item in photo.objects
        if (mask := _displayed(item.mask, region, step)) is not None
    )
    if not objects:
        return None
    return replace(
        photo,
        pixels=resized_rgb(
            np.ascontiguousarray(photo.pixels[region][:, ::step]), (SIDE, SIDE)
        ),
        objects=objects,
        people=(),
        expressions=(),
    )


def _displayed(
    mask: Mask, region: tuple[slice, slice], step: int
) -> Mask | None:
    part = mask.dense()[region][:, ::step]
    if np.count_nonzero(part) < LEAST_SHARE * mask.area:
        return None
    scaled = (
        cv2.resize(
            part.astype(np.uint8), (SIDE, SIDE), interpolation=cv2.INTER_NEAREST
        )
        > 0
    )
    return (
        mask_from_array(scaled)
        if np.count_nonzero(scaled) >= LEAST_AREA
        else None
    )


def make_study(root: Path, task: str, *, seed: int) -> int:
    """Write one task's part of the study's data folder; return its number of
    predictions."""
    displayed = list(views(seed))
    labels = tuple(
        sorted({item.label for view in displayed for item in view.objects})
    )
    pages = Pages(task, root)
    for view in displayed:
        truth = (
            boxes_of(view)
            if task == STUDY_TASKS[0]
            else Masks(view.size, view.objects)
        )
        if group := _errors(task, truth, view, labels, seed):
            pages.add_image(view.name, view.pixels)
            _deal(pages, view, truth, group, seed)
    pages.close()
    return len(pages.annotations)


def _errors(
    task: str,
    truth: Prediction,
    view: Photograph,
    labels: tuple[str, ...],
    seed: int,
) -> list[Graded]:
    """Return up to one prediction per model, the best first; empty if no error type
    suits the view.
    """
    names = error_types(task)
    scene = ErrorScene(view.size, labels, len(MODELS))
    for name in rng_for(seed, "error", task, view.name).permutation(names):
        group = graded(
            task,
            str(name),
            truth,
            scene,
            seed=seed,
            key=view.name,
            pairing="matched",
        )
        if group:
            return group
    return []


def _deal(
    pages: Pages,
    view: Photograph,
    truth: Prediction,
    group: list[Graded],
    seed: int,
) -> None:
    """Give each model one prediction of a group, most often in the order of the
    models."""
    rng = rng_for(seed, "deal", pages.task, view.name)
    ranks = np.arange(len(MODELS)) + rng.normal(0, SPREAD, len(MODELS))
    dealt = rng.choice(len(MODELS), len(group), replace=False)
    classes = list(labels_shown(truth, group) or ())
    for place, item in zip(
        sorted(dealt, key=lambda place: ranks[place]), group, strict=True
    ):
        pages.add(
            view.name,
            item.prediction,
            class_of_interest=classes,
            error_type=item.error_type,
            prompt=None,
            final_score=item.final_score,
            source=MODELS[place],
            metadata={
                "severity": item.severity,
                "pairing": "matched",
                **faults_of(pages.task, item.prediction, truth, classes),
            },
        )


def fill_labels(dataset: Path, labels: Path) -> int:
    """Answer the questions of a CSV from ``visualjudge label`` with the ground truth,
    in place of a person.

    Returns the number of labels.
    """
    right = {
        question.id: question.answer
        for question in load_dataset(dataset).questions
    }
    with labels.open(encoding="utf-8", newline="") as file:
        table = csv.DictReader(file)
        rows = list(table)
    with (
        atomic_path(labels) as partial,
        partial.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.DictWriter(file, table.fieldnames or ())
        writer.writeheader()
        writer.writerows(
            {**row, "answer": right[row["question_id"]]} for row in rows
        )
    return len(rows)
