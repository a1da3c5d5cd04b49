"""Registration functions for plug-ins and scripts, one for each table of the project.
Which rows there are is in ``core/registry.py`` and ``vision/rows.py``; ``testing.py``
checks a plug-in's type.

Each raises :class:`~visualjudge.core.errors.UsageError` if a row of that name already
exists. A plug-in calls them when it is loaded (:mod:`visualjudge.core.registry`); a
script or notebook may call them at any time before the row is needed, and worker
processes started later have it too, if it can be pickled.

Every function of a row is guarded (:mod:`visualjudge.core.registry`): its errors name
the plug-in and the row, and an error caused by one record affects only that record.

>>> import visualjudge as vj
>>> vj.register_task(vj.Task("lane_detection", "lane detection", "instance", classed=True))
>>> [row.stem for row in vj.encodings("lane_detection")][:2]
['pixel_ss0_m0', 'pixel_ss0_m1']
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visualjudge.core.errors import UsageError
from visualjudge.core.registry import guarded, guarded_row

if TYPE_CHECKING:
    from visualjudge.apps.probes.kinds import ProbeKind
    from visualjudge.dataset.exports import Format
    from visualjudge.formats.importers import Importer
    from visualjudge.vision.rows import Encoding, PredictionType, Task


def register_task(task: Task) -> None:
    """Add a task; its prediction type must be registered, here or by the project,
    before the task is used.
    """
    from visualjudge.vision.tasks import TASKS

    TASKS.register(task.name, task)


def register_type(row: PredictionType) -> None:
    """Add a prediction type, with its tasks, encodings, metrics, errors, context and
    tools."""
    what = f"type {row.name}"
    guarded_rows: dict[str, Any] = {
        "misreadings": tuple(
            guarded_row(misreading, f"{what}, misreading {misreading.told!r}")
            for misreading in row.misreadings
        ),
        "misplacements": tuple(
            guarded_row(mistake, f"{what}, misplacement {mistake.told!r}")
            for mistake in row.misplacements
        ),
        "errors": tuple(
            guarded_row(misreading, f"error type {misreading.name}")
            for misreading in row.errors
        ),
    }
    from visualjudge.vision.predictions import TYPES

    TYPES.register(row.name, guarded_row(replace(row, **guarded_rows), what))
    for task in row.tasks:
        register_task(task)
    for encoding in row.encodings:
        register_encoding(encoding)
    for metric in row.metrics:
        register_metric(
            metric.type,
            metric.name,
            metric.measure,
            options=metric.options,
            by_class=metric.by_class,
        )


def register_encoding(row: Encoding) -> None:
    """Add an encoding of a prediction type, under a stem that is new for the type.

    Its description in the prompt is the part ``<stem>`` of the asset
    ``questions/format/<type>``.
    """
    from visualjudge.vision.encodings import CATALOGUE

    CATALOGUE.register(
        (row.type, row.stem), guarded_row(row, f"encoding {row.stem}")
    )


def register_metric(
    kind: str,
    name: str,
    measure: Callable[..., float],
    *,
    options: Iterable[str] = (),
    by_class: Callable[..., Sequence[float]] | None = None,
) -> None:
    """Add a metric of the prediction type ``kind``; the first registered one is the
    type's default.

    Parameters
    ----------
    kind
        Name of the prediction type.
    name
        Name of the metric: ``visualjudge.score(…, metric=name)``.
    measure
        (prediction, truth, **options) → 0..1, higher is better.
    options
        Names of the options of ``measure``, except ``class_of_interest``, which is
        passed if there is a parameter of that name. Otherwise ``measure`` is called
        with only the items of the class (:meth:`Prediction.only
        <visualjudge.vision.base.Prediction.only>`).
    by_class
        (prediction, truth, labels, **options) → the results of ``measure`` with each
        label as the class of interest; useful if faster than one call per label.

    Raises
    ------
    UsageError
        If ``measure`` lacks a parameter named like an option.
    """
    from visualjudge.vision.rows import Metric

    taken = inspect.signature(measure).parameters
    every = any(item.kind is item.VAR_KEYWORD for item in taken.values())
    chosen = frozenset(options) | ({"class_of_interest"} & set(taken))
    if lacking := sorted(chosen - set(taken)) if not every else []:
        raise UsageError(
            f"metric {name}: options: measure has no parameter {lacking[0]!r}"
        )
    what = f"metric {name}"
    classes = None if by_class is None else guarded(by_class, what)
    row = Metric(kind, name, guarded(measure, what), chosen, classes)
    from visualjudge.vision.metrics import METRICS

    METRICS.register((kind, name), row)


def register_prompts(folder: str | Path) -> None:
    """Add a folder of prompt assets, laid out as ``questions/format/<type>/v1.yaml``.

    It may contain new assets, and new parts for existing assets
    (``questions/context/v1.yaml``); it cannot replace texts of the project.

    Raises
    ------
    UsageError
        If the folder does not exist, or was added already.
    """
    from visualjudge.prompts import prompt_set

    if not Path(folder).is_dir():
        raise UsageError(f"prompt folder {folder}: no such folder")
    from visualjudge.prompts.store import FOLDERS

    FOLDERS.register(str(folder), str(folder))
    prompt_set.forget()


def register_importer(row: Importer) -> None:
    """Add an importer: it becomes a command of ``visualjudge import``."""
    from visualjudge.formats.importers import IMPORTERS

    IMPORTERS.register(row.name, guarded_row(row, f"importer {row.name}"))


def register_backend(name: str, client: Callable[..., Any] | str) -> None:
    """Add a backend: a client class, or ``"module:Class"``, which is imported when it
    is first used.
    """
    from visualjudge.clients.registry import CLIENT_REGISTRY

    CLIENT_REGISTRY.register(name, client)


def register_judge(name: str, judge: Callable[..., Any] | str) -> None:
    """Add a judge module that pipelines can name."""
    from visualjudge.judges.registry import PIPE_REGISTRY

    PIPE_REGISTRY.register(name, judge)


def register_question_judge(name: str, make: Callable[..., Any] | str) -> None:
    """Add a judge of a dataset's questions that calls no backend: (model, dataset
    folder, *, seed) → Judge.
    """
    from visualjudge.judges.registry import QUESTION_JUDGES

    QUESTION_JUDGES.register(name, make)


def register_export(name: str, form: Format) -> None:
    """Add a format of ``visualjudge export``."""
    from visualjudge.dataset.exports import FORMATS

    FORMATS.register(name, guarded_row(form, f"export format {name}"))


def register_probe(name: str, probe: ProbeKind) -> None:
    """Add a probe: how to make its questions from sampled ones, and how to compare
    their answers.
    """
    from visualjudge.apps.probes.kinds import PROBES

    PROBES.register(name, guarded_row(probe, f"probe {name}"))
