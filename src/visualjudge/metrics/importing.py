"""Samples of an importer into a data folder, scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from visualjudge.data.importers.sample import Sample
from visualjudge.data.writer import FolderWriter
from visualjudge.errors import DataError, Problem
from visualjudge.metrics.average_precision import COCO_THRESHOLDS, RANKED, average_precision
from visualjudge.metrics.scoring import score
from visualjudge.predictions import Prediction, type_of
from visualjudge.records import Annotation
from visualjudge.tasks import TASKS

EACH, ALL = "each", "all"


@dataclass(eq=False)
class Imported:
    """What an import did."""

    annotations: int = 0
    images: set[str] = field(default_factory=set)
    truths: int = 0
    predictions: int = 0
    problems: list[Problem] = field(default_factory=list)
    pairs: list[tuple[Prediction, Prediction]] = field(default_factory=list)
    """(prediction, truth) of each image, for AP."""


def import_samples(
    writer: FolderWriter,
    samples: Iterable[Sample | Problem],
    *,
    source: str | None,
    classes: tuple[str, ...] = (EACH,),
    file: str = "",
    **options: Any,
) -> Iterator[Imported]:
    """Score every sample and add it to ``writer``; yields the running count after each (the caller commits).

    Parameters
    ----------
    source
        Name of the model; a sample's own comes first.
    classes
        For tasks with a class of interest: ``("each",)`` makes one annotation for every class of an image's truth,
        ``("all",)`` one for all classes together, and labels make one for each of them on every image.
    options
        Go to :func:`visualjudge.metrics.score`.
    """
    done = Imported()
    for sample in samples:
        if isinstance(sample, Problem):
            done.problems.append(sample)
        else:
            try:
                _add(writer, sample, source, classes, options, done)
            except DataError as error:
                where, colon, reason = str(error).partition(": ")
                done.problems.append(Problem(file, sample.image_id, where if colon else "prediction", reason or where))
        yield done


def _add(
    writer: FolderWriter, sample: Sample, source: str | None, classes: tuple[str, ...], options: Any, done: Imported
) -> None:
    rows = [
        (interest, sample.final_score if sample.truth is None else _scored(writer.task, sample, interest, options))
        for interest in _interests(writer.task, sample, classes)
    ]
    if sample.picture is not None:
        writer.add_image(sample.image_id, sample.picture, mask=sample.mask, control=sample.control)
    for interest, value in rows:
        writer.add(_annotation(writer, sample, sample.source or source, interest, float(value or 0.0)))
        done.annotations += 1
    done.images.add(sample.image_id)
    done.predictions += _size(sample.prediction)
    if sample.truth is not None:
        done.truths += _size(sample.truth)
        done.pairs.append((sample.prediction, sample.truth))


def _interests(task: str, sample: Sample, classes: tuple[str, ...]) -> list[tuple[str, ...] | None]:
    if not TASKS[task].classed or classes == (ALL,):
        return [None]
    return [(label,) for label in (sample.labels if classes == (EACH,) else classes)]


def _scored(task: str, sample: Sample, interest: tuple[str, ...] | None, options: Any) -> float:
    if sample.final_score is not None:
        return sample.final_score
    assert sample.truth is not None
    return score(task, sample.prediction, sample.truth, class_of_interest=interest, **options)


def _annotation(
    writer: FolderWriter, sample: Sample, source: str | None, interest: tuple[str, ...] | None, value: float
) -> Annotation:
    name = ":".join(part for part in (source, sample.image_id, sample.key, *(interest or ())) if part)
    return Annotation(
        annotation_id=name,
        image_id=sample.image_id,
        task=writer.task,
        prediction=_payload(writer, sample, name, interest),
        final_score=value,
        class_of_interest=interest,
        prompt=sample.prompt,
        source=source,
        metadata=sample.metadata,
    )


def _payload(writer: FolderWriter, sample: Sample, name: str, interest: tuple[str, ...] | None) -> dict[str, Any]:
    if sample.file is not None:
        field_name = type_of(writer.task).file_field
        assert field_name is not None, "an importer hands on a file for a type whose payload is no file"
        return {field_name: writer.copied(sample.file, f"{writer.task}_{name}"), **sample.extra}
    return writer.payload(_shown(sample.prediction, interest), f"{writer.task}_{name}")


def _shown(prediction: Prediction, interest: tuple[str, ...] | None) -> Prediction:
    return prediction if interest is None else prediction.only(interest)


def _size(side: Prediction) -> int:
    return 1 if side.count is None else side.count


def _items(side: Prediction) -> list[Any]:
    return [item for items in side.items_by_label().values() for item in items]


def precision_of(task: str, done: Imported) -> tuple[float, float] | None:
    """(AP, AP50) in COCO's definition; None where the task has none or a prediction has no confidence."""
    if TASKS[task].type not in RANKED or not done.pairs:
        return None
    if any(getattr(item, "score", None) is None for found, _ in done.pairs for item in _items(found)):
        return None
    values = [average_precision(task, done.pairs, thresholds=t) for t in (COCO_THRESHOLDS, (0.5,))]
    return None if values[0] is None or values[1] is None else (values[0], values[1])
