"""Train a model of the local judge on pairs of scored predictions, as in a data
folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from pair_fit import Pair, held_out, loss_of, ridge, table_of

from visualjudge import __version__
from visualjudge.core.atomic import write_json
from visualjudge.core.errors import DataError, Problem
from visualjudge.core.records import Annotation, FloatArray, ImageRecord
from visualjudge.data.folder import DataFolder, check_entry
from visualjudge.judges.local.features import features_of
from visualjudge.judges.local.judge import FORMAT, VERSION, Model, Weights
from visualjudge.vision.encode import context_image
from visualjudge.vision.predictions import read_prediction, type_of
from visualjudge.vision.raster.images import read_rgb
from visualjudge.vision.raster.masks import mask_from_png
from visualjudge.vision.tasks import task_named
from visualjudge.vision.view import Features, Given

Progress = Callable[[str, int, int], None]
FEWEST_IMAGES = 2


def _silent(stage: str, done: int, total: int) -> None:
    return None


@dataclass(frozen=True, eq=False)
class Sample:
    """One prediction with its features and score. Pairs are formed within a ``group``,
    folds by ``image``.
    """

    image: str
    group: str
    features: Features
    score: float


@dataclass(frozen=True, slots=True)
class ImageHits:
    """Number of pairs of one image and how many were ordered correctly; a tie counts
    half."""

    image: str
    hits: float
    pairs: int


@dataclass(frozen=True, eq=False, slots=True)
class Fitted:
    """Weights, and their accuracy on held-out images."""

    weights: Weights
    right: tuple[ImageHits, ...]
    """Results on the held-out pairs of each image."""
    pairs: int
    log_odds: FloatArray
    """For each pair, the log-odds that the better one is better, with weights fitted
    without its image's fold.
    """


def pairs_of(samples: Iterable[Sample]) -> list[Pair]:
    """Return all pairs with unequal scores within each group."""
    groups: defaultdict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        groups[sample.image, sample.group].append(sample)
    return [
        Pair(image, group, one.features, two.features)
        for (image, group), items in groups.items()
        for one in items
        for two in items
        if one.score > two.score
    ]


def fit(pairs: Sequence[Pair], *, coherent: bool = False) -> Fitted:
    """Fit one task. In a ``coherent`` fit, each weight has the sign that its feature
    has by itself, or is 0, because features that only correct others do not generalise
    to other kinds of images.

    Raises
    ------
    ValueError
        If the pairs are of fewer than two images.
    """
    table = table_of(pairs)
    signs = (
        np.sign((table.share[:, None] * np.sign(table.units)).sum(axis=0))
        * coherent
    )
    best, log_odds = held_out(table, signs)
    weights = _rounded(ridge(table, best, signs, slice(None)))
    temperature = float(f"{_temperature(log_odds, table.share):.4g}")
    fitted = Weights(
        table.names, tuple(_rounded(table.scale)), tuple(weights), temperature
    )
    right = _by_image([pair.image for pair in pairs], log_odds)
    return Fitted(fitted, right, len(pairs), log_odds)


def _rounded(values: FloatArray) -> list[float]:
    """Round to 4 significant digits, so that files do not depend on a machine's last
    bits."""
    return [float(f"{value:.4g}") for value in values]


def _temperature(log_odds: FloatArray, share: FloatArray) -> float:
    """Return the temperature by which to divide the held-out log-odds for the best
    probabilities (Guo et al., ICML 2017).
    """
    candidates = np.exp(np.linspace(-1, 3, 81))
    return float(min(candidates, key=lambda t: loss_of(log_odds / t, share)))


def _by_image(
    images: Sequence[str], log_odds: FloatArray
) -> tuple[ImageHits, ...]:
    found: defaultdict[str, list[float]] = defaultdict(list)
    for image, value in zip(images, log_odds, strict=True):
        found[image].append(0.5 + 0.5 * float(np.sign(value)))
    return tuple(
        ImageHits(image, sum(values), len(values))
        for image, values in sorted(found.items())
    )


@dataclass(frozen=True, slots=True)
class Trained:
    """A model, the fit of each task, and why some tasks have none."""

    model: Model
    fits: Mapping[str, Fitted]
    declined: Mapping[str, str]


def train(pairs: Mapping[str, Sequence[Pair]], trained_on: str) -> Trained:
    """Fit every task that has pairs of at least two images.

    The fits of boxes, masks, poses and depth are coherent. Those of whole images are
    not, because sharpness and noise rise together and their weights must correct each
    other.
    """
    fits: dict[str, Fitted] = {}
    declined: dict[str, str] = {}
    for task, compared in sorted(pairs.items()):
        seen = [pair for pair in compared if pair.better and pair.worse]
        if len({pair.image for pair in seen}) < FEWEST_IMAGES:
            declined[task] = (
                f"comparisons on at least {FEWEST_IMAGES} images are needed"
            )
            continue
        fits[task] = fit(seen, coherent=not type_of(task).is_image)
    card = {
        "trained_on": trained_on,
        "version": __version__,
        "held_out": {task: _card_row(done) for task, done in fits.items()},
    }
    return Trained(
        Model({task: done.weights for task, done in fits.items()}, card),
        fits,
        declined,
    )


def _card_row(done: Fitted) -> dict[str, float]:
    right = sum(row.hits for row in done.right) / done.pairs
    return {
        "pairs": done.pairs,
        "images": len(done.right),
        "right": round(right, 4),
    }


def train_on_folder(root: str | Path, progress: Progress = _silent) -> Trained:
    """Train on the groups of a data folder.

    Raises
    ------
    DataError
        If no task has comparisons on two images.
    """
    samples = folder_samples(root, progress)
    pairs = {task: pairs_of(rows) for task, rows in samples.items()}
    done = train(
        pairs, f"{sum(map(len, samples.values()))} predictions of a data folder"
    )
    if not done.fits:
        raise DataError(
            f"{root}: nothing to train on: "
            f"{'; '.join(f'{k}: {v}' for k, v in done.declined.items())}"
        )
    return done


def folder_samples(
    root: str | Path, progress: Progress
) -> dict[str, list[Sample]]:
    """Return features and scores of every valid prediction of a data folder, by
    task."""
    found: dict[str, list[Sample]] = {}
    for note, features in looked_at(root, progress):
        group = f"{note.class_of_interest} {note.error_type} {note.prompt}"
        found.setdefault(note.task, []).append(
            Sample(note.image_id, group, features, note.final_score)
        )
    return found


def looked_at(
    root: str | Path, progress: Progress = _silent
) -> Iterator[tuple[Annotation, Features]]:
    """Yield every valid prediction of a data folder with its features, by task and
    image."""
    folder = DataFolder(root)
    for task in folder.tasks:
        yield from _looked_at(folder, task, progress)


def _looked_at(
    folder: DataFolder, task: str, progress: Progress
) -> Iterator[tuple[Annotation, Features]]:
    images = folder.images(task)
    notes = sorted(folder.entries(task), key=lambda note: note.image_id)
    for image_id, same in groupby(
        enumerate(notes, 1), key=lambda item: item[1].image_id
    ):
        record = images.get(image_id)
        given = given_of_record(task, record, folder.root)
        for k, note in same:
            progress(task, k, len(notes))
            if not isinstance(
                check_entry(note, record, str(folder.root)), Problem
            ):
                yield note, note_features(note, given, folder.root)


def given_of_record(task: str, record: ImageRecord | None, root: Path) -> Given:
    """Return the images that questions show besides their options."""
    if record is None or not task_named(task).sourced:
        return Given()
    image = read_rgb(root / str(record.file))
    if record.mask is not None:
        image = context_image(image, mask_from_png(root / record.mask))
    return Given(image)


def note_features(
    note: Annotation,
    given: Given,
    root: Path,
    look: Callable[[str, Any, Given], Features] = features_of,
) -> Features:
    """Compute the features of a prediction of the data folder ``root`` with the given
    images."""
    size = None
    if given.image is not None and not type_of(note.task).is_image:
        size = given.image.shape[0], given.image.shape[1]
    prediction = read_prediction(
        note.task, note.prediction, size=size, root=root, expression=note.prompt
    )
    return look(note.task, prediction, given)


def save(model: Model, path: Path) -> None:
    """Write a model as JSON."""
    tasks = {
        name: asdict(weights) for name, weights in sorted(model.tasks.items())
    }
    card = dict(model.card)
    write_json(
        path,
        {"format": FORMAT, "version": VERSION, "card": card, "tasks": tasks},
    )
