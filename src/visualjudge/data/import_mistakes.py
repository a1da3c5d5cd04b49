"""Mistakes in what is imported: sources with the same predictions, coordinates of another form,
sides that are exchanged, truths that nobody can find; and why an import scores low, by trying
likely mistakes on a few of its images. Each type states its own, as ``misreadings``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError, Problem, VisualJudgeError
from visualjudge.core.plurals import pluralize
from visualjudge.core.records import Annotation, FloatArray
from visualjudge.data.folder import DataFolder, inside
from visualjudge.formats.samples import Sample, warn_once
from visualjudge.vision.fields import check_in_pixels
from visualjudge.vision.items import LabelledItems
from visualjudge.vision.predictions import Prediction, type_of
from visualjudge.vision.raster.images import image_size
from visualjudge.vision.score import score

FEW_SAMPLES, MOST_TRIED = 4, 12
# Minimum gain of each image if few images changed: for two or three images and another number
# format, which rarely helps other predictions; and for one image, or other labels or pairs.
FORM_GAIN, FEW_GAIN = 1.0, 3.0
# A mistake is reported if the mean score is below the first value and rises by the second without
# it, and the third share of the images whose score changes gains.
LOW, GAIN, MOST_IMAGES = 7.0, 1.5, 0.75
# The mean score that a correction must reach: what leaves a poor detector poor explains nothing.
EXPLAINED = 4.0
# If there are fewer boxes than this, all of them must suggest another form.
FEW = 5
# Smallest share of boxes that leave the image for another form to be considered.
LEAVING = 0.3
# Number of pixels by which a box may leave its image.
SLACK = 2.0
# Errors which mean that a correction cannot be tried; the import itself continues.
UNTRIED = VisualJudgeError, ValueError
# Prediction and ground truth of an image.
Sides = tuple[Prediction, Prediction]


def check_forms(task: str, samples: Sequence[Sample | Problem], file: str) -> None:
    """Reject places that look like another form, and sides that look exchanged; warn about truths
    without area or outside their image, which nobody can find.

    Raises
    ------
    DataError
        If all places look normalised, or like corners read as sizes, or only the truth has
        confidences.
    """
    places, given, sizes = type_of(task).places, [], []
    for one in samples if places is not None else ():
        if isinstance(one, Sample) and one.image and one.truth:
            with suppress(DataError):  # reported when the image is copied
                sizes.append(image_size(str(one.image))[::-1])
                given.append(one)
    if places is None or not given:
        return
    sides = ["truth"] + ["prediction"] * any(
        one.prediction is not one.truth for one in given
    )
    boxes = {
        side: _placed(given, np.array(sizes, np.float64), side, places)
        for side in sides
    }
    for side, (corners, frames, _) in boxes.items():
        _check_form(corners, frames, f"{file}: {side}")
    _check_exchange(given, file)
    corners, frames, images = boxes["truth"]
    if isinstance(given[0].truth, LabelledItems):
        empty = (corners[:, 2:] <= corners[:, :2]).any(axis=1)
        outside = ((corners[:, :2] < -SLACK) | (corners[:, 2:] > frames + SLACK)).any(
            axis=1
        )
        warn_once(
            file, "a truth has no area, so nothing can find it", _at(images, empty)
        )
        warn_once(
            file, "a truth extends beyond its image", _at(images, outside & ~empty)
        )


def _at(images: Sequence[str], chosen: Any) -> list[str]:
    return [f"image {images[k]}" for k in np.flatnonzero(chosen).tolist()]


# Return the finite corners of a side's items, (n, 4), and the (width, height) and the name of their
# images.
def _placed(
    given: Sequence[Sample],
    sizes: FloatArray,
    side: str,
    places: Callable[[Any], FloatArray],
) -> tuple[FloatArray, FloatArray, list[str]]:
    found = [places(getattr(one, side)) for one in given]
    image = np.repeat(np.arange(len(given)), [len(one) for one in found])
    corners = np.concatenate(found)
    finite = np.isfinite(corners).all(axis=1)
    return (
        corners[finite],
        sizes[image[finite]],
        [given[k].image_id for k in image[finite]],
    )


def _check_form(corners: FloatArray, frames: FloatArray, where: str) -> None:
    check_in_pixels(corners, where)
    count = len(corners)
    sizes = corners[:, 2:] - corners[:, :2]
    leaving = int((corners[:, 2:] > frames + SLACK).any(axis=1).sum())
    fitting = ((sizes >= corners[:, :2]) & (sizes <= frames + SLACK)).all()
    if fitting and leaving and leaving >= (LEAVING * count if count >= FEW else count):
        raise DataError(
            f"{where}: boxes: must be [x, y, width, height]; {leaving} of {count} extend beyond "
            "their image, but all fit it as [x1, y1, x2, y2]: subtract x1 and y1"
        )


def _check_exchange(given: Sequence[Sample], file: str) -> None:
    sides = [
        [
            getattr(item, "score", None) is not None
            for one in given
            for item in getattr(getattr(one, side), "items", ())
        ]
        for side in ("truth", "prediction")
    ]
    if sides[0] and all(sides[0]) and sides[1] and not any(sides[1]):
        raise DataError(
            f"{file}: all {len(sides[0])} truths have a confidence, but no prediction has one; "
            "--gt and --pred seem to be swapped"
        )


def likely_mistake(
    task: str, tried: Sequence[Sides], options: Mapping[str, Any]
) -> str | None:
    """Return the mistake whose correction scores best, as a sentence, or None if none explains a
    low score.
    """
    before = _scores(task, tried, options)
    if before is None or not before.size or before.mean() >= LOW:
        return None
    best: tuple[float, str] | None = None
    forms = [row.told for row in type_of(task).misreadings]
    for told, sides in _without_mistakes(task, tried):
        least = FORM_GAIN if told in forms and before.size > 1 else FEW_GAIN
        after = _scores(task, sides, options)
        if after is None or not after.size:
            continue
        # compare each newly paired image with the mean
        known = before if after.size == before.size else before.mean()
        gain = float(after.mean() - before.mean())
        up, down = int((after > known).sum()), int((after < known).sum())
        if before.size < FEW_SAMPLES:
            clear = bool((after - known >= least).all())
        else:
            clear = up >= FEW_SAMPLES - 1 and up >= MOST_IMAGES * (up + down)
        explained = gain >= min(least, GAIN) and after.mean() >= EXPLAINED and clear
        if explained and (best is None or gain > best[0]):
            best = gain, f"{told}: the mean score would be {after.mean():.1f}"
    if best is None:
        return None
    return (
        f"the mean score of the first {before.size} images is {before.mean():.1f}; it looks as "
        f"if {best[1]}"
    )


# Return the score of each image, or None if one cannot be scored.
def _scores(
    task: str, sides: Sequence[Sides], options: Mapping[str, Any]
) -> FloatArray | None:
    try:
        return np.array(
            [score(task, found, truth, **options) for found, truth in sides]
        )
    except UNTRIED:
        return None


# Yield each mistake and the images with it corrected.
def _without_mistakes(
    task: str, sides: Sequence[Sides]
) -> Iterator[tuple[str, list[Sides]]]:
    for row in type_of(task).misreadings:
        with suppress(*UNTRIED):
            yield (
                row.told,
                [(row.mended(found, truth), truth) for found, truth in sides],
            )
    found, truths = ([one[side] for one in sides] for side in (0, 1))
    if len(sides) == 2:
        yield (
            "the two predictions are exchanged",
            list(zip(found[::-1], truths, strict=True)),
        )
        return
    yield (
        "each prediction belongs to the image before",
        list(zip(found[1:], truths[:-1], strict=True)),
    )
    yield (
        "each prediction belongs to the image after",
        list(zip(found[:-1], truths[1:], strict=True)),
    )


def equal_sources(folder: DataFolder, task: str) -> list[str]:
    """Return a sentence for each source whose predictions all equal those of another one.

    Predictions are read only for sources whose scores are equal on all images.
    """
    by_source: dict[str, list[Annotation]] = defaultdict(list)
    same_scores: dict[tuple[str, ...], list[str]] = defaultdict(list)
    sentences = []
    for entry in folder.entries(task):
        if entry.annotation.source is not None:
            by_source[entry.annotation.source].append(entry.annotation)
    for name, notes in sorted(by_source.items()):
        notes.sort(key=_scored)
        same_scores[tuple(map(_scored, notes))].append(name)
    for names in same_scores.values():
        first: dict[tuple[str, ...], str] = {}
        for name in names if len(names) > 1 else ():
            with suppress(
                DataError, OSError
            ):  # `build` reports a file that cannot be read
                notes = by_source[name]
                twin = first.setdefault(
                    tuple(_content(note, folder) for note in notes), name
                )
                if twin != name:
                    sentences.append(
                        f"sources {twin!r} and {name!r} have the same predictions on all "
                        f"{pluralize(len({note.image_id for note in notes}), 'image')}; "
                        "import one of them again with its own predictions and --replace"
                    )
    return sentences


# Return what a record shares with that of an equal source.
def _scored(note: Annotation) -> str:
    return repr(
        (
            note.image_id,
            note.class_of_interest,
            note.error_type,
            note.prompt,
            note.final_score,
        )
    )


# Return the prediction with the checksum of each file in place of its path.
def _content(note: Annotation, folder: DataFolder) -> str:
    text = json.dumps(note.prediction, sort_keys=True)
    for _, path in type_of(note.task).files(note.prediction):
        text = text.replace(json.dumps(path), file_sha256(inside(folder.root, path)))
    return text
