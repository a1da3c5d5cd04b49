"""Create controlled errors for a whole ground truth: from an importer's samples to
scored annotations. The errors of each type are in ``vision/<type>/errors.py``.
Predictions of models come in by ``importing.py``.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from visualjudge.core.errors import (
    DataError,
    PluginError,
    Problem,
    UsageError,
    one_of,
)
from visualjudge.core.jsons import Json
from visualjudge.core.records import TRUTH, Annotation, Mask
from visualjudge.data.writer import FolderWriter
from visualjudge.formats.samples import Sample
from visualjudge.vision.error_types import (
    Pairing,
    error_type_named,
    error_types,
)
from visualjudge.vision.errors.groups import Graded, graded, labels_shown
from visualjudge.vision.errors.levels import ErrorScene
from visualjudge.vision.faults import faults_of
from visualjudge.vision.raster.images import image_size, read_rgb
from visualjudge.vision.rows import Task
from visualjudge.vision.score import measured_by
from visualjudge.vision.tasks import TASKS


@dataclass(eq=False)
class Surroundings:
    """The data that errors of one image may use from the rest of the data set: all
    labels, and the regions of each image.
    """

    labels: tuple[str, ...] = ()
    regions: dict[str, list[Mask]] = field(
        default_factory=lambda: defaultdict(list)
    )


@dataclass(eq=False)
class Made:
    """Progress so far."""

    images: int = 0
    annotations: int = 0
    groups: int = 0
    problems: list[Problem] = field(default_factory=list)


def surroundings(samples: Iterable[Sample | Problem]) -> Surroundings:
    """Collect surroundings in a first pass over the samples: masks as crops, no depth
    maps or images."""
    labels: set[str] = set()
    result = Surroundings()
    for sample in samples:
        if isinstance(sample, Sample) and sample.truth is not None:
            labels.update(sample.truth.labels)
            result.regions[sample.image_id] += sample.truth.regions()
    result.labels = tuple(sorted(labels))
    return result


def perturb_samples(
    writer: FolderWriter,
    samples: Iterable[Sample | Problem],
    around: Surroundings,
    *,
    levels: int,
    seed: int,
    wanted: Sequence[str] | None = None,
    with_truth: bool = False,
    pairing: Pairing,
    file: str = "",
    **options: Any,
) -> Iterator[Made]:
    """Add every error type of every sample to ``writer``. Yield the running count after
    each. The caller commits.

    Parameters
    ----------
    levels
        Maximum number of severities per group; those that do not lower the score are
        dropped.
    wanted
        Error types to create; by default all of the task's.
    with_truth
        Whether to add the unmodified ground truth to each group, with severity 0.
    pairing
        Pairing of :func:`visualjudge.vision.errors.groups.graded`.
    options
        Options of :func:`visualjudge.vision.score.score`.

    Raises
    ------
    UsageError
        If the task has no error types, or not one of ``wanted``.
    """
    task = TASKS[writer.task]
    names = _chosen(task, wanted)
    done = Made()
    for sample in samples:
        if isinstance(sample, Problem):
            done.problems.append(sample)
        else:
            try:
                _add(
                    writer,
                    sample,
                    task,
                    _scene(sample, task, around, levels),
                    names,
                    seed,
                    done,
                    file,
                    {"with_truth": with_truth, "pairing": pairing, **options},
                )
            except DataError as error:
                done.problems.append(
                    Problem.of(error, file, sample.image_id, "truth")
                )
        yield done


def _chosen(task: Task, wanted: Sequence[str] | None) -> tuple[str, ...]:
    known = error_types(task.name)
    if not known:
        raise UsageError(
            f"{task.name} has no error types: its scores are given, not computed"
        )
    for name in wanted or ():
        if name not in known:
            raise UsageError(
                f"`error_type` must be {one_of(name, known)}, got {name!r}"
            )
    return tuple(wanted or known)


def _scene(
    sample: Sample, task: Task, around: Surroundings, levels: int
) -> ErrorScene:
    if sample.image is None:
        raise DataError("image: not found; controlled errors need it")
    return ErrorScene(
        image_size(sample.image),
        around.labels,
        levels,
        read_rgb(sample.image) if task.restored else None,
        (tuple(around.regions[sample.image_id]) if task.expression else ()),
    )


def _add(
    writer: FolderWriter,
    sample: Sample,
    task: Task,
    scene: ErrorScene,
    names: Sequence[str],
    seed: int,
    done: Made,
    file: str,
    options: dict[str, Any],
) -> None:
    if sample.truth is None or sample.image is None:
        raise DataError("truth: is missing")
    key = f"{sample.image_id} {sample.key}"
    groups = []
    for name in names:
        try:
            groups.append(
                graded(
                    task.name,
                    name,
                    sample.truth,
                    scene,
                    seed=seed,
                    key=key,
                    base=sample.prediction,
                    **options,
                )
            )
        except PluginError as error:  # affects only this error type
            done.problems.append(Problem.of(error, file, sample.image_id, name))
    if any(groups):
        writer.add_image(
            sample.image_id,
            sample.image,
            mask=sample.mask,
            control=sample.control,
        )
        done.images += 1
    for group in filter(None, groups):
        displayed = labels_shown(sample.truth, group) if task.classed else None
        for item in group:
            faults = faults_of(
                task.name,
                item.prediction,
                sample.truth,
                displayed,
                scene.degraded,
            )
            writer.add(
                _annotation(writer, sample, item, displayed, faults, options)
            )
        done.annotations += len(group)
        done.groups += 1


def _annotation(
    writer: FolderWriter,
    sample: Sample,
    item: Graded,
    displayed: tuple[str, ...] | None,
    faults: Json,
    options: dict[str, Any],
) -> Annotation:
    matched = (
        options["pairing"] == "matched"
        and error_type_named(writer.task, item.error_type).matched
    )
    source = (
        f"{item.error_type} {item.severity:.2f}" if item.severity else TRUTH
    )
    name = ":".join(
        filter(
            None,
            (
                item.error_type,
                f"{item.severity:.4f}",
                sample.image_id,
                sample.key,
            ),
        )
    )
    return Annotation(
        annotation_id=name,
        image_id=sample.image_id,
        task=writer.task,
        prediction=writer.payload(item.prediction, f"{writer.task}_{name}"),
        final_score=item.final_score,
        class_of_interest=displayed,
        error_type=item.error_type,
        prompt=sample.prompt,
        source=source,
        metadata={
            "severity": item.severity,
            **({"pairing": "matched"} if matched else {}),
            **measured_by(writer.task, options),
            **faults,
        },
    )
