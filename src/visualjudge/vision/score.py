"""``score``, one function for all tasks. Metrics are rows of
:mod:`visualjudge.vision.metrics`; their formulas are in ``vision/<type>/score.py``.
Average precision of a whole data set is in ``scoring/average_precision.py``.
"""

import inspect
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from visualjudge.core.errors import DataError, UsageError, one_of
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import Size
from visualjudge.core.registry import lacking
from visualjudge.vision.metrics import METRICS, metrics_of
from visualjudge.vision.predictions import Prediction, read_prediction, type_of
from visualjudge.vision.rows import Metric
from visualjudge.vision.tasks import task_named

DECIMALS = 4


def score(
    task: str,
    prediction: Any,
    truth: Any,
    *,
    class_of_interest: str | Collection[str] | None = None,
    size: Size | None = None,
    metric: str | None = None,
    **options: Any,
) -> float:
    """Return the ``final_score`` of a prediction: 10 × the task's metric, rounded to 4
    decimals.

    Parameters
    ----------
    task
        Task name. The generation tasks have no metric: their scores come from people or
        an external metric.
    prediction, truth
        Payloads as in a data folder, arrays in the forms listed in docs/python.md, or
        typed predictions. ``truth`` has the same form as the prediction; its instances
        may have ``iscrowd``, its persons ``bbox``, ``area`` (pixels²) and ``iscrowd``.
    class_of_interest
        Labels that count, of detection and instance segmentation.
    size
        (height, width) of the image, if only polygons are given.
    metric
        "ssim" or "psnr", of restoration.
    options
        ``align`` ("none", "median" or "affine"; depth). Options of other tasks are
        ignored, so that one set works for several tasks.

    Returns
    -------
    float
        0..10. See the metric functions for definitions and sources.

    Raises
    ------
    UsageError
        If the task is unknown or has no metric, or an option is unknown or has an
        unknown value.
    DataError
        If a payload is malformed or sizes differ (the message begins with the field),
        or if a metric, for example from a plug-in, returns no number from 0 to 1.

    Examples
    --------
    >>> import visualjudge as vj
    >>> truth = {"detections": [{"label": "dog", "bbox": [0, 0, 10, 10]}]}
    >>> found = {"detections": [{"label": "dog", "bbox": [0, 0, 10, 8]}]}
    >>> vj.score("object_detection", found, truth)
    7.0
    """
    row, sides, chosen = _prepared(
        task,
        prediction,
        truth,
        {
            **options,
            "class_of_interest": class_of_interest,
            "size": size and (size[0], size[1]),
            "metric": metric,
        },
    )
    return _final_score(row.measure(*sides, **chosen), row)


def scores_by_class(
    task: str,
    prediction: Prediction,
    truth: Prediction,
    labels: Sequence[str],
    **options: Any,
) -> list[float]:
    """Return :func:`score` with each of ``labels`` as the class of interest; items are
    compared only once.
    """
    metric, sides, chosen = _prepared(task, prediction, truth, options)
    if metric.by_class is None:
        return [
            score(task, *sides, **{**options, "class_of_interest": (label,)})
            for label in labels
        ]
    return [
        _final_score(value, metric)
        for value in metric.by_class(*sides, labels, **chosen)
    ]


def _prepared(
    task: str,
    prediction: Any,
    truth: Any,
    options: Fields,
) -> tuple[Metric, tuple[Prediction, Prediction], Json]:
    """Return the metric, both sides as records, and the options that the metric
    takes."""
    named = _named(options)
    metric = _chosen(task, task_named(task).type, named.pop("metric", None))
    stated = named.pop("size", None)
    if stated is not None and min(stated) < 1:
        raise UsageError(f"size must be at least 1×1, got {stated}")
    # polygons of one side use the size in an RLE or PNG of the other
    size: Size | None = (
        stated or _told_size(task, truth) or _told_size(task, prediction)
    )
    ours = read_prediction(task, prediction, size=size)
    sides = ours, read_prediction(task, truth, size=size)
    labels = named.get("class_of_interest")
    if isinstance(labels, str):
        labels = named["class_of_interest"] = (labels,)
    if (
        task_named(task).classed
        and labels is not None
        and "class_of_interest" not in metric.options
    ):
        sides = sides[0].only(labels), sides[1].only(labels)
    return (
        metric,
        sides,
        {
            name: value
            for name, value in named.items()
            if name in metric.options
        },
    )


def _final_score(value: object, metric: Metric) -> float:
    try:
        value_of_ten = round(10 * float(value), DECIMALS) + 0.0  # type: ignore[arg-type]
    except (TypeError, ValueError):
        value_of_ten = math.nan
    if not 0 <= value_of_ten <= 10:
        raise DataError(
            f"metric {metric.name} of {metric.type}: must give a number from 0 to 1, "
            f"got {value!r:.40}"
        )
    return value_of_ten


def measured_by(task: str, options: Fields) -> dict[str, Any]:
    """Return what the score of a record depends on: the metric where the type has
    several, its options, with the default of each that is not given, and the values that
    it fixes; nothing for tasks without a metric.
    """
    known = metrics_of(task_named(task).type)
    if not known:
        return {}
    metric = _chosen(task, task_named(task).type, options.get("metric"))
    defaults = inspect.signature(metric.measure).parameters
    chosen = {
        name: options.get(name) or defaults[name].default
        for name in sorted(metric.options - {"class_of_interest"})
    }
    return (
        ({"metric": metric.name} if len(known) > 1 else {})
        | chosen
        | dict(metric.defaults)
    )


def notes(
    task: str, pairs: Sequence[tuple[Prediction, Prediction]], options: Fields
) -> tuple[str, ...]:
    """Return how these pairs of prediction and truth are scored, and a sentence about
    each thing that a default of the metric hides in them.
    """
    metric = _chosen(task, task_named(task).type, options.get("metric"))
    return tuple(filter(None, (metric.how, *metric.note(pairs, options))))


def _chosen(task: str, kind: str, name: str | None) -> Metric:
    """Return the metric of this name, or the type's default if the name belongs to
    another type's metric."""
    own = metrics_of(kind)
    if not own:
        raise UsageError(
            f"{task} has no metric: scores of generated images are given, not computed"
        )
    if name is not None and str(name) not in {
        *own,
        *(other for _, other in METRICS),
    }:
        raise UsageError(
            f"metric must be {one_of(name, own)}, got "
            f"{name!r:.40}{lacking('metric', (kind, str(name)))}"
        )
    return own.get(name or "", next(iter(own.values())))


def _named(options: Fields) -> Json:
    """Return the options by name: ``psnr=True`` is short for ``metric="psnr"``; None
    means the default."""
    named = {
        name: value for name, value in options.items() if value is not None
    }
    if named.pop("psnr", False):
        named["metric"] = "psnr"
    if not named:  # nearly always
        return named
    every = {"metric", "size", "class_of_interest"}.union(
        *(row.options for row in METRICS.values())
    )
    unknown = sorted(set(named) - every)
    if unknown:
        raise UsageError(
            f"score has no option {unknown[0]!r}; it has: {', '.join(sorted(every))}"
        )
    return named


def _told_size(task: str, payload: Any) -> Size | None:
    if isinstance(payload, Prediction):
        return payload.extent
    return (
        type_of(task).told_size(payload)
        if isinstance(payload, Mapping)
        else None
    )
