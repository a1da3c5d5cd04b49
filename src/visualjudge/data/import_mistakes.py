"""Mistakes in what is imported: sources with the same predictions, coordinates of
another form, sides that are exchanged, truths that nobody can find; and why an import
scores low, by trying likely mistakes on a few of its images. Each type states its own,
as ``misreadings``. Mistakes of one type are in ``vision/<type>/misread.py``, those of
place in ``vision/misplacements.py``.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, combinations, groupby, permutations
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError, Problem, VisualJudgeError
from visualjudge.core.plurals import pluralize
from visualjudge.core.records import Annotation, FloatArray
from visualjudge.data.folder import DataFolder, inside
from visualjudge.formats.samples import Sample, warn_once
from visualjudge.vision.fields import check_in_pixels
from visualjudge.vision.items import LabelledItems
from visualjudge.vision.misplacements import (
    SHARED,
    Y_BEFORE_X,
    Outlines,
    after,
    fitted_moves,
    fitted_scales,
    outlines,
    overlap,
    same_labels,
)
from visualjudge.vision.predictions import Prediction, read_prediction, type_of
from visualjudge.vision.raster.images import image_size
from visualjudge.vision.raster.overlaps import box_ious, mask_ious
from visualjudge.vision.rows import Misreading
from visualjudge.vision.score import score
from visualjudge.vision.scoring.matching import pairs
from visualjudge.vision.scoring.operating_point import shown_at
from visualjudge.vision.tasks import task_named

# Images on which mistakes of content are tried, and those of place and of pairing.
MOST_TRIED = 12
MOST_KEPT = 64
# Pixels of masks, maps and images, from which on no further one is kept.
MOST_PIXELS = 24_000_000
# Minimum gain of each image if there are fewer than so many.
FEW_SAMPLES = 4
FEW_GAIN = 3.0
# A mistake is reported if the mean score is below the first value (of depth maps and
# images, which score well also if mirrored: below 10 minus the second), and the gain
# without it is at least the second, and so many times its standard error, to which the
# last is added: a few equal gains have none.
LOW = 7.0
GAIN = 0.7
# Mean score below which a correction explains nothing.
LEAST = 1.0
SURE = 2.0
ROUGH = 0.15
# Mean overlap from which places are moved: what a poor detector misses to one side is
# no mistake of its file.
MOVED = 6.0
# Smallest share of images on which a degraded one is nearer to the truth.
MOST_IMAGES = 0.75
# If there are fewer boxes than this, all of them must suggest another form.
FEW = 5
# Part of the width and height of images in which not all boxes lie.
CORNER = 0.015
# Smallest share of boxes that leave the image for another form to be considered.
LEAVING = 0.3
# How far places lie from where x equals y, as a part of their size, and the smallest
# share of them for a form to be told.
ALIKE = 0.1
MOST_ALIKE = 0.9
# Number of pixels by which a box may leave its image.
SLACK = 2.0
# Errors which mean that a correction cannot be tried; the import itself continues.
UNTRIED = VisualJudgeError, ValueError
# Height and width to which degraded images are reduced.
SMALL = 64, 64
# The mean score from which restored and degraded images are both right.
PERFECT = 10.0
# What a correction that fits must gain beyond one that does not.
FITTED_GAIN = 0.5
# IoU of boxes that are at one place.
SAME_PLACE = 0.4
# How far corrected places may leave their image, as a part of it, and the largest
# share that does.
BEYOND = 0.01
MOST_LEAVING = 0.1
MEAN_SCORE = "mean score"
OVERLAP = "mean overlap of boxes of one class, of 10,"
# Prediction and ground truth of an image.
Sides = tuple[Prediction, Prediction]
Outlined = tuple[Outlines, Outlines]


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
        # by [[x1, y1], [x2, y2]]; the longer side of an image ends later than the other
        askew = abs(
            np.diff(
                np.minimum(corners, frames.min(axis=1, keepdims=True)).reshape(
                    -1, 2, 2
                )
            )
        ).max(axis=(1, 2))
        for told, chosen, least in (
            (
                "has no area inside its image, so nothing can match it",
                empty,
                LEAVING * (side == "prediction"),
            ),
            (
                "extends beyond its image",
                outside & ~empty,
                LEAVING * (side == "prediction"),  # detectors overshoot
            ),
            (
                "lies where x equals y, as polygons do that have all x before all y",
                ~empty & (askew < ALIKE * np.ptp(corners, axis=1)),
                MOST_ALIKE,
            ),
            (
                "begins in the upper left corner, as coordinates relative to a box do",
                ~empty
                & (corners[:, :2] < 1).all(axis=1)
                & (corners[:, 2:] < frames).all(axis=1),
                MOST_ALIKE,
            ),
        ):
            if chosen.sum() >= max(
                least * chosen.size, FEW * (least == MOST_ALIKE)
            ):
                warn_once(
                    getattr(files, side),
                    f"a {side} {told}",
                    [
                        f"image {images[k]}"
                        for k in np.flatnonzero(chosen).tolist()
                    ],
                )


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
    if count >= FEW and (corners[:, 2:] <= CORNER * frames).all():
        raise DataError(
            f"{where}: all {count} lie in the first {CORNER:.1%} of their image, as "
            "fractions do that are read as percent: multiply them by 100"
        )
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


@dataclass(frozen=True, eq=False, slots=True)
class Trial:
    """What images scored with a mistake, and without, 0..10 each."""

    told: str
    before: FloatArray
    after: FloatArray
    fitted: bool = False
    # Whether the ground truth was corrected.
    of_truth: bool = False
    # Minus the share of what was corrected that leaves its image. Of corrected scales,
    # how far across or down the image it reaches, 0..1: objects are found all over
    # images.
    reach: float = 0.0
    measure: str = MEAN_SCORE
    least: float = LEAST

    @property
    def worth(self) -> float:
        return (
            float((self.after - self.before).mean()) - FITTED_GAIN * self.fitted
        )

    @property
    def explains(self) -> bool:
        """Whether the gain is large, and not by chance."""
        gains = self.after - self.before
        # a truth that leaves its image when corrected was not wrong
        if not gains.size or self.of_truth * self.reach < 0:
            return False
        if gains.size < FEW_SAMPLES:
            return bool((gains >= FEW_GAIN).all())
        error = gains.std(ddof=1) / gains.size**0.5
        return bool(gains.mean() >= max(GAIN, SURE * (error + ROUGH)))


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
    few = [
        (_surest(result, truth), truth) for result, truth in tried[:MOST_TRIED]
    ]
    exchanged, without = _exchanged_with_given(
        task, few, options, images[:MOST_TRIED], files
    )
    before = _scores(task, few, options)
    if (
        before is None
        or not before.size
        or before.mean() >= (LOW if type_of(task).places else PERFECT - GAIN)
    ):
        return exchanged
    trials = [
        *_misread(task, few, before, options),
        *(
            _mispaired(task, few, before, options)
            if type_of(task).places is None
            else _misplaced(task, tried, images)
        ),
    ]
    sides = [
        max(rows, key=lambda trial: trial.worth)
        for of_truth in (False, True)
        if (
            rows := [
                trial
                for trial in trials
                if trial.of_truth == of_truth and trial.explains
            ]
        )
    ]
    # where either side may be misread alike, that of the better reach is; of equal
    # ones, no one can tell
    best = max(sides, key=lambda trial: trial.worth, default=None)
    near = [
        trial
        for trial in sides
        if best is None
        or trial.told == best.told
        or trial.worth >= best.worth - FITTED_GAIN
    ]
    trial = max(near, key=lambda trial: trial.reach, default=None)
    # what explains most but is not sure enough leaves no other mistake to tell
    if trial is None or trial.after.mean() <= max(without, trial.least):
        return exchanged
    either = "ground truth" in trial.told or len(near) > len(
        {(trial.told, trial.reach) for trial in near}
    )
    file = files.truth if trial.of_truth else files.prediction
    return (
        f"{file}{f' (or {files.truth})' * either}: the mean score of the first "
        f"{before.size} images is {before.mean():.1f}; it looks as if "
        f"{trial.told}: the {trial.measure} would be {trial.after.mean():.1f}"
        f"{'' if trial.measure == MEAN_SCORE else f', not {trial.before.mean():.1f}'}"
    )


def _surest(prediction: Prediction, truth: Prediction) -> Prediction:
    """Return as many of the predictions as there are truths, the most confident: with
    all of a detector's, no correction would score well.
    """
    items = getattr(prediction, "items", ())
    return (
        prediction
        if not truth.count
        or any(getattr(item, "score", None) is None for item in items)
        else shown_at(prediction, None, truth.count)
    )


def _exchanged_with_given(
    task: str,
    tried: Sequence[Sides],
    options: Mapping[str, Any],
    images: Sequence[Path | None],
    files: Files,
) -> tuple[str | None, float]:
    """Return the sentence about degraded images that are nearer to the truth than the
    restored ones, or are these; and their mean score."""
    if (
        not task_named(task).restored
        or not len(images) == len(tried) >= 2
        or None in images
    ):
        return None, 0.0
    field = str(type_of(task).file_field)
    degraded = [
        (read_prediction(task, {field: str(image)}), truth)
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
        return _misread_given(task, degraded, options, images), 0.0
    return (
        f"{files.prediction}: on {int((theirs > ours).sum())} of {len(ours)} images "
        "the degraded image is nearer to the ground truth than the restored one; are "
        "two of images, predictions and ground truth exchanged, or do restored images "
        "differ in colours, range or place?",
        mean,
    )


def _misread_given(
    task: str,
    degraded: Sequence[Any],
    options: Mapping[str, Any],
    images: Sequence[Any],
) -> str | None:
    """Return the sentence about degraded images that are misread, as small ones show,
    in which noise, rain and blur are gone."""
    small = [
        tuple(side.scaled(side.pixels.shape[:2], SMALL) for side in sides)
        for sides in degraded
    ]
    before = np.array([score(task, *sides, **options) for sides in small])
    told = [
        trial.told
        for trial in _misread(task, small, before, options)
        if trial.explains and not trial.of_truth
    ]
    return (
        f"{images[0].parent}: it looks as if, in the degraded images, {told[0]}"
        if told
        else None
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


def _misread(
    task: str,
    sides: Sequence[Sides],
    before: FloatArray,
    options: Mapping[str, Any],
) -> Iterator[Trial]:
    """Yield each mistake of the type, of its predictions and of its truths."""
    for row in (*type_of(task).misreadings, *_renamed(task, sides)):
        for of_truth in (False, True):
            with suppress(*UNTRIED):
                changed = [
                    (result, row.mended(truth, result))
                    if of_truth
                    else (row.mended(result, truth), truth)
                    for result, truth in sides
                ]
                after = _scores(task, changed, options)
                if after is not None:
                    yield Trial(
                        row.told,
                        before,
                        after,
                        row.fitted,
                        of_truth,
                        least=row.least,
                    )


def _renamed(task: str, sides: Sequence[Any]) -> Iterator[Misreading]:
    """Yield the mistake of names of maps, whose classes lie anywhere."""
    kind = type_of(task)
    maps = sides if kind.places and not kind.ranked else ()
    for told, names in _names_by_place(
        (
            [item.label for item in result.items],
            [item.label for item in truth.items],
            mask_ious(
                [item.mask for item in result.items],
                [item.mask for item in truth.items],
            ),
        )
        for result, truth in maps
    ):
        yield Misreading(told, partial(with_labels, names), fitted=True)


def _mispaired(
    task: str,
    sides: Sequence[Sides],
    before: FloatArray,
    options: Mapping[str, Any],
) -> Iterator[Trial]:
    """Yield the mistakes of pairing of a type without places, by score."""
    result, truths = ([item[side] for item in sides] for side in (0, 1))
    for told, ours, theirs in _neighbours(result, truths):
        pairs_of_one_size = [
            (side, real)
            for side, real in zip(ours, theirs, strict=True)
            if side.extent == real.extent
        ]
        after = _scores(task, pairs_of_one_size, options)
        if after is not None:
            yield Trial(told, np.full(after.shape, before.mean()), after)


def _neighbours(
    ours: Sequence[Any], theirs: Sequence[Any]
) -> Iterator[tuple[str, Sequence[Any], Sequence[Any]]]:
    if len(ours) == 2:
        yield "the two predictions are exchanged", ours[::-1], theirs
        return
    told = "each prediction belongs to the ground truth"
    yield f"{told} before", ours[1:], theirs[:-1]
    yield f"{told} after", ours[:-1], theirs[1:]


def _misplaced(
    task: str, tried: Sequence[Sides], images: Sequence[Path | None]
) -> Iterator[Trial]:
    """Yield the mistakes that all types with places share: of order, scale and origin,
    of labels, and of pairing. They are tried on the boxes around items."""
    places = type_of(task).places
    assert places is not None
    few = [
        (outlines(_surest(result, truth), places), outlines(truth, places))
        for result, truth in tried[:MOST_KEPT]
    ]
    yield from _paired_otherwise(few)
    sizes = [
        np.full(4, np.nan)
        if path is None
        else np.array([*image_size(path)[::-1]] * 2, np.float64)
        for path in [*images, *[None] * len(few)][: len(few)]
    ]
    before = np.array([overlap(*pair) for pair in few])
    of_predictions = [*_changed(task, few, sizes), *_relabelled(few)]
    of_truths = [
        row
        for row in _changed(task, [pair[::-1] for pair in few], sizes)
        if row[1] != "moved"  # told of predictions, whichever side is wrong
    ]
    for of_truth, corrected in ((False, of_predictions), (True, of_truths)):
        others = [pair[not of_truth] for pair in few]
        for told, kind, side in corrected:
            yield Trial(
                told,
                before,
                np.array(list(map(overlap, side, others))),
                kind in ("fitted", "moved"),
                of_truth,
                _reach(side, sizes, scaled=kind == "scale"),
                OVERLAP,
                MOVED if kind == "moved" else LEAST,
            )


# What is wrong; whether it is a form, a scale, a move, or else fitted; and the corrected
# outlines of a side.
Corrected = tuple[str, str, Sequence[Outlines]]


def _changed(
    task: str, sides: Sequence[Outlined], sizes: Sequence[FloatArray]
) -> Iterator[Corrected]:
    """Yield the first of the sides with each mistake of place corrected."""
    own = type_of(task).misplacements
    rows = [("form", row) for row in (*own, *SHARED)]
    ours, theirs, frames = same_labels(sides, sizes)
    if len(ours):
        rows += [("scale", row) for row in fitted_scales(ours, theirs, frames)]
        rows += [("moved", row) for row in fitted_moves(ours, theirs, frames)]
    for form in (*own, Y_BEFORE_X) if len(ours) else ():
        with suppress(*UNTRIED):
            stated = form.placed(ours, frames)
            rows += [
                ("fitted", after(form, row))
                for row in fitted_scales(stated, theirs, frames)
            ]
    for kind, row in rows:
        with suppress(*UNTRIED):
            changed = [
                side._replace(corners=row.placed(side.corners, size))
                for (side, _), size in zip(sides, sizes, strict=True)
            ]
            if np.isfinite(np.concatenate([x.corners for x in changed])).all():
                yield row.told, kind, changed


def _reach(
    changed: Sequence[Outlines], sizes: Sequence[FloatArray], *, scaled: bool
) -> float:
    own = np.concatenate(
        [side.corners / size for side, size in zip(changed, sizes, strict=True)]
    )
    leaving = (own < -BEYOND) | (own > 1 + BEYOND)
    share = leaving.any(axis=1).sum() / max(len(own), 1)
    reach = np.nan_to_num(own).max(initial=0.0) * scaled
    # some places of a pose leave the image, also where all is right
    return float(-share if share > MOST_LEAVING else reach)


def _paired_otherwise(sides: Sequence[Outlined]) -> Iterator[Trial]:
    """Yield the mistake that predictions belong to other images. What they overlap there
    is compared with the most that they overlap on any other image."""
    values = np.array([[overlap(a, b) for _, b in sides] for a, _ in sides])
    every = [*range(len(sides))]
    for told, rows, columns in _neighbours(every, every):
        yield Trial(
            told, values[rows, rows], values[rows, columns], measure=OVERLAP
        )
    rows, columns = np.array([*pairs(values, 0)])[:, :2].astype(int).T
    after = values[rows, columns]
    values[rows, columns] = np.where(rows == columns, after, 0)
    yield Trial(
        "predictions belong to other images, in no order",
        values[rows].max(axis=1),
        after,
        fitted=True,
        measure=OVERLAP,
    )


def _relabelled(sides: Sequence[Outlined]) -> Iterator[Corrected]:
    """Yield the predictions with the classes named as the places of the items tell, if
    they lie in the places of other classes."""
    alike = [box_ious(ours.corners, real.corners) for ours, real in sides]
    for told, names in _names_by_place(
        (ours.labels, real.labels, ious >= SAME_PLACE)
        for (ours, real), ious in zip(sides, alike, strict=True)
    ):
        yield (
            told,
            "fitted",
            _named(
                sides,
                [
                    [names.get(str(a), str(a)) for a in ours.labels]
                    for ours, _ in sides
                ],
            ),
        )
    # also of predictions that lie nowhere near a truth
    first, second = (
        {str(a) for pair in sides for a in pair[side].labels} for side in (0, 1)
    )
    if len(first) == 1 < len(second):
        nearest = [
            real.labels[ious.argmax(axis=1)] if ious.size else ours.labels
            for (ours, real), ious in zip(sides, alike, strict=True)
        ]
        told = f"all predictions have one class, {first.pop()}"
        yield told, "fitted", _named(sides, nearest)


def _names_by_place(
    rows: Iterable[tuple[Any, Any, NDArray[Any]]],
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what is wrong with the classes of predictions that lie in the places of
    others, and the classes there by theirs.

    Parameters
    ----------
    rows
        Labels of n predictions and of m ground truths of an image, and how much they
        lie at one place, (n, m).
    """
    weights: Counter[tuple[str, str]] = Counter()
    for ours, theirs, alike in rows:
        for (i, j), value in np.ndenumerate(alike):
            weights[str(ours[i]), str(theirs[j])] += value
    first, second = (
        sorted({pair[side] for pair in weights}) for side in (0, 1)
    )
    table = np.array([weights[a, b] for a in first for b in second])
    matched = pairs(table.reshape(len(first), len(second)))
    names = {first[i]: second[j] for i, j, _ in matched}
    changed = [f"{a} for {b}" for a, b in names.items() if a != b]
    if changed:
        in_turn = any(names.get(b, a) != a for a, b in names.items())
        told = (
            "between predictions and ground truth, classes are exchanged"
            f"{', as by numbers that are off by one' * in_turn} "
            f"({', '.join(changed[:3])})"
        )
        yield told, names


def _named(sides: Sequence[Outlined], labels: Sequence[Any]) -> list[Outlines]:
    return [
        ours._replace(labels=np.array(names, np.str_))
        for (ours, _), names in zip(sides, labels, strict=True)
    ]


def with_labels(
    names: Mapping[str, str], side: Prediction, _other: object = None
) -> Prediction:
    """Return the prediction with the items of some labels named otherwise."""
    return (
        side.with_items(
            replace(item, label=names.get(item.label, item.label))
            for item in side.items
        )
        if isinstance(side, LabelledItems)
        and not names.keys().isdisjoint(side.labels)
        else side
    )


def by_source(folder: DataFolder, task: str) -> dict[str, list[Annotation]]:
    """Return the predictions of each source, in the order of :func:`_scored`."""
    rows = sorted(
        (
            (note.source, note)
            for note in folder.entries(task)
            if note.source is not None
        ),
        key=itemgetter(0),
    )
    return {
        name: sorted((note for _, note in group), key=_scored)
        for name, group in groupby(rows, itemgetter(0))
    }


def equal_sources(
    folder: DataFolder, sources: Mapping[str, list[Annotation]]
) -> Iterator[str]:
    """Yield a sentence for each source whose predictions all equal those of another
    one, whatever people gave for them.

    Predictions are read only for sources whose computed scores are equal on all images,
    and of images until two differ.
    """
    same_scores: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, notes in sources.items():
        same_scores[tuple(map(_scored, notes))].append(name)
    for twin, name in chain.from_iterable(
        combinations(names, 2) for names in same_scores.values()
    ):
        notes = sources[name]
        with suppress(
            DataError, OSError
        ):  # `build` reports a file that cannot be read
            if all(
                _content(ours, folder) == _content(other, folder)
                for ours, other in zip(notes, sources[twin], strict=True)
            ):
                yield (
                    f"sources {twin!r} and {name!r} have the same predictions on all "
                    f"{pluralize(len({note.image_id for note in notes}), 'image')}; "
                    "import one of them again with its own predictions and `replace`"
                )


def doubts_of_sources(folder: DataFolder, task: str) -> Iterator[str]:
    """Yield what may be wrong with the sources of a task beside each other."""
    sources = by_source(folder, task)
    yield from equal_sources(folder, sources)
    asked = {
        name: {(note.image_id, note.class_of_interest) for note in notes}
        for name, notes in sources.items()
        if notes[0].error_type is None
    }
    images = {
        name: {image for image, _ in rows} for name, rows in asked.items()
    }
    every = set().union(*images.values())
    lacking = [
        f"{len(every - own)} of {len(every)} by {name!r}"
        for name, own in images.items()
        if own != every
    ]
    if lacking:
        yield (
            f"images without a prediction: {', '.join(lacking[:FEW])}"
            f"{', …' * (len(lacking) > FEW)}; models are compared on images that both "
            "have"
        )
    other = sorted(
        {
            (image, name, twin)
            for (name, ours), (twin, theirs) in permutations(asked.items(), 2)
            for image, _ in ours - theirs
            if image in images[twin]
        }
    )
    if other:
        image, *names = other[0]
        yield (
            "classes that the sources are asked about differ on "
            f"{pluralize(len({row[0] for row in other}), 'image')}, such as {image} of "
            f"{' and '.join(map(repr, names))}; were they imported with another ground "
            "truth, or `class_of_interest`? Import all with the same, and `replace`"
        )


def _scored(note: Annotation) -> str:
    """Return what a record shares with that of an equal source."""
    return repr(
        (
            note.image_id,
            note.class_of_interest,
            note.error_type,
            note.prompt,
            None if "given_score" in note.metadata else note.final_score,
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
