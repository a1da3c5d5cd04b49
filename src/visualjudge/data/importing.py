"""Score the samples of an importer and write them to a data folder. Reading files is in
``visualjudge.formats``; writing, in ``writer.py``.
"""

import math
import re
import warnings
from collections import Counter
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from visualjudge.core.errors import (
    DataError,
    Problem,
    UsageError,
    in_field,
)
from visualjudge.core.jsons import Json
from visualjudge.core.plurals import pluralize
from visualjudge.core.records import Annotation
from visualjudge.data.folder import LONGEST_NAME, check_labels
from visualjudge.data.import_mistakes import (
    FEW_SAMPLES,
    MOST_KEPT,
    MOST_PIXELS,
    MOST_TRIED,
    UNNAMED,
    Files,
    Sides,
    check_forms,
    likely_mistake,
    with_labels,
)
from visualjudge.data.writer import FolderWriter, with_hash
from visualjudge.formats.pairing import normal
from visualjudge.formats.samples import NO_PREDICTION, Sample, named
from visualjudge.vision.faults import faults_by_class, faults_of
from visualjudge.vision.fields import number
from visualjudge.vision.predictions import Prediction, type_of
from visualjudge.vision.raster.images import read_rgb
from visualjudge.vision.raster.limits import check_items
from visualjudge.vision.score import (
    measured_by,
    notes,
    score,
    scores_by_class,
)
from visualjudge.vision.scoring.average_precision import (
    COCO_THRESHOLDS,
    CocoImages,
)
from visualjudge.vision.scoring.operating_point import (
    SIMILARITY,
    OperatingPoint,
    best_f1,
    confident,
    reversed_confidences,
    shown_at,
)
from visualjudge.vision.tasks import TASKS

# Words in the names of files that say that they are of the ground truth, or predicted.
SIDES = (
    {"gt", "truth", "truths", "groundtruth"},
    {"pred", "preds", "prediction", "predictions"},
)
EACH = "each"
ALL = "all"
# Below this mean score without a known mistake, an import warns: usual detectors reach
# it.
UNEXPLAINED = 2.0
BEST_F1 = "best-f1"
# Share of ground truths that occur twice by an oversight of annotators.
DOUBLED = 0.05


@dataclass(frozen=True, slots=True)
class Intake:
    """Options of every import: how images are named, and which predictions count.

    Without ``min_score``, ``top_k`` and ``score_at``, predictions that all have a
    confidence are shown and scored at the threshold of best F1 (IoU 0.5) on the
    imported images, the usual operating point of a detector. ``min_score=0`` keeps all
    of them.
    """

    id_prefix: str = ""
    min_score: float | None = None
    top_k: int | None = None
    score_at: str | None = None

    def __post_init__(self) -> None:
        if self.score_at not in (None, BEST_F1):
            raise UsageError(
                f"`score_at` must be {BEST_F1}, got {self.score_at!r}"
            )
        if self.score_at is not None and self.min_score is not None:
            raise UsageError(
                "`score_at` and `min_score` both choose the threshold; give one of them"
            )
        if self.top_k is not None and self.top_k < 1:
            raise UsageError(f"`top_k` must be at least 1, got {self.top_k}")


@dataclass(eq=False)
class Imported:
    """The result of an import."""

    annotations: int = 0
    images: set[str] = field(default_factory=set)
    truths: int = 0
    predictions: int = 0
    # Number of predictions below the threshold.
    left_out: int = 0
    # The threshold, if it was chosen by best F1.
    point: OperatingPoint | None = None
    # No prediction matches a ground truth at any threshold.
    unmatched: bool = False
    # Number of predictions of classes missing from their image's ground truth, if each
    # of its classes is asked about.
    unasked: int = 0
    # Number of predictions without a confidence, in a task where predictions have one.
    unscored: int = 0
    # Images with ground truth that the files of predictions do not name.
    without: list[str] = field(default_factory=list)
    # Number of boxes that are identical to an earlier one of their image.
    repeated: int = 0
    # The same of ground truths.
    doubled: int = 0
    # Number of annotations that score 10.
    exact: int = 0
    # Sum of the scores of all annotations.
    total: float = 0.0
    # Labels that occur in a ground truth or a prediction.
    labels: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    # Number of images with ground truth, and of its items without crowds.
    paired: int = 0
    real: int = 0
    # Prediction and ground truth of the first images, on which a low score is
    # explained, and the images.
    tried: list[Sides] = field(default_factory=list)
    tried_images: list[Path | None] = field(default_factory=list)
    tried_pixels: int = 0
    # How the scores were made, and what a default of the metric hides.
    notes: tuple[str, ...] = ()
    # Labels of the ground truth, and those of predictions that were read as one of
    # them.
    real_labels: set[str] = field(default_factory=set)
    joined: dict[str, str] = field(default_factory=dict)
    # Highest confidence.
    surest: float = 0.0
    # Why the scores are low, if a likely mistake was found.
    mistake: str | None = None
    # All images for COCO's evaluation, if all predictions have a confidence.
    evaluated: CocoImages | None = None
    # Not every class was looked for on every image (LVIS).
    federated: bool = False
    # Sources of all records of the task in the folder.
    sources: set[str | None] = field(default_factory=set)


def import_source(
    out: str | Path,
    task: str,
    samples: Iterable[Sample | Problem],
    *,
    replace: bool = False,
    watch: Callable[[Iterator[Imported]], Iterable[Imported]] = iter,
    **options: Any,
) -> Imported:
    """Import the predictions of one source into the data folder ``out``.

    Parameters
    ----------
    replace
        Whether to replace existing records of the source.
    watch
        Gets the running count after each sample, and yields it on.
    options
        Options of :func:`import_samples`.

    Raises
    ------
    UsageError
        As :func:`import_samples` does; also if ``out`` is another kind of folder.
    DataError
        If a record contradicts one in the folder, or, of files with names, neither side
        has anything on any image. Nothing is written then.
    """
    with FolderWriter(out, task, replace=replace) as writer:
        done = [
            Imported(),
            *watch(import_samples(writer, samples, **options)),
        ][-1]
        if "files" in options:
            _check_sides(done, options["files"])
        if len(writer):
            writer.commit()
        done.sources = writer.sources
    return done


def import_samples(
    writer: FolderWriter,
    samples: Iterable[Sample | Problem],
    *,
    source: str | None,
    classes: tuple[str, ...] = (EACH,),
    files: Files = UNNAMED,
    intake: Intake | None = None,
    **options: Any,
) -> Iterator[Imported]:
    """Score every sample and add it to ``writer``. Yield the running count after each.
    The caller commits.

    Parameters
    ----------
    source
        Name of the model; a sample's own name takes precedence.
    classes
        For tasks with a class of interest: ``("each",)`` creates one annotation for
        every class of an image's ground truth, ``("all",)`` one for all classes
        together, and labels one for each label on every image.
    files
        What messages call the files of the ground truth and of the predictions.
    intake
        Image naming, and which predictions count.
    options
        Options of :func:`visualjudge.vision.score.score`.

    Raises
    ------
    UsageError
        If a class of interest occurs neither in a ground truth nor in a prediction, or
        the threshold leaves no prediction.
    """
    done = Imported()
    how = intake or Intake()
    checked = (_checked(item, files.prediction, done) for item in samples)
    # classes of both sides are joined before images of a whole data set are matched
    ranked = writer.kind.ranked is not None
    samples = (
        _with_names_of_truth(item, done)
        for item in ([*checked] if ranked else checked)
    )
    if ranked:
        samples = [*samples]
        check_forms(writer.task, samples, files)
        done.evaluated = _evaluated(writer.task, samples, how)
        done.federated = any(
            isinstance(item, Sample) and item.judged is not None
            for item in samples
        )
        by_f1 = how.score_at or how.min_score is how.top_k is None
        point = (
            best_f1(done.evaluated)
            if by_f1 and done.evaluated is not None
            else None
        )
        done.unmatched = point is not None and not point.f1
        done.point = None if done.unmatched else point
    threshold = how.min_score if done.point is None else done.point.min_score
    measured = measured_by(writer.task, options)
    for sample in samples:
        if isinstance(sample, Problem):
            done.problems.append(sample)
        else:
            try:
                noted = replace(
                    sample,
                    image_id=named(sample, how.id_prefix),
                    metadata={**sample.metadata, **measured},
                )
                _note(noted, done)
                displayed = _thresholded(noted, threshold, how, done)
                _try_later(
                    noted,
                    MOST_KEPT if ranked else MOST_TRIED,
                    done,
                )
                _add(writer, displayed, source, classes, options, done)
            except DataError as error:
                done.problems.append(
                    Problem.of(
                        error, files.prediction, sample.image_id, "prediction"
                    )
                )
        yield done
    _check_classes(writer.task, classes, done)
    if 0 < done.predictions == done.left_out:
        raise UsageError(
            f"`min_score` must leave a prediction, got {threshold}; the highest "
            f"confidence is {done.surest:g}"
        )
    if 0 < (how.min_score or 0) < 1 < done.surest:
        warnings.warn(
            f"{files.prediction}: confidences go up to {done.surest:g}, so they are no "
            f"probabilities, and `min_score` {how.min_score:g} was compared with them "
            "as they are; are they percent or logits?",
            stacklevel=2,
        )
    if done.tried:
        done.notes = notes(writer.task, done.tried, options)
    if done.problems and len(done.tried) < FEW_SAMPLES:
        done.tried.clear()  # the few that were not refused are no sample
    done.mistake = likely_mistake(
        writer.task, done.tried, options, done.tried_images, files
    )


def _checked(
    sample: Sample | Problem, file: str, done: Imported
) -> Sample | Problem:
    """Return the sample with its labels, or the problem that makes it unusable."""
    if not isinstance(sample, Sample):
        return sample
    try:
        _check_given(sample)
    except DataError as error:
        return Problem.of(error, file, str(sample.image_id), "prediction")
    if sample.truth is not None:
        done.real_labels.update(sample.truth.labels)
    own = () if sample.truth is None else sample.truth.without_crowds().labels
    return replace(sample, labels=own) if sample.labels is None else sample


def _with_names_of_truth(sample: Any, done: Imported) -> Any:
    """Return the sample with labels of its prediction as the ground truth writes them,
    if they differ in case, in blanks around them or in the Unicode form alone.
    """
    if not isinstance(sample, Sample) or sample.truth is None:
        return sample
    foreign = set(sample.prediction.labels) - done.real_labels
    if not foreign:
        return sample
    times = Counter(map(normal, done.real_labels))
    known = {normal(name): name for name in done.real_labels}
    names = {a: known[normal(a)] for a in foreign if times[normal(a)] == 1}
    done.joined |= names
    return replace(sample, prediction=with_labels(names, sample.prediction))


def _try_later(sample: Sample, most: int, done: Imported) -> None:
    """Keep a scored sample for trials, unless there are enough, or large ones."""
    if (
        sample.truth is not None
        and sample.final_score is None
        and len(done.tried) < most
        and done.tried_pixels < MOST_PIXELS
    ):
        done.tried.append((sample.prediction, sample.truth))
        done.tried_images.append(sample.image)
        done.tried_pixels += math.prod(
            sample.truth.extent
            or getattr(sample.truth.image, "shape", (0, 0))[:2]
        )


def _check_given(sample: Sample) -> None:
    """Check that a sample has a score, or a ground truth to compute one; without either
    it must not score 0. Its predictions must fit their image and have labels of text.
    """
    for name, text in (("image_id", sample.image_id), ("key", sample.key)):
        if not text.isprintable() and any(
            "\ud800" <= character <= "\udfff" for character in text
        ):
            raise DataError(
                f"{name}: must be text in UTF-8, got {text!r:.80}; rename the file"
            )
    for name, side in (
        ("prediction", sample.prediction),
        ("truth", sample.truth),
    ):
        if side is not None:
            check_items(name, side.count or 0)
            with in_field(name):
                check_labels(side.labels)
    stated = sample.final_score
    if stated is None and sample.truth is None:
        raise DataError(
            "truth: must be given if there is no final_score, got neither"
        )
    if stated is not None and not 0 <= number(stated, "final_score") <= 10:
        raise DataError(
            f"final_score: must be a number from 0 to 10, got {stated!r:.40}"
        )


def _check_sides(done: Imported, files: Files) -> None:
    """Check that at least one image has ground truth, and one a prediction; otherwise
    all predictions would be wrong, or all images would score 0. Warn of files whose
    names say the other side.
    """
    real, ours = (
        set(re.findall("[a-z]+", name.lower()))
        for name in (files.truth, files.prediction)
    )
    if [bool(side & words) for side in (real, ours) for words in SIDES] == [
        False,
        True,
        True,
        False,
    ]:
        warnings.warn(
            f"{files.truth} was read as the ground truth and {files.prediction} as the "
            "predictions; do their names say that they are exchanged?",
            stacklevel=2,
        )
    if done.paired and not done.real:
        raise DataError(
            f"{files.truth}: must contain ground truth for at least one image, got "
            f"none for {pluralize(done.paired, 'image')}"
            f"{', but crowds (iscrowd: 1)' if done.truths else ''}"
        )
    if done.images and not done.predictions:
        raise DataError(
            f"{files.prediction}: must contain predictions for images of the ground "
            "truth, got none "
            + (
                "that is valid"
                if done.problems
                else f"for its {len(done.images)} images"
            )
        )


def _evaluated(
    task: str, samples: Sequence[Sample | Problem], how: Intake
) -> CocoImages | None:
    pairs = [
        (sample.prediction, sample.truth)
        for sample in samples
        if isinstance(sample, Sample) and sample.truth is not None
    ]
    return (
        None
        if how.score_at is None and not confident(result for result, _ in pairs)
        else CocoImages(task, pairs)
    )


def _thresholded(
    sample: Sample, threshold: float | None, how: Intake, done: Imported
) -> Sample:
    if threshold is None and how.top_k is None:
        return sample
    displayed = shown_at(sample.prediction, threshold, how.top_k)
    done.left_out += _size(sample.prediction) - _size(displayed)
    thresholds = {
        name: value
        for name, value in (
            ("min_score", threshold),
            ("top_k", how.top_k),
            ("score_at", None if done.point is None else BEST_F1),
        )
        if value is not None
    }
    return replace(
        sample, prediction=displayed, metadata={**sample.metadata, **thresholds}
    )


def _note(sample: Sample, done: Imported) -> None:
    """Record what the final checks need from the unmodified sample."""
    items = getattr(sample.prediction, "items", ())
    real = getattr(sample.truth, "items", ())
    done.predictions += _size(sample.prediction)
    done.unscored += sum(getattr(item, "score", None) is None for item in items)
    done.surest = max(
        [done.surest, *(getattr(item, "score", None) or 0 for item in items)]
    )
    with suppress(TypeError):  # items of a plug-in may have no hash
        done.repeated += len(items) - len(set(items))
        done.doubled += len(real) - len(set(real))
    done.labels.update(sample.prediction.labels)
    if sample.truth is not None:
        done.paired += 1
        done.real += _size(sample.truth.without_crowds())
        if (
            sample.truth.count
            and sample.metadata.keys() >= NO_PREDICTION.keys()
        ):
            done.without.append(sample.image_id)
        done.labels.update(sample.truth.labels)


def _check_classes(task: str, classes: tuple[str, ...], done: Imported) -> None:
    """Reject a class that occurs nowhere; with both sides empty, it would score 10 on
    every image."""
    if not TASKS[task].classed or classes in ((EACH,), (ALL,)):
        return
    absent = [label for label in classes if label not in done.labels]
    if absent:
        raise UsageError(
            f"`class_of_interest` must be a class of the truth or the predictions, got "
            f"{absent[0]!r}; known classes: {', '.join(sorted(done.labels)[:20])}"
        )


def _add(
    writer: FolderWriter,
    sample: Sample,
    source: str | None,
    classes: tuple[str, ...],
    options: Any,
    done: Imported,
) -> None:
    labels = sample.labels or () if classes == (EACH,) else classes
    if sample.judged is not None and classes != (EACH,):
        if not sample.judged:
            return
        labels = tuple(
            label for label in classes if label in {ALL, *sample.judged}
        )
    whole = not TASKS[writer.task].classed or classes == (ALL,)
    interests = [None] if whole else [(label,) for label in labels]
    rows = zip(
        interests, _scores(writer.task, sample, interests, options), strict=True
    )
    if (
        TASKS[writer.task].classed
        and classes == (EACH,)
        and sample.truth is not None
    ):
        done.unasked += sum(
            len(items)
            for label, items in sample.prediction.items_by_label().items()
            if label not in (sample.labels or ())
        )
    if sample.image is not None:
        size = writer.add_image(
            sample.image_id,
            sample.image,
            mask=sample.mask,
            control=sample.control,
            mask_white=sample.mask_white,
            resize_mask=sample.resize_mask,
        )
        if not writer.kind.is_image:
            sample.prediction.check(size)
    faults = _faults(writer.task, sample, () if whole else labels)
    for interest, value in rows:
        writer.add(
            _annotation(
                writer,
                sample,
                sample.source or source,
                interest,
                float(value),
                faults.get("" if interest is None else interest[0], {}),
            )
        )
        done.annotations += 1
        done.exact += sample.truth is not None and value == 10
        done.total += value
    done.images.add(sample.image_id)
    if sample.truth is not None:
        done.truths += _size(sample.truth)


def _scores(
    task: str,
    sample: Sample,
    interests: Sequence[tuple[str, ...] | None],
    options: Any,
) -> list[float]:
    if sample.final_score is not None:
        return [sample.final_score for _ in interests]
    assert sample.truth is not None, "samples with neither are refused before"
    if interests == [None]:
        return [score(task, sample.prediction, sample.truth, **options)]
    return scores_by_class(
        task,
        sample.prediction,
        sample.truth,
        [label for interest in interests for label in interest or ()],
        **options,
    )


def _faults(
    task: str, sample: Sample, labels: Sequence[str]
) -> Mapping[str, Json]:
    """Return the faults by class of interest; those of all items as "" if there is
    none."""
    if sample.truth is None:
        return {}
    if labels:
        return faults_by_class(task, sample.prediction, sample.truth, labels)
    stated = (
        read_rgb(str(sample.image))
        if TASKS[task].restored and sample.image is not None
        else None
    )
    return {"": faults_of(task, sample.prediction, sample.truth, None, stated)}


def _annotation(
    writer: FolderWriter,
    sample: Sample,
    source: str | None,
    interest: tuple[str, ...] | None,
    value: float,
    faults: Json,
) -> Annotation:
    displayed = (
        sample.prediction
        if interest is None
        else sample.prediction.only(interest)
    )
    name = _short(
        ":".join(
            filter(
                None,
                (source, sample.image_id, sample.key, *(interest or ())),
            )
        )
    )
    return Annotation(
        annotation_id=name,
        image_id=sample.image_id,
        task=writer.task,
        prediction=_payload(writer, sample, name, displayed),
        final_score=value,
        class_of_interest=interest,
        prompt=sample.prompt,
        source=source,
        metadata={**sample.metadata, **faults},
    )


def _short(name: str) -> str:
    """Return the name, ending in a hash if it would be longer than an annotation_id may
    be."""
    return (
        name
        if len(name.encode()) <= LONGEST_NAME
        else with_hash(name, name, LONGEST_NAME)
    )


def _payload(
    writer: FolderWriter, sample: Sample, name: str, prediction: Prediction
) -> dict[str, Any]:
    if sample.file is not None:
        return {
            str(writer.kind.file_field): writer.copied(
                sample.file, f"{writer.task}_{name}"
            ),
            **sample.extra,
        }
    return writer.payload(prediction, f"{writer.task}_{name}")


def _size(side: Prediction) -> int:
    return 1 if side.count is None else side.count


def doubts(task: str, done: Imported) -> Iterator[str]:
    """Yield what may be wrong with an import, a sentence each: every way of importing
    says it."""
    mean = done.total / done.annotations if done.annotations else 10.0
    if done.mistake:
        yield done.mistake
    elif mean < UNEXPLAINED and done.tried:
        places = type_of(task).places
        blank = places is not None and not any(
            places(side).any() for side, _ in done.tried
        )
        yield (
            f"the mean score is {mean:.1f} of 10: no prediction marks anything"
            if blank
            else f"the mean score is {mean:.1f} of 10, and no common mistake explains "
            "it; compare the classes, the coordinates and the pairing of predictions "
            f"and ground truth{_names_of_one_side(task, done)}"
        )
    if done.without:
        yield (
            f"images without a prediction: {len(done.without)} of {len(done.images)}, "
            f"such as {done.without[0]}; they count as images in which nothing was "
            "found; was the model run on them?"
        )
    if done.joined:
        yield (
            "class names of predictions are read as those of the ground truth: "
            + ", ".join(
                f"{ours!r} as {real!r}"
                for ours, real in sorted(done.joined.items())
            )
        )
    yield from done.notes[1:]
    if done.evaluated is not None and reversed_confidences(done.evaluated):
        yield (
            "wrong predictions have higher confidences than right ones; are the "
            "confidences reversed, such as distances or losses?"
        )
    if done.repeated:
        yield (
            f"predictions identical to another of their image: {done.repeated} of "
            f"{done.predictions}; remove them, since they count as false positives"
        )
    if done.doubled > DOUBLED * done.real:
        yield (
            f"ground truths identical to another of their image: {done.doubled} of "
            f"{done.real}; was a file merged twice? Each counts as an object to find"
        )
    if (
        done.annotations > 1
        and done.exact == done.annotations
        and not done.notes[1:]
    ):
        yield (
            f"all {done.annotations} predictions score 10, the highest; are "
            "predictions and ground truth the same files?"
        )


def _names_of_one_side(task: str, done: Imported) -> str:
    ours = sorted(done.labels - done.real_labels)
    return (
        f" (classes that only predictions have: {', '.join(ours[:5])}; of the ground "
        f"truth: {', '.join(sorted(done.real_labels)[:5])})"
        if ours and done.real_labels
        else ""
    )


def notices(
    task: str, done: Imported, *, predicted: bool = True
) -> Iterator[str]:
    """Yield what was imported, how it scored, and what was left out, one line each."""
    # a table has scores, and no ground truth
    of_table = bool(predicted and done.annotations and not done.truths)
    yield (
        f"annotations {done.annotations}, images {len(done.images)}, "
        f"{'each with its score' if of_table else f'truths {done.truths}'}, "
        f"predictions {done.predictions}"
    )
    if not predicted:
        yield "no `pred`: the ground truth itself was imported as the predictions"
        return
    if done.notes:
        yield f"scores: {done.notes[0]}"
    if done.left_out:
        message = (
            ""
            if done.point is None
            else f" below {done.point.min_score:.4g}, the threshold of best F1 "
            f"({done.point.f1:.3f})"
        )
        every = ", all there are" if done.left_out == done.predictions else ""
        yield (
            f"predictions left out{message}: {done.left_out}{every}; `min_score` 0 "
            "keeps all"
        )
    if done.unmatched:
        yield (
            "no prediction matches a truth at IoU (OKS) 0.5, so all are kept; "
            "do `pred` and `gt` name classes and coordinates alike?"
        )
    if type_of(task).ranked is not None and done.unscored:
        yield (
            f"predictions without a score: {done.unscored} of {done.predictions}; AP "
            "and the threshold of best F1 need one for each (a confidence of another "
            "name is not read)"
        )
    if done.unasked:
        yield (
            "predictions of classes that the ground truth of their image lacks: "
            f"{done.unasked} of {done.predictions - done.left_out}, neither shown nor "
            "scored; `class_of_interest` all counts them"
        )
    if done.evaluated is not None:
        precisions = [
            done.evaluated.average_precision(thresholds)
            for thresholds in (COCO_THRESHOLDS, (SIMILARITY,))
        ]
        if None not in precisions:  # no ground truth must be found
            yield (
                f"AP {precisions[0]:.3f}, AP50 {precisions[1]:.3f} (COCO's definition, "
                f"of all predictions"
                + ", on the classes that each image was annotated for; LVIS counts 300 "
                "an image" * done.federated + ")"
            )
