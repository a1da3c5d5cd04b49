"""The metrics, a row each; the first of a prediction type is its default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from visualjudge.core.registry import Registry
from visualjudge.vision.boxes.score import box_f1
from visualjudge.vision.depth.score import delta1
from visualjudge.vision.images.score import psnr, ssim
from visualjudge.vision.masks.score import mask_f1, mean_iou, region_iou
from visualjudge.vision.poses.score import keypoint_f1


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of one prediction type.

    Attributes
    ----------
    type
        Name of the prediction type.
    name
        What the option ``metric`` of :func:`visualjudge.score` calls it.
    measure
        (prediction, truth, **options) → 0..1, higher is better. Raises DataError where they cannot be compared.
    options
        Names of the options that ``measure`` takes.
    """

    type: str
    name: str
    measure: Callable[..., float]
    options: frozenset[str] = frozenset()


_ROWS = (
    Metric("detection", "f1", box_f1, frozenset({"class_of_interest"})),
    Metric("instance", "f1", mask_f1, frozenset({"class_of_interest"})),
    Metric("semantic", "miou", mean_iou),
    Metric("referring", "iou", region_iou),
    Metric("keypoint", "oks_f1", keypoint_f1),
    Metric("depth", "delta1", delta1, frozenset({"align"})),
    Metric("restoration", "ssim", ssim),
    Metric("restoration", "psnr", psnr),
)
METRICS: Registry[tuple[str, str], Metric] = Registry("metric", {(row.type, row.name): row for row in _ROWS})


def metrics_of(kind: str) -> dict[str, Metric]:
    """The metrics of a prediction type by name, its default first."""
    return {name: row for (of, name), row in METRICS.items() if of == kind}
