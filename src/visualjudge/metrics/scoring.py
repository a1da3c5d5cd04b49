"""``score``: one function for all tasks; each family has its metric and the options that metric knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from visualjudge.data.predictions import Payload, read_prediction
from visualjudge.errors import UsageError
from visualjudge.metrics.depth import delta1
from visualjudge.metrics.detection import box_f1
from visualjudge.metrics.keypoints import keypoint_f1
from visualjudge.metrics.restoration import restoration_quality
from visualjudge.metrics.segmentation import mask_f1, mean_iou, region_iou
from visualjudge.raster.masks import mask_from_wire
from visualjudge.records import Masks, Prediction, Size
from visualjudge.tasks import Family, task_named

DECIMALS = 4

METRICS: dict[Family, tuple[Callable[..., float], frozenset[str]]] = {
    "detection": (box_f1, frozenset({"class_of_interest"})),
    "instance": (mask_f1, frozenset({"class_of_interest"})),
    "semantic": (mean_iou, frozenset()),
    "referring": (region_iou, frozenset()),
    "keypoint": (keypoint_f1, frozenset()),
    "depth": (delta1, frozenset({"align"})),
    "restoration": (restoration_quality, frozenset({"metric"})),
}
"""Metric of each family (0..1, higher is better) and the names of its options."""


def score(task: str, prediction: Payload | Prediction, truth: Payload | Prediction, **options: Any) -> float:
    """``final_score`` of a prediction: 10 × the task's metric, rounded to 4 decimals.

    Parameters
    ----------
    task
        Task name. The generation tasks have no metric: their scores are given, by people or another metric.
    prediction, truth
        Payloads as in a data folder, or typed predictions. ``truth`` has the prediction's shape; its instances may
        bear ``iscrowd``, its persons ``bbox``, ``area`` (pixels²) and ``iscrowd``.
    options
        ``class_of_interest`` (labels; detection and instance segmentation), ``align`` ("none", "median" or
        "affine"; depth), ``metric`` ("ssim" or "psnr"; restoration), ``size`` ((height, width), where only polygons
        are given). An option that another task knows is without effect, so that one set may serve several tasks.

    Returns
    -------
    float
        0..10. See the metric functions for definitions and sources.

    Raises
    ------
    UsageError
        If the task is unknown or has no metric, or an option is unknown or has an unknown value.
    DataError
        If a payload is malformed, or sizes differ; the message begins with the field.
    """
    family = task_named(task).family
    if family not in METRICS:
        raise UsageError(f"{task} has no metric: scores of generated images are given, not computed")
    metric, known = METRICS[family]
    options = _named(options)
    size: Size | None = options.pop("size", None)
    first, second = _read_both(task, prediction, truth, tuple(size) if size is not None else None)  # type: ignore[arg-type]
    value = metric(first, second, **{name: value for name, value in options.items() if name in known})
    return round(10 * float(value), DECIMALS) + 0.0


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options under their own names: ``psnr=True`` is short for ``metric="psnr"``; None means the default."""
    named = {name: value for name, value in options.items() if value is not None}
    if named.pop("psnr", False):
        named["metric"] = "psnr"
    every = {"size"}.union(*(names for _, names in METRICS.values()))
    unknown = sorted(set(named) - every)
    if unknown:
        raise UsageError(f"score has no option {unknown[0]!r}; it has: {', '.join(sorted(every))}")
    return named


def _read_both(
    task: str, prediction: Payload | Prediction, truth: Payload | Prediction, size: Size | None
) -> tuple[Prediction, Prediction]:
    """Both sides, read; the size that an RLE or PNG of one side tells serves the polygons of the other."""
    size = size or _told_size(truth) or _told_size(prediction)
    return read_prediction(task, prediction, size=size), read_prediction(task, truth, size=size)


def _told_size(payload: Payload | Prediction) -> Size | None:
    """The image size that any RLE, array or picture of a mask payload tells, else None."""
    if isinstance(payload, Masks):
        return payload.size if payload.items else None
    if not isinstance(payload, Mapping):
        return None
    items = payload.get("instances") or payload.get("segments") or [payload]
    for item in items if isinstance(items, list | tuple) else []:
        form = item.get("segmentation") if isinstance(item, Mapping) else None
        if form is not None and not isinstance(form, list | tuple):
            return mask_from_wire(form).size
    return None
