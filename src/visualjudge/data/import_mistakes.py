"""Mistakes in what is imported: sources with the same predictions, coordinates of
another form, sides that are exchanged, truths that nobody can find; and why an import
scores low, by trying likely mistakes on a few of its images. Each type states its own,
as ``misreadings``.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError, Problem, VisualJudgeError
from visualjudge.core.plurals import pluralize
from visualjudge.core.records import Annotation, FloatArray, Size
from visualjudge.data.folder import DataFolder, inside
from visualjudge.formats.samples import Sample, warn_once
from visualjudge.vision.fields import check_in_pixels
from visualjudge.vision.items import LabelledItems
from visualjudge.vision.predictions import Prediction, read_prediction, type_of
from visualjudge.vision.raster.images import image_size
from visualjudge.vision.raster.overlaps import box_ious
from visualjudge.vision.rows import LETTERBOXES, Misreading
from visualjudge.vision.score import score
from visualjudge.vision.scoring.matching import pairs
from visualjudge.vision.scoring.operating_point import shown_at
from visualjudge.vision.tasks import task_named

FEW_SAMPLES = 4
MOST_TRIED = 12
# Minimum gain of each image if few images changed: for two or three images and another
# number format, which rarely helps other predictions; and for one image, or other
# labels or pairs.
FORM_GAIN = 1.0
FEW_GAIN = 3.0
# A mistake is reported if the mean score is below the first value and rises by the
# second without it, and the third share of the images whose score changes gains.
LOW = 7.0
GAIN = 1.5
MOST_IMAGES = 0.75
# The mean score that a correction must reach: what leaves a poor detector poor explains
# nothing. A poor detector with its boxes halved stays below: there, no image may lose,
# as many must gain as for a correction that fits, and the mean must be so many times
# what it was.
EXPLAINED = 4.0
TIMES = 4
POOR = 0.5
# If there are fewer boxes than this, all of them must suggest another form.
FEW = 5
# Smallest share of boxes that leave the image for another form to be considered.
LEAVING = 0.3
# Number of pixels by which a box may leave its image.
SLACK = 2.0
# Errors which mean that a correction cannot be tried; the import itself continues.
UNTRIED = VisualJudgeError, ValueError
# Images from which a correction that fits the truth is believed, and the mean score
# that it must reach where there are fewer.
FITTED_SAMPLES = 6
FITTED_SCORE = 8.0
# The mean score from which restored and degraded images are both right.
PERFECT = 10.0
# What a correction that fits must gain beyond one that does not.
FITTED_GAIN = 0.5
# Factors and sides of square images, of which coordinates are often left.
FACTORS = (2, 4)
SIDES = (1, 100, 1000, *LETTERBOXES)
# IoU of boxes that are at one place.
SAME_PLACE = 0.5
# Prediction and ground truth of an image.
Sides = tuple[Prediction, Prediction]


@dataclass(frozen=True, slots=True)
class Files:
    """What messages call the files of an import."""

    truth: str = "truth"
    prediction: str = "predictions"

    def of(self, side: str) -> str:
        """Return the file of a side of a sample, with what it holds."""
        return f"{self.truth if side == 'truth' else self.prediction}: {side}"


UNNAMED = Files()


def check_forms(
    task: str, samples: Sequence[Sample | Problem], files: Files = UNNAMED
) -> None:
    """Reject places that look like another form, and sides that look exchanged; warn
    about truths without area or outside their image, which nobody can find.

    Raises
    ------
    DataError
        If all places look normalised, or like corners read as sizes, or only the truth
        has confidences.
    """
    places = type_of(task).places
    supplied = []
    sizes = []
    for sample in samples if places is not None else ():
        if isinstance(sample, Sample) and sample.image and sample.truth:
            with suppress(DataError):  # reported when the image is copied
                sizes.append(image_size(str(sample.image))[::-1])
                supplied.append(sample)
    if places is None or not supplied:
        return
    sides = ["truth"] + ["prediction"] * any(
        sample.prediction is not sample.truth for sample in supplied
    )
    boxes = {
        side: _placed(supplied, np.array(sizes, np.float64), side, places)
        for side in sides
    }
    for side, (corners, frames, _) in boxes.items():
        _check_form(corners, frames, files.of(side))
    _check_exchange(supplied, files)
    if not isinstance(supplied[0].truth, LabelledItems):
        return
    for side, (corners, frames, images) in boxes.items():
        empty = (corners[:, 2:] <= corners[:, :2]).any(axis=1)
        outside = (
            (corners[:, :2] < -SLACK) | (corners[:, 2:] > frames + SLACK)
        ).any(axis=1)
        if side == "truth" or empty.sum() >= LEAVING * empty.size:
            warn_once(
                getattr(files, side),
                f"a {side} has no area inside its image, so nothing can match it",
                _at(images, empty),
            )
        elif outside.sum() < LEAVING * outside.size:  # detectors overshoot
            continue
        warn_once(
            getattr(files, side),
            f"a {side} extends beyond its image",
            _at(images, outside & ~empty),
        )


def _at(images: Sequence[str], chosen: Any) -> list[str]:
    return [f"image {images[k]}" for k in np.flatnonzero(chosen).tolist()]


def _placed(
    samples: Sequence[Sample],
    sizes: FloatArray,
    side: str,
    places: Callable[[Any], FloatArray],
) -> tuple[FloatArray, FloatArray, list[str]]:
    """Return the finite corners of a side's items, (n, 4), and the (width, height) and
    the name of their images."""
    collected = [places(getattr(item, side)) for item in samples]
    image = np.repeat(
        np.arange(len(samples)), [len(item) for item in collected]
    )
    corners = np.concatenate(collected)
    finite = np.isfinite(corners).all(axis=1)
    return (
        corners[finite],
        sizes[image[finite]],
        [samples[k].image_id for k in image[finite]],
    )


def _check_form(corners: FloatArray, frames: FloatArray, where: str) -> None:
    check_in_pixels(corners, where)
    count = len(corners)
    sizes = corners[:, 2:] - corners[:, :2]
    leaving = int((corners[:, 2:] > frames + SLACK).any(axis=1).sum())
    fitting = ((sizes >= corners[:, :2]) & (sizes <= frames + SLACK)).all()
    if (
        fitting
        and leaving
        and leaving >= (LEAVING * count if count >= FEW else count)
    ):
        raise DataError(
            f"{where}: boxes: must be [x, y, width, height]; {leaving} of {count} "
            "extend beyond their image, but all fit it as [x1, y1, x2, y2]: subtract "
            "x1 and y1"
        )


def _check_exchange(samples: Sequence[Sample], files: Files) -> None:
    sides = [
        [
            getattr(item, "score", None) is not None
            for entry in samples
            for item in getattr(getattr(entry, side), "items", ())
        ]
        for side in ("truth", "prediction")
    ]
    if sides[0] and all(sides[0]) and sides[1] and not any(sides[1]):
        raise DataError(
            f"{files.truth}: all {len(sides[0])} truths have a confidence, but no "
            "prediction has one; `gt` and `pred` seem to be swapped"
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """The tried images with a mistake corrected."""

    told: str
    sides: Sequence[Sides]
    # Minimum gain of each image if few changed.
    least: float = FEW_GAIN
    fitted: bool = False
    # Whether the ground truth was corrected.
    of_truth: bool = False
    # −1 if what was corrected leaves its image. Of corrected scales, how far across or
    # down the image it reaches, 0..1: objects are found all over images.
    reach: float = 0.0


def likely_mistake(
    task: str,
    tried: Sequence[Sides],
    options: Mapping[str, Any],
    images: Sequence[Path | None] = (),
    files: Files = UNNAMED,
) -> str | None:
    """Return the mistake whose correction scores best, as a sentence, or None if none
    explains a low score.
    """
    tried = [(_surest(result, truth), truth) for result, truth in tried]
    exchanged, without = _exchanged_with_given(
        task, tried, options, images, files
    )
    before = _scores(task, tried, options)
    if before is None or not before.size or before.mean() >= LOW:
        return exchanged
    explaining: list[tuple[float, Trial, float]] = []
    for trial in _without_mistakes(task, tried, images):
        after = _scores(task, trial.sides, options)
        # a truth that leaves its image when corrected was not wrong
        if after is None or not after.size or trial.of_truth * trial.reach < 0:
            continue
        # compare each newly paired image with the mean
        known = before if after.size == before.size else before.mean()
        gain = float(after.mean() - before.mean())
        up = int((after > known).sum())
        down = int((after < known).sum())
        least = trial.least if before.size > 1 else FEW_GAIN
        clear = (
            bool((after - known >= least).all())
            if before.size < FEW_SAMPLES
            else up >= FEW_SAMPLES - 1 and up >= MOST_IMAGES * (up + down)
        )
        if trial.fitted and before.size < FITTED_SAMPLES:
            clear = clear and after.mean() >= FITTED_SCORE
        explained = (
            gain >= min(least, GAIN) and after.mean() >= EXPLAINED
        ) or (
            not trial.fitted
            and up >= FITTED_SAMPLES
            and not down
            and after.mean() >= max(POOR, TIMES * before.mean())
        )
        gain -= FITTED_GAIN * trial.fitted
        if explained and clear:
            explaining.append((gain, trial, float(after.mean())))
    most = max((gain for gain, _, _ in explaining), default=0.0)
    best = max(
        (row for row in explaining if row[0] >= most - FITTED_GAIN),
        key=lambda row: (
            row[1].reach,
            not row[1].of_truth,
            not row[1].fitted,
        ),
        default=None,
    )
    if best is None or best[2] <= without:
        return exchanged
    # where either side may be misread alike, predictions are, and they come first
    _, trial, mean = next(
        row
        for row in explaining
        if row[1].told == best[1].told and row[1].reach >= best[1].reach
    )
    return (
        f"{files.truth if trial.of_truth else files.prediction}: the mean score of the "
        f"first {before.size} images is {before.mean():.1f}; it looks as if "
        f"{trial.told}: the mean score would be {mean:.1f}"
    )


def _surest(prediction: Prediction, truth: Prediction) -> Prediction:
    """Return as many of the predictions as there are truths, the most confident: with
    all of a detector's, no correction would score well.
    """
    items = getattr(prediction, "items", ())
    if not truth.count or any(
        getattr(item, "score", None) is None for item in items
    ):
        return prediction
    return shown_at(prediction, None, truth.count)


def _exchanged_with_given(
    task: str,
    tried: Sequence[Sides],
    options: Mapping[str, Any],
    images: Sequence[Path | None],
    files: Files,
) -> tuple[str | None, float]:
    """Return the sentence about degraded images that are nearer to the truth than the
    restored ones, or are these; and their mean score."""
    known = len(images) == len(tried) >= 2 and None not in images
    if not (task_named(task).restored and known):
        return None, 0.0
    kind = type_of(task)
    degraded = [
        (read_prediction(task, {str(kind.file_field): str(image)}), truth)
        for image, (_, truth) in zip(images, tried, strict=True)
    ]
    ours, theirs = (
        _scores(task, sides, options) for sides in (tried, degraded)
    )
    if ours is None or theirs is None:
        return None, 0.0
    mean = float(theirs.mean())
    if (theirs == ours).all() and mean < PERFECT:
        return (
            f"{files.prediction}: on all {len(ours)} images the restored image scores "
            "as the degraded one does; is it the same file?",
            mean,
        )
    if np.mean(theirs > ours) < MOST_IMAGES:
        return None, 0.0
    return (
        f"{files.prediction}: on {int((theirs > ours).sum())} of {len(ours)} images "
        "the degraded image is nearer to the ground truth than the restored one; are "
        "two of images, predictions and ground truth exchanged, or do restored images "
        "differ in colours, range or place?",
        mean,
    )


def _scores(
    task: str, sides: Sequence[Sides], options: Mapping[str, Any]
) -> FloatArray | None:
    """Return the score of each image, or None if one cannot be scored."""
    try:
        return np.array(
            [score(task, result, truth, **options) for result, truth in sides]
        )
    except UNTRIED:
        return None


def _without_mistakes(
    task: str, sides: Sequence[Sides], images: Sequence[Path | None]
) -> Iterator[Trial]:
    """Yield each mistake of the type, of its predictions and of its truths; then those
    that all types share: of scale, of labels, of pairing.
    """
    sizes = [None if path is None else image_size(path) for path in images]
    sizes += [None] * (len(sides) - len(sizes))
    scales = [*_scales(task)]
    for row in (*type_of(task).misreadings, *scales):
        for of_truth in (False, True):
            with suppress(*UNTRIED):
                changed = [
                    _mended(row, pair, size, of_truth=of_truth)
                    for pair, size in zip(sides, sizes, strict=True)
                ]
                corrected = [pair[of_truth] for pair in changed]
                reach = _reach(task, corrected, sizes)
                if row not in scales:
                    reach = min(reach, 0.0)
                yield Trial(
                    row.told, changed, FORM_GAIN, row.fitted, of_truth, reach
                )
    result, truths = ([item[side] for item in sides] for side in (0, 1))
    if type_of(task).places is not None and isinstance(
        result[0], LabelledItems
    ):
        yield from _relabelled(task, sides)
    if len(sides) == 2:
        yield Trial(
            "the two predictions are exchanged",
            list(zip(result[::-1], truths, strict=True)),
        )
        return
    for place, ours, theirs in (
        ("before", result[1:], truths[:-1]),
        ("after", result[:-1], truths[1:]),
    ):
        yield Trial(
            f"each prediction belongs to the ground truth {place}",
            [
                (side, real)
                for side, real in zip(ours, theirs, strict=True)
                if side.extent == real.extent
            ],
        )


def _reach(
    task: str, corrected: Sequence[Prediction], sizes: Sequence[Size | None]
) -> float:
    places = type_of(task).places
    if places is None or None in sizes:
        return 0.0
    corners = [places(side)[:, 2:] for side in corrected]
    frames = np.array(sizes, np.float64)[:, ::-1]
    own = np.concatenate(corners)
    frame = np.repeat(frames, list(map(len, corners)), axis=0)
    leaving = (own > frame + SLACK).any(axis=1)
    # some predictions of a pose reach beyond, also where their scale is right
    if leaving.sum() > LEAVING * len(own):
        return -1.0
    return float((own / frame).max(initial=0.0))


def _mended(
    row: Misreading, pair: Sides, size: Size | None, *, of_truth: bool
) -> Sides:
    result, truth = pair
    if row.of_size and (of_truth or size is None):
        raise DataError("size: is not known")
    if of_truth:
        return result, row.mended(truth, result)
    return row.mended(result, size if row.of_size else truth), truth


def _scales(task: str) -> Iterator[Misreading]:
    """Yield the mistakes of places in another scale, for types that have some without a
    size."""
    if type_of(task).places is None:
        return
    for factor in FACTORS:
        yield Misreading(
            f"all coordinates were divided by {factor}",
            partial(_resized, 1, (factor, factor)),
        )
        message = f"all coordinates were multiplied by {factor:g}"
        yield Misreading(message, partial(_resized, factor, (1, 1)))
    for side in SIDES:
        message = f"coordinates refer to an image of {side} × {side}"
        yield Misreading(message, partial(_resized, side, None), of_size=True)


def _resized(
    side: int, target: Size | None, prediction: Prediction, size: Any
) -> Prediction:
    """Scale from an image of ``side`` × ``side`` to ``target``, or to ``size``."""
    if prediction.extent is not None:
        raise DataError("size: is that of the image")
    return prediction.scaled((side, side), target or size)


def _relabelled(task: str, sides: Sequence[Sides]) -> Iterator[Trial]:
    """Yield the images with the classes named as the places of the items tell, if they
    lie in the places of other classes.
    """
    places = type_of(task).places
    assert places is not None
    times: Counter[tuple[str, str]] = Counter()
    for result, truth in sides:
        similarity = box_ious(
            places(result), places(truth), np.zeros(truth.count or 0, np.bool_)
        )
        for i, j in np.argwhere(similarity >= SAME_PLACE).tolist():
            times[result.items[i].label, truth.items[j].label] += 1  # type: ignore[attr-defined]
    ours, theirs = (sorted({pair[side] for pair in times}) for side in (0, 1))
    counts = np.array([[times[a, b] for b in theirs] for a in ours])
    if not counts.size:
        return
    names = {ours[i]: theirs[j] for i, j, _ in pairs(counts, least=1)}
    changed = [f"{a} for {b}" for a, b in names.items() if a != b]
    if changed:
        in_turn = any(names.get(b, a) != a for a, b in names.items())
        by_one = ", as by numbers that are off by one" * in_turn
        yield Trial(
            f"classes are exchanged{by_one} ({', '.join(changed[:3])})",
            [(with_labels(a, names), b) for a, b in sides],
            fitted=True,
        )


def with_labels(side: Prediction, names: Mapping[str, str]) -> Prediction:
    """Return the prediction with the items of some labels named otherwise."""
    if not isinstance(side, LabelledItems) or names.keys().isdisjoint(
        side.labels
    ):
        return side
    return side.with_items(
        replace(item, label=names.get(item.label, item.label))
        for item in side.items
    )


def equal_sources(folder: DataFolder, task: str) -> list[str]:
    """Return a sentence for each source whose predictions all equal those of another
    one.

    Predictions are read only for sources whose scores are equal on all images.
    """
    by_source: dict[str, list[Annotation]] = defaultdict(list)
    same_scores: dict[tuple[str, ...], list[str]] = defaultdict(list)
    sentences = []
    for note in folder.entries(task):
        if note.source is not None:
            by_source[note.source].append(note)
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
                        f"sources {twin!r} and {name!r} have the same predictions on "
                        "all "
                        f"{pluralize(len({note.image_id for note in notes}), 'image')}; "
                        "import one of them again with its own predictions and "
                        "`replace`"
                    )
    return sentences


def _scored(note: Annotation) -> str:
    """Return what a record shares with that of an equal source."""
    return repr(
        (
            note.image_id,
            note.class_of_interest,
            note.error_type,
            note.prompt,
            note.final_score,
        )
    )


def _content(note: Annotation, folder: DataFolder) -> str:
    """Return the prediction with the checksum of each file in place of its path."""
    text = json.dumps(note.prediction, sort_keys=True)
    for _, path in type_of(note.task).files(note.prediction):
        text = text.replace(
            json.dumps(path), file_sha256(inside(folder.root, path))
        )
    return text
